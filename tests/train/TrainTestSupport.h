// What the training tests share: sessions, batches, and a run on tokens given as a list.
#pragma once

#include "train/TrainStep.h"
#include "train/Trainer.h"
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace tegula {

/// A session that compiles everything. Fails the test where it cannot be made.
inline std::unique_ptr<Session> makeSession(DType compute = DType::F32, int threads = 0) {
  SessionOptions options;
  options.precision.compute = compute;
  options.threads = threads;
  StatusOr<std::unique_ptr<Session>> session = Session::create(options);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? std::move(*session) : nullptr;
}

inline HostArray tokensFrom(std::span<const int32_t> values, Shape shape) {
  HostArray array = HostArray::zeros(DType::I32, shape);
  std::copy(values.begin(), values.end(), array.as<int32_t>());
  return array;
}

/// train(), with what it prints in `lines`.
inline Status trainPrinting(const TrainRequest& request, std::string& lines) {
  char* printed = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&printed, &size);
  Status trained = train(request, out);
  std::fclose(out);
  lines.assign(printed, size);
  std::free(printed);
  return trained;
}

/// Fails the test and returns a default value where a result is an error.
template <typename T> T orFail(StatusOr<T> result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : T{};
}

} // namespace tegula
