// The one spdlog logger, its pattern and level.
#include "base/Log.h"

#include <cstdlib>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tegula {
namespace {

spdlog::level::level_enum toSpdlog(LogLevel level) {
  switch (level) {
  case LogLevel::Debug:
    return spdlog::level::debug;
  case LogLevel::Info:
    return spdlog::level::info;
  case LogLevel::Warning:
    return spdlog::level::warn;
  case LogLevel::Error:
    return spdlog::level::err;
  case LogLevel::Off:
    break;
  }
  return spdlog::level::off;
}

spdlog::logger& logger() {
  static spdlog::logger* made = [] {
    auto* l = new spdlog::logger("tegula", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    l->set_pattern("tegula: %l: %v");
    const char* wanted = std::getenv("TEGULA_LOG");
    std::string_view text = wanted ? wanted : "warning";
    auto level = spdlog::level::from_str(std::string(text));
    bool known = level != spdlog::level::off || text == "off";
    l->set_level(known ? level : spdlog::level::warn);
    if (!known) l->warn("TEGULA_LOG={} is not a level; expected debug, info, warning, error or off", text);
    l->flush_on(spdlog::level::warn);
    return l;
  }();
  return *made;
}

} // namespace

void setLogLevel(LogLevel level) { logger().set_level(toSpdlog(level)); }

bool logEnabled(LogLevel level) { return level != LogLevel::Off && logger().should_log(toSpdlog(level)); }

void logLine(LogLevel level, std::string_view text) {
  logger().log(toSpdlog(level), spdlog::string_view_t(text.data(), text.size()));
}

} // namespace tegula
