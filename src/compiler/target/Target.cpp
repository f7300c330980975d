// Targets from targets/*.toml, and the choice of one for a processor.
#include "compiler/Target.h"

#include "compiler/target/Processor.h"
#include "compiler/target/TargetTexts.h"
#include "config/Schema.h"
#include <algorithm>
#include <cstdlib>

namespace tegula {
namespace {

struct CacheKeys {
  int64_t sizeKib = 0, lineBytes = 64;
  bool shared = false;
};

void describeSchedule(config::Schema& schema, ScheduleParameters& p) {
  config::Section& s = schema.section("schedule", "What the rules of the schedule chooser work with.");
  auto count = [&](const char* name, int64_t* value, const char* doc) {
    s.key(name, value, {.doc = doc, .min = 1, .required = true});
  };
  auto share = [&](const char* name, double* value, const char* doc) {
    s.key(name, value, {.doc = doc, .max = 1, .above = 0, .required = true});
  };
  count("register_temporaries", &p.registerTemporaries, "Registers beside accumulators and right operands.");
  count("register_rows", &p.registerRows, "Most rows of a register kernel.");
  count("unroll", &p.unroll, "Steps of k in an iteration of the main register kernel.");
  share("panel_of_l1", &p.panelOfL1, "Most of L1 for a panel of the right operand.");
  share("left_of_l2", &p.leftOfL2, "Most of L2 for a block of the left operand.");
  share("group_of_l2", &p.groupOfL2, "Most of L2 for panels that are packed together.");
  count("group_panels", &p.groupPanels, "Most panels that are packed together.");
  count("block_rows", &p.blockRows, "Most rows of a block of the result.");
  count("block_columns", &p.blockColumns, "Most columns of a block of the result.");
  count("block_depth", &p.blockDepth, "Most steps of k between accumulators' loads and stores.");
  count("stream_vectors", &p.streamVectors, "Right operands of streaming kernels, in vectors.");
  count("stream_rows", &p.streamRows, "Query block of streaming kernels.");
  count("items_per_thread", &p.itemsPerThread, "Least work items a thread.");
  count("loop_vectors", &p.loopVectors, "Vectors of a loop kernel's tile.");
  count("loop_heavy_vectors", &p.loopHeavyVectors, "The same with polynomials in the body.");
  share("loop_registers", &p.loopRegisters, "Most of the registers for what a loop kernel keeps alive.");
}

/// Reads one targets/*.toml strictly.
StatusOr<Target> parseTarget(std::string_view name, std::string_view text) {
  Target t;
  t.name = name;
  t.codeFormat.clear();
  t.vectorBytes = 0;
  t.vectorRegisters = 0;
  std::vector<CacheKeys> caches;
  config::Schema schema("A target of the hardware feature library");
  schema.section("target", "What the code generator is told.")
      .key("triple", &t.triple, {.doc = "LLVM's target triple.", .required = true})
      .key("cpu", &t.cpu, {.doc = "LLVM's name of the instruction set.", .required = true})
      .key("features", &t.features, {.doc = "LLVM features beyond the cpu's."})
      .key("processor_features", &t.processorFeatures, {.doc = "What a processor must report to run the code."})
      .key("code_format", &t.codeFormat,
           {.doc = "What a backend must accept.", .choices = {"cpu-image-1"}, .required = true});
  schema.section("registers", "Vector registers.")
      .key("vector_bytes", &t.vectorBytes,
           {.doc = "Width of the widest vector register.", .min = 16, .max = 64, .required = true})
      .key("vector_registers", &t.vectorRegisters,
           {.doc = "How many there are.", .min = 8, .max = 64, .required = true})
      .key("mask_registers", &t.maskRegisters, {.doc = "Loads, stores and arithmetic take masks."});
  schema.section("limits", "Used where the machine does not tell.")
      .key("threads", &t.threads, {.doc = "Hardware threads.", .min = 1});
  describeSchedule(schema, t.schedule);
  schema.tables<CacheKeys>(
      "caches", caches,
      [](config::Section& s, CacheKeys& c) {
        s.key("size_kib", &c.sizeKib, {.doc = "Size in KiB.", .min = 1, .required = true})
            .key("line_bytes", &c.lineBytes, {.doc = "Length of a line in bytes.", .min = 16, .max = 1024})
            .key("shared", &c.shared, {.doc = "Several cores use it."});
      },
      "Data caches, nearest first.");
  schema.tables<TargetInstruction>(
      "instructions", t.instructions,
      [](config::Section& s, TargetInstruction& i) {
        s.key("name", &i.name, {.doc = "The instruction.", .required = true})
            .key("operand", &i.operand, {.doc = "Element type of the factors.", .required = true})
            .key("result", &i.result, {.doc = "Element type of the sum.", .required = true})
            .key("shape", &i.shape, {.doc = "M, N, K that one instruction covers.", .min = 1, .required = true})
            .key("per_cycle", &i.perCycle, {.doc = "Issued per cycle and core.", .above = 0, .required = true})
            .key("latency_cycles", &i.latencyCycles,
                 {.doc = "Cycles until the sum can be used again.", .min = 1, .required = true});
      },
      "Instructions that multiply and add.");
  TG_ASSIGN_OR_RETURN(config::Document document, config::parseToml(text, fmt::format("targets/{}.toml", name)));
  TG_RETURN_IF_ERROR(schema.load(document));
  if (caches.size() < 2)
    return invalid("targets/{}.toml: {} tables [[caches]]; expected the first and the second level at least", name,
                   caches.size());
  for (const CacheKeys& c : caches) t.caches.push_back({c.sizeKib * 1024, c.lineBytes, c.shared});
  t.bf16Dot = std::ranges::any_of(t.instructions, [](const TargetInstruction& i) { return i.operand == "bf16"; });
  return t;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::vector<std::string> missingFeatures(const Target& target, const Processor& processor) {
  std::vector<std::string> missing;
  for (const std::string& f : target.processorFeatures)
    if (!processor.features.contains(f)) missing.push_back(f);
  return missing;
}

/// What the machine tells wins over the file.
Target onProcessor(Target target, const Processor& processor) {
  for (size_t i = 0; i < std::min(target.caches.size(), processor.caches.size()); ++i)
    target.caches[i] = processor.caches[i];
  target.threads = processor.threads;
  return target;
}

} // namespace

std::vector<std::string> targetNames() {
  // More required features first, then by name.
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const TargetText& t : targetTexts()) {
    auto target = parseTarget(t.name, t.text);
    ranked.emplace_back(target.ok() ? target->processorFeatures.size() : 0, t.name);
  }
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::string> names;
  for (auto& r : ranked) names.push_back(std::move(r.second));
  return names;
}

StatusOr<Target> targetByName(std::string_view name) {
  for (const TargetText& t : targetTexts())
    if (t.name == name) return parseTarget(t.name, t.text);
  return notFound("target {}: there is no such target; known: {}", name, joined(targetNames()));
}

Target withSmallBlocks(Target target) {
  // The chooser rounds up to whole register kernels and vectors.
  target.schedule.blockRows = target.schedule.blockColumns = target.schedule.streamRows = 1;
  target.schedule.blockDepth = 8;
  target.schedule.streamColumns = 16;
  return target;
}

StatusOr<Target> chooseTarget(const Processor& processor, std::string_view forced) {
  if (!forced.empty()) {
    TG_ASSIGN_OR_RETURN(Target target, targetByName(forced));
    if (auto missing = missingFeatures(target, processor); !missing.empty())
      return failed(
          "target {}: this processor ({}) lacks {}; unset TEGULA_TARGET and [hardware] target to let Tegula choose",
          forced, processor.name, joined(missing));
    return onProcessor(std::move(target), processor);
  }
  std::vector<std::string> missing;
  for (const std::string& name : targetNames()) {
    TG_ASSIGN_OR_RETURN(Target target, targetByName(name));
    missing = missingFeatures(target, processor);
    if (missing.empty()) return onProcessor(std::move(target), processor);
  }
  return failed(
      "this processor ({}) lacks {}: Tegula's kernels need at least x86-64-v3 (AVX2 and FMA: Intel since Haswell, "
      "AMD since Zen); run it on such a machine",
      processor.name, joined(missing));
}

StatusOr<Target> detectTarget(std::string_view forced) {
  if (forced.empty())
    if (const char* named = std::getenv("TEGULA_TARGET")) forced = named;
  return chooseTarget(detectProcessor(), forced);
}

} // namespace tegula
