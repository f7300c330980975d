// Run configuration, learning rate, metrics lines and checkpoints: no device needed.
#include "../data/TemporaryFolder.h"
#include "train/Baseline.h"
#include "train/Checkpoint.h"
#include "train/LearningRate.h"
#include "train/Metrics.h"
#include "train/ResumedConfig.h"
#include "train/RunFolder.h"
#include "train/Sampler.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace tegula;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string text(const Status& s) { return std::string(message(s)); }

TEST(RunConfig, ReportsEveryErrorOfAFile) {
  TemporaryFolder f;
  f.write("run.toml", "[training]\nstep = 3\n[optimiser]\nlr = 1\n[model]\ndim = \"wide\"\n");
  RunConfig c;
  Status s = resolveConfig({.source = f.path("run.toml")}, c);
  EXPECT_THAT(text(s), HasSubstr("run.toml:2: [training] unknown key 'step'; did you mean 'steps'?"));
  EXPECT_THAT(text(s), HasSubstr("unknown section 'optimiser'; did you mean 'optimizer'?"));
  EXPECT_THAT(text(s), HasSubstr("dim: found a string, expected an integer"));
}

TEST(RunConfig, SetsWinOverTheFileAndResolvedFilesReadBack) {
  TemporaryFolder f;
  f.write("run.toml", "[data]\npath = \"x.txt\"\n[training]\nsteps = 3\n");
  RunConfig c;
  ASSERT_TRUE(resolveConfig({.source = f.path("run.toml"), .sets = {"training.steps=7", "optimizer.lr=3e-4"}}, c).ok());
  EXPECT_EQ(c.training.steps, 7);
  EXPECT_EQ(c.optimizer.learningRate, 3e-4);
  std::string resolved = RunSchema(c)->toToml();
  f.write("resolved.toml", resolved);
  RunConfig again;
  ASSERT_TRUE(resolveConfig({.source = f.path("resolved.toml")}, again).ok());
  EXPECT_EQ(RunSchema(again)->toToml(), resolved);
}

TEST(RunConfig, EveryWrittenConfigReadsBack) {
  auto expectReadsBack = [](RunConfig c) {
    std::string written = RunSchema(c)->toToml();
    RunConfig again;
    auto document = config::parseToml(written, "config.toml");
    ASSERT_TRUE(document.ok()) << document.status();
    Status loaded = RunSchema(again)->load(*document);
    EXPECT_TRUE(loaded.ok()) << loaded;
    EXPECT_EQ(RunSchema(again)->toToml(), written);
  };
  for (const char* set :
       {"data.path=a \"b\" \\ \x01\x7f é€.txt", "job.description='''\n", "data.validation_fraction=0.9",
        "data.validation_fraction=1e-300", "optimizer.lr=5e-324", "optimizer.lr=1.7976931348623157e308",
        "optimizer.eps=1e22", "optimizer.beta1=0.30000000000000004", "training.seed=9223372036854775807",
        "training.max_norm=100000000000000000000.0", "model.init_std=0"}) {
    RunConfig c;
    Status resolved =
        resolveConfig({.dataPath = std::string(set).starts_with("data.path") ? "" : "x.txt", .sets = {set}}, c);
    ASSERT_TRUE(resolved.ok()) << resolved;
    expectReadsBack(c);
  }
  for (int64_t tokens : {3, 10, 30, 37, 299})
    for (int64_t train = std::max<int64_t>(2, trainingTokens(tokens, 0.9)); train < tokens; ++train) {
      RunConfig c; // as of a folder that was prepared
      c.data.validationFraction = validationFractionOf(train, tokens - train);
      expectReadsBack(c);
    }
}

TEST(RunConfig, RefusesNamesThatAConfigCannotHold) {
  RunConfig c;
  EXPECT_THAT(
      text(resolveConfig({.dataPath = "caf\xe9.txt"}, c)),
      HasSubstr("[data] path: byte 0xe9 at offset 3 of the name is not UTF-8, so config.toml could not hold it"));
  EXPECT_THAT(text(resolveConfig({.dataPath = "x.txt", .sets = {"job.description=\xff"}}, c = {})),
              HasSubstr("byte 0xff at offset 0 is not UTF-8"));
  c = {};
  c.job.dumpFolder = "runs/caf\xe9-1"; // of caf\xe9.toml
  EXPECT_THAT(text(RunSchema(c).checkNames()), HasSubstr("[job] dump_folder: byte 0xe9 at offset 8"));
}

