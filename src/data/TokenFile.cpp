// Writing and mapping token files.
#include "data/TokenFile.h"

#include "base/Files.h"
#include "base/Hash.h"
#include <cstring>
#include <vector>

namespace tegula {
namespace {

struct Header {
  char magic[8] = {'T', 'G', 'T', 'O', 'K', 'E', 'N', 'S'};
  uint32_t version = 1, bytesPerToken = 2;
  uint64_t tokens = 0, vocabulary = 0, checksum = 0, seal = 0;
  uint8_t zero[16] = {};
};
static_assert(sizeof(Header) == 64);
constexpr int64_t kNarrowVocabulary = 65536;

/// The whole file: a header whose fields but the checksum are set, and the tokens in T.
template <typename T> std::vector<uint8_t> pack(Header header, std::span<const int32_t> tokens) {
  std::vector<uint8_t> bytes(sizeof(Header) + tokens.size() * sizeof(T));
  uint8_t* data = bytes.data() + sizeof(Header);
  for (size_t i = 0; i < tokens.size(); ++i) {
    T token = static_cast<T>(tokens[i]);
    std::memcpy(data + i * sizeof(T), &token, sizeof(T));
  }
  header.checksum = hash64(std::span<const uint8_t>(data, tokens.size() * sizeof(T)));
  std::memcpy(bytes.data(), &header, sizeof(Header));
  return bytes;
}

} // namespace

Status TokenFile::write(const std::string& path, std::span<const int32_t> tokens, int64_t vocabulary, uint64_t seal) {
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= vocabulary)
      return invalid("{}: token {} at position {} is outside the vocabulary of {}", path, tokens[i], i, vocabulary);
  Header header;
  header.tokens = tokens.size();
  header.vocabulary = static_cast<uint64_t>(vocabulary);
  header.seal = seal;
  header.bytesPerToken = vocabulary <= kNarrowVocabulary ? 2 : 4;
  return writeFileAtomically(path, header.bytesPerToken == 2 ? pack<uint16_t>(header, tokens)
                                                             : pack<uint32_t>(header, tokens));
}

StatusOr<TokenFile> TokenFile::open(const std::string& path) {
  TG_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  std::span<const uint8_t> bytes = file->bytes();
  Header header;
  if (bytes.size() >= sizeof(header)) std::memcpy(&header, bytes.data(), sizeof(header));
  if (bytes.size() < sizeof(header) || std::memcmp(header.magic, Header().magic, sizeof(header.magic)) != 0)
    return invalid("{}: is not a token file; `tegula data prepare TEXT FOLDER` makes them", path);
  if (header.version != 1 || (header.bytesPerToken != 2 && header.bytesPerToken != 4))
    return unsupported("{}: version {} with {} bytes a token; this build reads version 1 with 2 or 4", path,
                       header.version, header.bytesPerToken);
  std::span<const uint8_t> data = bytes.subspan(sizeof(header));
  if (data.size() % header.bytesPerToken != 0 || header.tokens != data.size() / header.bytesPerToken)
    return invalid(
        "{}: the header says {} tokens of {} bytes, the file holds {} bytes of them; it was cut short, make it "
        "again with `tegula data prepare`",
        path, header.tokens, header.bytesPerToken, data.size());
  if (hash64(data) != header.checksum)
    return invalid("{}: the checksum does not match its tokens; the file is damaged, make it again", path);
  TokenFile out;
  out.tokens_ = data.data();
  out.mapping_ = std::move(file);
  out.wide_ = header.bytesPerToken == 4;
  out.size_ = static_cast<int64_t>(header.tokens);
  out.vocabulary_ = static_cast<int64_t>(header.vocabulary);
  out.checksum_ = header.checksum;
  out.seal_ = header.seal;
  return out;
}

} // namespace tegula
