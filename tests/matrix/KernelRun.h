// Runs one group around a kept operator: scheduled, compiled for a target, and called on guarded, poisoned memory.
#pragma once

#include "compiler/Target.h"
#include "graph/Group.h"
#include <functional>
#include <random>

namespace tegula {

/// Values in f64 (each exactly representable in `type.dtype`), and how they lie in memory.
struct TestOperand {
  TensorType type;
  Shape strides;              // empty: row-major
  std::vector<double> values; // row-major by index
  int64_t lowest = 0;         // elements before the first one that negative strides reach

  double at(std::initializer_list<int64_t> index) const;
};

/// Random values of a type, rounded to it.
TestOperand randomOperand(std::mt19937_64&, DType, const Shape&, double scale = 1);
/// The same values lying transposed (last two axes).
TestOperand layTransposed(TestOperand);
/// Repeats along `axis` by a stride of 0: values of index 0 everywhere.
TestOperand layExpanded(TestOperand, int axis);

struct GroupProblem {
  std::string op;
  Attributes attributes;
  std::vector<const TestOperand*> inputs; // of the operator; null: absent
  std::vector<const TestOperand*> extra;  // further operands of the epilogue
  /// Adds nodes after the operator: (graph, results, extra operands) to outputs. Null: the results themselves.
  std::function<std::vector<Value>(Graph&, Values, std::vector<Value>)> epilogue;
  /// Nodes between input i and the operator; null: the inputs themselves.
  std::function<Value(Graph&, size_t, Value)> prologue;
  std::shared_ptr<const OperatorLibrary> library; // null: testLibrary()
  int outputs = -1;                               // how many results are asked for (-1: all)
};

struct GroupResult {
  std::vector<TensorType> types;
  std::vector<std::vector<double>> values;
  std::vector<std::vector<uint8_t>> bytes;
  std::string key;
  int64_t items = 0;
};

/// `pieces`: into how many calls the work items are cut, run last to first if `backwards`.
StatusOr<GroupResult> runGroup(const GroupProblem&, const Target&, int pieces = 1, bool backwards = false,
                               bool flushBegin = false);

/// matmul(cast(a, type of b), b) as one group: the cast happens while a is packed.
StatusOr<GroupResult> runGroupWithCast(const TestOperand& a, const TestOperand& b, const Target&);

std::shared_ptr<const OperatorLibrary> testLibrary();
/// Targets that this machine can run, by name; "x86-64-v4-bf16" comes as if its dot were fast.
std::vector<Target> runnableTargets();

double decode(DType, const uint8_t*);
void encode(DType, double, uint8_t*);
double roundTo(DType, double);

} // namespace tegula
