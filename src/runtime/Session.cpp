// Sessions: from a recording to a plan that was made before, or to a new one.
#include "runtime/Session.h"

#include "base/Hash.h"
#include "base/Log.h"
#include "runtime/Calibrate.h"
#include "runtime/Executable.h"
#include "tensor/Element.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

namespace tegula {
namespace {

/// A recording that was evaluated, and what it became. Compared field by field on a hit: a hash is not trusted.
struct CachedPlan {
  std::vector<RecordedNode> nodes;
  std::vector<Value> operands, results;
  std::vector<RecordedAssign> assigns;
  std::unique_ptr<Executable> executable;
  uint64_t lastUse = 0; // number of the evaluation

  bool matches(const Recording& r, const std::vector<Value>& wanted) const {
    return nodes == r.nodes && operands == r.operands && assigns == r.assigns && results == wanted;
  }
};

/// Plans kept at most: text generation and odd last batches make one for every set of extents, a training run needs a
/// handful.
constexpr size_t kMostPlans = 64;

uint64_t combine(uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15ull + (h >> 31); }

StatusOr<int> threadsFromEnvironment() {
  const char* text = std::getenv("TEGULA_THREADS");
  if (!text || !*text) return 0;
  int threads = 0;
  std::string_view view(text);
  auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), threads);
  if (error != std::errc() || end != view.data() + view.size() || threads < 1 || threads > kMostThreads)
    return invalid("TEGULA_THREADS: `{}` was found, expected a number from 1 to {}", view, kMostThreads);
  return threads;
}

} // namespace

struct Session::Impl {
  SessionOptions options;
  std::shared_ptr<const OperatorLibrary> library;
  std::unique_ptr<Compiler> compiler; // null: everything runs on the host
  Target target;
  std::string noCompiler; // why there is none
  Context context;
  std::unique_ptr<Recorder> recorder;
  std::vector<std::string> stateNames;
  absl::flat_hash_map<uint64_t, std::vector<std::unique_ptr<CachedPlan>>> plans;
  CachedPlan* last = nullptr;               // whose outputs can be read
  absl::flat_hash_map<int, HostArray> kept; // those of them that lay in a state which was stored since
  std::vector<Value> wanted;                // of the evaluation in progress, without repetitions; reused
  absl::flat_hash_map<uint32_t, std::pair<uint64_t, int64_t>> streams; // by scope: recording, count
  size_t planCount = 0;
  uint64_t evaluations = 0;
  SessionStats stats;
  std::unique_ptr<ImageStore> store;
  Status stateError; // a state that has no memory: nothing can be evaluated

  int32_t addState(std::string name, const TensorType&, const std::function<Status(Buffer&)>& write);
  Status open(std::shared_ptr<const Backend> backend);
  StatusOr<std::unique_ptr<Compiler>> compilerFor(const std::shared_ptr<const Backend>&);
  Status start(StatusOr<std::unique_ptr<Compiler>>);
  Status collectResults(std::span<const Tensor>);
  Status keepResultsIn(int32_t state);
  StatusOr<HostArray> result(int i) const;
  StatusOr<CachedPlan*> plan();
  void forgetOldestPlan();
  StatusOr<std::unique_ptr<Executable>> build(const Recording&);
  StatusOr<std::unique_ptr<Executable>> buildFallback(Graph, std::vector<InputBinding>, const Status& reason);
  StatusOr<std::unique_ptr<Executable>> buildPlan(const Graph&, std::vector<InputBinding>);
  void updateStats();
};

// ---- Creation

Status Session::Impl::open(std::shared_ptr<const Backend> backend) {
  if (options.threads == 0) {
    TG_ASSIGN_OR_RETURN(options.threads, threadsFromEnvironment());
  }
  TG_ASSIGN_OR_RETURN(context.device, Device::open(std::move(backend), 0, {.threads = options.threads}));
  TG_ASSIGN_OR_RETURN(context.queue, context.device->createQueue());
  context.limitBytes = options.memoryLimitBytes ? options.memoryLimitBytes : context.device->info().memoryBytes;
  const char* check = std::getenv("TEGULA_CHECK_ARENA");
  context.checkArena = options.checkArena || (check && *check && std::string_view(check) != "0");
  return OkStatus();
}

namespace {

/// Refuses a device that does not take what the compiler makes.
Status checkFormat(const Device& device, const Target& target) {
  if (device.takesFormat(target.codeFormat)) return OkStatus();
  return unsupported("device {}: it does not take code of format {}, which target {} has", device.backend().name(),
                     target.codeFormat, target.name);
}

} // namespace

