// A device with one operator (the skeleton plugin, built by the project): what it supports runs there, the rest on the
// host, loudly; without the fallback everything is refused.
#include "TestCompiler.h"
#include "base/Log.h"
#include "runtime/Session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions onSkeleton(const std::string& cache) {
  SessionOptions options;
  options.device = TEGULA_NULL_BACKEND;
  options.cacheFolder = cache;
  return options;
}

TEST(PartialDevice, supportedOperatorsRunThereTheRestOnTheHost) {
  setLogLevel(LogLevel::Error); // the fallback is loud
  test::TemporaryFolder folder;
  SessionOptions options = onSkeleton(folder.path());
  options.fallback = SessionOptions::Fallback::Host;
  auto made =
      Session::create(options, OperatorLibrary::loadEmbedded().value(), std::make_unique<test::ImageCompiler>());
  ASSERT_TRUE(made.ok()) << made.status();
  Session& s = **made;
  HostArray values = HostArray::fromValues(DType::F32, {3}, std::vector<double>{1, 2, 3});
  int32_t w = s.addState("w", values);
  for (int step = 0; step < 3; ++step) {
    Tensor x = s.read(w);
    Tensor loss = call("reduce_sum", {x * x}, {{"axes", Shape{0}}, {"keepdim", false}});
    Tensor g = grad(loss, std::vector<Tensor>{x})[0];
    Tensor twice = x + x; // the skeleton adds
    s.assign(w, twice + g * 0.0);
    Status status = s.evaluate(std::vector<Tensor>{twice});
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_THAT(s.fetchState(w).value().toVector(), ElementsAre(8, 16, 24));
  Tensor sum = s.read(w) + s.input(values);
  int64_t onHost = s.stats().kernelsReference;
  ASSERT_TRUE(s.evaluate(std::vector<Tensor>{sum}).ok());
  EXPECT_THAT(s.value(sum).value().toVector(), ElementsAre(9, 18, 27));
  EXPECT_EQ(s.stats().kernelsReference, onHost) << "a lone add needs no host";
  setLogLevel(LogLevel::Warning);
}

TEST(PartialDevice, withoutTheFallbackItsOwnOperatorsRunAndOthersAreNamed) {
  test::TemporaryFolder folder;
  auto made = Session::create(onSkeleton(folder.path()), OperatorLibrary::loadEmbedded().value(),
                              std::make_unique<test::ImageCompiler>());
  ASSERT_TRUE(made.ok()) << made.status();
  Session& s = **made;
  HostArray values = HostArray::fromValues(DType::F32, {3}, std::vector<double>{1, 2, 3});
  int32_t w = s.addState("w", values);
  Tensor x = s.read(w);
  Tensor sum = (x + x) + 1.0; // a constant, broadcast, is only laid out by the host
  Status status = s.evaluate(std::vector<Tensor>{sum});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(s.value(sum).value().toVector(), ElementsAre(3, 5, 7));
  EXPECT_EQ(s.stats().kernelsReference, 0);
  status = s.evaluate(std::vector<Tensor>{s.read(w) * s.read(w)});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(message(status)),
              HasSubstr("device null: it does not support mul(f32[3], f32[3]): run with fallback = \"host\""));
  EXPECT_THAT(std::string(message(s.compiler().status())), HasSubstr("it does not take code of format cpu-image-1"));
  // An operator it does not have is taken apart; what is left of it is named.
  status = s.evaluate(std::vector<Tensor>{call("softmax", {s.read(w)})});
  EXPECT_THAT(std::string(message(status)), HasSubstr("it does not support "));
  EXPECT_THAT(std::string(message(status)), ::testing::Not(HasSubstr("softmax(")));
}

} // namespace
} // namespace tegula
