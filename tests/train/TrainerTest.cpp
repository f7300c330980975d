// The step loop in this process: what is durable when it says "saved", what a prepared folder decides, where losses that
// stay non-finite stop it.
#include "train/Trainer.h"

#include "../base/SyncWitness.h"
#include "../data/TemporaryFolder.h"
#include "TrainTestSupport.h"
#include <gmock/gmock.h>

using namespace tegula;
using testing::HasSubstr;

namespace {

/// A run of a few tiny steps on a text of its own.
class TrainerTest : public testing::Test {
protected:
  void SetUp() override { folder_.write("text.txt", std::string(500, 'a')); }
  /// What training says; ends with the message where it fails.
  std::string trainTo(TrainRequest request, std::vector<std::string> sets = {}) const {
    if (request.source.empty()) {
      request.dataPath = folder_.path("text.txt");
      request.sets = {"job.dump_folder=" + run_,     "model.dim=32",       "model.n_layers=1",
                      "training.local_batch_size=2", "training.seq_len=8", "validation.enable=false",
                      "lr_scheduler.warmup_steps=1"};
    }
    request.sets.insert(request.sets.end(), sets.begin(), sets.end());
    std::string lines;
    Status trained = trainPrinting(request, lines);
    return lines + std::string(message(trained));
  }
  TemporaryFolder folder_;
  std::string run_ = folder_.path("runs/of/run");
};

TEST_F(TrainerTest, WhatARunResumesFromIsDurableUpToItsParents) {
  SyncWitness witness;
  EXPECT_THAT(trainTo({}, {"training.steps=1"}), HasSubstr("saved"));
  for (const char* path : {"", "/..", "/../..", "/log.jsonl", "/config.toml", "/tokenizer.json", "/data",
                           "/data/train.tokens", "/checkpoints", "/checkpoints/step-1"})
    EXPECT_TRUE(witness.sawDurable(run_ + path)) << path;
}

/// A configuration that leaves the tokenizer and the fraction to the prepared folder does so on resume, too.
TEST_F(TrainerTest, APreparedFolderSaysOnResumeWhatItWasMadeWith) {
  std::string data = folder_.path("prepared");
  ASSERT_TRUE(prepareDataset(folder_.path("text.txt"), data, {.tokenizer = "char", .validationFraction = 0.2}).ok());
  folder_.write("my.toml", fmt::format("[job]\ndump_folder = \"{}\"\n[data]\npath = \"{}\"\n[model]\ndim = 32\n"
                                       "n_layers = 1\n[training]\nlocal_batch_size = 2\nseq_len = 8\n[validation]\n"
                                       "enable = false\n",
                                       run_, data));
  auto steps = [&](int64_t n, bool resume) {
    TrainRequest request{.source = folder_.path("my.toml"), .resume = resume, .stopAt = n};
    return trainTo(request);
  };
  EXPECT_THAT(steps(1, false), HasSubstr("stopped after step 1"));
  EXPECT_THAT(steps(2, true), HasSubstr("stopped after step 2"));
  EXPECT_THAT(*readFile(run_ + "/config.toml"),
              testing::AllOf(HasSubstr("tokenizer = \"char\""), HasSubstr("validation_fraction = 0.2\n")));
  // The same text with another split is other data, and is told as that.
  ASSERT_TRUE(prepareDataset(folder_.path("text.txt"), data, {.tokenizer = "char", .validationFraction = 0.3}).ok());
  EXPECT_THAT(steps(3, true), HasSubstr("was trained on other data than " + data));
}

/// The first update makes the weights so large that their squares, in LayerNorm, overflow: steps 2, 3, 4, … are skipped.
const std::vector<std::string> kDiverges = {"optimizer.lr=1e30", "training.steps=6", "training.max_skipped_steps=3"};

TEST_F(TrainerTest, StopsAtAsManySkippedStepsInARowAsItIsTold) {
  EXPECT_THAT(trainTo({}, kDiverges),
              testing::AllOf(HasSubstr("step 4: 3 steps in a row were not finite"), HasSubstr("max_skipped_steps is 3"),
                             HasSubstr("the weights are those of step 1")));
  run_ += "-never";
  std::vector<std::string> never = kDiverges;
  never.back() = "training.max_skipped_steps=0";
  EXPECT_THAT(trainTo({}, never), HasSubstr("done: 6 steps"));
}

TEST_F(TrainerTest, AResumedRunStopsAtTheSameSkippedStep) {
  EXPECT_THAT(trainTo({.stopAt = 3}, kDiverges), HasSubstr("stopped after step 3"));
  EXPECT_THAT(trainTo({.source = run_, .resume = true}),
              testing::AllOf(HasSubstr("step 4: 3 steps in a row"), HasSubstr("the weights are those of step 1")));
}

} // namespace
