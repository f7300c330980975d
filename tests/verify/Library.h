// The built-in operator library, loaded once for the tests of this folder.
#pragma once

#include "lang/OperatorLibrary.h"

#include <gtest/gtest.h>

namespace tegula {

inline std::shared_ptr<const OperatorLibrary> library() {
  static const auto* loaded = [] {
    auto result = OperatorLibrary::loadEmbedded();
    if (!result.ok()) {
      ADD_FAILURE() << message(result.status());
      std::abort();
    }
    return new std::shared_ptr<const OperatorLibrary>(*result);
  }();
  return *loaded;
}

} // namespace tegula
