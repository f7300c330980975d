// The step loop in this process: what is durable when it says "saved".
#include "train/Trainer.h"

#include "../base/SyncWitness.h"
#include "../data/TemporaryFolder.h"
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
    if (!request.resume) {
      request.dataPath = folder_.path("text.txt");
      request.sets = {"job.dump_folder=" + run_,     "model.dim=32",       "model.n_layers=1",
                      "training.local_batch_size=2", "training.seq_len=8", "validation.enable=false",
                      "lr_scheduler.warmup_steps=1"};
    }
    request.sets.insert(request.sets.end(), sets.begin(), sets.end());
    char* printed = nullptr;
    size_t size = 0;
    std::FILE* out = open_memstream(&printed, &size);
    Status trained = train(request, out);
    std::fclose(out);
    std::string lines(printed, size);
    std::free(printed);
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

} // namespace
