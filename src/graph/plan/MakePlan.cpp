// From a laid out graph to a plan: schedule, place, order, pack.
#include "graph/plan/MakePlan.h"
#include "absl/container/flat_hash_map.h"
#include "graph/plan/MemoryPlanner.h"
#include "graph/plan/Order.h"
#include <algorithm>

namespace tegula {

namespace {

/// Lifetimes of the storages that live in the arena, in steps.
struct ArenaValues {
  std::vector<int32_t> storages;
  std::vector<Lifetime> lifetimes;
  std::vector<ArenaUse> uses; // without offsets
};

StatusOr<ArenaValues> findLifetimes(const LaunchList& list, const PlacementResult& placed, const StepOrder& order) {
  size_t n = list.storages.size();
  std::vector<Lifetime> all(n, {0, -1, -1});
  std::vector<bool> written(n, false);
  std::vector<std::vector<int32_t>> steps(n);
  for (int32_t step = 0; step < static_cast<int32_t>(order.steps.size()); ++step)
    for (int32_t i : order.steps[step])
      for (bool writing : {false, true})
        for (int32_t s : writing ? list.launches[i].writes : list.launches[i].reads) {
          if (all[s].first < 0) all[s].first = step;
          all[s].last = step;
          if (steps[s].empty() || steps[s].back() != step) steps[s].push_back(step);
          written[s] = written[s] || writing;
        }
  ArenaValues values;
  for (int32_t s = 0; s < static_cast<int32_t>(n); ++s) {
    if (placed.targets[s].space != BufferRef::Space::Arena || all[s].first < 0) continue;
    if (!written[s] && list.storages[s].sizeBytes > 0)
      return internal("plan: {} is read but never written", list.storages[s].label);
    all[s].sizeBytes = list.storages[s].sizeBytes;
    values.storages.push_back(s);
    values.lifetimes.push_back(all[s]);
    values.uses.push_back({0, all[s].sizeBytes, std::move(steps[s])});
  }
  return values;
}

class PlanWriter {
public:
  PlanWriter(const LaunchList& list, const PlacementResult& placed, const StepOrder& order)
      : list_(list), placed_(placed), order_(order), arenaOffset_(list.storages.size(), 0) {}

  StatusOr<Plan> run() {
    TG_ASSIGN_OR_RETURN(ArenaValues values, findLifetimes(list_, placed_, order_));
    ArenaPlan arena = packArena(values.lifetimes);
    TG_RETURN_IF_ERROR(checkArena(values.lifetimes, arena));
    plan_.arenaBytes = arena.sizeBytes;
    for (size_t k = 0; k < values.storages.size(); ++k) {
      int32_t s = values.storages[k];
      arenaOffset_[s] = arena.offsets[k];
      plan_.placements.push_back({list_.storages[s].label, arena.offsets[k], values.lifetimes[k].sizeBytes,
                                  values.lifetimes[k].first, values.lifetimes[k].last});
      values.uses[k].offset = arena.offsets[k];
    }
    waits_ = order_.waits;
    addReuseWaits(values.uses, waits_);
    for (size_t s = 0; s < order_.steps.size(); ++s) addStep(s);
    plan_.outputPlaces = placed_.outputPlaces;
    return std::move(plan_);
  }

private:
  void addStep(size_t s) {
    const std::vector<int32_t>& launches = order_.steps[s];
    const Launch& first = list_.launches[launches[0]];
    PlanStep step;
    step.kernel = kernelIndex(first.kernel);
    step.scratchBytes = first.scratchBytes;
    step.waits = waits_[s];
    step.label =
        launches.size() == 1 ? first.label : fmt::format("{} (and {} alike)", first.label, launches.size() - 1);
    for (int32_t i : launches) {
      const Launch& l = list_.launches[i];
      Segment segment{{}, l.scalars, l.items};
      for (auto [storage, offset] : l.bindings) segment.bindings.push_back(reference(storage, offset));
      step.flops += l.flops;
      step.bytes += l.bytes;
      step.segments.push_back(std::move(segment));
    }
    plan_.steps.push_back(std::move(step));
  }

  BufferRef reference(int32_t storage, int64_t offset) const {
    const StorageTarget& t = placed_.targets[storage];
    bool inArena = t.space == BufferRef::Space::Arena;
    return {t.space, inArena ? 0 : t.index, offset + (inArena ? arenaOffset_[storage] : 0)};
  }

  int32_t kernelIndex(const KernelRef& kernel) {
    auto [it, isNew] = kernels_.try_emplace(kernel->key, static_cast<int32_t>(plan_.kernels.size()));
    if (isNew) plan_.kernels.push_back(kernel);
    return it->second;
  }

  const LaunchList& list_;
  const PlacementResult& placed_;
  const StepOrder& order_;
  std::vector<int64_t> arenaOffset_;
  std::vector<std::vector<int32_t>> waits_; // those of the order, and of what shares places in the arena
  absl::flat_hash_map<std::string, int32_t> kernels_;
  Plan plan_;
};

} // namespace

StatusOr<Plan> planMemoryAndSteps(const Graph& g, LayoutResult layout, const TargetModel& target) {
  TG_ASSIGN_OR_RETURN(LaunchList list, scheduleUnits(layout, target));
  TG_ASSIGN_OR_RETURN(PlacementResult placed, placeResults(g, layout, list, target));
  TG_ASSIGN_OR_RETURN(StepOrder order, orderSteps(list, placed));
  TG_ASSIGN_OR_RETURN(Plan plan, PlanWriter(list, placed, order).run());
  for (const Graph::Input& in : g.inputs()) plan.inputs.push_back(g.node(in.node).results[0]);
  for (Value v : g.outputs()) plan.outputs.push_back(g.typeOf(v));
  plan.constants = std::move(layout.constants);
  return plan;
}

} // namespace tegula
