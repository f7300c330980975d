// `tegula op show --stage pattern`: which axes of an operator are independent of each other, found by following every
// axis through the primitives of its definition.
#include "cli/Op.h"

#include "graph/Pattern.h"

namespace tegula::cli {

StatusOr<std::string> patternText(const Graph& graph, const Problem& problem) {
  std::vector<std::string> names; // the graph has the inputs that are present, in order
  for (const ProblemInput& in : problem.inputs)
    if (in.present) names.emplace_back(in.name.text());
  TG_ASSIGN_OR_RETURN(std::vector<AxisPattern> axes, findPattern(graph, names));
  std::string out;
  for (const AxisPattern& axis : axes) {
    std::string where, how;
    for (const std::string& place : axis.places) where += (where.empty() ? "" : " ") + place;
    for (const std::string& use : axis.uses) how += (how.empty() ? "" : ", ") + use;
    out += fmt::format("{:<24} extent {:<8} {}\n", where, axis.extent, how.empty() ? "independent" : how);
  }
  return out;
}

} // namespace tegula::cli
