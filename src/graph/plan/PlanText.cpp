// The printed plan: kernels, steps, and the arena's values by address.
#include "graph/Plan.h"
#include <algorithm>
#include <tuple>

namespace tegula {

namespace {

std::string place(const BufferRef& r) {
  static constexpr const char* kNames[] = {"in", "out", "arena", "const"};
  bool arena = r.space == BufferRef::Space::Arena;
  std::string text = arena ? "arena" : fmt::format("{}{}", kNames[static_cast<int>(r.space)], r.index);
  return arena || r.offsetBytes ? fmt::format("{}+{}", text, r.offsetBytes) : text;
}

std::string stepText(const Plan& plan, size_t i) {
  const PlanStep& s = plan.steps[i];
  std::string text = fmt::format("{:5} {} [{}]", i, plan.kernels[s.kernel]->name, s.label);
  if (s.segments.size() > 1) text += fmt::format(" {} segments", s.segments.size());
  text += fmt::format(" items {}:", s.segments[0].items);
  for (const BufferRef& r : s.segments[0].bindings) text += " " + place(r);
  if (!s.waits.empty()) text += fmt::format("  after {}", fmt::join(s.waits.begin(), s.waits.end(), ","));
  return text + "\n";
}

} // namespace

std::string Plan::text() const {
  std::string text = fmt::format("plan: {} steps, {} kernels, arena {} bytes, {:.3g} flops of matrix products\n",
                                 steps.size(), kernels.size(), arenaBytes, flops);
  for (size_t k = 0; k < kernels.size(); ++k) text += fmt::format("kernel {:4} {}\n", k, kernels[k]->name);
  for (size_t i = 0; i < steps.size(); ++i) text += stepText(*this, i);
  for (size_t o = 0; o < outputPlaces.size(); ++o)
    text += fmt::format("output {} {} at {}\n", o, toString(outputs[o]), place(outputPlaces[o]));
  std::vector<const Placement*> sorted;
  for (const Placement& p : placements) sorted.push_back(&p);
  std::sort(sorted.begin(), sorted.end(), [](const Placement* a, const Placement* b) {
    return std::tie(a->offsetBytes, a->firstStep) < std::tie(b->offsetBytes, b->firstStep);
  });
  for (const Placement* p : sorted)
    text += fmt::format("arena {:12} +{:<12} steps {}-{}  {}\n", p->offsetBytes, p->sizeBytes, p->firstStep,
                        p->lastStep, p->value);
  return text;
}

} // namespace tegula
