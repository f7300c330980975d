// bench_gemm: GEMM as the compiler makes it, packing included, on one thread, as a fraction of the FMA peak that the
// same core reaches in the same moment: a peak kernel runs for half as long before and after every product, and the
// ratio is to the mean rate of the two. Printed are the median of the ratios, and the best product against the best
// peak.
//
//   bench_gemm              1024 x 1024 x 1024 in f32, f32 with transposed operands, and bf16
//   bench_gemm M N K [reps]
#include "../../tests/codegen/kernels/MappedImage.h"
#include "compiler/codegen/PeakKernel.h"
#include "compiler/matrix/CompileKernel.h"
#include "compiler/matrix/KernelScheduler.h"
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <sys/mman.h>

namespace tegula {
namespace {

constexpr size_t kHugePage = 2 << 20;

struct Memory {
  static size_t whole(int64_t bytes) { return (static_cast<size_t>(bytes) / kHugePage + 1) * kHugePage; }
  explicit Memory(int64_t bytes) : data(static_cast<uint8_t*>(std::aligned_alloc(kHugePage, whole(bytes)))) {
    madvise(data, whole(bytes), MADV_HUGEPAGE); // as the cpu backend does
    std::memset(data, 0, static_cast<size_t>(bytes));
  }
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
  uint8_t* data;
};

/// Processor time of this thread: on a shared machine other work does not count.
double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const std::function<void()>& work) {
  double start = now();
  work();
  return now() - start;
}

struct Peak {
  std::unique_ptr<MappedImage> image;
  double flopsPerItem = 0;
  /// Flops per second of a window of about so many flops.
  double rate(double flops) const {
    Memory out(4096);
    void* bindings[] = {out.data};
    int64_t items = std::max<int64_t>(1, static_cast<int64_t>(flops / flopsPerItem));
    double s = seconds([&] { image->kernel()(bindings, nullptr, 0, items, nullptr); });
    return static_cast<double>(items) * flopsPerItem / s;
  }
};

struct Case {
  const char* label;
  DType dtype;
  bool transposeA, transposeB;
};

/// One product, compiled and with its operands, and what was measured of it so far.
class Product {
public:
  static StatusOr<std::unique_ptr<Product>> create(const Case& c, int64_t m, int64_t n, int64_t k, const Target& target,
                                                   const std::shared_ptr<const OperatorLibrary>& library);
  void measure(const Peak& peak);
  void print();

private:
  Product(const Case& c, int64_t m, int64_t n, int64_t k, GroupDispatch dispatch, const CodeImage& image)
      : case_(c), m_(m), n_(n), k_(k), dispatch_(std::move(dispatch)), image_(image.bytes),
        a_(m * k * sizeBytes(c.dtype)), b_(k * n * sizeBytes(c.dtype)), c_(m * n * sizeBytes(c.dtype)),
        scratch_(dispatch_.scratchBytes) {
    fill(a_, m * k);
    fill(b_, k * n);
    void* operands[] = {a_.data, b_.data};
    for (OperandRef r : dispatch_.bindings)
      bindings_.push_back(r.kind == OperandRef::Kind::Input ? operands[r.index] : c_.data);
  }
  void fill(Memory& x, int64_t count) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < count; ++i) {
      float v = uniform(random_);
      uint16_t narrow = bf16FromF32(v);
      if (case_.dtype == DType::BF16)
        std::memcpy(x.data + 2 * i, &narrow, 2);
      else
        std::memcpy(x.data + 4 * i, &v, 4);
    }
  }

  Case case_;
  int64_t m_, n_, k_;
  GroupDispatch dispatch_;
  MappedImage image_;
  Memory a_, b_, c_, scratch_;
  std::mt19937 random_{1};
  std::vector<void*> bindings_;
  std::vector<double> ratios_, rates_, peaks_;
};