StatusOr<std::unique_ptr<Compiler>> Session::Impl::compilerFor(const std::shared_ptr<const Backend>& backend) {
  TG_RETURN_IF_ERROR(checkFormat(*context.device, target));
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Compiler> unmeasured, Compiler::create(target, library));
  auto rates = calibrate(backend, *unmeasured, cacheFolder(options.cacheFolder));
  if (absl::IsInvalidArgument(rates.status())) return rates.status(); // TEGULA_RATES
  if (!rates.ok()) {
    logWarning("calibrate: {}: going on without measured rates (no MFU, no bf16 dot instruction)",
               message(rates.status()));
    return unmeasured;
  }
  target.f32FlopsPerSecond = rates->f32FlopsPerSecond;
  if (rates->bf16FlopsPerSecond > 0) target.bf16FlopsPerSecond = rates->bf16FlopsPerSecond;
  return Compiler::create(target, library);
}

/// Without a compiler there is the device's own operators, or the host where that is allowed.
Status Session::Impl::start(StatusOr<std::unique_ptr<Compiler>> made) {
  const Device& device = *context.device;
  store = std::make_unique<ImageStore>(cacheFolder(options.cacheFolder), options.cacheLimitBytes);
  if (made.ok()) {
    compiler = std::move(*made);
    target = compiler->target();
    int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    context.kernels =
        std::make_unique<KernelCache>(context.device, *compiler, *store, std::min(cores, device.info().threads));
  } else {
    if (!absl::IsUnimplemented(made.status())) return made.status();
    noCompiler = message(made.status());
    if (options.fallback == SessionOptions::Fallback::Error && !device.hasOperators())
      return unsupported("{}: run with fallback = \"host\" or choose another device", noCompiler);
  }
  target.threads = device.info().threads;
  return OkStatus();
}

StatusOr<std::unique_ptr<Session>> Session::finish(std::unique_ptr<Impl> impl) {
  std::unique_ptr<Session> session(new Session(std::move(impl)));
  session->impl_->recorder = std::make_unique<Recorder>(session.get(), session->impl_->library);
  return session;
}

StatusOr<std::unique_ptr<Session>> Session::create(const SessionOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  TG_ASSIGN_OR_RETURN(impl->library, OperatorLibrary::loadEmbedded());
  TG_ASSIGN_OR_RETURN(auto backend, Backend::load(options.device));
  TG_ASSIGN_OR_RETURN(impl->target, detectTarget(options.target));
  TG_RETURN_IF_ERROR(impl->open(backend));
  impl->target.threads = impl->context.device->info().threads; // blocks are cut for these
  TG_RETURN_IF_ERROR(impl->start(impl->compilerFor(backend)));
  return finish(std::move(impl));
}

StatusOr<std::unique_ptr<Session>> Session::create(const SessionOptions& options,
                                                   std::shared_ptr<const OperatorLibrary> library,
                                                   std::unique_ptr<Compiler> compiler) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->library = std::move(library);
  TG_ASSIGN_OR_RETURN(auto backend, Backend::load(options.device));
  TG_RETURN_IF_ERROR(impl->open(std::move(backend)));
  StatusOr<std::unique_ptr<Compiler>> made = unsupported("there is no compiler for it");
  if (compiler) made = std::move(compiler);
  if (made.ok())
    if (Status taken = checkFormat(*impl->context.device, (*made)->target()); !taken.ok()) made = taken;
  TG_RETURN_IF_ERROR(impl->start(std::move(made)));
  return finish(std::move(impl));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

// ---- Recording

Tensor Session::input(const HostArray& array) { return impl_->recorder->data(array); }
Tensor Session::scalar(double value, DType dtype) { return impl_->recorder->scalar(value, dtype); }

Tensor Session::constant(double value, DType dtype) { return impl_->recorder->number(value, dtype); }

int32_t Session::Impl::addState(std::string name, const TensorType& type, const std::function<Status(Buffer&)>& write) {
  int32_t number = static_cast<int32_t>(context.states.size());
  State state{name, type, {}};
  auto buffer = context.allocate(type.sizeBytes(), name);
  if (buffer.ok()) {
    state.buffer = std::move(*buffer);
    context.stateBytes += type.sizeBytes();
    Status written = write(state.buffer);
    if (!written.ok() && stateError.ok()) stateError = addContext(written, name);
  } else if (stateError.ok()) {
    stateError = buffer.status(); // reported by every evaluate()
  }
  context.states.push_back(std::move(state));
  stateNames.push_back(std::move(name));
  return number;
}