TEST(RunConfig, RefusesHeadsThatDoNotDivideTheWidth) {
  RunConfig c;
  EXPECT_THAT(text(resolveConfig({.dataPath = "x.txt", .sets = {"model.dim=250", "model.n_heads=4"}}, c)),
              HasSubstr("dim 250 is not a multiple of n_heads 4; the nearest dim is 252"));
  EXPECT_THAT(text(resolveConfig({}, c = {})), HasSubstr("[data] path is not given"));
}

TEST(ResumedConfig, BlamesWhatWasGivenAndAsksForWhatWasNot) {
  RunConfig before, now;
  ASSERT_TRUE(resolveConfig({.dataPath = "x.txt", .sets = {"model.n_heads=2", "data.tokenizer=char"}}, before).ok());
  ASSERT_TRUE(resolveConfig({.dataPath = "x.txt", .sets = {"model.n_heads=8"}}, now).ok());
  EXPECT_THAT(
      text(checkResumedConfig(before, now)),
      testing::AllOf(HasSubstr("leave model.n_heads=8 out, or give model.n_heads=2"),
                     HasSubstr("data.tokenizer was \"char\" when this run began and is \"byte\" where nothing is "
                               "given; it cannot change on resume: give data.tokenizer=\"char\"")));
  EXPECT_TRUE(checkResumedConfig(before, before).ok());
}

TEST(RunFolder, RefusesAFolderWithCheckpointsAndNamesTheWaysOut) {
  TemporaryFolder f;
  RunConfig c;
  c.data.path = "kjv.txt";
  c.job.dumpFolder = f.path("run");
  f.write("run/checkpoints/step-20/manifest.json", "{}");
  f.write("run/checkpoints/step-3/manifest.json", "{}");
  f.write("run/checkpoints/step-30.tmp-1-1/manifest.json", "{}");
  EXPECT_THAT(text(chooseRunFolder({}, c).status()),
              testing::AllOf(HasSubstr("up to step 20"), HasSubstr("--resume"), HasSubstr("--new")));
  EXPECT_EQ(chooseRunFolder({.resume = true}, c)->path, f.path("run"));
  EXPECT_EQ(chooseRunFolder({.fresh = true}, c)->path, f.path("run-2"));
  EXPECT_EQ(*latestCheckpoint(f.path("run")), f.path("run/checkpoints/step-20"));
}

TEST(RunFolder, RefusesFilesThatAreNoRuns) {
  TemporaryFolder f;
  RunConfig c;
  c.data.path = "kjv.txt";
  auto choose = [&](const std::string& folder, TrainRequest request = {}) {
    c.job.dumpFolder = f.path(folder);
    StatusOr<RunFolder> run = chooseRunFolder(request, c);
    return run.ok() ? run->path : text(run.status());
  };
  f.write("mine/config.toml", "# mine");
  f.write("mine/notes.txt", "");
  EXPECT_THAT(choose("mine"), testing::AllOf(HasSubstr("mine: holds config.toml and 1 more and is no run's folder"),
                                             HasSubstr("job.dump_folder"), HasSubstr("--new")));
  EXPECT_EQ(choose("mine", {.fresh = true}), f.path("mine-2"));
  EXPECT_EQ(choose("mine/", {.fresh = true}), f.path("mine-2"));
  EXPECT_EQ(choose("mine/.", {.fresh = true}), f.path("mine-2"));
  ASSERT_TRUE(makeFolders(f.path("empty")).ok());
  EXPECT_EQ(choose("empty"), f.path("empty"));
  EXPECT_EQ(choose("none"), f.path("none"));
  f.write("unsaved/lock", ""); // a run that was stopped before its first checkpoint
  f.write("unsaved/log.jsonl", "");
  EXPECT_EQ(choose("unsaved"), f.path("unsaved"));
}

