// Resuming is bit-exact: after kill -9, across epochs, at another thread count, with an empty kernel cache, after
// Ctrl-C. Parameters, moments, data position and the reproducible part of log.jsonl are compared as bytes.
#include "../data/TemporaryFolder.h"
#include "Process.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace tegula;
using testing::HasSubstr;

namespace {

constexpr int kSteps = 40;

/// A run of 40 small steps; its text has 33 steps an epoch, so that steps 20 to 40 cross an epoch boundary.
class Resume : public testing::Test {
protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; text.size() < 7000; ++i)
      text += fmt::format("line {} of {}: the quick brown fox. ", i, (i * i) % 97);
    folder_.write("text.txt", text);
  }
  std::vector<std::string> newRun(const std::string& name) {
    std::vector<std::string> arguments{"train", "--data", folder_.path("text.txt"), "--set",
                                       "job.dump_folder=" + folder_.path(name)};
    for (const char* set :
         {"model.n_layers=2", "model.dim=32", "model.n_heads=2", "training.seq_len=24", "training.local_batch_size=8",
          "metrics.log_freq=1", "checkpoint.interval=10", "checkpoint.keep_latest_k=0", "validation.freq=15"})
      arguments.insert(arguments.end(), {"--set", set});
    arguments.insert(arguments.end(), {"--set", fmt::format("training.steps={}", kSteps)});
    return arguments;
  }
  std::string checkpointFile(const std::string& run, int step, const std::string& name) {
    return orEmpty(readFile(fmt::format("{}/checkpoints/step-{}/{}", folder_.path(run), step, name)));
  }
  static std::string orEmpty(StatusOr<std::string> text) {
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? *text : std::string();
  }
  /// log.jsonl without what is measured.
  std::string reproducibleLog(const std::string& run) {
    std::istringstream lines(orEmpty(readFile(folder_.path(run) + "/log.jsonl")));
    std::string out;
    for (std::string line; std::getline(lines, line);) {
      nlohmann::ordered_json j = nlohmann::ordered_json::parse(line);
      j.erase("measured");
      out += j.dump() + "\n";
    }
    return out;
  }
  void expectSameRun(const std::string& a, const std::string& b) {
    for (const char* name : {"model.safetensors", "optimizer.safetensors", "tokenizer.json"})
      EXPECT_TRUE(checkpointFile(a, kSteps, name) == checkpointFile(b, kSteps, name)) << name << " differs";
    auto position = [&](const std::string& run) {
      return nlohmann::json::parse(checkpointFile(run, kSteps, "manifest.json"))["samples"];
    };
    EXPECT_EQ(position(a), position(b));
    EXPECT_EQ(reproducibleLog(a), reproducibleLog(b));
  }
  void runThrough(const std::string& name, std::vector<std::string> environment = {}) {
    Finished whole = runTegula(newRun(name), std::move(environment));
    ASSERT_EQ(whole.exitCode, 0) << whole.output;
  }
  TemporaryFolder folder_;
};

TEST_F(Resume, AfterKillMinusNineWithOtherThreadsAndAnEmptyCache) {
  runThrough("whole", {"TEGULA_THREADS=2"});
  {
    Process killed(newRun("killed"), {"TEGULA_THREADS=2"});
    ASSERT_TRUE(killed.waitFor("step: 26")); // past the checkpoint of step 20, before that of step 30
    killed.send(SIGKILL);
    killed.wait();
  }
  Finished resumed = runTegula({"train", "--resume", folder_.path("killed")},
                               {"TEGULA_THREADS=3", "TEGULA_CACHE=" + folder_.path("cache")});
  ASSERT_EQ(resumed.exitCode, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("resumed from"));
  EXPECT_THAT(resumed.output, HasSubstr("from cache 0, reference 0"));
  expectSameRun("whole", "killed");
}

TEST_F(Resume, AfterCtrlCThatSaves) {
  runThrough("whole");
  Process interrupted(newRun("interrupted"));
  ASSERT_TRUE(interrupted.waitFor("step: 13"));
  interrupted.send(SIGINT);
  Finished stopped = interrupted.wait();
  EXPECT_EQ(stopped.exitCode, 0) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("go on with: tegula train --resume"));
  Finished resumed = runTegula({"train", "--resume", folder_.path("interrupted")});
  ASSERT_EQ(resumed.exitCode, 0) << resumed.output;
  expectSameRun("whole", "interrupted");
}

