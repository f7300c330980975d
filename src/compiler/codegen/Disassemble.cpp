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
#include <set>

namespace tegula {
namespace {

struct Line {
  uint64_t address; // from the start of the image
  llvm::MCInst instruction;
  uint64_t size;
};

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

} // namespace

StatusOr<std::string> disassemble(const CodeImage& image, const Target& target) {
  tg_cpu_image_header header;
  if (image.bytes.size() < sizeof header)
    return invalid("code image: {} bytes are fewer than its header", image.bytes.size());
  std::memcpy(&header, image.bytes.data(), sizeof header);
  if (header.magic != TG_CPU_IMAGE_MAGIC || header.code_offset + header.code_bytes > image.bytes.size())
    return invalid("code image: not a cpu-image-1, or cut short at {} bytes", image.bytes.size());

  TG_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeTargetMachine(target));
  const llvm::MCSubtargetInfo& subtarget = *machine->getMCSubtargetInfo();
  const llvm::MCInstrInfo& instructions = *machine->getMCInstrInfo();
  const llvm::MCRegisterInfo& registers = *machine->getMCRegisterInfo();
  const llvm::MCAsmInfo& syntax = *machine->getMCAsmInfo();
  const llvm::Target& description = machine->getTarget();
  llvm::MCContext context(machine->getTargetTriple(), &syntax, &registers, &subtarget);
  std::unique_ptr<llvm::MCDisassembler> decoder(description.createMCDisassembler(subtarget, context));
  std::unique_ptr<llvm::MCInstrAnalysis> analysis(description.createMCInstrAnalysis(&instructions));
  std::unique_ptr<llvm::MCInstPrinter> printer(
      description.createMCInstPrinter(machine->getTargetTriple(), /*Intel*/ 1, syntax, instructions, registers));
  printer->setPrintImmHex(true);

  // First pass: decode, and collect the targets of branches so that they can be labels.
  std::vector<Line> lines;
  std::map<uint64_t, int> labels;
  const llvm::ArrayRef<uint8_t> bytes(image.bytes);
  for (uint64_t at = header.code_offset, end = at + header.code_bytes; at < end;) {
    Line line{at, {}, 0};
    if (decoder->getInstruction(line.instruction, line.size, bytes.slice(at, end - at), at, llvm::nulls()) !=
        llvm::MCDisassembler::Success)
      return internal("code image: no instruction of {} at {}", target.name, hex(at));
    uint64_t branch = 0;
    if (analysis->evaluateBranch(line.instruction, at, line.size, branch)) labels[branch] = 0;
    at += line.size;
    lines.push_back(std::move(line));
  }
  int next = 0;
  for (auto& label : labels) label.second = next++;

  // Second pass: print.
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const Line& line : lines) {
    if (line.address == header.entry_offset) stream << "entry:\n";
    if (auto label = labels.find(line.address); label != labels.end()) stream << "L" << label->second << ":\n";
    uint64_t branch = 0;
    std::string body;
    llvm::raw_string_ostream bodyStream(body);
    printer->printInst(&line.instruction, line.address, "", subtarget, bodyStream);
    stream << body;
    if (analysis->evaluateBranch(line.instruction, line.address, line.size, branch) && labels.count(branch))
      stream << "  # L" << labels[branch];
    else if (auto memory =
                 analysis->evaluateMemoryOperandAddress(line.instruction, &subtarget, line.address, line.size);
             memory && *memory >= header.constants_offset && *memory < header.image_bytes)
      stream << "  # constants+" << hex(*memory - header.constants_offset);
    stream << "\n";
  }
  return text;
}

} // namespace tegula
