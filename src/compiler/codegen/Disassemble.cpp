// The code of an image as text, by LLVM's disassembler.
#include "compiler/codegen/Image.h"

#include "compiler/codegen/Object.h"
#include "tegula/cpu_image.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include <cstring>
#include <map>
#include <optional>

namespace tegula {
namespace {

struct Line {
  uint64_t address; // from the start of the image
  llvm::MCInst instruction;
  uint64_t size;
};

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

StatusOr<tg_cpu_image_header> readHeader(const CodeImage& image) {
  tg_cpu_image_header header;
  if (image.bytes.size() < sizeof header)
    return invalid("code image: {} bytes are fewer than its header", image.bytes.size());
  std::memcpy(&header, image.bytes.data(), sizeof header);
  if (header.magic != TG_CPU_IMAGE_MAGIC || header.code_offset > image.bytes.size() ||
      header.code_bytes > image.bytes.size() - header.code_offset)
    return invalid("code image: not a cpu-image-1, or cut short at {} bytes", image.bytes.size());
  return header;
}

/// LLVM's descriptions of a target's machine code, and what reads and prints it.
struct MachineCode {
  static StatusOr<std::unique_ptr<MachineCode>> create(const Target& target) {
    TG_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeTargetMachine(target));
    return std::make_unique<MachineCode>(std::move(machine));
  }
  explicit MachineCode(std::unique_ptr<llvm::TargetMachine> m)
      : machine(std::move(m)), subtarget(*machine->getMCSubtargetInfo()),
        context(machine->getTargetTriple(), machine->getMCAsmInfo(), machine->getMCRegisterInfo(), &subtarget),
        decoder(machine->getTarget().createMCDisassembler(subtarget, context)),
        analysis(machine->getTarget().createMCInstrAnalysis(machine->getMCInstrInfo())),
        printer(machine->getTarget().createMCInstPrinter(machine->getTargetTriple(), /*Intel*/ 1,
                                                         *machine->getMCAsmInfo(), *machine->getMCInstrInfo(),
                                                         *machine->getMCRegisterInfo())) {
    printer->setPrintImmHex(true);
  }

  StatusOr<std::vector<Line>> decode(const CodeImage& image, const tg_cpu_image_header& header) {
    std::vector<Line> lines;
    const llvm::ArrayRef<uint8_t> bytes(image.bytes);
    for (uint64_t at = header.code_offset, end = at + header.code_bytes; at < end;) {
      Line line{at, {}, 0};
      if (decoder->getInstruction(line.instruction, line.size, bytes.slice(at, end - at), at, llvm::nulls()) !=
          llvm::MCDisassembler::Success)
        return internal("code image: no instruction at {}", hex(at));
      at += line.size;
      lines.push_back(std::move(line));
    }
    return lines;
  }
  /// The address that a branch goes to.
  std::optional<uint64_t> branchTarget(const Line& l) const {
    uint64_t to = 0;
    if (!analysis->evaluateBranch(l.instruction, l.address, l.size, to)) return std::nullopt;
    return to;
  }

  std::unique_ptr<llvm::TargetMachine> machine;
  const llvm::MCSubtargetInfo& subtarget;
  llvm::MCContext context;
  std::unique_ptr<llvm::MCDisassembler> decoder;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

/// Branch targets, numbered in the order of their addresses.
std::map<uint64_t, int> numberLabels(const MachineCode& code, const std::vector<Line>& lines) {
  std::map<uint64_t, int> labels;
  for (const Line& l : lines)
    if (auto to = code.branchTarget(l)) labels[*to] = 0;
  int next = 0;
  for (auto& label : labels) label.second = next++;
  return labels;
}

} // namespace

StatusOr<std::string> disassemble(const CodeImage& image, const Target& target) {
  TG_ASSIGN_OR_RETURN(const tg_cpu_image_header header, readHeader(image));
  TG_ASSIGN_OR_RETURN(std::unique_ptr<MachineCode> code, MachineCode::create(target));
  TG_ASSIGN_OR_RETURN(const std::vector<Line> lines, code->decode(image, header));
  const std::map<uint64_t, int> labels = numberLabels(*code, lines);
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const Line& line : lines) {
    if (line.address == header.entry_offset) stream << "entry:\n";
    if (auto label = labels.find(line.address); label != labels.end()) stream << "L" << label->second << ":\n";
    std::string body;
    llvm::raw_string_ostream bodyStream(body);
    code->printer->printInst(&line.instruction, line.address, "", code->subtarget, bodyStream);
    if (auto to = code->branchTarget(line); to && labels.contains(*to))
      body = fmt::format("{}\tL{}", body.substr(0, body.rfind('\t')), labels.at(*to)); // instead of the distance
    stream << body;
    auto memory =
        code->analysis->evaluateMemoryOperandAddress(line.instruction, &code->subtarget, line.address, line.size);
    if (memory && *memory >= header.constants_offset && *memory < header.image_bytes)
      stream << "  # constants+" << hex(*memory - header.constants_offset);
    stream << "\n";
  }
  return text;
}

StatusOr<int64_t> countEvexInstructions(const CodeImage& image, const Target& target) {
  constexpr uint8_t evexPrefix = 0x62; // nothing else in 64-bit mode starts with it, and no other prefix precedes it
  TG_ASSIGN_OR_RETURN(const tg_cpu_image_header header, readHeader(image));
  TG_ASSIGN_OR_RETURN(std::unique_ptr<MachineCode> code, MachineCode::create(target));
  TG_ASSIGN_OR_RETURN(const std::vector<Line> lines, code->decode(image, header));
  int64_t count = 0;
  for (const Line& l : lines) count += image.bytes[l.address] == evexPrefix;
  return count;
}

} // namespace tegula
