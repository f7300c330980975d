// A session: one device, one recorder, its plan cache and kernel cache. The face of `runtime` for models and training.
#pragma once

#include "base/Status.h"
#include "graph/Plan.h"
#include "runtime/Tensor.h"
#include <memory>
#include <string>

namespace tegula {

class Compiler;
class Recorder;
struct Target;

constexpr int kMostThreads = 4096; // of a session, as of the cpu backend

struct SessionOptions {
  std::string device = "cpu"; // backend name, or path of a plugin
  std::string target;         // empty: detected, or TEGULA_TARGET
  int threads = 0;            // 0: TEGULA_THREADS, else the cores this process may use
  PrecisionPolicy precision;
  enum class Fallback { Error, Host } fallback = Fallback::Error;
  std::string cacheFolder; // empty: TEGULA_CACHE, else $XDG_CACHE_HOME/tegula, else ~/.cache/tegula
  int64_t cacheLimitBytes = int64_t(1) << 30;
  int64_t memoryLimitBytes = 0; // of all device buffers; 0: what the device has
  bool checkArena = false;      // inspect the arena after every run (slow): also TEGULA_CHECK_ARENA=1
};

struct SessionStats {
  int64_t plansMade = 0, kernelsCompiled = 0, kernelsFromCache = 0, kernelsReference = 0;
  int64_t distinctKernels = 0; // of the last plan evaluated
  int64_t arenaBytes = 0, stateBytes = 0, peakBytes = 0;
  int64_t arenaUsedBytes = 0; // of the last checked run: highest byte written, and one
  double planFlops = 0;       // matrix-product flops of the last plan evaluated
};

class Session {
public:
  static StatusOr<std::unique_ptr<Session>> create(const SessionOptions&);
  /// With a compiler and operators of the caller (test doubles, several sessions on one library). Not calibrated;
  /// `compiler` may be null, then everything needs Fallback::Host.
  static StatusOr<std::unique_ptr<Session>> create(const SessionOptions&, std::shared_ptr<const OperatorLibrary>,
                                                   std::unique_ptr<Compiler> compiler);
  ~Session();

  /// Data for one evaluation: copied into a device buffer when a plan that uses it runs. The array must stay unchanged
  /// until then.
  Tensor input(const HostArray&);
  /// A host scalar that may differ at every step (learning rate, step); never part of a plan's key.
  /// An integer type must hold it.
  Tensor scalar(double value, DType = DType::F32);
  /// An attribute-like constant, part of the plan's key. An integer type must hold it.
  Tensor constant(double value, DType = DType::F32);

  /// State: a persistent buffer, initialised from `initial`; where there is no memory for it, evaluate() says so.
  /// `read` records a use of it, `assign` its only mutation.
  int32_t addState(std::string name, const HostArray& initial);
  int32_t addState(std::string name, const TensorType&); // of zeros
  Tensor read(int32_t state);
  void assign(int32_t state, const Tensor& value);
  StatusOr<HostArray> fetchState(int32_t state);
  Status storeState(int32_t state, const HostArray&);
  const std::string& stateName(int32_t state) const;

  /// Module path prefix of what is recorded from here on ("layers.0"); see Scope.
  void pushScope(std::string_view name);
  void popScope();
  /// A number for a random primitive recorded here: a hash of the module path and of how many were asked for at it in
  /// this recording, so that it is the same at every step, on every rank and for any number of threads.
  int64_t randomStream();

  /// Runs one plan for `results` and all pending assignments, then starts a new recording; `results` can be read
  /// until the next evaluate(). What neither needs is not computed.
  /// Fails: the first recording error; a plan that does not fit; a kernel that cannot be compiled.
  Status evaluate(std::span<const Tensor> results);
  /// The value of a result of the last evaluate().
  StatusOr<HostArray> value(const Tensor&);
  StatusOr<double> scalarValue(const Tensor&);

  /// The graph that evaluate(results) would run, for `graph dump` and tests. Ends the recording as evaluate() does.
  StatusOr<Graph> recordedGraph(std::span<const Tensor> results);

  const SessionStats& stats() const;
  const Plan* lastPlan() const;
  /// Runs the last plan `repeats` times with the inputs it has, each step alone, and gives the best time of each step
  /// in seconds. For profiles: states advance, and so do the results. Fails: the last evaluation ran on the host.
  StatusOr<std::vector<double>> stepSeconds(int repeats);
  /// "kernels: compiled 41, from cache 0, reference 0", counted since the session began
  std::string kernelLine() const;
  const Target& target() const;
  /// Fails: the device takes no code that is made here; it has operators of its own, or the host computes.
  StatusOr<const Compiler*> compiler() const;
  std::shared_ptr<const OperatorLibrary> library() const;
  /// FLOP/s of the whole device for matrix products in `compute` (runtime/Calibrate).
  StatusOr<double> peakFlops(DType compute);

  /// For the functions of Tensor.h.
  Recorder& recorder();

  struct Impl;

private:
  friend class Tensor;
  explicit Session(std::unique_ptr<Impl>);
  static StatusOr<std::unique_ptr<Session>> finish(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

/// RAII module path: `Scope scope(session, "attention");`
class Scope {
public:
  Scope(Session& s, std::string_view name) : session_(s) { session_.pushScope(name); }
  ~Scope() { session_.popScope(); }
  Scope(const Scope&) = delete;

private:
  Session& session_;
};

} // namespace tegula
