// Laying out and resolving one ELF object as a code image.
#include "compiler/codegen/Image.h"

#include "compiler/Target.h"
#include "tegula/cpu_image.h"
#include "llvm/Object/ELFObjectFile.h"
#include <cstring>
#include <xxhash.h>

namespace tegula {
namespace {

using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using ElfSection = ElfFile::Elf_Shdr;
using ElfSymbol = ElfFile::Elf_Sym;

uint64_t alignTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

template <typename T> StatusOr<T> valueOf(llvm::Expected<T> e, const char* what) {
  if (e) return std::move(*e);
  return internal("code image: unreadable {}: {}", what, llvm::toString(e.takeError()));
}

/// The state of one link: where each section of the object goes, and the bytes.
class Linker {
public:
  Linker(const ElfFile& elf, std::string_view entry) : elf_(elf), entry_(entry) {}
  StatusOr<CodeImage> link(uint64_t instructionSets);

private:
  Status place(bool executable, uint64_t& end);
  Status checkSections() const;
  Status findSymbols();
  Status relocate(const ElfSection& relocations);
  StatusOr<uint64_t> addressOf(const ElfSymbol&) const;
  std::string nameOf(const ElfSymbol& s) const {
    auto name = s.getName(names_);
    if (!name) return llvm::consumeError(name.takeError()), "?";
    return name->str();
  }