TEST(RunFolder, NeverWritesOverWhatTheRunStartsFrom) {
  TemporaryFolder f;
  RunConfig c;
  c.data.path = "kjv.txt";
  c.job.dumpFolder = f.path("run");
  for (const char* name : {"lock", "config.toml", "tokenizer.json", "log.jsonl"})
    f.write(std::string("run/") + name, "");
  std::filesystem::create_symlink("run/config.toml", f.path("my.toml"));
  for (const char* source : {"run/config.toml", "run/../run/config.toml", "my.toml", "run/tokenizer.json"}) {
    TrainRequest request{.source = f.path(source)};
    EXPECT_THAT(text(chooseRunFolder(request, c).status()),
                testing::AllOf(HasSubstr("would write over " + request.source), HasSubstr("--new")));
  }
  c.data.path = f.path("run/log.jsonl");
  EXPECT_THAT(text(chooseRunFolder({}, c).status()), HasSubstr("would write over " + c.data.path));
  EXPECT_EQ(chooseRunFolder({.fresh = true}, c)->path, f.path("run-2"));
}

/// Makes a folder the process's until the end of the test.
class InFolder {
public:
  explicit InFolder(const std::string& path) { std::filesystem::current_path(path); }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;

private:
  std::filesystem::path before_ = std::filesystem::current_path();
};

TEST(RunFolder, NumbersGoOnPastGaps) {
  TemporaryFolder f;
  InFolder here(f.path());
  auto choose = [](TrainRequest request) {
    RunConfig c;
    c.data.path = "texts/my.txt";
    StatusOr<RunFolder> run = chooseRunFolder(request, c);
    return run.ok() ? run->path : text(run.status());
  };
  EXPECT_EQ(choose({}), "runs/my-1");
  EXPECT_THAT(choose({.resume = true}), HasSubstr("found no runs/my-<n> with checkpoints"));
  for (const char* run : {"my-2", "my-10", "my-9", "my-011", "my-12b", "my-99999999999999999999", "my-new-40", "my"})
    f.write(fmt::format("runs/{}/checkpoints/step-1/manifest.json", run), "{}");
  EXPECT_EQ(choose({.resume = true}), "runs/my-10");
  EXPECT_EQ(choose({}), "runs/my-11");
  f.write("runs/my-12/lock", ""); // has no checkpoint
  f.write("runs/my-14", "no folder");
  EXPECT_EQ(choose({.resume = true}), "runs/my-10");
  EXPECT_EQ(choose({}), "runs/my-15");
  RunConfig beside;
  beside.data.path = "my.txt";
  beside.job.dumpFolder = "runs/my";
  EXPECT_EQ(chooseRunFolder({.fresh = true}, beside)->path, "runs/my-15");
  beside.job.dumpFolder = ".";
  EXPECT_EQ(chooseRunFolder({.fresh = true}, beside)->path, std::filesystem::canonical(f.path()).string() + "-2");
}

TEST(RunFolder, IsFoundFromInside) {
  TemporaryFolder f;
  f.write("config.toml", "[data]\npath = \"kjv.txt\"\n");
  f.write("checkpoints/step-3/manifest.json", "{}");
  InFolder here(f.path());
  for (const char* source : {".", "checkpoints/step-3", "./checkpoints/step-3/"}) {
    TrainRequest request{.source = source, .resume = true};
    RunConfig c;
    Status resolved = resolveConfig(request, c);
    EXPECT_TRUE(resolved.ok()) << resolved;
    EXPECT_EQ(chooseRunFolder(request, c)->path, ".");
  }
}

TEST(LearningRate, IsNanoGptsRule) {
  LearningRate r{1e-3, 0.1, 100, 2000, "cosine"};
  EXPECT_DOUBLE_EQ(r.at(0), 1e-3 / 101);
  EXPECT_DOUBLE_EQ(r.at(99), 1e-3 * 100 / 101);
  EXPECT_DOUBLE_EQ(r.at(100), 1e-3);
  EXPECT_NEAR(r.at(1050), 1e-4 + 0.5 * 9e-4, 1e-12);
  EXPECT_DOUBLE_EQ(r.at(2000), 1e-4);
}