StatusOr<std::unique_ptr<Product>> Product::create(const Case& c, int64_t m, int64_t n, int64_t k, const Target& target,
                                                   const std::shared_ptr<const OperatorLibrary>& library) {
  Group group{Graph(library), {}, {}, "gemm"};
  Value a = group.body.addInput("a", {c.dtype, {m, k}}), b = group.body.addInput("b", {c.dtype, {k, n}});
  TG_ASSIGN_OR_RETURN(Values result, group.body.addOperator("matmul", {{a, b}}, {}));
  group.body.outputs() = {result[0]};
  group.inputLayouts = {Layout::strided(c.transposeA ? Shape{1, m} : Shape{k, 1}),
                        Layout::strided(c.transposeB ? Shape{1, k} : Shape{n, 1})};
  group.outputLayouts = {Layout::rowMajor({m, n})};
  matrix::KernelScheduler scheduler(target, library);
  TG_ASSIGN_OR_RETURN(GroupSchedule schedule, scheduler.schedule(group));
  GroupDispatch& d = schedule.dispatches[0];
  const auto& source = dynamic_cast<const matrix::TileKernelSource&>(*d.kernel);
  TG_ASSIGN_OR_RETURN(CodeImage image, matrix::compileKernel(source, target));
  return std::unique_ptr<Product>(new Product(c, m, n, k, std::move(d), image));
}

/// Once, between two runs of the peak kernel.
void Product::measure(const Peak& peak) {
  const GroupDispatch& d = dispatch_;
  double before = peak.rate(d.flops / 2);
  double s = seconds([&] { image_.kernel()(bindings_.data(), d.scalars.data(), 0, d.items, scratch_.data); });
  peaks_.push_back((before + peak.rate(d.flops / 2)) / 2);
  rates_.push_back(d.flops / s);
  ratios_.push_back(rates_.back() / peaks_.back());
}

void Product::print() {
  for (auto* v : {&ratios_, &rates_, &peaks_}) std::sort(v->begin(), v->end());
  size_t mid = ratios_.size() / 2;
  fmt::print(
      "{:<16} {}x{}x{}: median {:.1f}% of the FMA peak (best of each {:.1f}%); medians {:.1f} of {:.1f} GFLOP/s, "
      "{} items, scratch {} KiB\n",
      case_.label, m_, n_, k_, 100 * ratios_[mid], 100 * rates_.back() / peaks_.back(), rates_[mid] * 1e-9,
      peaks_[mid] * 1e-9, dispatch_.items, dispatch_.scratchBytes >> 10);
}

Status run(int argc, char** argv) {
  int64_t m = argc > 3 ? std::atoll(argv[1]) : 1024, n = argc > 3 ? std::atoll(argv[2]) : 1024,
          k = argc > 3 ? std::atoll(argv[3]) : 1024;
  int repetitions = argc > 4 ? std::atoi(argv[4]) : 100;
  TG_ASSIGN_OR_RETURN(Target target, detectTarget());
  target.threads = 1;
  TG_ASSIGN_OR_RETURN(auto library, OperatorLibrary::loadEmbedded());
  TG_ASSIGN_OR_RETURN(auto source, makePeakKernel(target, DType::F32));
  TG_ASSIGN_OR_RETURN(CodeImage image, compilePeakKernel(*source, target));
  Peak peak{std::make_unique<MappedImage>(image.bytes), source->flopsPerItem};
  fmt::print("{}: peak {:.1f} GFLOP/s in f32\n", target.name, peak.rate(2e9) * 1e-9);
  std::vector<std::unique_ptr<Product>> products;
  for (const Case& c : {Case{"f32", DType::F32, false, false}, Case{"f32 a^T", DType::F32, true, false},
                        Case{"f32 b^T", DType::F32, false, true}, Case{"bf16", DType::BF16, false, false}}) {
    TG_ASSIGN_OR_RETURN(auto product, Product::create(c, m, n, k, target, library));
    products.push_back(std::move(product));
  }
  // In turns over some seconds, so that whatever else the machine does for one of them meets all products alike.
  for (int i = 0; i < repetitions; ++i)
    for (auto& product : products) product->measure(peak);
  for (auto& product : products) product->print();
  return OkStatus();
}

} // namespace
} // namespace tegula

int main(int argc, char** argv) {
  tegula::Status s = tegula::run(argc, argv);
  if (s.ok()) return 0;
  fmt::print(stderr, "bench_gemm: {}\n", tegula::message(s));
  return 1;
}
