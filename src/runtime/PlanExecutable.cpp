// A plan on the device: memory laid out, list recorded, run.
#include "runtime/Executable.h"

#include "base/Log.h"
#include "tensor/Element.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

namespace tegula {
namespace {

constexpr int64_t kAlign = 64;        // of a value in the staging buffer: a cache line and a full vector
constexpr uint8_t kPoison = 0xa5;     // of the arena before a checked run
constexpr int64_t kGuardBytes = 4096; // past the arena, in a checked run

int64_t place(int64_t& end, int64_t bytes) {
  int64_t offset = end;
  end += (std::max<int64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
  return offset;
}

} // namespace

void encodeScalar(double value, DType d, void* destination) {
  withElement(d, [&](auto element) {
    using E = decltype(element);
    typename E::Storage stored = E::fromDouble(value);
    std::memcpy(destination, &stored, sizeof(stored));
  });
}

StatusOr<std::unique_ptr<PlanExecutable>> PlanExecutable::create(Context& context, Plan plan,
                                                                 std::vector<InputBinding> inputs) {
  if (plan.inputs.size() != inputs.size())
    return internal("plan: it has {} inputs, the recording {}", plan.inputs.size(), inputs.size());
  std::unique_ptr<PlanExecutable> e(new PlanExecutable(context, std::move(plan), std::move(inputs)));
  TG_RETURN_IF_ERROR(e->layOut()); // memory first: refused before anything is compiled
  TG_ASSIGN_OR_RETURN(e->kernels_, context.kernels->get(e->plan_.kernels));
  TG_RETURN_IF_ERROR(e->recordList());
  return e;
}

PlanExecutable::~PlanExecutable() {
  list_ = CommandList(); // before the buffer it uses
  context_.release(staging_);
}

Status PlanExecutable::layOut() {
  int64_t bytes = 0;
  for (const InputBinding& in : inputs_)
    inputOffsets_.push_back(in.kind == InputKind::State ? -1 : place(bytes, in.type.sizeBytes()));
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    bool own = plan_.outputPlaces[i].space == BufferRef::Space::Output &&
               plan_.outputPlaces[i].index == static_cast<int32_t>(i);
    outputOffsets_.push_back(own ? place(bytes, plan_.outputs[i].sizeBytes()) : -1);
  }
  for (const HostArray& c : plan_.constants) constantOffsets_.push_back(place(bytes, c.type().sizeBytes()));
  TG_RETURN_IF_ERROR(context_.reserveArena(plan_.arenaBytes + (context_.checkArena ? kGuardBytes : 0)));
  TG_ASSIGN_OR_RETURN(staging_, context_.allocate(bytes, "the plan's inputs and outputs"));
  for (size_t i = 0; i < plan_.constants.size(); ++i) {
    HostArray c = plan_.constants[i].contiguous();
    TG_RETURN_IF_ERROR(staging_.write(constantOffsets_[i], c.data(), c.type().sizeBytes()));
  }
  return OkStatus();
}

tg_binding PlanExecutable::resolve(const BufferRef& ref) const {
  switch (ref.space) {
  case BufferRef::Space::Input: {
    const InputBinding& in = inputs_[ref.index];
    if (in.kind == InputKind::State) return {context_.states[in.slot].buffer.handle(), ref.offsetBytes};
    return {staging_.handle(), inputOffsets_[ref.index] + ref.offsetBytes};
  }
  case BufferRef::Space::Output: {
    const BufferRef& target = plan_.outputPlaces[ref.index];
    bool own = target.space == BufferRef::Space::Output && target.index == ref.index;
    if (own) return {staging_.handle(), outputOffsets_[ref.index] + ref.offsetBytes};
    tg_binding b = resolve(target);
    return {b.buffer, b.offset + ref.offsetBytes};
  }
  case BufferRef::Space::Constant:
    return {staging_.handle(), constantOffsets_[ref.index] + ref.offsetBytes};
  case BufferRef::Space::Arena:
    break;
  }
  return {context_.arena.handle(), ref.offsetBytes};
}

Status PlanExecutable::appendStep(CommandList& list, const PlanStep& step, std::span<const int32_t> waits) const {
  std::vector<tg_binding> bindings;
  for (const Segment& s : step.segments)
    for (const BufferRef& ref : s.bindings) bindings.push_back(resolve(ref));
  std::vector<tg_segment> segments;
  const tg_binding* next = bindings.data();
  for (const Segment& s : step.segments) {
    segments.push_back({next, s.scalars.data(), static_cast<int32_t>(s.bindings.size()),
                        static_cast<int32_t>(s.scalars.size()), s.items});
    next += s.bindings.size();
  }
  tg_dispatch d{};
  d.size = sizeof(d);
  d.kernel = kernels_[step.kernel]->handle();
  d.segments = segments.data();
  d.segment_count = static_cast<int32_t>(segments.size());
  d.waits = waits.data();
  d.wait_count = static_cast<int32_t>(waits.size());
  d.scratch_bytes = step.scratchBytes;
  d.flops = step.flops;
  d.bytes = step.bytes;
  d.label = step.label.c_str();
  return list.append(d);
}

Status PlanExecutable::recordList() {
  TG_ASSIGN_OR_RETURN(list_, context_.device->createList());
  for (const PlanStep& step : plan_.steps) TG_RETURN_IF_ERROR(appendStep(list_, step, step.waits));
  TG_RETURN_IF_ERROR(list_.finish());
  arenaVersion_ = context_.arenaVersion;
  return OkStatus();
}

Status PlanExecutable::writeInputs(const Recording& r) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputBinding& in = inputs_[i];
    if (in.kind == InputKind::Scalar) {
      uint64_t bits = 0;
      encodeScalar(r.scalars[in.slot].first, in.type.dtype, &bits);
      TG_RETURN_IF_ERROR(staging_.write(inputOffsets_[i], &bits, sizeBytes(in.type.dtype)));
    } else if (in.kind == InputKind::Data) {
      const HostArray& array = r.data[in.slot];
      if (array.isContiguous()) {
        TG_RETURN_IF_ERROR(staging_.write(inputOffsets_[i], array.data(), array.type().sizeBytes()));
      } else {
        HostArray copy = array.contiguous();
        TG_RETURN_IF_ERROR(staging_.write(inputOffsets_[i], copy.data(), copy.type().sizeBytes()));
      }
    }
  }
  return OkStatus();
}