TEST_F(Resume, AfterATerminalThatClosed) {
  Process interrupted(newRun("interrupted"));
  ASSERT_TRUE(interrupted.waitFor("step: 13"));
  interrupted.send(SIGHUP);
  interrupted.send(SIGHUP); // from the kernel and from the shell
  Finished stopped = interrupted.wait();
  EXPECT_EQ(stopped.exitCode, 0) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("go on with: tegula train --resume"));
}

TEST_F(Resume, AfterAReaderThatLeft) {
  runThrough("whole");
  Process unread(newRun("unread"));
  ASSERT_TRUE(unread.waitFor("step: 13"));
  unread.closeOutput();
  EXPECT_EQ(unread.wait().exitCode, 1);
  Finished resumed = runTegula({"train", "--resume", folder_.path("unread")});
  ASSERT_EQ(resumed.exitCode, 0) << resumed.output;
  EXPECT_THAT(resumed.output, testing::ContainsRegex("resumed from .*/step-1[3-9]"));
  expectSameRun("whole", "unread");
}

TEST_F(Resume, AfterAReaderThatLeftBeforeTheFirstStep) {
  runThrough("whole");
  Process unread(newRun("unread"));
  unread.closeOutput();
  EXPECT_EQ(unread.wait().exitCode, 1);
  Finished resumed = runTegula({"train", "--resume", folder_.path("unread")});
  ASSERT_EQ(resumed.exitCode, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("checkpoints/step-0 at step 0"));
  expectSameRun("whole", "unread");
}

TEST_F(Resume, StopAtThenGoOn) {
  runThrough("whole");
  std::vector<std::string> arguments = newRun("stopped");
  arguments.insert(arguments.end(), {"--stop-at", "17"});
  Finished stopped = runTegula(arguments);
  ASSERT_EQ(stopped.exitCode, 0) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("stopped after step 17 of 40"));
  // Without --resume or --new the folder is refused, and both are named.
  Finished refused = runTegula(newRun("stopped"));
  EXPECT_EQ(refused.exitCode, 1);
  EXPECT_THAT(refused.output, testing::AllOf(HasSubstr("--resume"), HasSubstr("--new"), HasSubstr("step 17")));
  Finished resumed = runTegula({"train", "--resume", folder_.path("stopped")});
  ASSERT_EQ(resumed.exitCode, 0) << resumed.output;
  expectSameRun("whole", "stopped");
}

TEST_F(Resume, EvaluatingDoesNotChangeTraining) {
  runThrough("whole");
  std::vector<std::string> arguments = newRun("blind");
  arguments.insert(arguments.end(), {"--set", "validation.enable=false"});
  ASSERT_EQ(runTegula(arguments).exitCode, 0);
  EXPECT_TRUE(checkpointFile("whole", kSteps, "model.safetensors") ==
              checkpointFile("blind", kSteps, "model.safetensors"));
}

