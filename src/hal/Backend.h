// A loaded backend: the table of tegula/backend.h after the version was negotiated.
//
//   TG_ASSIGN_OR_RETURN(auto backend, Backend::load("cpu"));              // built in
//   TG_ASSIGN_OR_RETURN(auto other, Backend::load("./libmychip.so"));     // a plugin, by path
//   TG_ASSIGN_OR_RETURN(auto device, Device::open(backend, 0, {}));
//
// The table is copied into one of this host's size: slots that an older backend does not know are null, slots that a
// newer one adds are not seen. Every refusal says what was asked, what was found and the way out. Threads: immutable
// after loading.
#pragma once

#include "base/Status.h"
#include "tegula/backend.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

class Backend {
public:
  /// `nameOrPath` with a slash or ending in .so is a plugin's path. Another name is a built-in backend, or
  /// libtegula_backend_NAME.so in a folder of TEGULA_BACKEND_PATH (separated by colons).
  /// Fails: not found; no entry symbol; another major version; a table too short or without a required slot.
  static StatusOr<std::shared_ptr<const Backend>> load(std::string_view nameOrPath);
  /// Asks `entry` as load() does; `origin` names it in messages. For built-in backends and tests.
  static StatusOr<std::shared_ptr<const Backend>> negotiate(tg_backend_query_fn entry, std::string_view origin);
  /// Names that load() accepts without any file, and those found in TEGULA_BACKEND_PATH.
  static std::vector<std::string> names();

  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  const tg_backend& table() const { return table_; }
  std::string_view name() const { return table_.name; }
  std::string_view description() const { return table_.description ? table_.description : ""; }
  std::string_view origin() const { return origin_; } // "built in" or the plugin's path
  StatusOr<int> deviceCount() const;

private:
  Backend() = default;
  tg_backend table_{};
  std::string origin_;
  void* library_ = nullptr;
};

/// The status of a call's result: `context: message`. OK for TG_OK.
Status toStatus(tg_result result, const tg_error& error, std::string_view context);

} // namespace tegula
