// KernelRun: guarded memory around compiled groups.
#include "KernelRun.h"

#include "../codegen/kernels/MappedImage.h"
#include "GuardedBuffer.h"
#include "compiler/matrix/CompileKernel.h"
#include "compiler/matrix/KernelScheduler.h"
#include <cstdlib>
#include <fstream>
#include <map>

namespace tegula {

namespace {

int64_t offsetOf(const Shape& shape, const Shape& strides, int64_t flat) {
  int64_t offset = 0;
  for (int d = shape.rank(); d-- > 0;) {
    offset += flat % shape[d] * strides[d];
    flat /= shape[d];
  }
  return offset;
}

int64_t footprint(const Shape& shape, const Shape& strides) {
  int64_t last = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 0) return 0;
    last += (shape[d] - 1) * std::max<int64_t>(strides[d], 0);
  }
  return last + 1;
}

struct CompiledKernel {
  CodeImage image;
  std::unique_ptr<MappedImage> mapped;
};

StatusOr<const CompiledKernel*> compiled(const KernelSource& source, const Target& target) {
  static std::map<std::string, CompiledKernel> cache;
  auto it = cache.find(source.key);
  if (it == cache.end()) {
    const auto& tileKernel = dynamic_cast<const matrix::TileKernelSource&>(source);
    matrix::KernelTexts texts;
    const char* dump = std::getenv("TEGULA_TEST_DUMP"); // folder for the texts of every stage
    TG_ASSIGN_OR_RETURN(CodeImage image, matrix::compileKernel(tileKernel, target, dump ? &texts : nullptr));
    if (dump)
      for (auto [stage, text] :
           std::initializer_list<std::pair<const char*, std::string*>>{{"schedule", &texts.schedule},
                                                                       {"tile", &texts.tile},
                                                                       {"mlir", &texts.stages.mlir},
                                                                       {"llvm", &texts.stages.llvm},
                                                                       {"asm", &texts.stages.assembly}})
        std::ofstream(fmt::format("{}/{}-{}.{}", dump, source.name, cache.size(), stage)) << *text;
    it = cache.emplace(source.key, CompiledKernel{std::move(image), nullptr}).first;
    it->second.mapped = std::make_unique<MappedImage>(it->second.image.bytes);
  }
  if (!it->second.mapped->kernel()) return internal("the image does not map");
  return &it->second;
}

} // namespace

double decode(DType d, const uint8_t* p) {
  auto as = [&]<typename T>(T) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (d) {
  case DType::Bool:
    return *p != 0;
  case DType::BF16:
    return f32FromBf16(as(uint16_t{}));
  case DType::F32:
    return as(float{});
  case DType::F64:
    return as(double{});
  case DType::I64:
    return static_cast<double>(as(int64_t{}));
  default:
    std::abort();
  }
}

void encode(DType d, double v, uint8_t* p) {
  auto put = [&](auto x) { std::memcpy(p, &x, sizeof x); };
  switch (d) {
  case DType::Bool:
    return put(static_cast<uint8_t>(v != 0));
  case DType::BF16:
    return put(bf16FromF64(v));
  case DType::F32:
    return put(static_cast<float>(v));
  case DType::F64:
    return put(v);
  case DType::I64:
    return put(static_cast<int64_t>(v));
  default:
    std::abort();
  }
}

double roundTo(DType d, double v) {
  uint8_t bytes[8] = {};
  encode(d, v, bytes);
  return decode(d, bytes);
}

double TestOperand::at(std::initializer_list<int64_t> index) const {
  int64_t flat = 0;
  int d = 0;
  for (int64_t i : index) flat = flat * type.shape[d++] + i;
  return values[static_cast<size_t>(flat)];
}

TestOperand randomOperand(std::mt19937_64& random, DType dtype, const Shape& shape, double scale) {
  TestOperand t;
  t.type = {dtype, shape};
  t.strides = rowMajorStrides(shape);
  std::uniform_real_distribution<double> uniform(-scale, scale);
  for (int64_t i = 0; i < shape.elements(); ++i)
    t.values.push_back(roundTo(dtype, dtype == DType::Bool ? uniform(random) > 0 : uniform(random)));
  return t;
}

TestOperand layTransposed(TestOperand t) {
  int r = t.type.shape.rank();
  Shape swapped = t.type.shape;
  std::swap(swapped[r - 1], swapped[r - 2]);
  t.strides = rowMajorStrides(swapped);
  std::swap(t.strides[r - 1], t.strides[r - 2]);
  return t;
}

TestOperand layExpanded(TestOperand t, int axis) {
  const Shape& shape = t.type.shape;
  Shape one = shape;
  one[axis] = 1;
  t.strides = rowMajorStrides(one);
  t.strides[axis] = 0;
  Shape strides = rowMajorStrides(shape);
  for (int64_t i = 0; i < shape.elements(); ++i) {
    int64_t index = i / strides[axis] % shape[axis];
    t.values[static_cast<size_t>(i)] = t.values[static_cast<size_t>(i - index * strides[axis])];
  }
  return t;
}

