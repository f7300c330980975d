// Reading text to train on: a file, or a folder of files in a fixed order.
#pragma once

#include "base/Status.h"
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
  std::vector<Document> documents; // none is empty
  int64_t skippedFiles = 0;        // of a folder: hidden, another suffix, or empty
  int64_t sizeBytes() const;
};

/// A file is one document, whatever its suffix. A folder is read recursively: files that end in one of kTextSuffixes,
/// in the byte order of their relative paths, without hidden files and folders. Fails: nothing there, nothing to read,
/// or a text that is not UTF-8 (with its offset) or holds NUL bytes; every message names the way out.
StatusOr<TextDocuments> readTextDocuments(const std::string& path);

} // namespace tegula
