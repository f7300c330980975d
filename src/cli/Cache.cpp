// `tegula cache`
#include "cli/Commands.h"

#include "runtime/ImageStore.h"

namespace tegula::cli {

void addCache(CLI::App& app, Outcome& outcome) {
  auto clear = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("cache", "Show or empty the cache of compiled kernels.");
  c->footer(
      "example: tegula cache --clear\nThe folder is $TEGULA_CACHE, else $XDG_CACHE_HOME/tegula, else ~/.cache/tegula.");
  c->add_flag("--clear", *clear, "Remove every image");
  c->callback([=, &outcome] {
    ImageStore store(cacheFolder({}), 0);
    if (store.folder().empty()) return; // cacheFolder() has said why
    ImageStore::Usage usage = store.usage();
    if (*clear) outcome.status = store.clear();
    if (outcome.status.ok())
      fmt::print("{}: {} images, {:.1f} MiB{}\n", store.folder(), usage.files,
                 static_cast<double>(usage.bytes) / (1 << 20), *clear ? ", removed" : "");
  });
}

} // namespace tegula::cli
