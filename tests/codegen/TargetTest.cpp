// Targets: what the files state, the choice for a processor, refusals in words.
#include "compiler/target/Processor.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Processor processorLike(std::string_view target) {
  Processor p;
  p.name = "Test CPU";
  auto t = targetByName(target);
  EXPECT_TRUE(t.ok()) << t.status();
  p.features.insert(t->processorFeatures.begin(), t->processorFeatures.end());
  p.threads = 3;
  p.caches = {{48 << 10, 64, false}, {2 << 20, 64, false}, {32 << 20, 64, true}};
  return p;
}

TEST(Targets, BestFirst) { EXPECT_THAT(targetNames(), ElementsAre("x86-64-v4-bf16", "x86-64-v4", "x86-64-v3")); }

TEST(Targets, StateRegistersAndRates) {
  auto v3 = targetByName("x86-64-v3"), bf16 = targetByName("x86-64-v4-bf16");
  ASSERT_TRUE(v3.ok() && bf16.ok());
  EXPECT_EQ(v3->vectorBytes, 32);
  EXPECT_EQ(v3->vectorRegisters, 16);
  EXPECT_FALSE(v3->maskRegisters || v3->bf16Dot);
  EXPECT_EQ(bf16->vectorElements(4), 16);
  EXPECT_TRUE(bf16->maskRegisters && bf16->bf16Dot);
  EXPECT_FALSE(bf16->bf16DotIsFast()) << "only a measurement tells";
  for (const Target* t : {&*v3, &*bf16})
    for (const TargetInstruction& i : t->instructions) EXPECT_GT(i.macs(), 0) << i.name;
}

TEST(Targets, ChoiceFollowsTheProcessor) {
  for (const std::string& name : targetNames()) {
    auto chosen = chooseTarget(processorLike(name), {});
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_EQ(chosen->name, name);
    EXPECT_EQ(chosen->threads, 3);
    EXPECT_EQ(chosen->caches[0].sizeBytes, 48 << 10);
  }
  auto lower = chooseTarget(processorLike("x86-64-v4"), "x86-64-v3");
  ASSERT_TRUE(lower.ok()) << lower.status();
  EXPECT_EQ(lower->vectorBytes, 32);
}

TEST(Targets, RefusalsSayWhatIsMissing) {
  Processor old;
  old.name = "Old CPU";
  old.features = {"popcnt"};
  auto none = chooseTarget(old, {});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(std::string(message(none.status())), HasSubstr("this processor (Old CPU) lacks avx2, fma"));
  auto forced = chooseTarget(processorLike("x86-64-v3"), "x86-64-v4");
  ASSERT_FALSE(forced.ok());
  EXPECT_THAT(std::string(message(forced.status())),
              HasSubstr("target x86-64-v4: this processor (Test CPU) lacks avx512f"));
  auto unknown = chooseTarget(old, "x86-64-v9");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(std::string(message(unknown.status())), HasSubstr("known: x86-64-v4-bf16, x86-64-v4, x86-64-v3"));
}

TEST(Targets, TheEnvironmentForcesAndTheArgumentWins) {
  ::setenv("TEGULA_TARGET", "no-such-target", 1);
  EXPECT_FALSE(detectTarget().ok());
  EXPECT_EQ(detectTarget("x86-64-v3").ok(), chooseTarget(detectProcessor(), "x86-64-v3").ok());
  ::unsetenv("TEGULA_TARGET");
  if (auto here = detectTarget(); here.ok()) {
    EXPECT_GE(here->threads, 1);
    EXPECT_GE(here->caches.at(0).sizeBytes, 8 << 10);
  }
}

} // namespace
} // namespace tegula
