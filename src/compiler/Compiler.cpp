// The compiler: groups go to the family that computes them (tile kernels of library operators: matrix/; everything
// else: loop/), kernels to the code generator.
#include "compiler/Compiler.h"

#include "compiler/SourceHash.h"
#include "compiler/codegen/PeakKernel.h"
#include "compiler/codegen/Pipeline.h"
#include "compiler/loop/LoopGroups.h"
#include "compiler/matrix/CompileKernel.h"
#include "compiler/matrix/KernelScheduler.h"
#include "graph/passes/Passes.h"
#include "llvm/Config/llvm-config.h"

#include <algorithm>

namespace tegula {
namespace {

/// Images of other versions are not used: this compiler's sources and the LLVM it was built with.
const std::string& codeVersion() {
  static const std::string version = fmt::format("tegula-code-{} llvm-" LLVM_VERSION_STRING, compilerSourceHash());
  return version;
}

struct StageName {
  std::string_view name;
  Stage stage;
};
constexpr StageName kStages[] = {{"source", Stage::Source},     {"pattern", Stage::Pattern}, {"graph", Stage::Graph},
                                 {"schedule", Stage::Schedule}, {"tile", Stage::Tile},       {"mlir", Stage::Mlir},
                                 {"llvm", Stage::Llvm},         {"asm", Stage::Asm}};

bool holdsOperator(const Graph& g) {
  for (const Node& n : g.nodes())
    if (n.kind == Node::Kind::Operator) return true;
  return false;
}

class MlirCompiler final : public Compiler {
public:
  MlirCompiler(Target target, std::shared_ptr<const OperatorLibrary> library)
      : target_(std::move(target)), kernels_(target_, std::move(library)) {}

  // ------------------------------------------------------------------------------------------------------ TargetModel
  bool keepsWhole(const Graph& g, const Node& node) const override { return kernels_.keepsWhole(g, node); }

  std::string whyNotKernel(const Graph& g, const Node& node) const override { return kernels_.whyNotWhole(g, node); }

  std::string whyNotFuse(const Graph& g, std::span<const int32_t> nodes) const override {
    for (int32_t n : nodes)
      if (g.node(n).kind == Node::Kind::Operator) return kernels_.whyNotFuse(g, nodes);
    return loop::whyNotFuse(g, nodes);
  }

  bool acceptsStrides(const Graph& g, int32_t node, int input, const Shape& shape,
                      const Shape& strides) const override {
    if (g.node(node).kind == Node::Kind::Operator) return kernels_.acceptsStrides(g, node, input, shape, strides);
    return true; // loop kernels read through any strides
  }

  bool writesStrides(const Graph& g, int32_t node, int result, const Shape& shape,
                     const Shape& strides) const override {
    const Node& n = g.node(node);
    if (n.kind == Node::Kind::Operator) return kernels_.writesStrides(g, node, result, shape, strides);
    if (n.kind != Node::Kind::Primitive || n.op == Symbol("reshape") || n.op == Symbol("relayout")) return false;
    int last = shape.rank() - 1; // along another stride every vector would be scattered
    return last < 0 || shape[last] == 1 || strides[last] == 1;
  }

  Layout preferredLayout(const Graph& g, int32_t node, int input) const override {
    if (g.node(node).kind == Node::Kind::Operator) return kernels_.preferredLayout(g, node, input);
    return Layout::rowMajor(g.typeOf(g.node(node).inputs[static_cast<size_t>(input)]).shape);
  }

  StatusOr<GroupSchedule> schedule(const Group& group) const override {
    for (const Node& node : group.body.nodes())
      for (const TensorType& type : node.results)
        if (type.dtype == DType::F8E4M3 || type.dtype == DType::F8E5M2)
          return unsupported("{}: this compiler does not compute in {} yet; cast to bf16, f16 or f32", node.op.text(),
                             name(type.dtype));
    return holdsOperator(group.body) ? kernels_.schedule(group) : loop::schedule(group, target_, axisMemory_);
  }

