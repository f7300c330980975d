// The training loop.
#include "train/Trainer.h"

#include "base/Files.h"
#include "base/Log.h"
#include "compiler/Target.h"
#include "config/Document.h"
#include "data/Dataset.h"
#include "train/Checkpoint.h"
#include "train/Evaluation.h"
#include "train/Interrupt.h"
#include "train/LearningRate.h"
#include "train/Metrics.h"
#include "train/ResumedConfig.h"
#include "train/TrainStep.h"
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace tegula {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

OptimizerOptions optimizerOptions(const RunConfig& c) {
  OptimizerOptions o;
  o.beta1 = c.optimizer.beta1;
  o.beta2 = c.optimizer.beta2;
  o.epsilon = c.optimizer.epsilon;
  o.weightDecay = c.optimizer.weightDecay;
  o.maxNorm = c.training.maxNorm;
  o.decayAll = c.optimizer.decay == "all";
  return o;
}

/// What decides the bits of a step on one kind of processor: the target and, in bf16, how products are summed, which a
/// measurement decides.
std::string arithmeticOf(const Target& t, const RunConfig& c) {
  if (c.training.dtype != "bf16") return t.name;
  return fmt::format("{} ({})", t.name, t.bf16DotIsFast() ? "bf16 dot instruction" : "f32 products");
}

class Run {
public:
  Run(RunConfig config, RunFolder folder, std::optional<int64_t> stopAt, std::FILE* out)
      : config_(std::move(config)), folder_(std::move(folder)), stopAt_(stopAt), out_(out),
        colour_(::isatty(::fileno(out)) && !std::getenv("NO_COLOR")) {}

  /// `text` is what a new run is trained on, unless [data] path is a prepared folder.
  Status start(bool resume, std::optional<TextDocuments> text);
  bool holdsFolder() const { return lock_.has_value(); }
  Status loop();

private:
  template <typename... A> void say(fmt::format_string<A...> text, A&&... args) {
    sayLine(fmt::format(text, std::forward<A>(args)...) + "\n");
  }
  void sayLine(const std::string& line);
  StatusOr<Dataset> openData(std::optional<TextDocuments> text);
  Status requireSameText() const;
  Status requireSameModel();
  std::string latest() const; // its latest checkpoint
  Status restore();
  Status makeLogDurable();
  void printDerived();
  void printPlan();
  Status oneStep();
  Status validate();
  Status save();
  Status logLineToFile(const std::string& line) { return appendFile(folder_.log(), line); }
  Throughput throughput(double seconds, int64_t tokens);
  int64_t batch() const { return config_.training.batch; }
  int64_t sequence() const { return config_.training.sequence; }

  RunConfig config_;
  RunFolder folder_;
  std::optional<int64_t> stopAt_;
  std::FILE* out_;
  bool colour_;
  std::optional<FileLock> lock_; // of the folder, as long as the run lasts
  std::string dtypeBefore_;      // of the checkpoint that it goes on from
  std::optional<Dataset> data_;
  std::optional<DataOrder> order_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Gpt> model_;
  std::optional<TrainStep> step_;
  LearningRate rate_;
  double peakFlops_ = 0;
  int64_t done_ = 0, savedAt_ = -1, skipped_ = 0, skippedInARow_ = 0;
  bool planPrinted_ = false;
  bool outputFailed_ = false, outputClosed_ = false; // `out_` cannot be written; nobody reads it any more
};

void Run::sayLine(const std::string& line) {
  bool written = std::fwrite(line.data(), 1, line.size(), out_) == line.size() && std::fflush(out_) == 0;
  int error = errno;
  if (written || std::exchange(outputFailed_, true)) return;
  outputClosed_ = error == EPIPE;
  logWarning("train: cannot write standard output: {}; {}", std::strerror(error),
             !outputClosed_              ? "going on, every step is in " + folder_.log()
             : config_.checkpoint.enable ? "stopping after this step and saving"
                                         : "stopping after this step; checkpoint.enable is false, so nothing is saved");
}

/// Tokens are prepared into the run's folder when it starts, unless [data] path is a prepared folder already. A run
/// that resumes finds them there.
StatusOr<Dataset> Run::openData(std::optional<TextDocuments> text) {
  const std::string& path = config_.data.path;
  if (isPreparedDataset(path)) {
    TG_ASSIGN_OR_RETURN(Dataset prepared, Dataset::open(path));
    TG_RETURN_IF_ERROR(takePrepared(prepared, config_));
    return prepared;
  }
  if (text || !isPreparedDataset(folder_.data())) {
    if (!text) {
      TG_ASSIGN_OR_RETURN(text, readTextDocuments(path));
    }
    if (isFolder(path)) say("data: {}", text->filesText());
    PrepareOptions options{config_.data.tokenizer, config_.data.validationFraction};
    TG_RETURN_IF_ERROR(addContext(prepareDataset(*text, folder_.data(), options).status(), path));
  }
  return Dataset::open(folder_.data());
}

Status Run::start(bool resume, std::optional<TextDocuments> text) {
  TG_RETURN_IF_ERROR(makeFolders(folder_.path));
  StatusOr<FileLock> lock = FileLock::tryAcquire(folder_.lock());
  if (absl::IsUnavailable(lock.status()))
    return failed("{}: another process is training this run; wait for it or stop it", folder_.path);
  TG_RETURN_IF_ERROR(lock.status());
  lock_.emplace(std::move(*lock));
  if (resume) {
    TG_RETURN_IF_ERROR(requireSameText());
    TG_RETURN_IF_ERROR(requireSameModel());
  }
  TG_ASSIGN_OR_RETURN(data_, openData(std::move(text)));
  TG_RETURN_IF_ERROR(checkDataLength(*data_, config_));
  TG_ASSIGN_OR_RETURN(GptConfig modelConfig, config_.modelConfig(data_->tokenizer.vocabulary()));
  order_.emplace(static_cast<uint64_t>(config_.training.seed), data_->train.size(), sequence());
  rate_ = config_.learningRate();
  config_.logDoubts();
  TG_ASSIGN_OR_RETURN(session_, Session::create(config_.sessionOptions()));
  model_ = std::make_unique<Gpt>(modelConfig);
  if (resume) {
    TG_RETURN_IF_ERROR(restore());
  } else {
    TG_RETURN_IF_ERROR(model_->parameters().create(*session_, static_cast<uint64_t>(config_.training.seed)));
    TG_ASSIGN_OR_RETURN(
        step_, TrainStep::create(*session_, model_->parameters(), meanLossOf(*model_), optimizerOptions(config_)));
    TG_RETURN_IF_ERROR(removeAll(folder_.log())); // there may be none
  }
  TG_RETURN_IF_ERROR(makeLogDurable());
  TG_RETURN_IF_ERROR(writeFileAtomically(folder_.config(), RunSchema(config_)->toToml()));
  TG_RETURN_IF_ERROR(data_->tokenizer.save(folder_.tokenizer()));
  printDerived();
  return OkStatus();
}

/// A run goes on with the tokens that it stored: another path would be written down, but not be read.
Status Run::requireSameText() const {
  RunConfig before;
  RunSchema schema(before);
  StatusOr<config::Document> document = config::readDocument(folder_.config());
  if (!document.ok() || !schema->load(*document).ok()) return OkStatus(); // restore() has the better message
  if (before.data.path == config_.data.path) return OkStatus();
  return failed("--resume: {} is trained on {}, not on {}; leave data.path out, or start a run of its own",
                folder_.path, before.data.path, config_.data.path);
}

/// The checkpoint has the configuration that the run began with; config.toml may have been edited since.
Status Run::requireSameModel() {
  RunConfig before;
  RunSchema schema(before);
  StatusOr<config::Document> document = config::readDocument(latest() + "/config.toml");
  if (!document.ok() || !schema->load(*document).ok()) return OkStatus(); // restore() has the better message
  dtypeBefore_ = before.training.dtype;
  // A prepared folder says its tokenizer and fraction itself (takePrepared); restore() compares its checksum.
  if (isPreparedDataset(config_.data.path)) before.data = config_.data;
  return addContext(checkResumedConfig(before, config_), "--resume " + folder_.path);
}

std::string Run::latest() const {
  return checkpointFolder(folder_.checkpoints(), listCheckpoints(folder_.checkpoints()).back());
}

Status Run::restore() {
  std::string place = latest();
  TG_ASSIGN_OR_RETURN(Checkpoint c, loadCheckpoint(place));
  if (c.step > config_.training.steps)
    return failed("--resume: {} has done {} steps, more than training.steps={}; raise it, or train anew with --new",
                  folder_.path, c.step, config_.training.steps);
  if (c.dataChecksum != data_->checksum())
    return failed("{}: was trained on other data than {}; give back the text it began with, or start anew with --new",
                  place, config_.data.path);
  TG_RETURN_IF_ERROR(addContext(model_->parameters().create(*session_, c.parameters), place));
  TG_ASSIGN_OR_RETURN(
      step_, TrainStep::create(*session_, model_->parameters(), meanLossOf(*model_), optimizerOptions(config_)));
  TG_RETURN_IF_ERROR(addContext(step_->storeMoments(c.moments, c.updates), place));
  if (c.samples != c.step * batch())
    return failed("{}: saw {} samples in {} steps, but training.local_batch_size is {} now; give back the batch size "
                  "it began with",
                  place, c.samples, c.step, batch());
  std::string now = arithmeticOf(session_->target(), config_);
  if (c.target != now && config_.training.dtype == dtypeBefore_) // else it has been said
    logWarning("resume: {} was computed on target {}, this run uses {}: it continues correctly, but not bit for bit",
               place, c.target, now);
  done_ = savedAt_ = c.step;
  skipped_ = c.skipped;
  skippedInARow_ = c.skippedInARow;
  TG_RETURN_IF_ERROR(truncateLog(folder_.log(), done_));
  say("resumed from {} at step {}", place, done_);
  return OkStatus();
}

void Run::printDerived() {
  const GptConfig& m = model_->config();
  say("run folder: {}", folder_.path);
  say("model: {} parameters, {} layers, {} heads, {} wide, context {}, vocabulary {}", model_->parameters().elements(),
      m.layers, m.heads, m.width, m.block, m.vocabulary);
  say("data: {} training and {} validation tokens, {} steps an epoch", data_->train.size(), data_->validation.size(),
      (order_->windowsPerEpoch() + batch() - 1) / batch());
  say("step: {} sequences x {} tokens = {} tokens", batch(), sequence(), batch() * sequence());
  say("optimizer: AdamW, {}", step_->decayRule());
  say("lr: {}", rate_.text());
  say("hardware: device {}, target {}, compute {}", config_.hardware.device, session_->target().name,
      config_.training.dtype);
  DType compute = config_.training.dtype == "bf16" ? DType::BF16 : DType::F32;
  StatusOr<double> peak = session_->peakFlops(compute);
  if (peak.ok())
    peakFlops_ = *peak;
  else
    logWarning("mfu: the peak rate could not be measured: {}", message(peak.status()));
  say("mfu = tokens/s x (6 x matrix parameters + 12 x layers x width x seq_len = {:.4g} flop) / peak ({:.4g} flop/s of "
      "{} measured on "
      "this device's threads)",
      model_->trainingFlopsPerToken(sequence()), peakFlops_, config_.training.dtype);
}

void Run::printPlan() {
  planPrinted_ = true;
  const SessionStats& s = session_->stats();
  constexpr double kMiB = 1 << 20;
  say("plan: {}; arena {:.2f} MiB, states {:.2f} MiB", session_->kernelLine(), static_cast<double>(s.arenaBytes) / kMiB,
      static_cast<double>(s.stateBytes) / kMiB);
}

Throughput Run::throughput(double seconds, int64_t tokens) {
  Throughput t;
  t.seconds = seconds;
  t.tokensPerSecond = seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  t.flopsPerToken = model_->trainingFlopsPerToken(sequence());
  t.peakFlops = peakFlops_;
  t.memoryBytes = session_->stats().peakBytes;
  t.totalMemoryBytes = totalMemoryBytes();
  return t;
}

Status Run::oneStep() {
  Clock::time_point start = Clock::now();
  double rate = rate_.at(done_);
  Batch b = data_->trainBatch(*order_, done_ * batch(), batch(), sequence());
  TG_ASSIGN_OR_RETURN(StepResult r, step_->run(b.tokens, b.labels, rate));
  double seconds = secondsSince(start);
  ++done_;
  StepMetrics metrics{done_, r.loss, r.gradientNorm, rate, r.applied};
  Throughput t = throughput(seconds, batch() * sequence());
  if (!planPrinted_) printPlan();
  TG_RETURN_IF_ERROR(logLineToFile(stepJson(metrics, t)));
  bool last = done_ == config_.training.steps;
  if (done_ == 1 || last || done_ % config_.metrics.logFrequency == 0 || !r.applied)
    say("{}", stepLine(metrics, t, colour_));
  if (r.applied) {
    skippedInARow_ = 0;
    return OkStatus();
  }
  ++skipped_;
  ++skippedInARow_;
  std::string names;
  for (const std::string& n : r.nonFinite) names += (names.empty() ? "" : ", ") + n;
  logWarning("step {}: not finite: {}; the update was left out ({} so far)", done_, names, skipped_);
  if (int64_t most = config_.training.maxSkippedSteps; most > 0 && skippedInARow_ >= most)
    return failed("step {}: {} steps in a row were not finite ({}), training.max_skipped_steps is {}; lower "
                  "optimizer.lr, or look at the data; the weights are those of step {}",
                  done_, skippedInARow_, names, most, done_ - skippedInARow_);
  return OkStatus();
}

Status Run::validate() {
  Clock::time_point start = Clock::now();
  TG_ASSIGN_OR_RETURN(Evaluation e, evaluateValidation(*session_, *model_, *data_, batch(), sequence()));
  Throughput t = throughput(secondsSince(start), e.predictions);
  say("{}", validationLine(done_, e.loss, t, colour_));
  return logLineToFile(validationJson(done_, e.loss, e.predictions, t));
}

/// The log's lines and its entry in the folder. Makes it where there is none: a run that stops before its first step is
/// saved, too, and a log that somebody moved away costs no checkpoint.
Status Run::makeLogDurable() {
  TG_RETURN_IF_ERROR(appendFile(folder_.log(), {}));
  TG_RETURN_IF_ERROR(syncPath(folder_.log()));
  return syncPath(folder_.path);
}

Status Run::save() {
  if (savedAt_ == done_) return OkStatus();
  TG_RETURN_IF_ERROR(makeLogDurable());
  Checkpoint c;
  c.step = done_;
  c.updates = step_->updates();
  c.samples = done_ * batch();
  c.skipped = skipped_;
  c.skippedInARow = skippedInARow_;
  c.dataChecksum = data_->checksum();
  c.target = arithmeticOf(session_->target(), config_);
  c.configToml = RunSchema(config_)->toToml();
  c.tokenizerJson = data_->tokenizer.toJson();
  TG_ASSIGN_OR_RETURN(c.parameters, model_->parameters().fetch(*session_));
  TG_ASSIGN_OR_RETURN(c.moments, step_->fetchMoments());
  TG_ASSIGN_OR_RETURN(std::string place, saveCheckpoint(folder_.checkpoints(), c, config_.checkpoint.keepLatest));
  savedAt_ = done_;
  say("saved {}", place);
  return OkStatus();
}

Status Run::loop() {
  Interrupt interrupt;
  int64_t end = std::min(config_.training.steps, stopAt_.value_or(config_.training.steps));
  if (done_ >= end && done_ < config_.training.steps)
    say("nothing to do: {} steps are done, no less than --stop-at {}; raise it, or leave it out", done_, end);
  else if (done_ >= end)
    say("nothing to do: {} of {} steps are done; raise training.steps with --set training.steps=N", done_,
        config_.training.steps);
  while (done_ < end && !interrupt.requested() && !outputClosed_) {
    TG_RETURN_IF_ERROR(oneStep());
    bool last = done_ == config_.training.steps;
    if (config_.validation.enable && (last || done_ % config_.validation.frequency == 0))
      TG_RETURN_IF_ERROR(validate());
    if (config_.checkpoint.enable && (done_ == end || done_ % config_.checkpoint.interval == 0))
      TG_RETURN_IF_ERROR(save());
  }
  if (done_ < end && config_.checkpoint.enable) TG_RETURN_IF_ERROR(save());
  if (done_ == config_.training.steps && savedAt_ != done_)
    say("done: {} steps; checkpoint.enable is false, so no checkpoint was kept to sample from or go on with", done_);
  else if (done_ == config_.training.steps)
    say("done: {} steps; sample from it with: tegula generate {} --prompt TEXT", done_, folder_.path);
  else if (config_.checkpoint.enable)
    say("stopped after step {} of {}; go on with: tegula train --resume {}", done_, config_.training.steps,
        folder_.path);
  else
    say("stopped after step {} of {}; checkpoint.enable is false, so nothing was saved", done_, config_.training.steps);
  return OkStatus();
}

} // namespace

