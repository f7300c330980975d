// From a fusion group to loop problems: axes are found by unifying the dimensions of the body's values, operation by
// operation. Two dimensions are one axis because an operation pairs them, never because their extents happen to agree,
// so a group has the same kernel at other extents.
//
// A dimension of extent 1 that a broadcast repeats, or that a reduction keeps, has no axis at all.
#pragma once

#include "compiler/loop/LoopKernel.h"
#include "tensor/Element.h"

namespace tegula::loop {

/// Classes of dimensions under unification.
class Dimensions {
public:
  int add(int64_t extent);
  void unify(int a, int b);
  /// The dimension is a single point by construction.
  void makePoint(int d);
  int rootOf(int d) const;
  bool isPoint(int d) const { return point_[static_cast<size_t>(rootOf(d))]; }
  int64_t extentOf(int d) const { return extent_[static_cast<size_t>(rootOf(d))]; }
  int size() const { return static_cast<int>(parent_.size()); }

private:
  std::vector<int> parent_;
  std::vector<int64_t> extent_;
  std::vector<bool> point_;
};

/// An operand while dimensions are still being unified.
struct DraftOperand {
  Operand::Role role = Operand::Role::Input;
  DType dtype = DType::F32;
  OperandRef ref{OperandRef::Kind::Input, 0};
  int64_t offset = 0;
  struct Dimension {
    int dimension; // in Dimensions
    int64_t stride;
  };
  std::vector<Dimension> dims;
  struct Subscript {
    int value;
    int64_t stride, extent;
  };
  std::vector<Subscript> subscripts;
};

/// Collects operands, body and stores over dimensions; finish() numbers the axes.
class DraftKernel {
public:
  Dimensions dims;
  std::vector<DraftOperand> operands;
  std::vector<int64_t> parameters;

  int constant(DType, double number, int64_t integer);
  int constant(DType d, double number) { return constant(d, number, saturatingTruncate<int64_t>(number)); }
  int parameter(int64_t value);
  int load(DraftOperand, double fill = 0);
  /// offset + sum of index * stride, as i64.
  int number(std::vector<DraftOperand::Dimension>, int64_t offset = 0);
  int map(Symbol fn, std::vector<int> inputs, DType);
  int reduce(Symbol kind, int input, std::vector<int> dimensions, DType accumulator);
  int scan(Symbol kind, int input, int dimension, DType accumulator);
  void store(DraftOperand, int value, bool accumulate = false);
  /// Every operand is walked backwards along the dimension.
  void reverse(int dimension) { reversed_.push_back(dimension); }
  /// x in dtype `to`.
  int cast(int value, DType to) { return dtypeOf(value) == to ? value : map("cast", {value}, to); }
  DType dtypeOf(int value) const { return body_[static_cast<size_t>(value)].dtype; }

  /// Numbers the axes (outputs' dimensions first, outer to inner) and fills the instance.
  /// Fails: more than kMaxAxes axes.
  StatusOr<LoopProblem> finish();

private:
  void mergeLoads();
  std::vector<Instruction> body_;
  std::vector<std::vector<int>> folded_; // dimensions, one list a value
  std::vector<Store> stores_;
  std::vector<int> reversed_;
};

/// f32 for bf16 and f16, else the type itself: what sums are kept in.
DType accumulatorType(DType);

/// Analyses a body of primitives (everything but pad, concatenate, scatter_add and scatter_elements_add, which are
/// several dispatches: Move.h, Scatter.h). Fails: (Unimplemented) saying which primitive or layout has no loop kernel.
StatusOr<LoopProblem> analyse(const Group&);

} // namespace tegula::loop
