// How the axes of an operator's operands correspond to the two dimensions of a tile kernel's parameters.
#pragma once

#include "compiler/matrix/TileKernel.h"
#include <array>

namespace tegula::matrix {

/// For each axis of a parameter's index space (batch axes of the result, row, col): the operand's axis, or -1: repeats.
struct AxisMap {
  int axes[kMaxRank + 2];
  int count = 0;
  friend bool operator==(const AxisMap& a, const AxisMap& b) {
    return a.count == b.count && std::equal(a.axes, a.axes + a.count, b.axes);
  }
};

/// The alternative of a type rule that holds for these attributes and input ranks (-1: absent). Null if a condition is
/// not one of attributes and ranks.
const lang::TensorRule* chooseRule(const lang::TypeRule&, const lang::OperatorDecl&, const Attributes&,
                                   std::span<const int> inputRanks);

/// Number of leading axes that `...` stands for.
int leadingAxes(const lang::TensorRule&, int rank);

/// The operand's axes of a parameter's two dimensions, -1 where it has none (a vector taken as a matrix). No axis twice:
/// of a name that repeats, the first stands for the first and the second for the second.
std::array<int, 2> axesOf(const lang::KernelParam&, const lang::TensorRule&, int rank);

/// Axes of an operand of shape `shape` in the index space of `param`.
AxisMap mapOperand(const lang::KernelParam& param, const lang::TensorRule&, const Shape& shape, const Shape& batch);

} // namespace tegula::matrix
