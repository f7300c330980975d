// LoopRun: guarded memory around compiled loop groups.
#include "LoopRun.h"

#include "../codegen/kernels/MappedImage.h"
#include "../matrix/GuardedBuffer.h"
#include "compiler/loop/LoopGroups.h"
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

namespace tegula::test {
namespace {

struct Compiled {
  CodeImage image;
  std::unique_ptr<MappedImage> mapped;
};

StatusOr<tg_cpu_kernel_fn> kernelOf(const KernelSource& source, const Target& target) {
  static std::map<std::string, Compiled> cache;
  auto [it, isNew] = cache.try_emplace(source.key);
  if (isNew) {
    std::string tile;
    StageTexts texts;
    const char* dump = std::getenv("TEGULA_TEST_DUMP"); // folder for the texts of every stage
    TG_ASSIGN_OR_RETURN(it->second.image, loop::compile(dynamic_cast<const loop::LoopSource&>(source), target,
                                                        dump ? &tile : nullptr, dump ? &texts : nullptr));
    if (dump)
      for (auto [stage, text] :
           std::initializer_list<std::pair<const char*, const std::string*>>{{"key", &source.key},
                                                                             {"tile", &tile},
                                                                             {"mlir", &texts.mlir},
                                                                             {"llvm", &texts.llvm},
                                                                             {"asm", &texts.assembly}})
        std::ofstream(fmt::format("{}/{}-{}.{}", dump, cache.size(), source.name, stage)) << *text;
    it->second.mapped = std::make_unique<MappedImage>(it->second.image.bytes);
  }
  if (!it->second.mapped || !it->second.mapped->kernel()) return internal("{} does not map", source.name);
  return it->second.mapped->kernel();
}

int64_t footprint(const HostArray& a) {
  if (a.elements() == 0) return 0;
  int64_t last = 0;
  for (int i = 0; i < a.shape().rank(); ++i) last += (a.shape()[i] - 1) * a.strides()[i];
  return (last + 1) * sizeBytes(a.dtype());
}

} // namespace

const std::vector<Target>& loopTargets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> runnable;
    for (const char* name : {"x86-64-v3", "x86-64-v4"})
      if (auto t = detectTarget(name); t.ok()) runnable.push_back(*t);
    return runnable;
  }();
  return targets;
}

HostArray randomArray(DType d, const Shape& shape, uint32_t seed, int64_t low, int64_t high) {
  HostArray a = HostArray::zeros(d, shape);
  std::mt19937 random(seed);
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (isFloat(d))
      a.set(i, static_cast<double>(random()) / 4294967296.0 * 4 - 2);
    else if (d == DType::Bool)
      a.setInt(i, random() & 1);
    else
      a.setInt(i, low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low)));
  }
  return a;
}

Value call(GraphBuilder& b, Symbol op, std::initializer_list<Value> inputs, const Attributes& attrs) {
  auto results = b.primitive(op, std::span<const Value>(inputs.begin(), inputs.size()), attrs);
  if (!results.ok()) throw std::runtime_error(std::string(message(results.status())));
  return (*results)[0];
}

Value broadcastTo(GraphBuilder& b, Value x, const Shape& shape, const Shape& axes) {
  return call(b, "broadcast", {x}, {{"shape", shape}, {"axes", axes}});
}

double roundoff(DType d) {
  switch (d) {
  case DType::BF16:
    return std::ldexp(1, -8);
  case DType::F16:
    return std::ldexp(1, -11);
  case DType::F64:
    return std::ldexp(1, -53);
  default:
    return std::ldexp(1, -24);
  }
}

Group makeGroup(const LoopCase& c) {
  Group group{Graph(nullptr), {}, {}, "test"};
  std::vector<Value> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(group.body.addInput(Symbol(fmt::format("x{}", i)), c.inputs[i].type()));
    group.inputLayouts.push_back(Layout::strided(c.inputs[i].strides()));
  }
  GraphBuilder builder(group.body);
  for (Value v : c.build(builder, inputs)) {
    group.body.outputs().push_back(v);
    group.outputLayouts.push_back(Layout::rowMajor(group.body.typeOf(v).shape));
  }
  return group;
}