TEST(LearningRate, SaysWhetherThePeakIsReached) {
  LearningRate r{1e-3, 0.1, 100, 101, "cosine"};
  EXPECT_TRUE(r.reachesPeak());
  EXPECT_EQ(r.text(), "0.001 after 100 warm-up steps, then cosine to 0.0001 at step 101");
  r.steps = 100;
  EXPECT_FALSE(r.reachesPeak());
  EXPECT_EQ(r.text(), "rises to 0.0009901 at step 100, the last; warm-up would take 100 steps to 0.001");
}

TEST(Metrics, LinesAreTorchtitans) {
  StepMetrics m{1, 8.0403, 1.3470, 0.001};
  Throughput t{1, 27483, 1.97e12 / 27483, 985e12, 1095216660, 101408950000};
  EXPECT_EQ(stepLine(m, t, false),
            "step:  1  loss:  8.0403  grad_norm:  1.3470  memory:  1.02GiB(1.08%)  tps: 27,483  tflops: 1.97  "
            "mfu: 0.20%  lr: 1.0000e-03");
  EXPECT_THAT(validationLine(250, 1.9035, t, false),
              testing::StartsWith("validate step: 250  loss:  1.9035  memory:  1.02GiB(1.08%)  tps: 27,483"));
  EXPECT_THAT(stepLine(m, t, true), HasSubstr("\x1b["));
}

TEST(Metrics, LogIsCutBackToTheCheckpoint) {
  TemporaryFolder f;
  Throughput t;
  std::string one = stepJson({1, 2.5, 1, 1e-3}, t), two = stepJson({2, 2.25, 1, 1e-3}, t),
              validation = validationJson(2, 2.0, 10, t);
  EXPECT_EQ(validation.find("mfu"), std::string::npos) << validation;
  EXPECT_EQ(validation.find("tflops"), std::string::npos) << validation;
  f.write("log.jsonl", one + two + validation + stepJson({3, 2, 1, 1e-3}, t) + "{\"step\": 4, \"lo");
  ASSERT_TRUE(truncateLog(f.path("log.jsonl"), 2).ok());
  EXPECT_EQ(*readFile(f.path("log.jsonl")), one + two + validation);
  for (const char* none : {"{\"step\":9223372036854775809}\n", "{\"step\":-1}\n", "[1]\n"}) { // are no steps before 2
    f.write("log.jsonl", one + none);
    ASSERT_TRUE(truncateLog(f.path("log.jsonl"), 2).ok());
    EXPECT_EQ(*readFile(f.path("log.jsonl")), one) << none;
  }
  EXPECT_THAT(stepJson({5, NAN, 1, 1, false}, t), HasSubstr("\"loss\":\"nan\""));
}

Checkpoint sample(int64_t step) {
  Checkpoint c;
  c.step = step;
  c.updates = step - 1;
  c.samples = step * 4;
  c.skipped = 3;
  c.skippedInARow = 2;
  c.dataChecksum = 0xfedcba9876543210u;
  c.target = "x86-64-v3";
  c.configToml = "[job]\n";
  c.tokenizerJson = "{}";
  c.parameters["w"] = HostArray::fromValues(DType::F32, {2}, std::vector<double>{1.5, static_cast<double>(step)});
  c.moments["w.exp_avg"] = HostArray::zeros(DType::F32, {2});
  return c;
}

TEST(Checkpoint, ReadsBackAndKeepsTheLatest) {
  TemporaryFolder f;
  for (int64_t step : {5, 10, 100, 20}) ASSERT_TRUE(saveCheckpoint(f.path(), sample(step), 2).ok());
  // 20 was saved last and stays, although 100 is higher; of the others the highest stays.
  EXPECT_THAT(listCheckpoints(f.path()), ElementsAre(20, 100));
  auto c = loadCheckpoint(checkpointFolder(f.path(), 20));
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->updates, 19);
  EXPECT_EQ(c->samples, 80);
  EXPECT_EQ(c->skipped, 3);
  EXPECT_EQ(c->skippedInARow, 2);
  EXPECT_EQ(c->dataChecksum, 0xfedcba9876543210u);
  EXPECT_EQ(c->parameters["w"].get(1), 20);
  EXPECT_EQ(c->configToml, "[job]\n");
}