TEST_F(Resume, RefusesWhatTheRunCannotBecome) {
  Process running(newRun("run"));
  ASSERT_TRUE(running.waitFor("step: 12")); // past the checkpoint of step 10
  Finished second = runTegula({"train", "--resume", folder_.path("run")});
  EXPECT_EQ(second.exitCode, 1);
  EXPECT_THAT(second.output, HasSubstr("another process is training this run"));
  ASSERT_TRUE(makeFolders(folder_.path("odd/lock")).ok()); // a lock that cannot be opened, as in a read-only folder
  EXPECT_THAT(
      runTegula({"train", "--data", folder_.path("text.txt"), "--set", "job.dump_folder=" + folder_.path("odd")})
          .output,
      testing::AllOf(HasSubstr("odd/lock: Is a directory"), testing::Not(HasSubstr("another process"))));
  running.send(SIGINT);
  ASSERT_EQ(running.wait().exitCode, 0);
  std::string config = orEmpty(readFile(folder_.path("run") + "/config.toml"));
  auto refuses = [&](const std::string& set, const std::string& text) {
    Finished f = runTegula({"train", "--resume", folder_.path("run"), "--set", set});
    EXPECT_EQ(f.exitCode, 1) << set << f.output;
    EXPECT_THAT(f.output, HasSubstr(text)) << set;
    EXPECT_EQ(orEmpty(readFile(folder_.path("run") + "/config.toml")), config) << set;
  };
  refuses("training.steps=3", "more than training.steps=3");
  refuses("data.path=other.txt", "not on other.txt");
  refuses("optimizer.lr=inf", "must be finite");
  refuses("model.n_heads=4", "model.n_heads was 2 when this run began; it cannot change on resume");
  refuses("model.gelu=tanh", "model.gelu was \"erf\" when this run began");
  refuses("model.norm_eps=1e-6", "leave model.norm_eps=1e-06 out");
  refuses("training.seq_len=8", "training.seq_len was 24 when this run began");
  refuses("training.local_batch_size=4", "training.local_batch_size was 8 when this run began");
  refuses("data.tokenizer=char", "data.tokenizer was \"byte\" when this run began");
  refuses("data.validation_fraction=0.2", "data.validation_fraction was 0.1 when this run began");
  ASSERT_EQ(runTegula({"train", "--resume", folder_.path("run")}).exitCode, 0);
}

TEST_F(Resume, TakesWhatMayChangeAndSaysWhatThatDoes) {
  std::vector<std::string> arguments = newRun("run");
  arguments.insert(arguments.end(), {"--stop-at", "10"});
  ASSERT_EQ(runTegula(arguments).exitCode, 0);
  auto resumed = [&](int stopAt, const std::string& set) {
    Finished f =
        runTegula({"train", "--resume", folder_.path("run"), "--set", set, "--stop-at", fmt::format("{}", stopAt)});
    EXPECT_EQ(f.exitCode, 0) << set << f.output;
    return f.output;
  };
  EXPECT_THAT(resumed(11, "training.dtype=bf16"),
              testing::AllOf(HasSubstr("training.dtype was \"f32\" and is \"bf16\" now: it continues correctly"),
                             testing::Not(HasSubstr("was computed on target"))));
  EXPECT_THAT(resumed(12, "training.seed=7"), HasSubstr("training.seed was 1337 and is 7 now: the data comes in an"));
  for (const char* set : {"optimizer.lr=1e-4", "training.steps=41", "checkpoint.keep_latest_k=1", "metrics.log_freq=2"})
    EXPECT_THAT(resumed(13, set), testing::Not(HasSubstr("warning: resume:"))) << set;
}

TEST_F(Resume, AHandEditedConfigIsComparedWithTheCheckpoint) {
  std::vector<std::string> arguments = newRun("run");
  arguments.insert(arguments.end(), {"--stop-at", "1"});
  ASSERT_EQ(runTegula(arguments).exitCode, 0);
  std::string path = folder_.path("run") + "/config.toml", config = orEmpty(readFile(path));
  config.replace(config.find("n_heads = 2"), 11, "n_heads = 8");
  ASSERT_TRUE(writeFileAtomically(path, config).ok());
  Finished f = runTegula({"train", "--resume", folder_.path("run")});
  EXPECT_EQ(f.exitCode, 1);
  EXPECT_THAT(f.output, HasSubstr("model.n_heads was 2 when this run began"));
}

TEST_F(Resume, AStartThatFailsLeavesNoFolder) {
  Finished f =
      runTegula({"train", "--data", folder_.path("none.txt"), "--set", "job.dump_folder=" + folder_.path("n")});
  EXPECT_EQ(f.exitCode, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("n")));
}