namespace {

/// Runs a group whose results have these types in memory.
StatusOr<std::vector<HostArray>> runGroup(const LoopCase& c, const Group& group, std::span<const TensorType> types,
                                          const Target& target, Calls calls, loop::AxisMemory* memory = nullptr) {
  loop::AxisMemory fresh;
  TG_ASSIGN_OR_RETURN(GroupSchedule schedule, loop::schedule(group, target, memory ? *memory : fresh));
  auto flush = calls == Calls::Whole ? GuardedBuffer::Flush::End : GuardedBuffer::Flush::Begin;
  std::vector<std::unique_ptr<GuardedBuffer>> inputs, outputs, temporaries;
  for (const HostArray& a : c.inputs) {
    inputs.push_back(std::make_unique<GuardedBuffer>(footprint(a), flush));
    std::memcpy(inputs.back()->data(), a.data(), static_cast<size_t>(footprint(a)));
  }
  for (const TensorType& t : types) outputs.push_back(std::make_unique<GuardedBuffer>(t.sizeBytes(), flush));
  for (int64_t bytes : schedule.temporaryBytes) temporaries.push_back(std::make_unique<GuardedBuffer>(bytes, flush));
  auto outputAt = [&](size_t i) {
    return c.inPlace.empty() || c.inPlace[i] < 0 ? outputs[i]->data()
                                                 : inputs[static_cast<size_t>(c.inPlace[i])]->data();
  };
  for (const GroupDispatch& d : schedule.dispatches) {
    TG_ASSIGN_OR_RETURN(tg_cpu_kernel_fn kernel, kernelOf(*d.kernel, target));
    std::vector<void*> bindings;
    for (OperandRef ref : d.bindings) {
      auto i = static_cast<size_t>(ref.index);
      bindings.push_back(ref.kind == OperandRef::Kind::Input    ? inputs[i]->data()
                         : ref.kind == OperandRef::Kind::Output ? outputAt(i)
                                                                : temporaries[i]->data());
    }
    GuardedBuffer scratch(d.scratchBytes, GuardedBuffer::Flush::Begin);
    if (calls == Calls::Whole)
      kernel(bindings.data(), d.scalars.data(), 0, d.items, scratch.data());
    else
      for (int64_t i = d.items - 1; i >= 0; --i) kernel(bindings.data(), d.scalars.data(), i, i + 1, scratch.data());
  }
  std::vector<HostArray> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    HostArray a(types[i]);
    std::memcpy(a.data(), outputAt(i), static_cast<size_t>(a.type().sizeBytes()));
    results.push_back(a);
  }
  return results;
}

} // namespace

StatusOr<std::vector<HostArray>> runLoops(const LoopCase& c, const Target& target, Calls calls,
                                          loop::AxisMemory* memory) {
  Group group = makeGroup(c);
  std::vector<TensorType> types;
  for (Value v : group.body.outputs()) types.push_back(group.body.typeOf(v));
  return runGroup(c, group, types, target, calls, memory);
}

StatusOr<HostArray> runRelayout(const LoopCase& c, const Target& target, int64_t elements) {
  Group group = makeGroup(c);
  const Attributes& attrs = group.body.nodes().back().attrs;
  group.outputLayouts[0] =
      Layout::blocked(static_cast<int>(attrs.getInt("panel_axis")), static_cast<int>(attrs.getInt("panel")),
                      static_cast<int>(attrs.getInt("pair")));
  TensorType packed{group.body.typeOf(group.body.outputs()[0]).dtype, {elements}};
  TG_ASSIGN_OR_RETURN(std::vector<HostArray> results, runGroup(c, group, {&packed, 1}, target, Calls::Whole));
  return results[0];
}

std::string keyAt(const LoopCase& c, const Target& target) {
  static loop::AxisMemory memory;
  auto schedule = loop::schedule(makeGroup(c), target, memory);
  return schedule.ok() ? schedule->dispatches[0].kernel->key : std::string(message(schedule.status()));
}

namespace {

std::string difference(const HostArray& got, const HostArray& want, double relative) {
  for (int64_t i = 0; i < got.elements(); ++i) {
    bool same;
    if (isFloat(got.dtype())) {
      double g = got.get(i), w = want.get(i);
      same = std::isnan(w) ? std::isnan(g) : g == w || std::fabs(g - w) <= relative * std::max(1.0, std::fabs(w));
      if (std::isinf(w) && !same && relative > 0) same = std::fabs(g) > 1e30 && (g > 0) == (w > 0);
    } else {
      same = got.getInt(i) == want.getInt(i);
    }
    if (!same)
      return fmt::format("element {} of {}: got {}, want {} (within {})", i, got.elements(), got.get(i), want.get(i),
                         relative);
  }
  return "";
}

} // namespace

void expectLoops(const LoopCase& c, double relative, std::string_view line) {
  Group group = makeGroup(c);
  auto want = evaluate(group.body, c.inputs, relative > 0 ? Precision::Wide : Precision::AsStated);
  ASSERT_TRUE(want.ok()) << line << ": " << message(want.status());
  for (const Target& target : loopTargets()) {
    auto got = runLoops(c, target, Calls::Whole), single = runLoops(c, target, Calls::OneByOneBackwards);
    ASSERT_TRUE(got.ok()) << line << " on " << target.name << ": " << message(got.status());
    ASSERT_TRUE(single.ok()) << line << ": " << message(single.status());
    for (size_t i = 0; i < got->size(); ++i) {
      std::string why = difference((*got)[i], want->outputs[i], relative);
      EXPECT_EQ(why, "") << line << " on " << target.name << ", result " << i;
      auto a = (*got)[i].bytes(), b = (*single)[i].bytes();
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()))
          << line << " on " << target.name << ": depends on how items are called";
    }
  }
}

} // namespace tegula::test
