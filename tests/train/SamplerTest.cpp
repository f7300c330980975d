// Where a sampler computes: as the run did, unless something else is asked for.
#include "train/Sampler.h"

#include "../data/TemporaryFolder.h"
#include "TrainTestSupport.h"
#include "compiler/Target.h"
#include "train/Trainer.h"
#include <cstdlib>

using namespace tegula;

namespace {

int threadsOf(const std::string& run, const SamplingPlace& place) {
  StatusOr<std::unique_ptr<Sampler>> sampler = Sampler::load(run, place);
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  return sampler.ok() ? (*sampler)->session().target().threads : -1;
}

TEST(Sampler, ZeroThreadsAreEveryCoreAndNoneGivenAreTheRuns) {
  ::unsetenv("TEGULA_THREADS");
  std::unique_ptr<Session> session = makeSession();
  ASSERT_NE(session, nullptr);
  int everyCore = session->target().threads, ofTheRun = everyCore + 1;
  TemporaryFolder f;
  f.write("a.txt", std::string(500, 'a'));
  TrainRequest request;
  request.dataPath = f.path("a.txt");
  request.sets = {"job.dump_folder=" + f.path("run"),
                  "model.dim=32",
                  "model.n_layers=1",
                  "training.steps=1",
                  "training.local_batch_size=2",
                  "training.seq_len=8",
                  fmt::format("hardware.threads={}", ofTheRun)};
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  Status trained = train(request, nowhere);
  std::fclose(nowhere);
  ASSERT_TRUE(trained.ok()) << trained;
  EXPECT_EQ(threadsOf(f.path("run"), {}), ofTheRun);
  EXPECT_EQ(threadsOf(f.path("run"), {.threads = 0}), everyCore);
  EXPECT_EQ(threadsOf(f.path("run"), {.threads = 1}), 1);
}

} // namespace
