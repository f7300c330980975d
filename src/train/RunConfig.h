// What a run is: the strict configuration, its schema, and what follows from it. Section and key names are torchtitan's
// where they fit.
//
//   RunConfig config;
//   RunSchema schema(config);
//   TG_RETURN_IF_ERROR(schema->load(document));
//   TG_RETURN_IF_ERROR(schema.check(document.name));
#pragma once

#include "config/Schema.h"
#include "models/Gpt.h"
#include "train/LearningRate.h"
#include <set>
#include <string>

namespace tegula {

struct RunConfig {
  struct {
    std::string dumpFolder; // empty: runs/<config>-<n>
    std::string description;
  } job;
  struct {
    std::string path;
    std::string tokenizer = "byte";
    double validationFraction = 0.1;
  } data;
  struct {
    int64_t layers = 4, heads = 4, width = 256, hidden = 0, vocabulary = 0;
    bool bias = false, tiedHead = true;
    std::string gelu = "erf";
    double normEpsilon = 1e-5, standardDeviation = 0.02;
  } model;
  struct {
    std::string name = "AdamW";
    double learningRate = 1e-3, beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8, weightDecay = 0.1;
    std::string decay = "matrices";
  } optimizer;
  struct {
    int64_t warmupSteps = 100;
    std::string decayType = "cosine";
    double minimumFactor = 0.1;
  } schedule;
  struct {
    int64_t batch = 16, sequence = 64, steps = 1000, seed = 1337, maxSkippedSteps = 10;
    double maxNorm = 1.0;
    std::string dtype = "f32";
  } training;
  struct {
    bool enable = true;
    int64_t interval = 500, keepLatest = 2;
  } checkpoint;
  struct {
    int64_t logFrequency = 10;
  } metrics;
  struct {
    bool enable = true;
    int64_t frequency = 250;
  } validation;
  struct {
    std::string device = "cpu", target, fallback = "error";
    int64_t threads = 0;
  } hardware;
  std::set<std::string> given; // keys, "section.key", that a file or the command line gave a value

  /// The model for a tokenizer of `tokens` symbols. Fails: model.vocab_size below that.
  StatusOr<GptConfig> modelConfig(int64_t tokens) const;
  SessionOptions sessionOptions() const;
  LearningRate learningRate() const;
  /// Logs a warning for what is legal and hardly meant: a warm-up that is not over when the run is.
  void logDoubts() const;
};

/// The schema of a RunConfig; the config must outlive it.
class RunSchema {
public:
  explicit RunSchema(RunConfig&);
  config::Schema* operator->() { return &schema_; }
  /// What no single key's range says: data given, heads dividing the width. Messages begin with the lines of the keys
  /// or, where there are none, with `file`.
  Status check(std::string_view file);
  /// Names come from the command line and the folder, too: config.toml can hold only UTF-8.
  Status checkNames() const;

private:
  const RunConfig& config_;
  config::Schema schema_;
};

/// TEGULA_DEVICE, TEGULA_TARGET and TEGULA_THREADS override [hardware]; nothing else of a configuration comes from the
/// environment. Fails: a number of threads that is none.
Status applyEnvironment(RunConfig&);

} // namespace tegula