  bool fastBf16Dot() const override { return target_.bf16DotIsFast(); }

  // --------------------------------------------------------------------------------------------------------- Compiler
  const Target& target() const override { return target_; }
  std::string_view version() const override { return codeVersion(); }

  StatusOr<CodeImage> compile(const KernelSource& source) const override {
    if (auto* s = dynamic_cast<const loop::LoopSource*>(&source)) return loop::compile(*s, target_);
    if (auto* s = dynamic_cast<const matrix::TileKernelSource*>(&source)) return matrix::compileKernel(*s, target_);
    if (auto* s = dynamic_cast<const PeakKernelSource*>(&source)) return compilePeakKernel(*s, target_);
    return internal("kernel {} is of a kind that this compiler did not make", source.name);
  }

  StatusOr<std::string> show(const KernelSource& source, Stage stage) const override {
    matrix::KernelTexts texts;
    if (auto* s = dynamic_cast<const loop::LoopSource*>(&source)) {
      if (stage == Stage::Pattern) return loop::patternText(s->kernel);
      if (stage == Stage::Schedule) return loop::scheduleText(s->kernel) + "\n";
      TG_RETURN_IF_ERROR(loop::compile(*s, target_, &texts.tile, &texts.stages).status());
    } else if (auto* s = dynamic_cast<const matrix::TileKernelSource*>(&source)) {
      TG_RETURN_IF_ERROR(matrix::compileKernel(*s, target_, &texts).status());
    } else if (auto* s = dynamic_cast<const PeakKernelSource*>(&source)) {
      TG_RETURN_IF_ERROR(compilePeakKernel(*s, target_, &texts.stages).status());
    }
    switch (stage) {
    case Stage::Schedule:
      return texts.schedule;
    case Stage::Tile:
      return texts.tile;
    case Stage::Mlir:
      return texts.stages.mlir;
    case Stage::Llvm:
      return texts.stages.llvm;
    case Stage::Asm:
      return texts.stages.assembly;
    default:
      return invalid("stage {} is not the compiler's; ask for schedule, tile, mlir, llvm or asm",
                     kStages[static_cast<int>(stage)].name);
    }
  }

  StatusOr<KernelRef> peakKernel(DType operand, double& flopsPerItem) const override {
    TG_ASSIGN_OR_RETURN(auto source, makePeakKernel(target_, operand));
    flopsPerItem = source->flopsPerItem;
    return KernelRef(std::move(source));
  }

private:
  Target target_;
  matrix::KernelScheduler kernels_;
  mutable loop::AxisMemory axisMemory_;
};

} // namespace

StatusOr<Stage> parseStage(std::string_view text) {
  std::string known;
  for (const StageName& s : kStages) {
    if (s.name == text) return s.stage;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", s.name);
  }
  return invalid("there is no stage {}; stages are {}", text, known);
}

StatusOr<std::unique_ptr<Compiler>> Compiler::create(Target target, std::shared_ptr<const OperatorLibrary> library) {
  if (target.vectorBytes < 16)
    return invalid("target {} has vectors of {} bytes; at least 16 are needed", target.name, target.vectorBytes);
  return std::make_unique<MlirCompiler>(std::move(target), std::move(library));
}

StatusOr<std::vector<std::string>> unusedKernels(const Graph& g, const Compiler& compiler) {
  std::vector<std::string> lines;
  auto keeps = [&](const Graph& in, const Node& n) {
    const OperatorInfo* info = in.library().find(n.op);
    if (!info || !info->hasKernel) return false;
    std::string why = compiler.whyNotKernel(in, n);
    if (why.empty()) return true;
    std::string line = fmt::format("{}'s tile kernel is not used: {}", n.op.text(), why);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    return false;
  };
  TG_RETURN_IF_ERROR(decompose(g, keeps).status());
  return lines;
}

} // namespace tegula
