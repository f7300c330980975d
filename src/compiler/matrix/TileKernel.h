// One use of a @tile_kernel: the kernel's text, the operands it meets in a fusion group, and the schedule. From this,
// and nothing else, code is made (KernelToTile.h); its key is the canonical text of all of it, and holds no run-time
// extent.
//
// Operands are *windows*: each has a row and a column stride and batch strides among the scalars of a dispatch.
// A group's elementwise nodes before and after the kept operator are *programs* over windows: a prologue is evaluated
// where the kernel reads its operand, an epilogue where it stores its result.
//
//   bindings  one per window
//   scalars   dimensions (runtimeDims), batch extents (kBatchAxes), then per window: row, col, batch strides;
//             then the block size of each grid dimension
//   items     batch x blocks of the grid, the last grid dimension fastest
#pragma once

#include "compiler/schedule/ScheduleChooser.h"
#include "graph/Group.h"
#include "lang/Ast.h"
#include <map>

namespace tegula::matrix {

constexpr int kBatchAxes = kMaxRank - 1; // leading axes after merging; fixed, so that any batch is the same kernel
constexpr int kStridesPerWindow = 2 + kBatchAxes;

/// What is statically known of a stride.
enum class StrideClass : uint8_t { One, Any, Zero /* the axis repeats */ };

struct Window {
  OperandRef operand;
  DType dtype = DType::F32;
  StrideClass row = StrideClass::Any, col = StrideClass::One;
  friend bool operator==(const Window& a, const Window& b) {
    return a.operand.kind == b.operand.kind && a.operand.index == b.operand.index && a.dtype == b.dtype &&
           a.row == b.row && a.col == b.col;
  }
};

/// An elementwise expression over windows and one result of the kernel.
struct Program {
  enum class Kind : uint8_t { Absent, Window, Result, Constant, Apply };
  Kind kind = Kind::Absent;
  int32_t index = 0;   // Window: which; Result: which output of the kernel
  double constant = 0; // Constant of a float type
  int64_t integer = 0; // Constant of another type: a double would round it
  DType dtype = DType::F32;
  Symbol function; // Apply: an elementwise primitive
  std::vector<Program> args;
};

/// What is stored when the kernel stores output `result`: a program, and where its value goes.
struct Store {
  int32_t result = 0;
  Program value;
  int32_t window = 0;
};

struct TileKernelSource final : KernelSource {
  std::shared_ptr<const OperatorLibrary> library; // owns `kernel`
  const lang::KernelDecl* kernel = nullptr;
  Attributes attributes;                // those of the operator that the kernel takes: its constants
  std::map<Symbol, int64_t> pinnedDims; // dimensions with a static extent (read whole by the kernel)
  std::vector<Symbol> runtimeDims;      // slot of the scalars = index
  std::vector<Window> windows;
  std::vector<Program> inputs; // one per Input parameter, in order
  std::vector<DType> outputs;  // type of each Output parameter
  std::vector<Store> stores;
  std::vector<Symbol> gridTunables; // in order of the grid's dimensions
  Schedule schedule;
  bool wide = false;   // f64: what the kernel calls f32 accumulates in f64
  int64_t lanes = 16;  // elements of one vector
  std::string reasons; // why this schedule

  int64_t batchSlot() const { return static_cast<int64_t>(runtimeDims.size()); }
  int64_t strideSlot(int32_t window) const { return batchSlot() + kBatchAxes + window * kStridesPerWindow; }
  int64_t blockSlot() const { return strideSlot(static_cast<int32_t>(windows.size())); }
};

/// The canonical text of a source: its key.
std::string keyOf(const TileKernelSource&, const Target&);

/// What a kernel's text says about loops and operands, independent of its use.
struct KernelFacts {
  struct Axis {
    Symbol dimension, tunable;
  };
  std::vector<Axis> grid, tiles;
  std::vector<Symbol> wholeDims;  // read whole (`q[i, :]`)
  std::map<Symbol, int> mentions; // of each name in expressions: a dimension of the grid stands there once
  int dots = 0;
  bool usesPositions = false; // rows(), cols(), .start: blocks are not interchangeable
};
KernelFacts factsOf(const lang::KernelDecl&);

} // namespace tegula::matrix
