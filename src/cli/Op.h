// What the `tegula op` commands print.
#pragma once

#include "graph/Graph.h"
#include "verify/Problem.h"
#include <string>

namespace tegula::cli {

/// `line` is a name (of an operator or tile kernel; then its @example is used) or a problem line.
StatusOr<std::string> showOperator(const std::string& line, const std::string& stage, const std::string& target);

/// Which axes of a graph's inputs and outputs are independent and which are folded or coupled, a line for each axis.
/// `problem` made the graph.
StatusOr<std::string> patternText(const Graph&, const Problem&);

/// Compares the compiled operator with the reference evaluator, forward and backward; one line of report. `line` is an
/// operator's name (then its @example is used) or a problem line, here and below.
StatusOr<std::string> checkOperator(const std::string& line);

/// Median time, rate and bandwidth of the compiled operator; one line.
StatusOr<std::string> benchOperator(const std::string& line, int threads, int rounds);

} // namespace tegula::cli
