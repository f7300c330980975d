// Recording and executing lists on the worker pool.
#include "CommandList.h"

#include <algorithm>
#include <cmath>

namespace tegula::cpu {
namespace {

// Rates of one ordinary core, for sizing only: results never depend on them. An estimate that is off by two moves the
// point where a second worker is woken, nothing else.
constexpr double kFlopsPerNs = 50, kBytesPerNs = 10;
// Handing work to another core and hearing back takes about 2 us when it is spinning.
constexpr double kWorthWakingNs = 4'000;
// Pieces a worker: enough to even out cores that are slowed by others, few enough to cost nothing (one CAS each).
constexpr int64_t kChunksPerWorker = 8;
// A list whose tables do not say how much work an item is gets workers from this many items on.
constexpr int64_t kUnknownItemsPerWorker = 4;
constexpr int64_t kScratchAlign = 4096; // a worker's scratch shares no page with another's

} // namespace

tg_result CommandList::checkBindings(const tg_dispatch& d, const tg_segment& s, tg_error* error) const {
  for (int32_t i = 0; i < s.binding_count; ++i) {
    const tg_binding& b = s.bindings[i];
    if (!b.buffer)
      return tg_fail(error, TG_ERROR_INVALID, "dispatch %s: binding %d has no buffer", d.label ? d.label : "", i);
    if (b.offset < 0 || b.offset > b.buffer->memory.bytes())
      return tg_fail(error, TG_ERROR_INVALID, "dispatch %s: binding %d is at offset %lld of a buffer of %lld bytes",
                     d.label ? d.label : "", i, (long long)b.offset, (long long)b.buffer->memory.bytes());
  }
  return TG_OK;
}

tg_result CommandList::append(const tg_dispatch& d, tg_error* error) {
  const char* label = d.label ? d.label : "";
  if (finished_) return tg_fail(error, TG_ERROR_INVALID, "dispatch %s: the list is finished", label);
  if (!d.kernel) return tg_fail(error, TG_ERROR_INVALID, "dispatch %s: no kernel", label);
  for (int32_t i = 0; i < d.wait_count; ++i)
    if (d.waits[i] < 0 || static_cast<size_t>(d.waits[i]) >= dispatches_.size())
      return tg_fail(error, TG_ERROR_INVALID, "dispatch %s: number %zu waits for number %d, which is not before it",
                     label, dispatches_.size(), d.waits[i]);
  for (int32_t i = 0; i < d.segment_count; ++i)
    if (tg_result r = checkBindings(d, d.segments[i], error)) return r;

  Dispatch out{d.kernel->image.entry(), segments_.size(), 0, 0, 0, 1, d.scratch_bytes, label};
  for (int32_t i = 0; i < d.segment_count; ++i) {
    const tg_segment& s = d.segments[i];
    if (s.items <= 0) continue;
    segments_.push_back({bindings_.size(), scalars_.size(), out.items, s.items});
    for (int32_t b = 0; b < s.binding_count; ++b)
      bindings_.push_back(s.bindings[b].buffer->memory.address() + s.bindings[b].offset);
    scalars_.insert(scalars_.end(), s.scalars, s.scalars + s.scalar_count);
    out.items += s.items;
    ++out.segmentCount;
  }
  sizeToWork(out, d.flops, d.bytes);
  scratchStride_ = std::max(scratchStride_, d.scratch_bytes);
  dispatches_.push_back(std::move(out));
  return TG_OK;
}

void CommandList::sizeToWork(Dispatch& d, double flops, double bytes) const {
  double ns = flops / kFlopsPerNs + bytes / kBytesPerNs;
  int64_t byItems = d.items / kUnknownItemsPerWorker;
  double workers = ns > 0 ? std::floor(ns / kWorthWakingNs) : static_cast<double>(byItems);
  int64_t limit = std::min<int64_t>(pool_.threads(), std::max<int64_t>(d.items, 1));
  d.width = static_cast<int>(std::clamp<double>(workers, 1, static_cast<double>(limit)));
  d.chunks = std::min(d.items, d.width * kChunksPerWorker);
}

tg_result CommandList::finish(tg_error* error) {
  if (finished_) return tg_fail(error, TG_ERROR_INVALID, "the list is finished already");
  if (scratchStride_ > 0) {
    scratchStride_ = (scratchStride_ + kScratchAlign - 1) / kScratchAlign * kScratchAlign;
    scratch_ = Memory::allocate(scratchStride_ * pool_.threads());
    if (!scratch_)
      return tg_fail(error, TG_ERROR_MEMORY, "no memory for the scratch of %d workers, %lld bytes each",
                     pool_.threads(), (long long)scratchStride_);
  }
  finished_ = true;
  return TG_OK;
}

void CommandList::runRange(void* context, int64_t begin, int64_t end, int worker) {
  auto [list, d] = *static_cast<const Context*>(context);
  void* scratch = list->scratch_.address() + list->scratchStride_ * worker;
  const Segment* s = list->segments_.data() + d->firstSegment;
  const Segment* last = s + d->segmentCount;
  // The segment that holds `begin`: few segments are walked, an optimizer step with hundreds is searched.
  s = std::upper_bound(s, last, begin, [](int64_t item, const Segment& x) { return item < x.firstItem; }) - 1;
  for (; s != last && s->firstItem < end; ++s) {
    int64_t from = std::max(begin - s->firstItem, int64_t(0)), to = std::min(end - s->firstItem, s->items);
    d->entry(list->bindings_.data() + s->bindings, list->scalars_.data() + s->scalars, from, to, scratch);
  }
}

void CommandList::execute() {
  for (const Dispatch& d : dispatches_) {
    Context context{this, &d};
    pool_.run({d.items, d.chunks, d.width, &CommandList::runRange, &context});
  }
}

} // namespace tegula::cpu
