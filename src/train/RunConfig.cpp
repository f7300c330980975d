// The keys of a run.
#include "train/RunConfig.h"

#include "base/Log.h"
#include "base/Utf8.h"
#include <cstdlib>

namespace tegula {

RunSchema::RunSchema(RunConfig& c) : config_(c), schema_("Configuration of a training run") {
  schema_.section("job", "Where the run is kept.")
      .key("dump_folder", &c.job.dumpFolder,
           {.doc = "The run's folder, made by the run; empty means runs/<config>-<n>, n counting up from the highest "
                   "there."})
      .key("description", &c.job.description, {.doc = "A note for people."});
  schema_.section("data", "What is learned.")
      .key("path", &c.data.path,
           {.doc = "A text file, a folder of texts, or a folder that `tegula data prepare` wrote."})
      .key("tokenizer", &c.data.tokenizer,
           {.doc = "Symbols: bytes, or the set of the text's characters.", .choices = {"byte", "char"}})
      .key("validation_fraction", &c.data.validationFraction,
           {.doc = "How much of the end of the text is held out.", .max = 0.9, .above = 0});
  schema_.section("model", "A GPT-2 style decoder.")
      .key("n_layers", &c.model.layers, {.doc = "Blocks.", .min = 1, .max = 1000})
      .key("n_heads", &c.model.heads, {.doc = "Attention heads; must divide dim.", .min = 1})
      .key("dim", &c.model.width, {.doc = "Width of the residual stream.", .min = 1, .max = 1 << 20})
      .key("hidden_dim", &c.model.hidden,
           {.doc = "Width of the feed-forward layer; 0 means 4 times dim.", .min = 0, .max = 1 << 22})
      .key("vocab_size", &c.model.vocabulary,
           {.doc = "Rows of the token table; 0 means the tokenizer's.", .min = 0, .max = 1 << 24})
      .key("bias", &c.model.bias, {.doc = "Biases in linear layers and norms."})
      .key("gelu", &c.model.gelu, {.doc = "Form of GELU.", .choices = {"erf", "tanh"}})
      .key("norm_eps", &c.model.normEpsilon, {.doc = "Epsilon of LayerNorm.", .above = 0})
      .key("tied_head", &c.model.tiedHead, {.doc = "The output head is the token table."})
      .key("init_std", &c.model.standardDeviation, {.doc = "Standard deviation of initial weights.", .min = 0});
  schema_.section("optimizer", "AdamW with decoupled weight decay.")
      .key("name", &c.optimizer.name, {.doc = "The optimizer.", .choices = {"AdamW"}})
      .key("lr", &c.optimizer.learningRate, {.doc = "Peak learning rate.", .min = 0})
      .key("beta1", &c.optimizer.beta1, {.doc = "Decay of the first moment.", .min = 0, .max = 0.999999})
      .key("beta2", &c.optimizer.beta2, {.doc = "Decay of the second moment.", .min = 0, .max = 0.999999})
      .key("eps", &c.optimizer.epsilon, {.doc = "Added to the root of the second moment.", .above = 0})
      .key("weight_decay", &c.optimizer.weightDecay, {.doc = "Decay, times the learning rate, a step.", .min = 0})
      .key("decay", &c.optimizer.decay,
           {.doc = "What decays: tensors of two or more dimensions, or all.", .choices = {"matrices", "all"}});
  schema_.section("lr_scheduler", "Linear warm-up, then decay to the last step.")
      .key("warmup_steps", &c.schedule.warmupSteps, {.doc = "Steps of warm-up.", .min = 0})
      .key("decay_type", &c.schedule.decayType,
           {.doc = "Shape of the decay.", .choices = {"cosine", "linear", "constant"}})
      .key("min_lr_factor", &c.schedule.minimumFactor,
           {.doc = "Last learning rate as a part of the peak.", .min = 0, .max = 1});
  schema_.section("training", "The step loop.")
      .key("local_batch_size", &c.training.batch, {.doc = "Sequences a step.", .min = 1, .max = 1 << 24})
      .key("seq_len", &c.training.sequence,
           {.doc = "Tokens a sequence; also the model's longest context.", .min = 1, .max = 1 << 24})
      .key("steps", &c.training.steps, {.doc = "Optimizer steps of the whole run.", .min = 1})
      .key("max_norm", &c.training.maxNorm,
           {.doc = "Gradients are clipped to this global norm; 0 means never.", .min = 0})
      .key("dtype", &c.training.dtype,
           {.doc = "Type of matrix products and attention; weights and optimizer state stay f32.",
            .choices = {"f32", "bf16"}})
      .key("seed", &c.training.seed, {.doc = "Of initial weights and of the order of the data.", .min = 0})
      .key("max_skipped_steps", &c.training.maxSkippedSteps,
           {.doc =
                "The run stops at this many steps in a row with a loss or gradient that is not finite; 0 means never.",
            .min = 0});
  schema_.section("checkpoint", "What a run can resume from.")
      .key("enable", &c.checkpoint.enable, {.doc = "Write checkpoints."})
      .key("interval", &c.checkpoint.interval, {.doc = "Steps between two; the last step always has one.", .min = 1})
      .key("keep_latest_k", &c.checkpoint.keepLatest, {.doc = "How many are kept; 0 means all.", .min = 0});
  schema_.section("metrics", "What is printed.")
      .key("log_freq", &c.metrics.logFrequency,
           {.doc = "Steps between two printed lines; log.jsonl has every step.", .min = 1});
  schema_.section("validation", "The held-out text, evaluated whole.")
      .key("enable", &c.validation.enable, {.doc = "Evaluate."})
      .key("freq", &c.validation.frequency,
           {.doc = "Steps between two evaluations; the last step always has one.", .min = 1});
  schema_.section("hardware", "Where it runs.")
      .key("device", &c.hardware.device, {.doc = "A backend's name or the path of a plugin."})
      .key("target", &c.hardware.target, {.doc = "A name from targets/; empty means what is detected."})
      .key("threads", &c.hardware.threads,
           {.doc = "0 means every core that the process may use.", .min = 0, .max = kMostThreads})
      .key("fallback", &c.hardware.fallback,
           {.doc = "Whether an operator that cannot be compiled may run on the reference evaluator.",
            .choices = {"error", "host"}});
}

Status RunSchema::check(std::string_view file) {
  auto at = [&](const Status& s, std::string_view place) { return place.empty() ? s : addContext(s, place); };
  if (config_.data.path.empty())
    return at(invalid("[data] path is not given; set it, or use: tegula train --data FILE"), file);
  if (Status names = checkNames(); !names.ok()) return at(names, file);
  const auto& model = config_.model;
  if (model.width % model.heads == 0) return OkStatus();
  std::string dim = schema_.section("model").placeOf("dim"), heads = schema_.section("model").placeOf("n_heads");
  std::string both = dim.empty() ? heads : heads.empty() ? dim : dim + ", " + heads;
  return at(invalid("[model] dim {} is not a multiple of n_heads {}; the nearest dim is {}", model.width, model.heads,
                    std::max<int64_t>(1, (model.width + model.heads / 2) / model.heads) * model.heads),
            both.empty() ? file : both);
}

Status RunSchema::checkNames() const {
  const std::pair<const char*, const std::string&> names[] = {{"[data] path", config_.data.path},
                                                              {"[job] dump_folder", config_.job.dumpFolder}};
  for (const auto& [key, name] : names)
    if (size_t at = findInvalidUtf8(name); at != std::string::npos)
      return invalid(
          "{}: byte 0x{:02x} at offset {} of the name is not UTF-8, so config.toml could not hold it; rename "
          "it",
          key, static_cast<unsigned char>(name[at]), at);
  return OkStatus();
}

StatusOr<GptConfig> RunConfig::modelConfig(int64_t tokens) const {
  if (model.vocabulary != 0 && model.vocabulary < tokens)
    return invalid("[model] vocab_size is {}, but the tokenizer has {} symbols; leave it out, or give at least that",
                   model.vocabulary, tokens);
  GptConfig c;
  c.vocabulary = model.vocabulary ? model.vocabulary : tokens;
  c.layers = model.layers;
  c.heads = model.heads;
  c.width = model.width;
  c.hidden = model.hidden;
  c.block = training.sequence;
  c.bias = model.bias;
  c.gelu = model.gelu;
  c.normEpsilon = model.normEpsilon;
  c.tiedHead = model.tiedHead;
  c.standardDeviation = model.standardDeviation;
  TG_RETURN_IF_ERROR(c.check());
  return c;
}

SessionOptions RunConfig::sessionOptions() const {
  SessionOptions o;
  o.device = hardware.device;
  o.target = hardware.target;
  o.threads = static_cast<int>(hardware.threads);
  o.precision.compute = training.dtype == "bf16" ? DType::BF16 : DType::F32;
  o.fallback = hardware.fallback == "host" ? SessionOptions::Fallback::Host : SessionOptions::Fallback::Error;
  return o;
}

LearningRate RunConfig::learningRate() const {
  return {optimizer.learningRate, schedule.minimumFactor, schedule.warmupSteps, training.steps, schedule.decayType};
}

void RunConfig::logDoubts() const {
  if (!learningRate().reachesPeak())
    logWarning(
        "lr_scheduler.warmup_steps={} is no less than training.steps={}: optimizer.lr={} is never reached; lower "
        "lr_scheduler.warmup_steps",
        schedule.warmupSteps, training.steps, optimizer.learningRate);
}

Status applyEnvironment(RunConfig& c) {
  if (const char* device = std::getenv("TEGULA_DEVICE"); device && *device) c.hardware.device = device;
  if (const char* target = std::getenv("TEGULA_TARGET"); target && *target) c.hardware.target = target;
  if (const char* threads = std::getenv("TEGULA_THREADS"); threads && *threads) {
    RunSchema schema(c);
    return schema->set(fmt::format("hardware.threads={}", threads), fmt::format("TEGULA_THREADS={}", threads));
  }
  return OkStatus();
}

} // namespace tegula
