// Reading text to train on: a file, or a folder of files in a fixed order.
#pragma once

#include "base/Status.h"
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// What a folder's files must end in to be read; others are counted and left out.
constexpr std::string_view kTextSuffixes[] = {".txt", ".text", ".md", ".rst", ".tex"};

struct TextDocuments {
  struct Document {
    std::string path, text;
  };
  std::vector<Document> documents;    // none is empty
  int64_t skippedFiles = 0;           // of a folder: hidden, another suffix, or empty
  std::set<std::string> skippedKinds; // ".py", "hidden", "empty"
  int64_t sizeBytes() const;
  /// "12 files read, 3 left out (.dat .py hidden)".
  std::string filesText() const;
};

/// Fails: nothing there, or neither a file nor a folder (reading a pipe may take for ever, and gives its text once).
Status checkTextPath(const std::string& path);

/// A file is one document, whatever its suffix. A folder is read recursively: files that end in one of kTextSuffixes,
/// in the byte order of their relative paths, without hidden files and folders. Fails: nothing there, nothing to read,
/// or a text that is not UTF-8 (with its offset) or holds NUL bytes; every message names the way out.
StatusOr<TextDocuments> readTextDocuments(const std::string& path);

} // namespace tegula