  const ElfFile& elf_;
  std::string_view entry_;
  llvm::ArrayRef<ElfSection> sections_;
  llvm::StringRef names_;
  const ElfSection* symbolTable_ = nullptr;
  std::vector<uint64_t> offsets_; // by section index; 0 for those left out
  std::vector<uint8_t> bytes_;
  uint64_t entryOffset_ = 0;
};

bool isLoaded(const ElfSection& s) {
  return (s.sh_flags & llvm::ELF::SHF_ALLOC) && s.sh_size != 0 &&
         (s.sh_type == llvm::ELF::SHT_PROGBITS || s.sh_type == llvm::ELF::SHT_NOBITS);
}

Status Linker::checkSections() const {
  for (const ElfSection& s : sections_) {
    if (!isLoaded(s) || !(s.sh_flags & llvm::ELF::SHF_WRITE)) continue;
    TG_ASSIGN_OR_RETURN(llvm::StringRef name, valueOf(elf_.getSectionName(s), "section name"));
    return internal("code image of {}: the object has writable section {}; a kernel has code and constants only",
                    entry_, name.str());
  }
  return OkStatus();
}

/// Appends every code (or constant) section from `end` on.
Status Linker::place(bool executable, uint64_t& end) {
  for (size_t i = 0; i < sections_.size(); ++i) {
    const ElfSection& s = sections_[i];
    if (!isLoaded(s) || bool(s.sh_flags & llvm::ELF::SHF_EXECINSTR) != executable) continue;
    if (s.sh_addralign > TG_CPU_IMAGE_PAGE)
      return internal("code image of {}: a section wants alignment {}, more than a page", entry_,
                      uint64_t(s.sh_addralign));
    end = alignTo(end, std::max<uint64_t>(s.sh_addralign, 1));
    offsets_[i] = end;
    TG_ASSIGN_OR_RETURN(llvm::ArrayRef<uint8_t> content, valueOf(elf_.getSectionContents(s), "section"));
    bytes_.resize(end + content.size());
    std::memcpy(bytes_.data() + end, content.data(), content.size());
    end += content.size();
  }
  return OkStatus();
}

/// Finds the symbol table and the entry; refuses symbols that the object does not define.
Status Linker::findSymbols() {
  for (const ElfSection& s : sections_)
    if (s.sh_type == llvm::ELF::SHT_SYMTAB) symbolTable_ = &s;
  if (!symbolTable_) return internal("code image of {}: the object has no symbols", entry_);
  TG_ASSIGN_OR_RETURN(names_, valueOf(elf_.getStringTableForSymtab(*symbolTable_, sections_), "symbol names"));
  TG_ASSIGN_OR_RETURN(auto symbols, valueOf(elf_.symbols(symbolTable_), "symbols"));
  std::string undefined;
  for (const ElfSymbol& s : symbols.drop_front(1)) { // the first is null by definition
    if (s.st_shndx == llvm::ELF::SHN_UNDEF) undefined += (undefined.empty() ? "" : ", ") + nameOf(s);
    if (nameOf(s) != entry_ || s.getType() != llvm::ELF::STT_FUNC) continue;
    TG_ASSIGN_OR_RETURN(entryOffset_, addressOf(s));
  }
  if (!undefined.empty())
    return internal("code image of {}: undefined symbol {}; a kernel may not call out", entry_, undefined);
  if (entryOffset_ == 0) return internal("code image: the object has no function {}", entry_);
  return OkStatus();
}

StatusOr<uint64_t> Linker::addressOf(const ElfSymbol& s) const {
  const uint32_t section = s.st_shndx;
  if (section == llvm::ELF::SHN_UNDEF || section >= offsets_.size() || offsets_[section] == 0)
    return internal("code image of {}: symbol {} is not in a code or constant section", entry_, nameOf(s));
  return offsets_[section] + s.st_value;
}

/// Applies the relocations of one section that went into the image. All are distances within it.
Status Linker::relocate(const ElfSection& relocations) {
  const uint64_t base = offsets_[relocations.sh_info];
  TG_ASSIGN_OR_RETURN(auto entries, valueOf(elf_.relas(relocations), "relocations"));
  for (const auto& r : entries) {
    TG_ASSIGN_OR_RETURN(const ElfSymbol* symbol, valueOf(elf_.getRelocationSymbol(r, symbolTable_), "relocation"));
    const uint32_t type = r.getType(false);
    if (!symbol) return internal("code image of {}: relocation {} without a symbol", entry_, type);
    TG_ASSIGN_OR_RETURN(const uint64_t address, addressOf(*symbol));
    const uint64_t place = base + r.r_offset;
    const int64_t distance = int64_t(address) + r.r_addend - int64_t(place);
    const bool wide = type == llvm::ELF::R_X86_64_PC64;
    if (!wide && type != llvm::ELF::R_X86_64_PC32 && type != llvm::ELF::R_X86_64_PLT32)
      return internal("code image of {}: relocation {} to {} is not a distance within the image", entry_,
                      llvm::object::getELFRelocationTypeName(llvm::ELF::EM_X86_64, type).str(), nameOf(*symbol));
    if (!wide && distance != int32_t(distance))
      return internal("code image of {}: {} is {} bytes away, more than 32 bits hold", entry_, nameOf(*symbol),
                      distance);
    const size_t width = wide ? 8 : 4;
    if (place + width > bytes_.size()) return internal("code image of {}: a relocation outside the image", entry_);
    std::memcpy(bytes_.data() + place, &distance, width);
  }
  return OkStatus();
}

StatusOr<CodeImage> Linker::link(uint64_t instructionSets) {
  TG_ASSIGN_OR_RETURN(sections_, valueOf(elf_.sections(), "sections"));
  offsets_.assign(sections_.size(), 0);
  TG_RETURN_IF_ERROR(checkSections());
  tg_cpu_image_header header = {};
  header.magic = TG_CPU_IMAGE_MAGIC;
  header.version = TG_CPU_IMAGE_VERSION;
  header.header_bytes = sizeof header;
  header.isa = instructionSets;
  uint64_t end = header.code_offset = TG_CPU_IMAGE_PAGE;
  bytes_.resize(end);
  TG_RETURN_IF_ERROR(place(true, end));
  header.code_bytes = end - header.code_offset;
  end = header.constants_offset = alignTo(end, TG_CPU_IMAGE_PAGE);
  bytes_.resize(end);
  TG_RETURN_IF_ERROR(place(false, end));
  header.constants_bytes = end - header.constants_offset;
  header.image_bytes = alignTo(end, TG_CPU_IMAGE_PAGE);
  bytes_.resize(header.image_bytes);
  TG_RETURN_IF_ERROR(findSymbols());
  header.entry_offset = entryOffset_;
  for (const ElfSection& s : sections_)
    if (s.sh_type == llvm::ELF::SHT_RELA && s.sh_info < offsets_.size() && offsets_[s.sh_info] != 0)
      TG_RETURN_IF_ERROR(relocate(s));
  header.checksum = XXH3_64bits(bytes_.data() + sizeof header, bytes_.size() - sizeof header);
  std::memcpy(bytes_.data(), &header, sizeof header);
  return CodeImage{std::move(bytes_)};
}

} // namespace

uint64_t instructionSets(const Target& target) {
  uint64_t bits = TG_CPU_X86_64_V3;
  if (target.vectorBytes == 64) bits |= TG_CPU_X86_64_V4;
  if (target.bf16Dot) bits |= TG_CPU_AVX512_BF16;
  return bits;
}

StatusOr<CodeImage> linkImage(std::span<const uint8_t> object, std::string_view entry, uint64_t instructionSets) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  TG_ASSIGN_OR_RETURN(ElfFile elf, valueOf(ElfFile::create(bytes), "object"));
  return Linker(elf, entry).link(instructionSets);
}

} // namespace tegula
