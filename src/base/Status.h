// Errors as values. Every fallible function returns Status or StatusOr; a message says what was asked, what was found
// and the way out, with values: `matmul: a has K=768 but b has K=512`. Lower case, no final stop.
//
//   TG_RETURN_IF_ERROR(file.write(bytes));
//   TG_ASSIGN_OR_RETURN(auto graph, parse(text));
//   return invalid("{}: axis {} is outside rank {}", name, axis, rank);
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

namespace tegula {

using absl::OkStatus;
using absl::Status;
using absl::StatusOr;

/// Bad input (shapes, configs, files): InvalidArgument with a formatted message.
template <typename... A> Status invalid(fmt::format_string<A...> text, A&&... args) {
  return absl::InvalidArgumentError(fmt::format(text, std::forward<A>(args)...));
}
/// Valid input that this build, backend or version cannot do.
template <typename... A> Status unsupported(fmt::format_string<A...> text, A&&... args) {
  return absl::UnimplementedError(fmt::format(text, std::forward<A>(args)...));
}
/// The world said no: files, memory, devices.
template <typename... A> Status failed(fmt::format_string<A...> text, A&&... args) {
  return absl::FailedPreconditionError(fmt::format(text, std::forward<A>(args)...));
}
template <typename... A> Status notFound(fmt::format_string<A...> text, A&&... args) {
  return absl::NotFoundError(fmt::format(text, std::forward<A>(args)...));
}
/// A broken invariant of ours, where aborting would lose a user's data.
template <typename... A> Status internal(fmt::format_string<A...> text, A&&... args) {
  return absl::InternalError(fmt::format(text, std::forward<A>(args)...));
}

/// The message as std::string_view (Debian's Abseil has its own string_view type).
inline std::string_view message(const Status& s) { return {s.message().data(), s.message().size()}; }

/// Puts `context: ` in front of an error's message; an OK status passes through.
inline Status addContext(const Status& s, std::string_view context) {
  return s.ok() ? s : Status(s.code(), fmt::format("{}: {}", context, message(s)));
}

} // namespace tegula

#define TG_CONCAT_INNER(a, b) a##b
#define TG_CONCAT(a, b) TG_CONCAT_INNER(a, b)
#define TG_RETURN_IF_ERROR(expr)                                                                                       \
  do {                                                                                                                 \
    if (::tegula::Status tgStatus_ = (expr); !tgStatus_.ok()) return tgStatus_;                                        \
  } while (0)
#define TG_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)                                                                       \
  auto tmp = (expr);                                                                                                   \
  if (!tmp.ok()) return tmp.status();                                                                                  \
  lhs = std::move(tmp).value()
#define TG_ASSIGN_OR_RETURN(lhs, expr) TG_ASSIGN_OR_RETURN_IMPL(TG_CONCAT(tgOr_, __LINE__), lhs, expr)