Status train(const TrainRequest& request, std::FILE* out) {
  RunConfig config;
  TG_RETURN_IF_ERROR(resolveConfig(request, config));
  std::optional<TextDocuments> text; // read before a folder is made or its number is taken
  if (!request.resume && !isPreparedDataset(config.data.path)) {
    TG_ASSIGN_OR_RETURN(text, readTextDocuments(config.data.path));
  }
  TG_ASSIGN_OR_RETURN(RunFolder folder, chooseRunFolder(request, config));
  TG_RETURN_IF_ERROR(RunSchema(config).checkNames());
  std::string path = folder.path;
  bool isNew = !fileExists(path) && !isFolder(path);
  Run run(std::move(config), std::move(folder), request.stopAt, out);
  if (Status started = run.start(request.resume, std::move(text)); !started.ok()) {
    // Nothing was trained: leave no empty run behind. Without the lock the folder is another process's.
    if (isNew && run.holdsFolder()) (void)removeAll(path);
    return started;
  }
  return run.loop();
}

StatusOr<Graph> trainingGraph(const RunConfig& config, Session& session) {
  constexpr int64_t kByteVocabulary = 256;
  TG_ASSIGN_OR_RETURN(GptConfig modelConfig, config.modelConfig(kByteVocabulary));
  Gpt model(modelConfig);
  TG_RETURN_IF_ERROR(model.parameters().create(session, static_cast<uint64_t>(config.training.seed)));
  TG_ASSIGN_OR_RETURN(TrainStep step,
                      TrainStep::create(session, model.parameters(), meanLossOf(model), optimizerOptions(config)));
  Shape shape{config.training.batch, config.training.sequence};
  return step.recordedGraph(HostArray::zeros(DType::I32, shape), HostArray::zeros(DType::I32, shape));
}

} // namespace tegula