int32_t Session::addState(std::string name, const HostArray& initial) {
  return impl_->addState(std::move(name), initial.type(), [&](Buffer& buffer) {
    HostArray values = initial.contiguous();
    return buffer.write(0, values.data(), values.type().sizeBytes());
  });
}

int32_t Session::addState(std::string name, const TensorType& type) {
  return impl_->addState(std::move(name), type, [](Buffer&) { return OkStatus(); }); // buffer_alloc gives zeros
}

Tensor Session::read(int32_t state) {
  const State& s = impl_->context.states[state];
  return impl_->recorder->read(state, s.type, s.name);
}

void Session::assign(int32_t state, const Tensor& value) {
  const State& s = impl_->context.states[state];
  impl_->recorder->assign(state, s.type, s.name, value);
}

StatusOr<HostArray> Session::fetchState(int32_t state) {
  const State& s = impl_->context.states[state];
  if (!s.buffer) return failed("{}: there was no memory for this state", s.name);
  HostArray array(s.type);
  TG_RETURN_IF_ERROR(s.buffer.read(0, array.data(), s.type.sizeBytes()));
  return array;
}

Status Session::storeState(int32_t state, const HostArray& array) {
  const State& s = impl_->context.states[state];
  if (array.type() != s.type)
    return invalid("{}: a value of type {} was given, the state is {}", s.name, toString(array.type()),
                   toString(s.type));
  if (!s.buffer) return failed("{}: there was no memory for this state", s.name);
  TG_RETURN_IF_ERROR(impl_->keepResultsIn(state));
  HostArray values = array.contiguous();
  return s.buffer.write(0, values.data(), s.type.sizeBytes());
}

/// Results stay readable: those that are the content of this state are copied before it changes.
Status Session::Impl::keepResultsIn(int32_t state) {
  for (int i = 0; last && i < static_cast<int>(last->results.size()); ++i)
    if (!kept.contains(i) && last->executable->liesInState(i, state)) {
      TG_ASSIGN_OR_RETURN(HostArray array, result(i));
      kept.emplace(i, std::move(array));
    }
  return OkStatus();
}

StatusOr<HostArray> Session::Impl::result(int i) const {
  if (auto it = kept.find(i); it != kept.end()) return it->second;
  HostArray array(last->executable->outputType(i));
  TG_RETURN_IF_ERROR(last->executable->read(i, array.data()));
  return array;
}

const std::string& Session::stateName(int32_t state) const { return impl_->stateNames[state]; }
void Session::pushScope(std::string_view name) { impl_->recorder->pushScope(name); }
void Session::popScope() { impl_->recorder->popScope(); }
Recorder& Session::recorder() { return *impl_->recorder; }

int64_t Session::randomStream() {
  Symbol scope = impl_->recorder->scope();
  auto& [recording, count] = impl_->streams[scope.id()];
  if (recording != impl_->evaluations) recording = impl_->evaluations, count = 0;
  uint64_t h = hash64(scope.text());
  return static_cast<int64_t>(combine(h, static_cast<uint64_t>(count++)) >> 1); // not negative
}

// ---- Evaluation

Status Session::Impl::collectResults(std::span<const Tensor> results) {
  wanted.clear();
  TG_RETURN_IF_ERROR(stateError);
  TG_RETURN_IF_ERROR(recorder->current().error);
  for (size_t i = 0; i < results.size(); ++i) {
    TG_ASSIGN_OR_RETURN(Value v, recorder->valueOf(results[i], "evaluate", static_cast<int>(i)));
    if (std::find(wanted.begin(), wanted.end(), v) == wanted.end()) wanted.push_back(v);
  }
  return OkStatus();
}

StatusOr<CachedPlan*> Session::Impl::plan() {
  const Recording& r = recorder->current();
  uint64_t key = r.hash;
  for (Value v : wanted) key = combine(key, uint64_t(uint32_t(v.node)) << 32 | uint32_t(v.result));
  for (const RecordedAssign& a : r.assigns)
    key = combine(combine(key, static_cast<uint64_t>(a.state)),
                  uint64_t(uint32_t(a.value.node)) << 32 | uint32_t(a.value.result));
  if (auto known = plans.find(key); known != plans.end())
    for (auto& candidate : known->second)
      if (candidate->matches(r, wanted)) {
        candidate->lastUse = evaluations;
        return candidate.get();
      }
  if (planCount >= kMostPlans) forgetOldestPlan();
  TG_ASSIGN_OR_RETURN(auto executable, build(r));
  auto& candidates = plans[key];
  candidates.push_back(std::make_unique<CachedPlan>(
      CachedPlan{r.nodes, r.operands, wanted, r.assigns, std::move(executable), evaluations}));
  ++planCount;
  ++stats.plansMade;
  return candidates.back().get();
}