Status PlanExecutable::run(const Recording& r) {
  if (arenaVersion_ != context_.arenaVersion) {
    TG_RETURN_IF_ERROR(context_.reserveArena(plan_.arenaBytes));
    TG_RETURN_IF_ERROR(recordList());
  }
  TG_RETURN_IF_ERROR(writeInputs(r));
  if (context_.checkArena) return runChecked();
  TG_RETURN_IF_ERROR(context_.queue.execute(list_));
  return context_.queue.wait();
}

StatusOr<std::vector<double>> PlanExecutable::stepSeconds(int repeats) {
  using Clock = std::chrono::steady_clock;
  std::vector<CommandList> lists;
  for (const PlanStep& step : plan_.steps) {
    TG_ASSIGN_OR_RETURN(CommandList list, context_.device->createList());
    TG_RETURN_IF_ERROR(appendStep(list, step, {}));
    TG_RETURN_IF_ERROR(list.finish());
    lists.push_back(std::move(list));
  }
  std::vector<double> best(lists.size(), std::numeric_limits<double>::infinity());
  for (int r = 0; r < repeats; ++r)
    for (size_t i = 0; i < lists.size(); ++i) {
      auto begin = Clock::now();
      TG_RETURN_IF_ERROR(context_.queue.execute(lists[i]));
      TG_RETURN_IF_ERROR(context_.queue.wait());
      best[i] = std::min(best[i], std::chrono::duration<double>(Clock::now() - begin).count());
    }
  return best;
}

/// Poisons the arena, runs, and compares what was written with what was planned: nothing past the arena's end, nothing
/// outside the planned places.
Status PlanExecutable::runChecked() {
  std::vector<uint8_t> bytes(context_.arena.sizeBytes(), kPoison);
  auto size = static_cast<int64_t>(bytes.size());
  TG_RETURN_IF_ERROR(context_.arena.write(0, bytes.data(), size));
  TG_RETURN_IF_ERROR(context_.queue.execute(list_));
  TG_RETURN_IF_ERROR(context_.queue.wait());
  TG_RETURN_IF_ERROR(context_.arena.read(0, bytes.data(), size));
  std::vector<bool> planned(size);
  for (const Plan::Placement& p : plan_.placements)
    for (int64_t i = p.offsetBytes; i < std::min(p.offsetBytes + p.sizeBytes, size); ++i) planned[i] = true;
  context_.arenaUsedBytes = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (bytes[i] == kPoison) continue;
    context_.arenaUsedBytes = i + 1;
    if (!planned[i] || i >= plan_.arenaBytes)
      return internal("arena: byte {} was written, the plan has {} bytes and nothing there", i, plan_.arenaBytes);
  }
  return OkStatus();
}

bool PlanExecutable::liesInState(int i, int32_t state) const {
  return resolve({BufferRef::Space::Output, i, 0}).buffer == context_.states[state].buffer.handle();
}

Status PlanExecutable::read(int i, void* destination) const {
  BufferRef ref{BufferRef::Space::Output, i, 0};
  // The buffer of a binding is known by its handle only, so find who owns it.
  tg_binding b = resolve(ref);
  int64_t bytes = plan_.outputs[i].sizeBytes();
  if (b.buffer == staging_.handle()) return staging_.read(b.offset, destination, bytes);
  if (b.buffer == context_.arena.handle()) return context_.arena.read(b.offset, destination, bytes);
  for (const State& s : context_.states)
    if (s.buffer.handle() == b.buffer) return s.buffer.read(b.offset, destination, bytes);
  return internal("plan: output {} has no place", i);
}

} // namespace tegula
