// `tegula fmt`
#include "cli/Commands.h"

#include "base/Files.h"
#include "lang/Format.h"
#include <filesystem>

namespace tegula::cli {
namespace {

/// A link stays one: what it leads to is written.
Status replaceFile(const std::string& path, const std::string& text) {
  std::error_code error;
  std::string place = std::filesystem::canonical(path, error).string();
  if (error) return systemError("cannot follow", path, error.value());
  return writeFileAtomically(place, text);
}

/// Whether the file was in canonical form already.
StatusOr<bool> formatFile(const std::string& path, bool checkOnly) {
  TG_ASSIGN_OR_RETURN(std::string text, readFile(path));
  TG_ASSIGN_OR_RETURN(std::string formatted, lang::format({path, text}));
  if (formatted == text) return true;
  if (checkOnly)
    fmt::print("{}: not in canonical form; run: tegula fmt {}\n", path, path);
  else
    TG_RETURN_IF_ERROR(replaceFile(path, formatted));
  return false;
}

} // namespace

void addFmt(CLI::App& app, Outcome& outcome) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto checkOnly = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("fmt", "Format .tile files in place.");
  c->footer("example: tegula fmt --check ops/*.tile");
  c->add_option("files", *files, "The files")->required();
  c->add_flag("--check", *checkOnly, "Change nothing; exit with 1 if a file is not in canonical form");
  c->callback([=, &outcome] {
    std::string errors;
    for (const std::string& file : *files) {
      StatusOr<bool> was = formatFile(file, *checkOnly);
      if (!was.ok())
        errors += (errors.empty() ? "" : "\n") + std::string(message(was.status()));
      else if (!*was && *checkOnly)
        outcome.exitCode = 1;
    }
    if (!errors.empty()) outcome.status = absl::InvalidArgumentError(errors);
  });
}

} // namespace tegula::cli