TEST(Checkpoint, SavingTheSameStepAgainReplacesIt) {
  TemporaryFolder f;
  ASSERT_TRUE(saveCheckpoint(f.path(), sample(5), 0).ok());
  Checkpoint other = sample(5);
  other.samples = 7;
  ASSERT_TRUE(saveCheckpoint(f.path(), other, 0).ok());
  EXPECT_EQ(loadCheckpoint(checkpointFolder(f.path(), 5))->samples, 7);
  EXPECT_EQ(listFolder(f.path())->size(), 1u);
}

TEST(Checkpoint, SavingRemovesWhatACrashLeftAndNothingElse) {
  TemporaryFolder f;
  std::vector<std::string> own{"step-",         "step-02",           "step--0", "step-2-keep",       "step-2.tmp",
                               "step-2.tmp-me", "step-2.tmp-1-1-me", "step-x",  "step-two.tmp-17-0", "mine.tmp-1-1"};
  for (const std::string& name : own) f.write(name + "/manifest.json", "{}");
  f.write("step-2.tmp-17-0/model.safetensors", "half");
  for (int64_t step : {2, 4}) ASSERT_TRUE(saveCheckpoint(f.path(), sample(step), 1).ok());
  EXPECT_THAT(listCheckpoints(f.path()), ElementsAre(4));
  std::vector<std::string> left = own;
  left.emplace_back("step-4");
  EXPECT_THAT(*listFolder(f.path()), testing::UnorderedElementsAreArray(left));
}

TEST(Checkpoint, EveryKindOfDamageIsFound) {
  TemporaryFolder f;
  ASSERT_TRUE(saveCheckpoint(f.path(), sample(5), 0).ok());
  std::string folder = checkpointFolder(f.path(), 5);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "config.toml", "tokenizer.json"}) {
    std::string path = folder + "/" + name, bytes = *readFile(path), changed = bytes;
    changed[changed.size() / 2] ^= 0x40;
    ASSERT_TRUE(writeFileAtomically(path, changed).ok());
    EXPECT_THAT(text(loadCheckpoint(folder).status()), testing::AllOf(HasSubstr(name), HasSubstr("checksum"))) << name;
    ASSERT_TRUE(writeFileAtomically(path, std::string_view(bytes).substr(1)).ok());
    EXPECT_THAT(text(loadCheckpoint(folder).status()), testing::AllOf(HasSubstr(name), HasSubstr("bytes"))) << name;
    ASSERT_TRUE(removeFile(path).ok());
    EXPECT_FALSE(loadCheckpoint(folder).ok()) << name;
    ASSERT_TRUE(writeFileAtomically(path, bytes).ok());
  }
  EXPECT_TRUE(loadCheckpoint(folder).ok());
  ASSERT_TRUE(writeFileAtomically(folder + "/manifest.json", std::string_view("{\"format\":")).ok());
  EXPECT_THAT(text(loadCheckpoint(folder).status()), HasSubstr("is not a manifest"));
}

class Manifest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(saveCheckpoint(folder_.path(), sample(5), 0).ok());
    whole_ = nlohmann::json::parse(*readFile(path_));
  }
  /// What loading says once `edit` has changed the manifest; it names the file and the way out.
  std::string after(const std::function<void(nlohmann::json&)>& edit) {
    nlohmann::json changed = whole_;
    edit(changed);
    EXPECT_TRUE(writeFileAtomically(path_, changed.dump()).ok());
    Status s = loadCheckpoint(checkpointFolder(folder_.path(), 5)).status();
    EXPECT_THAT(text(s), testing::AllOf(testing::StartsWith(path_), HasSubstr("delete its folder"))) << changed;
    return text(s);
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.path("step-5/manifest.json");
  nlohmann::json whole_;
};

