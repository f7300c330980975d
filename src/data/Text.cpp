// Reading files and folders of text.
#include "data/Text.h"

#include "base/Files.h"
#include "base/Utf8.h"
#include <algorithm>
#include <filesystem>

namespace tegula {
namespace fs = std::filesystem;
namespace {

std::string suffixList() {
  std::string out;
  for (std::string_view s : kTextSuffixes) out += (out.empty() ? "" : " ") + std::string(s);
  return out;
}

Status checkText(const std::string& path, const std::string& text) {
  size_t nul = text.find('\0');
  if (nul != std::string::npos)
    return invalid("{}: byte {} is NUL, so this is a binary file; give plain UTF-8 text", path, nul);
  size_t bad = findInvalidUtf8(text);
  if (bad != std::string::npos)
    return invalid("{}: byte 0x{:02x} at offset {} is not UTF-8; convert the file, for example: "
                   "iconv -f ISO-8859-1 -t UTF-8 {} > utf8.txt",
                   path, static_cast<unsigned char>(text[bad]), bad, path);
  return OkStatus();
}

bool isHidden(const fs::path& path) { return path.filename().string().starts_with("."); }
bool hasTextSuffix(const fs::path& path) {
  std::string suffix = path.extension().string();
  return std::ranges::find(kTextSuffixes, suffix) != std::end(kTextSuffixes);
}

void skip(TextDocuments& out, std::string kind) {
  ++out.skippedFiles;
  out.skippedKinds.insert(std::move(kind));
}

StatusOr<std::vector<fs::path>> listTexts(const fs::path& folder, TextDocuments& out) {
  std::vector<fs::path> files;
  std::error_code e;
  fs::recursive_directory_iterator it(folder, e), end;
  for (; !e && it != end; it.increment(e)) {
    std::error_code unknown; // a link that leads nowhere or to itself is no file
    if (isHidden(it->path())) {
      if (it->is_directory(unknown)) it.disable_recursion_pending();
      skip(out, "hidden");
      continue;
    }
    if (!it->is_regular_file(unknown)) continue;
    if (hasTextSuffix(it->path()))
      files.push_back(it->path());
    else
      skip(out, it->path().has_extension() ? it->path().extension().string() : "without suffix");
  }
  if (e) return failed("{}: cannot be listed: {}", folder.string(), e.message());
  auto key = [&](const fs::path& p) { return p.lexically_relative(folder).generic_string(); };
  std::ranges::sort(files, {}, key);
  return files;
}

} // namespace

int64_t TextDocuments::sizeBytes() const {
  int64_t n = 0;
  for (const Document& d : documents) n += static_cast<int64_t>(d.text.size());
  return n;
}

std::string TextDocuments::filesText() const {
  std::string text = fmt::format("{} file{} read", documents.size(), documents.size() == 1 ? "" : "s");
  if (skippedFiles == 0) return text;
  constexpr size_t kShown = 6;
  std::string kinds;
  size_t shown = 0;
  for (const std::string& kind : skippedKinds) {
    if (!kinds.empty()) kinds += ' ';
    if (shown++ == kShown) {
      kinds += "…";
      break;
    }
    kinds += kind;
  }
  return fmt::format("{}, {} left out ({})", text, skippedFiles, kinds);
}

Status checkTextPath(const std::string& path) {
  std::error_code e;
  fs::file_status status = fs::status(path, e);
  if (!fs::exists(status)) return notFound("{}: no such file or folder; is the path right?", path);
  if (fs::is_directory(status) || fs::is_regular_file(status)) return OkStatus();
  std::string_view what = fs::is_fifo(status) ? "a pipe" : fs::is_socket(status) ? "a socket" : "a device";
  return invalid("{}: is {}; give a file or a folder", path, what);
}

StatusOr<TextDocuments> readTextDocuments(const std::string& path) {
  TG_RETURN_IF_ERROR(checkTextPath(path));
  TextDocuments out;
  if (!isFolder(path)) {
    TG_ASSIGN_OR_RETURN(std::string text, readFile(path));
    if (text.empty()) return invalid("{}: is empty; give a text to train on", path);
    TG_RETURN_IF_ERROR(checkText(path, text));
    out.documents.push_back({path, std::move(text)});
    return out;
  }
  TG_ASSIGN_OR_RETURN(std::vector<fs::path> files, listTexts(path, out));
  for (const fs::path& file : files) {
    TG_ASSIGN_OR_RETURN(std::string text, readFile(file.string()));
    if (text.empty()) {
      skip(out, "empty");
      continue;
    }
    TG_RETURN_IF_ERROR(checkText(file.string(), text));
    out.documents.push_back({file.string(), std::move(text)});
  }
  if (out.documents.empty() && out.skippedKinds.contains(".tokens"))
    return invalid("{}: found no text and no train.tokens; a `tegula data prepare` into it was cut short, run it again",
                   path);
  if (out.documents.empty())
    return invalid("{}: found no text ({}); files must end in {} and not be hidden", path, out.filesText(),
                   suffixList());
  return out;
}

} // namespace tegula