StatusOr<GroupResult> runGroup(const GroupProblem& problem, const Target& target, int pieces, bool backwards,
                               bool flushBegin) {
  std::shared_ptr<const OperatorLibrary> library = problem.library ? problem.library : testLibrary();
  Group group{Graph(library), {}, {}, problem.op};
  std::vector<const TestOperand*> operands;
  std::map<const TestOperand*, Value> known; // one operand in two places is one input, as in a group of the compiler
  auto addInput = [&](const TestOperand* t) {
    if (!t) return Value{};
    if (auto it = known.find(t); it != known.end()) return it->second;
    operands.push_back(t);
    group.inputLayouts.push_back(Layout::strided(t->strides));
    return known[t] = group.body.addInput(std::string_view(fmt::format("x{}", operands.size())), t->type);
  };
  std::vector<Value> inputs, extra;
  for (const TestOperand* t : problem.inputs) inputs.push_back(addInput(t));
  if (problem.prologue)
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = problem.prologue(group.body, i, inputs[i]);
  for (const TestOperand* t : problem.extra) extra.push_back(addInput(t));
  TG_ASSIGN_OR_RETURN(Values results, group.body.addOperator(std::string_view(problem.op), inputs, problem.attributes));
  if (problem.epilogue)
    group.body.outputs() = problem.epilogue(group.body, results, extra);
  else
    group.body.outputs().assign(results.begin(),
                                problem.outputs < 0 ? results.end() : results.begin() + problem.outputs);
  GroupResult result;
  for (Value v : group.body.outputs()) {
    result.types.push_back(group.body.typeOf(v));
    group.outputLayouts.push_back(Layout::rowMajor(group.body.typeOf(v).shape));
  }
  matrix::KernelScheduler scheduler(target, library);
  TG_ASSIGN_OR_RETURN(GroupSchedule schedule, scheduler.schedule(group));
  const GroupDispatch& d = schedule.dispatches[0];
  TG_ASSIGN_OR_RETURN(const CompiledKernel* kernel, compiled(*d.kernel, target));

  auto flush = flushBegin ? GuardedBuffer::Flush::Begin : GuardedBuffer::Flush::End;
  std::vector<std::unique_ptr<GuardedBuffer>> in, out;
  for (const TestOperand* t : operands) {
    int64_t size = sizeBytes(t->type.dtype);
    in.push_back(std::make_unique<GuardedBuffer>(footprint(t->type.shape, t->strides) * size, flush));
    for (int64_t i = 0; i < t->type.shape.elements(); ++i)
      encode(t->type.dtype, t->values[static_cast<size_t>(i)],
             in.back()->data() + offsetOf(t->type.shape, t->strides, i) * size);
  }
  for (const TensorType& t : result.types) out.push_back(std::make_unique<GuardedBuffer>(t.sizeBytes(), flush));
  std::vector<void*> bindings;
  for (OperandRef r : d.bindings)
    bindings.push_back((r.kind == OperandRef::Kind::Input ? in : out)[static_cast<size_t>(r.index)]->data());
  auto scalars = d.scalars;
  GuardedBuffer scratch(d.scratchBytes,
                        GuardedBuffer::Flush::Begin); // page aligned; a multiple of a line, so nearly flush
  for (int p = 0; p < pieces; ++p) {
    int piece = backwards ? pieces - 1 - p : p;
    int64_t begin = d.items * piece / pieces, end = d.items * (piece + 1) / pieces;
    if (begin < end) kernel->mapped->kernel()(bindings.data(), scalars.data(), begin, end, scratch.data());
  }
  for (size_t o = 0; o < out.size(); ++o) {
    int64_t size = sizeBytes(result.types[o].dtype), count = result.types[o].shape.elements();
    result.bytes.emplace_back(out[o]->data(), out[o]->data() + count * size);
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(decode(result.types[o].dtype, out[o]->data() + i * size));
    result.values.push_back(std::move(values));
  }
  result.key = d.kernel->key;
  result.items = d.items;
  return result;
}

StatusOr<GroupResult> runGroupWithCast(const TestOperand& a, const TestOperand& b, const Target& target) {
  GroupProblem problem{"matmul", {}, {&a, &b}, {}, nullptr};
  problem.prologue = [&](Graph& g, size_t input, Value v) {
    if (input == 1) return v;
    auto cast = g.addPrimitive("cast", {{v}}, {{"dtype", b.type.dtype}});
    return cast.ok() ? (*cast)[0] : v;
  };
  return runGroup(problem, target);
}

std::shared_ptr<const OperatorLibrary> testLibrary() {
  static const std::shared_ptr<const OperatorLibrary> library = [] {
    auto loaded = OperatorLibrary::loadEmbedded();
    if (!loaded.ok()) {
      fmt::print(stderr, "{}\n", message(loaded.status()));
      std::abort();
    }
    return *loaded;
  }();
  return library;
}

std::vector<Target> runnableTargets() {
  std::vector<Target> targets;
  for (const std::string& name : targetNames()) {
    auto t = detectTarget(name);
    if (!t.ok()) continue; // this processor cannot run it
    if (t->bf16Dot) t->f32FlopsPerSecond = 1e11, t->bf16FlopsPerSecond = 2e11;
    targets.push_back(*t);
  }
  return targets;
}

} // namespace tegula