TEST_F(Manifest, NumbersAreCounts) {
  for (const char* key : {"step", "updates", "samples", "skipped", "skipped_in_a_row"}) {
    auto with = [&](const nlohmann::json& value) { return after([&](auto& j) { j[key] = value; }); };
    EXPECT_THAT(with(-3), HasSubstr(fmt::format("{} is -3; expected a count", key)));
    EXPECT_THAT(with(1.5), HasSubstr(fmt::format("{} is 1.5; expected a count", key)));
    EXPECT_THAT(with(9223372036854775808u), HasSubstr(fmt::format("{} is 9223372036854775808; expected", key)));
    EXPECT_THAT(with("5"), HasSubstr(fmt::format("{} is \"5\"; expected a count", key)));
    EXPECT_THAT(with({{"a", 1}}), HasSubstr(fmt::format("{} is object; expected a count", key)));
  }
  for (const char* key : {"updates", "skipped", "skipped_in_a_row"})
    EXPECT_THAT(after([&](auto& j) { j[key] = 6; }), HasSubstr(fmt::format("{} is 6; expected at most step, 5", key)));
  for (const char* digits : {"", "12 ", "0x12", "11111111111111111"})
    EXPECT_THAT(after([&](auto& j) { j["data_checksum"] = digits; }), HasSubstr("expected hexadecimal digits"));
}

TEST_F(Manifest, NothingIsMissing) {
  for (const auto& [key, value] : whole_.items())
    if (key != "format" && key != "skipped_in_a_row")
      EXPECT_THAT(after([&](auto& j) { j.erase(key); }), HasSubstr(key + " is missing"));
  for (const auto& [name, entry] : whole_["files"].items()) {
    EXPECT_THAT(after([&](auto& j) { j["files"].erase(name); }),
                HasSubstr(fmt::format("files: {} is missing; expected an object", name)));
    for (const auto& [key, value] : entry.items())
      EXPECT_THAT(after([&](auto& j) { j["files"][name].erase(key); }),
                  HasSubstr(fmt::format("files: {}: {} is missing", name, key)));
  }
}

TEST_F(Manifest, OfAnEarlierBuildIsRead) {
  nlohmann::json earlier = whole_;
  earlier.erase("skipped_in_a_row");
  ASSERT_TRUE(writeFileAtomically(path_, earlier.dump()).ok());
  auto c = loadCheckpoint(checkpointFolder(folder_.path(), 5));
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->skippedInARow, 0);
}

TEST(Baseline, TakesOnlyWholeLinesOfTheLog) {
  TemporaryFolder f;
  f.write("text.txt", std::string(300, 'a'));
  f.write("run/config.toml", "[data]\npath = \"text.txt\"\n");
  ASSERT_TRUE(Tokenizer::bytes(false).save(f.path("run/tokenizer.json")).ok());
  for (const char* damaged : {R"({"validate_step":2,"loss":2})", R"({"validate_step":2,"loss":2,"predictions":-1})",
                              R"({"validate_step":2,"predictions":9})", R"({"validate_step":2,"loss":)", "3"}) {
    f.write("run/log.jsonl", damaged);
    EXPECT_THAT(text(measureBaseline(f.path("text.txt"), std::nullopt, f.path("run")).status()),
                HasSubstr("holds no validation"))
        << damaged;
  }
}

TEST(Sampling, IsAPureFunctionAndRespectsTopK) {
  std::vector<float> logits{1, 3, 3, 2, -INFINITY};
  EXPECT_EQ(*chooseToken(logits, {.temperature = 0}, 0), 1); // the first of equals
  SamplingOptions o{.temperature = 1, .topK = 2, .seed = 4};
  int counts[5] = {};
  for (int64_t i = 0; i < 2000; ++i) {
    int32_t token = *chooseToken(logits, o, i);
    EXPECT_EQ(token, *chooseToken(logits, o, i));
    ++counts[token];
  }
  EXPECT_EQ(counts[0] + counts[3] + counts[4], 0);
  EXPECT_NEAR(counts[1], 1000, 150); // five standard deviations are 112
  logits[2] = NAN;
  EXPECT_THAT(text(chooseToken(logits, o, 0).status()), HasSubstr("logit of token 2 is NaN"));
}

} // namespace
