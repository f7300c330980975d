// A loop kernel as a value: what a group of elementwise, broadcast, reduction, gather and copy primitives computes,
// over named iteration axes, before any code. It is the pattern of `op show --stage pattern`, the key of the kernel
// cache, and what EmitLoop.h turns into tile IR.
//
//   axes      n0 n1, each with a run-time extent; an axis is parallel, or folded by reductions
//   operands  memory (inputs, outputs) or numbers (offset + sum index*stride, for iota and random streams); for every
//             axis whether the operand moves along it, and along the vector axis whether by one element
//   body      values in order; each varies along a set of axes and holds one element per point
//   stores    which value goes to which output
//
// Extents, strides and offsets are run-time scalars (LoopInstance), never part of the kernel. Subscripts place an
// operand's element by a computed value: outside its extent a load gives `fill` and a store does nothing. Source of the
// scheme: iteration domains and affine maps as in Halide and linalg, restricted to one nest.
#pragma once

#include "base/Status.h"
#include "graph/Group.h"
#include "tensor/DType.h"
#include <span>
#include <vector>

namespace tegula::loop {

using AxisSet = uint32_t;
constexpr int kMaxAxes = 24; // the axes of several operands of rank 8 that share none of them would still fit
constexpr AxisSet axisBit(int axis) { return AxisSet{1} << axis; }

enum class StrideClass : uint8_t {
  Absent, // does not move along the axis (not there, or repeated with stride 0)
  Unit,   // one element a step; distinguished along the vector axis only
  Strided
};

struct Operand {
  enum class Role : uint8_t { Input, Output, Number };
  Role role = Role::Input;
  DType dtype = DType::F32;         // Number: I64
  std::vector<StrideClass> strides; // one per axis
  std::vector<int> subscripts;      // values in the body (integers) that place it along further dimensions
  bool perItem = false;             // an output of one element a work item (partial results)

  AxisSet axes() const;
};

struct Instruction {
  enum class Kind : uint8_t {
    Constant,  // number or integer, by dtype
    Parameter, // run-time integer `integer` of the instance
    Load,      // element of `operand`
    Map,       // fn(inputs), rounded to dtype
    Reduce,    // inputs[0] folded over `folded` by fn (sum max min prod), accumulated in dtype
    Scan       // inputs[0] accumulated along `folded` (one axis) by fn; the value at a point includes it
  };
  Kind kind = Kind::Constant;
  Symbol fn;
  DType dtype = DType::F32;
  std::vector<int> inputs;
  int operand = -1;
  double number = 0; // Constant, and Load: what an element outside reads
  int64_t integer = 0;
  AxisSet folded = 0;
  AxisSet axes = 0; // along which the value varies
  int level = 0;    // reductions on the longest way to it
};

struct Store {
  int operand = -1, value = -1;
  bool accumulate = false; // adds to what is there, in order of the axes that the output lacks
};

/// Which loop nest computes the kernel. Chosen by the pattern alone.
enum class Template : uint8_t {
  Elementwise, // no reduction; the vector axis is parallel
  Row,         // folds the vector axis
  Column,      // folds other axes than the vector axis
  Split,       // folds everything: partial results of chunks, one a work item
  Scan,        // an axis in order
  Scatter      // adds into outputs placed by an index, in order
};
std::string_view name(Template);

/// Parameters of a template; LoopSchedule.h chooses them from the target.
struct LoopSchedule {
  int lanes = 8;       // elements of a vector
  int vectors = 4;     // vectors of a tile along the vector axis
  int blockTiles = 64; // value-changing: steps of a sum that share one partial sum
};

struct LoopKernel {
  int axes = 0;
  std::vector<Operand> operands;
  std::vector<Instruction> body;
  std::vector<Store> stores;
  int parameters = 0; // run-time integers that the body uses
  int vectorAxis = -1;
  int splitAxis = -1; // Template::Split: its range is cut into work items
  Template kind = Template::Elementwise;
  LoopSchedule schedule;

  /// Axes folded or scanned by anything.
  AxisSet sequentialAxes() const;
  /// Axes whose points are work of their own: every store has them, nothing folds them.
  AxisSet itemAxes() const;
  AxisSet storeAxes(const Store&) const;
};

/// Run-time side of an operand.
struct OperandInstance {
  OperandRef ref{OperandRef::Kind::Input, 0}; // unused for numbers
  int64_t offset = 0;                         // elements
  std::vector<int64_t> strides;               // one per axis, elements
  struct Subscript {
    int64_t stride, extent;
  };
  std::vector<Subscript> subscripts;
};

struct LoopInstance {
  std::vector<int64_t> extents;
  std::vector<OperandInstance> operands;
  std::vector<int64_t> parameters;
};

struct LoopProblem {
  LoopKernel kernel;
  LoopInstance at;
};

/// Fills axes and levels of the body from operands and folds. Requires: instructions in order of use.
void inferAxes(LoopKernel&);
/// Drops values and inputs that no store needs.
void prune(LoopProblem&);

/// The pattern: axes, operands, body and stores, one a line. Canonical.
std::string patternText(const LoopKernel&);
/// The chosen template and its parameters in one line.
std::string scheduleText(const LoopKernel&);
/// "row_exp_sub_div_bf16"
std::string shortName(const LoopKernel&);

} // namespace tegula::loop
