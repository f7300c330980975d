// Test doubles of the compiler.
//
// A stub image jumps to a function of this process with one more argument: what a kernel "computes" can then be written
// in C++. Such an image is valid in this process only, so tests keep it in a cache folder of their own.
#pragma once

#include "../backend/TestImage.h"
#include "compiler/Compiler.h"
#include "graph/Evaluate.h"
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <unistd.h>

namespace tegula::test {

using HostKernel = void (*)(void* const* bindings, const int64_t* scalars, int64_t begin, int64_t end, void* scratch,
                            const void* data);

/// mov r9, data; mov rax, kernel; jmp rax
inline std::vector<uint8_t> stubImage(HostKernel kernel, const void* data) {
  std::vector<uint8_t> image = addImage();
  tg_cpu_image_header h;
  std::memcpy(&h, image.data(), sizeof(h));
  uint8_t code[22] = {0x49, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  std::memcpy(code + 2, &data, 8);
  std::memcpy(code + 12, &kernel, 8);
  h.code_bytes = sizeof(code);
  std::memcpy(image.data() + h.code_offset, code, sizeof(code));
  return sealed(h, std::move(image));
}

/// A folder of the test's own, removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    static std::atomic<int> count{0};
    path_ = std::filesystem::temp_directory_path() / fmt::format("tegula-runtime-{}-{}", getpid(), count++);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// Kernels with given images; counts compilations. Schedules nothing.
class ImageCompiler : public Compiler {
public:
  struct Source : KernelSource {
    std::vector<uint8_t> image;
    Status error;
  };
  static std::shared_ptr<Source> source(std::string key, std::vector<uint8_t> image) {
    auto s = std::make_shared<Source>();
    s->name = key;
    s->key = std::move(key);
    s->image = std::move(image);
    return s;
  }
  explicit ImageCompiler(std::string version = "test 1") : version_(std::move(version)) {
    target_.name = "test-target";
    target_.bf16Dot = true;
  }
  std::string whyNotKernel(const Graph&, const Node&) const override { return "the test double has none"; }
  bool keepsWhole(const Graph&, const Node&) const override { return false; }
  std::string whyNotFuse(const Graph&, std::span<const int32_t> nodes) const override {
    return nodes.size() > 1 ? "test" : "";
  }
  bool acceptsStrides(const Graph&, int32_t, int, const Shape&, const Shape&) const override { return false; }
  Layout preferredLayout(const Graph& g, int32_t node, int input) const override {
    return Layout::rowMajor(g.typeOf(g.node(node).inputs[input]).shape);
  }
  StatusOr<GroupSchedule> schedule(const Group&) const override {
    return unsupported("test compiler: it schedules nothing");
  }
  bool fastBf16Dot() const override { return false; }
  const Target& target() const override { return target_; }
  StatusOr<CodeImage> compile(const KernelSource& k) const override {
    ++compilations;
    const auto& s = static_cast<const Source&>(k);
    TG_RETURN_IF_ERROR(s.error);
    return CodeImage{s.image};
  }
  StatusOr<std::string> show(const KernelSource&, Stage) const override { return std::string(); }
  std::string_view version() const override { return version_; }
  StatusOr<KernelRef> peakKernel(DType operand, double& flopsPerItem) const override {
    static const int64_t f32Ns = 200, bf16Ns = 100;
    flopsPerItem = 1000;
    return KernelRef(source(fmt::format("peak {}", name(operand)),
                            stubImage(
                                [](void* const*, const int64_t*, int64_t begin, int64_t end, void*, const void* ns) {
                                  auto until =
                                      std::chrono::steady_clock::now() +
                                      std::chrono::nanoseconds((end - begin) * *static_cast<const int64_t*>(ns));
                                  while (std::chrono::steady_clock::now() < until) {
                                  }
                                },
                                operand == DType::BF16 ? &bf16Ns : &f32Ns)));
  }
  mutable std::atomic<int> compilations{0};

private:
  std::string version_;
  Target target_;
};

/// Runs every group by the reference evaluator, behind the real kernel interface: what a session does apart from code
/// generation can be tested with any graph.
class InterpretingCompiler final : public ImageCompiler {
public:
  using ImageCompiler::ImageCompiler;
  StatusOr<GroupSchedule> schedule(const Group& group) const override {
    auto source = std::make_shared<Interpreted>(group);
    source->key = toText(group.body);
    for (const Layout& l : group.inputLayouts) source->key += toString(l);
    for (const Layout& l : group.outputLayouts) source->key += toString(l);
    source->name = group.label;
    source->image = stubImage(&InterpretingCompiler::interpret, source.get());
    {
      // Images hold the source's address, and a loaded kernel outlives its plan's reference.
      std::lock_guard<std::mutex> lock(mutex_);
      kept_.push_back(source);
    }
    GroupSchedule s;
    GroupDispatch d;
    d.kernel = source;
    for (size_t i = 0; i < group.body.inputs().size(); ++i)
      d.bindings.push_back({OperandRef::Kind::Input, static_cast<int32_t>(i)});
    for (size_t i = 0; i < group.body.outputs().size(); ++i)
      d.bindings.push_back({OperandRef::Kind::Output, static_cast<int32_t>(i)});
    d.items = 1;
    s.dispatches.push_back(std::move(d));
    return s;
  }

private:
  struct Interpreted : Source {
    explicit Interpreted(const Group& g) : group(g) {}
    Group group;
  };
  static void interpret(void* const* bindings, const int64_t*, int64_t, int64_t, void*, const void* data) {
    const Group& g = static_cast<const Interpreted*>(data)->group;
    std::vector<HostArray> inputs;
    size_t next = 0;
    for (const Graph::Input& in : g.body.inputs()) {
      inputs.push_back(
          HostArray::wrap(g.body.node(in.node).results[0], g.inputLayouts[next].strides, bindings[next], nullptr));
      ++next;
    }
    auto result = evaluate(g.body, inputs);
    for (size_t i = 0; i < g.body.outputs().size(); ++i) {
      HostArray value = result->outputs[i].contiguous();
      std::memcpy(bindings[next + i], value.data(), value.type().sizeBytes());
    }
  }
  mutable std::mutex mutex_;
  mutable std::vector<KernelRef> kept_;
};

} // namespace tegula::test
