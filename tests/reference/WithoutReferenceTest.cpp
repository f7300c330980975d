// A build without the reference evaluator trains the quickstart's model and samples from it: nothing of a training step
// ever runs on the evaluator.
#include "../data/TemporaryFolder.h"
#include "../train/TrainTestSupport.h"
#include "primitives/Primitive.h"
#include "train/Sampler.h"
#include "train/Trainer.h"
#include <gmock/gmock.h>

using namespace tegula;
using testing::HasSubstr;

namespace {

TEST(WithoutReference, NoPrimitiveCanBeEvaluated) {
  ASSERT_FALSE(allPrimitives().empty());
  for (const Primitive* p : allPrimitives()) EXPECT_EQ(p->evaluate, nullptr) << p->name.text();
}

TEST(WithoutReference, QuickstartModelTrainsAndSamples) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; text.size() < 40000; ++i) text += fmt::format("verse {} of a text that says little; ", i * i % 97);
  folder.write("text.txt", text);
  TrainRequest request;
  request.dataPath = folder.path("text.txt");
  request.sets = {"job.dump_folder=" + folder.path("run"), "training.steps=3", "metrics.log_freq=1"};
  std::string lines;
  Status trained = trainPrinting(request, lines);
  ASSERT_TRUE(trained.ok()) << trained << lines;
  EXPECT_THAT(lines, HasSubstr("4 layers, 4 heads, 256 wide")) << "the defaults are the quickstart's model";
  EXPECT_THAT(lines, HasSubstr("reference 0"));
  EXPECT_THAT(lines, HasSubstr("validate step:"));

  auto sampler = Sampler::load(folder.path("run"), {});
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  std::string sampled;
  Status generated =
      (*sampler)->generate("verse ", {.tokens = 8, .topK = 4}, [&](std::string_view piece) { sampled += piece; });
  ASSERT_TRUE(generated.ok()) << generated;
  EXPECT_FALSE(sampled.empty());
  EXPECT_EQ((*sampler)->session().stats().kernelsReference, 0);
}

} // namespace