/// Its kernels stay loaded: making the plan again compiles nothing.
void Session::Impl::forgetOldestPlan() {
  auto oldest = plans.end();
  size_t index = 0;
  for (auto it = plans.begin(); it != plans.end(); ++it)
    for (size_t i = 0; i < it->second.size(); ++i)
      if (oldest == plans.end() || it->second[i]->lastUse < oldest->second[index]->lastUse) oldest = it, index = i;
  if (oldest == plans.end()) return;
  oldest->second.erase(oldest->second.begin() + static_cast<ptrdiff_t>(index));
  if (oldest->second.empty()) plans.erase(oldest);
  --planCount;
}

StatusOr<std::unique_ptr<Executable>> Session::Impl::buildPlan(const Graph& graph, std::vector<InputBinding> inputs) {
  if (!compiler) return unsupported("{}", noCompiler);
  PlanOptions planOptions;
  planOptions.precision = options.precision;
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  TG_ASSIGN_OR_RETURN(Plan plan, makePlan(graph, *compiler, planOptions));
  double planned = seconds();
  logDebug("{}", plan.text());
  size_t steps = plan.steps.size();
  TG_ASSIGN_OR_RETURN(auto executable, PlanExecutable::create(context, std::move(plan), std::move(inputs)));
  logInfo("plan: {} nodes became {} steps in {:.3f} s, kernels and memory took {:.3f} s", graph.nodes().size(), steps,
          planned, seconds() - planned);
  return std::unique_ptr<Executable>(std::move(executable));
}

StatusOr<std::unique_ptr<Executable>> Session::Impl::build(const Recording& r) {
  std::vector<int32_t> inputNodes;
  TG_ASSIGN_OR_RETURN(Graph graph, recorder->graph(r, wanted, stateNames, inputNodes));
  std::vector<InputBinding> inputs;
  for (int32_t node : inputNodes) {
    const Operation& o = recorder->operations()[r.nodes[node].operation];
    inputs.push_back({o.input, r.nodes[node].slot, recorder->type(r, {node, 0})});
  }
  auto executable = buildPlan(graph, inputs);
  // Operators of the device are no fallback where it takes no code; a plan that failed never slides into them.
  bool own = !compiler && context.device->hasOperators();
  if (executable.ok() || (options.fallback == SessionOptions::Fallback::Error && !own)) return executable;
  return buildFallback(std::move(graph), std::move(inputs), executable.status());
}

StatusOr<std::unique_ptr<Executable>> Session::Impl::buildFallback(Graph graph, std::vector<InputBinding> inputs,
                                                                   const Status& reason) {
  if (context.device->hasOperators()) {
    bool hostAllowed = options.fallback == SessionOptions::Fallback::Host;
    TG_ASSIGN_OR_RETURN(auto partial,
                        OperatorExecutable::create(context, graph, std::move(inputs), options.precision, hostAllowed));
    stats.kernelsReference += partial->onHost();
    if (partial->onHost() > 0)
      logWarning("fallback: {} operations run on {}, {} on the host's reference evaluator, thousands of times slower "
                 "than compiled code, because: {}",
                 partial->onDevice(), context.device->backend().name(), partial->onHost(), message(reason));
    return std::unique_ptr<Executable>(std::move(partial));
  }
  int64_t operations = 0;
  for (const Node& n : graph.nodes()) operations += n.kind != Node::Kind::Input;
  stats.kernelsReference += operations;
  logWarning("fallback: {} operations run on the host's reference evaluator, thousands of times slower than compiled "
             "code, because: {}",
             operations, message(reason));
  return std::unique_ptr<Executable>(std::make_unique<HostExecutable>(context, std::move(graph), std::move(inputs)));
}

void Session::Impl::updateStats() {
  if (context.kernels) {
    stats.kernelsCompiled = context.kernels->compiled();
    stats.kernelsFromCache = context.kernels->fromDisk();
  }
  stats.stateBytes = context.stateBytes;
  stats.peakBytes = context.peakBytes;
  stats.arenaUsedBytes = context.arenaUsedBytes;
  const Plan* plan = last ? last->executable->plan() : nullptr;
  stats.distinctKernels = plan ? static_cast<int64_t>(plan->kernels.size()) : 0;
  stats.arenaBytes = plan ? plan->arenaBytes : 0;
  stats.planFlops = plan ? plan->flops : 0;
}

