// Finding, loading and checking backends.
#include "hal/Backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/ranges.h>

extern "C" tg_result tg_cpu_backend_query(const tg_backend_request*, tg_backend_reply*); // backends/cpu

namespace tegula {
namespace {

struct Builtin {
  std::string_view name;
  tg_backend_query_fn entry;
};
constexpr Builtin kBuiltin[] = {{"cpu", tg_cpu_backend_query}};
constexpr std::string_view kPrefix = "libtegula_backend_", kSuffix = ".so";

std::vector<std::filesystem::path> searchFolders() {
  std::vector<std::filesystem::path> folders;
  const char* list = std::getenv("TEGULA_BACKEND_PATH");
  for (std::string_view rest = list ? list : ""; !rest.empty();) {
    size_t colon = rest.find(':');
    if (colon != 0) folders.emplace_back(rest.substr(0, colon));
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return folders;
}

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

/// Required slots, by name, for the refusal.
std::string_view missingSlot(const tg_backend& t) {
#define TG_REQUIRE(slot)                                                                                               \
  if (!t.slot) return #slot
  TG_REQUIRE(name);
  TG_REQUIRE(device_count);
  TG_REQUIRE(device_open);
  TG_REQUIRE(device_close);
  TG_REQUIRE(device_info);
  TG_REQUIRE(buffer_alloc);
  TG_REQUIRE(buffer_free);
  TG_REQUIRE(buffer_write);
  TG_REQUIRE(buffer_read);
  TG_REQUIRE(queue_create);
  TG_REQUIRE(queue_destroy);
  TG_REQUIRE(queue_execute);
  TG_REQUIRE(queue_copy);
  TG_REQUIRE(queue_wait);
  TG_REQUIRE(event_create);
  TG_REQUIRE(event_destroy);
  TG_REQUIRE(event_wait);
  TG_REQUIRE(kernel_unload);
  TG_REQUIRE(list_create);
  TG_REQUIRE(list_append);
  TG_REQUIRE(list_finish);
  TG_REQUIRE(list_destroy);
#undef TG_REQUIRE
  return {};
}

/// What version 1.0 had: a shorter table lacks required slots.
constexpr size_t kLeastTableBytes = offsetof(tg_backend, list_destroy) + sizeof(void*);

std::string versionText(uint32_t major, uint32_t minor) { return fmt::format("{}.{}", major, minor); }

} // namespace

Status toStatus(tg_result result, const tg_error& error, std::string_view context) {
  if (result == TG_OK) return OkStatus();
  std::string_view text(error.message, strnlen(error.message, sizeof(error.message)));
  if (text.empty()) text = "the backend gave no reason";
  std::string full = context.empty() ? std::string(text) : fmt::format("{}: {}", context, text);
  switch (result) {
  case TG_ERROR_INVALID:
    return absl::InvalidArgumentError(full);
  case TG_ERROR_UNSUPPORTED:
    return absl::UnimplementedError(full);
  case TG_ERROR_MEMORY:
    return absl::ResourceExhaustedError(full);
  case TG_ERROR_TIMEOUT:
    return absl::DeadlineExceededError(full);
  default:
    return absl::FailedPreconditionError(full);
  }
}

StatusOr<std::shared_ptr<const Backend>> Backend::negotiate(tg_backend_query_fn entry, std::string_view origin) {
  tg_backend_request request{sizeof(request), TG_BACKEND_VERSION_MAJOR, TG_BACKEND_VERSION_MINOR, "tegula"};
  tg_backend_reply reply{};
  reply.size = sizeof(reply);
  tg_result result = entry(&request, &reply);
  std::string ours = versionText(TG_BACKEND_VERSION_MAJOR, TG_BACKEND_VERSION_MINOR);
  std::string theirs = versionText(reply.version_major, reply.version_minor);
  reply.refusal[sizeof(reply.refusal) - 1] = 0;
  if (result != TG_OK || !reply.backend)
    return unsupported("backend {} refuses: {}", origin,
                       reply.refusal[0] ? std::string(reply.refusal)
                                        : fmt::format("it speaks interface version {}, this program {}", theirs, ours));
  if (reply.backend->version_major != TG_BACKEND_VERSION_MAJOR)
    return unsupported("backend {} speaks interface version {}, this program {}: use a backend built for version {}.x",
                       origin, versionText(reply.backend->version_major, reply.backend->version_minor), ours,
                       TG_BACKEND_VERSION_MAJOR);
  if (reply.backend->size < kLeastTableBytes)
    return unsupported("backend {}: its table has {} bytes, version 1.0 of the interface has {}: rebuild it against "
                       "tegula/backend.h and set size to sizeof(tg_backend)",
                       origin, reply.backend->size, kLeastTableBytes);
  std::shared_ptr<Backend> backend(new Backend);
  std::memcpy(&backend->table_, reply.backend, std::min(reply.backend->size, sizeof(tg_backend)));
  if (std::string_view slot = missingSlot(backend->table_); !slot.empty())
    return unsupported("backend {}: the required slot `{}` is null: see backends/null for one that is complete", origin,
                       slot);
  backend->origin_ = origin;
  return std::shared_ptr<const Backend>(std::move(backend));
}

StatusOr<std::shared_ptr<const Backend>> Backend::load(std::string_view nameOrPath) {
  if (nameOrPath.empty()) return invalid("backend: an empty name was given, known are {}", joined(names()));
  for (const Builtin& b : kBuiltin)
    if (b.name == nameOrPath) return negotiate(b.entry, "built in");

  std::filesystem::path path(nameOrPath);
  bool isPath = nameOrPath.find('/') != std::string_view::npos || nameOrPath.ends_with(kSuffix);
  if (!isPath) {
    path.clear();
    for (const auto& folder : searchFolders()) {
      auto candidate = folder / fmt::format("{}{}{}", kPrefix, nameOrPath, kSuffix);
      std::error_code ignored; // a name too long for a file, a folder that may not be read: not there
      if (path.empty() && std::filesystem::exists(candidate, ignored)) path = candidate;
    }
    if (path.empty())
      return notFound(
          "backend {}: no such backend, known are {}; give the path of a plugin, or its folder in TEGULA_BACKEND_PATH",
          nameOrPath, joined(names()));
  }
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return notFound("backend {}: there is no such file", path.string());
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return failed("backend {}: it cannot be loaded: {}", path.string(), dlerror());
  auto entry = reinterpret_cast<tg_backend_query_fn>(dlsym(library, TG_BACKEND_QUERY_SYMBOL));
  if (!entry) {
    dlclose(library);
    return unsupported("backend {}: it exports no symbol `{}`, so it is no Tegula backend (or hides its symbols: "
                       "TG_BACKEND_EXPORT makes the entry visible)",
                       path.string(), TG_BACKEND_QUERY_SYMBOL);
  }
  auto backend = negotiate(entry, path.string());
  if (!backend.ok()) {
    dlclose(library);
    return backend.status();
  }
  const_cast<Backend&>(**backend).library_ = library; // ours alone until it is returned
  return backend;
}

std::vector<std::string> Backend::names() {
  std::vector<std::string> names;
  for (const Builtin& b : kBuiltin) names.emplace_back(b.name);
  for (const auto& folder : searchFolders()) {
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
      std::string name = file.path().filename().string();
      if (name.starts_with(kPrefix) && name.ends_with(kSuffix) && name.size() > kPrefix.size() + kSuffix.size())
        names.push_back(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
    }
  }
  std::sort(names.begin() + std::size(kBuiltin), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Backend::~Backend() {
  if (library_) dlclose(library_);
}

StatusOr<int> Backend::deviceCount() const {
  int32_t count = 0;
  tg_error error{sizeof(error), {}};
  TG_RETURN_IF_ERROR(toStatus(table_.device_count(&count, &error), error, fmt::format("backend {}", name())));
  return count;
}

} // namespace tegula
