// Log lines, thin over spdlog: choosing a slow path, a fallback or a default is an event, logged with the reason.
//
//   logWarning("cache: {} is torn ({} of {} bytes); compiling again", path, found, expected);
//
// Lines go to standard error, so that standard output stays a command's answer. TEGULA_LOG=debug|info|warning|error|off
// sets the level; without it, `warning`.
// Threads: all functions may be called from any thread.
#pragma once

#include <fmt/format.h>
#include <string_view>

namespace tegula {

enum class LogLevel { Debug, Info, Warning, Error, Off };

/// Overrides TEGULA_LOG until the process ends (a command's --verbose).
void setLogLevel(LogLevel level);
bool logEnabled(LogLevel level);
void logLine(LogLevel level, std::string_view text);

template <typename... A> void log(LogLevel level, fmt::format_string<A...> text, A&&... args) {
  if (logEnabled(level)) logLine(level, fmt::format(text, std::forward<A>(args)...));
}
template <typename... A> void logDebug(fmt::format_string<A...> text, A&&... args) {
  log(LogLevel::Debug, text, std::forward<A>(args)...);
}
template <typename... A> void logInfo(fmt::format_string<A...> text, A&&... args) {
  log(LogLevel::Info, text, std::forward<A>(args)...);
}
template <typename... A> void logWarning(fmt::format_string<A...> text, A&&... args) {
  log(LogLevel::Warning, text, std::forward<A>(args)...);
}
template <typename... A> void logError(fmt::format_string<A...> text, A&&... args) {
  log(LogLevel::Error, text, std::forward<A>(args)...);
}

} // namespace tegula