TEST_F(Resume, TakesTheLatestCheckpointByItsFolderAndSaysWhatItLeavesOut) {
  std::vector<std::string> arguments = newRun("run");
  arguments.insert(arguments.end(), {"--stop-at", "20"});
  ASSERT_EQ(runTegula(arguments).exitCode, 0);
  std::string checkpoints = folder_.path("run") + "/checkpoints";
  EXPECT_THAT(runTegula({"train", "--resume", checkpoints + "/step-10", "--stop-at", "21"}).output,
              HasSubstr("the run has a later checkpoint"));
  EXPECT_THAT(runTegula({"train", "--resume", checkpoints + "/step-20/", "--stop-at", "21"}).output,
              HasSubstr("stopped after step 21"));
  ASSERT_TRUE(removeAll(checkpoints + "/step-21/manifest.json").ok());
  EXPECT_THAT(runTegula({"train", "--resume", folder_.path("run"), "--stop-at", "21"}).output,
              testing::AllOf(HasSubstr("step-21: has no manifest.json, so it is not complete; it is left out"),
                             HasSubstr("resumed from " + checkpoints + "/step-20"),
                             HasSubstr("stopped after step 21")));
}

TEST_F(Resume, RefusesDamagedCheckpointsAndOtherData) {
  std::vector<std::string> arguments = newRun("run");
  arguments.insert(arguments.end(), {"--stop-at", "10"});
  ASSERT_EQ(runTegula(arguments).exitCode, 0);
  std::string model = folder_.path("run") + "/checkpoints/step-10/model.safetensors", bytes = orEmpty(readFile(model)),
              damaged = bytes;
  damaged[damaged.size() - 3] ^= 1;
  ASSERT_TRUE(writeFileAtomically(model, damaged).ok());
  Finished refused = runTegula({"train", "--resume", folder_.path("run")});
  EXPECT_EQ(refused.exitCode, 1);
  EXPECT_THAT(refused.output, testing::AllOf(HasSubstr("model.safetensors"), HasSubstr("damaged")));
  ASSERT_TRUE(writeFileAtomically(model, bytes).ok());
  ASSERT_TRUE(removeAll(folder_.path("run") + "/data").ok());
  folder_.write("text.txt", std::string(9000, 'x'));
  EXPECT_THAT(runTegula({"train", "--resume", folder_.path("run")}).output, HasSubstr("other data"));
}

TEST_F(Resume, LinesAndFilesOfARunAreAsPromised) {
  Finished whole = runTegula(newRun("run"));
  ASSERT_EQ(whole.exitCode, 0) << whole.output;
  EXPECT_THAT(whole.output,
              testing::ContainsRegex(
                  "step:  1  loss:  [0-9]\\.[0-9]{4}  grad_norm:  [0-9]\\.[0-9]{4}  memory: +[0-9.]+GiB\\([0-9.]+%\\)  "
                  "tps: [0-9,]+  tflops: [0-9.]+  mfu: [0-9.]+%  lr: [0-9.e-]+\n"));
  EXPECT_THAT(whole.output, testing::ContainsRegex("\nvalidate step: 15  loss:  [0-9]"));
  EXPECT_THAT(whole.output, HasSubstr("reference 0"));
  EXPECT_THAT(whole.output, testing::Not(HasSubstr("\x1b[")));
  for (const char* name : {"config.toml", "log.jsonl", "tokenizer.json", "checkpoints/step-40/manifest.json"})
    EXPECT_TRUE(fileExists(folder_.path("run") + "/" + name)) << name;

  auto generate = [&](const std::string& run, std::vector<std::string> more, const std::string& input = {}) {
    std::vector<std::string> arguments{"generate", run, "--tokens", "60"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Finished f = runTegula(arguments, {}, input);
    EXPECT_EQ(f.exitCode, 0) << f.output;
    return f.output;
  };
  std::string run = folder_.path("run"), sampled = generate(run, {"--prompt", "line ", "--seed", "3"});
  EXPECT_EQ(sampled, generate(run, {"--prompt", "line ", "--seed", "3"}));
  EXPECT_NE(sampled, generate(run, {"--prompt", "line ", "--seed", "4"}));
  EXPECT_EQ(sampled, generate(run + "/checkpoints/step-40", {"--prompt", "-", "--seed", "3"}, "line "));
  EXPECT_EQ(generate(run, {"--prompt", "l", "--temperature", "0"}),
            generate(run, {"--prompt", "l", "--top-k", "1", "--seed", "9"}));
}

} // namespace
