// Scheduling units.
#include "graph/plan/Launches.h"

#include "base/Log.h"
#include <algorithm>

namespace tegula {

namespace {

void addOnce(std::vector<int32_t>& list, int32_t x) {
  if (std::find(list.begin(), list.end(), x) == list.end()) list.push_back(x);
}

/// Which bindings a dispatch writes is not said: outputs and temporaries count as written by every dispatch of the unit
/// that binds them, temporaries as read too, and outputs as read by all but the first, which keeps the dispatches of a
/// unit in order.
Launch makeLaunch(const Unit& unit, GroupDispatch&& d, bool isFirst, int32_t firstTemporary, int32_t unitIndex) {
  Launch l{std::move(d.kernel), {}, std::move(d.scalars), d.items, d.scratchBytes, d.flops, d.bytes, {}, {}, unitIndex,
           unit.group.label};
  for (const OperandRef& ref : d.bindings) {
    bool isInput = ref.kind == OperandRef::Kind::Input;
    if (ref.kind == OperandRef::Kind::Temporary) {
      int32_t s = firstTemporary + ref.index;
      l.bindings.emplace_back(s, 0);
      addOnce(l.reads, s);
      addOnce(l.writes, s);
      continue;
    }
    const Place& p = isInput ? unit.inputs[ref.index] : unit.outputs[ref.index];
    l.bindings.emplace_back(p.storage, p.offsetBytes);
    if (isInput || !isFirst) addOnce(l.reads, p.storage);
    if (!isInput) addOnce(l.writes, p.storage);
  }
  return l;
}

} // namespace

StatusOr<LaunchList> scheduleUnits(const LayoutResult& layout, const TargetModel& target) {
  LaunchList list{layout.storages, {}};
  for (size_t u = 0; u < layout.units.size(); ++u) {
    const Unit& unit = layout.units[u];
    auto schedule = target.schedule(unit.group);
    if (schedule.ok() && !schedule->reason.empty()) logDebug("plan: {}: {}", unit.group.label, schedule->reason);
    if (!schedule.ok()) return addContext(schedule.status(), fmt::format("no kernel computes `{}`", unit.group.label));
    int32_t firstTemporary = static_cast<int32_t>(list.storages.size());
    for (int64_t bytes : schedule->temporaryBytes)
      list.storages.push_back({Storage::Kind::Temporary, -1, bytes, "partial of " + unit.group.label});
    bool isFirst = true;
    for (GroupDispatch& d : schedule->dispatches) {
      if (d.items <= 0) continue;
      list.launches.push_back(makeLaunch(unit, std::move(d), isFirst, firstTemporary, static_cast<int32_t>(u)));
      isFirst = false;
    }
  }
  return list;
}

} // namespace tegula