Status Session::evaluate(std::span<const Tensor> results) {
  Impl& s = *impl_;
  auto run = [&]() -> Status {
    s.last = nullptr;
    s.kept.clear();
    TG_RETURN_IF_ERROR(s.collectResults(results));
    TG_ASSIGN_OR_RETURN(CachedPlan * plan, s.plan());
    TG_RETURN_IF_ERROR(plan->executable->run(s.recorder->current()));
    s.last = plan;
    return OkStatus();
  };
  Status status = run();
  ++s.evaluations;
  s.recorder->next(); // also after an error: the session stays usable
  s.updateStats();
  return status;
}

namespace {

/// Which output of the last plan a handle names.
StatusOr<int> outputIndex(const Recorder& recorder, const CachedPlan* last, const Tensor& t) {
  if (!last || !t.present() || !recorder.isLast(t))
    return failed("value: the tensor is not a result of the last evaluate(): give it to evaluate() and read it before "
                  "the next one");
  auto it = std::find(last->results.begin(), last->results.end(), Recorder::rawValue(t));
  if (it == last->results.end()) return failed("value: the tensor was not among the results of the last evaluate()");
  return static_cast<int>(it - last->results.begin());
}

} // namespace

StatusOr<HostArray> Session::value(const Tensor& t) {
  TG_ASSIGN_OR_RETURN(int i, outputIndex(*impl_->recorder, impl_->last, t));
  return impl_->result(i);
}

StatusOr<double> Session::scalarValue(const Tensor& t) {
  TG_ASSIGN_OR_RETURN(int i, outputIndex(*impl_->recorder, impl_->last, t));
  const TensorType& type = impl_->last->executable->outputType(i);
  if (type.shape.elements() != 1) return invalid("value: {} is not a single number", toString(type));
  if (auto it = impl_->kept.find(i); it != impl_->kept.end()) return it->second.get(0);
  uint64_t bits = 0;
  TG_RETURN_IF_ERROR(impl_->last->executable->read(i, &bits));
  return withElement(type.dtype, [&](auto element) {
    typename decltype(element)::Storage stored;
    std::memcpy(&stored, &bits, sizeof(stored));
    return decltype(element)::toDouble(stored);
  });
}

StatusOr<Graph> Session::recordedGraph(std::span<const Tensor> results) {
  auto graph = [&]() -> StatusOr<Graph> {
    TG_RETURN_IF_ERROR(impl_->collectResults(results));
    std::vector<int32_t> inputNodes;
    return impl_->recorder->graph(impl_->recorder->current(), impl_->wanted, impl_->stateNames, inputNodes);
  }();
  impl_->last = nullptr;
  impl_->kept.clear();
  ++impl_->evaluations;
  impl_->recorder->next();
  return graph;
}

// ---- Facts

const SessionStats& Session::stats() const { return impl_->stats; }
const Plan* Session::lastPlan() const { return impl_->last ? impl_->last->executable->plan() : nullptr; }
StatusOr<std::vector<double>> Session::stepSeconds(int repeats) {
  if (!lastPlan()) return failed("profile: the last evaluation had no plan on a device");
  return impl_->last->executable->stepSeconds(repeats);
}
std::string Session::kernelLine() const {
  const SessionStats& s = impl_->stats;
  return fmt::format("kernels: compiled {}, from cache {}, reference {}", s.kernelsCompiled, s.kernelsFromCache,
                     s.kernelsReference);
}
const Target& Session::target() const { return impl_->target; }
StatusOr<const Compiler*> Session::compiler() const {
  if (!impl_->compiler) return unsupported("{}", impl_->noCompiler);
  return impl_->compiler.get();
}
std::shared_ptr<const OperatorLibrary> Session::library() const { return impl_->library; }

StatusOr<double> Session::peakFlops(DType compute) {
  const Target& t = impl_->target;
  if (!t.f32FlopsPerSecond)
    return failed("peak rates of {} were not measured: see the log of this session's start", t.name);
  double core = *t.f32FlopsPerSecond;
  if (compute == DType::BF16 && t.bf16DotIsFast()) core = *t.bf16FlopsPerSecond;
  return core * impl_->context.device->info().threads;
}

} // namespace tegula
