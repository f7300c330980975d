// `tegula op`
#include "cli/Op.h"

#include "cli/Commands.h"
#include "cli/Ranges.h"

#include "base/Files.h"
#include "runtime/Session.h"
#include <algorithm>
#include <sstream>

namespace tegula::cli {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& w : words) line += (line.empty() ? "" : " ") + w;
  return line;
}

void addShow(CLI::App& op, Outcome& outcome) {
  struct Options {
    std::vector<std::string> words;
    std::string stage = "source", target;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = op.add_subcommand("show", "Print an operator or kernel at one stage of its compilation.");
  c->footer("examples: tegula op show gemm --target x86-64-v4 --stage asm\n"
            "          tegula op show \"softmax x=4,1000 f32\" --stage schedule");
  c->add_option("problem", o->words, "A name (its @example is used), a problem line, or both")->required();
  c->add_option("--stage", o->stage, "source, pattern, graph, schedule, tile, mlir, llvm or asm")
      ->capture_default_str();
  c->add_option("--target", o->target, "A name from targets/; this machine's when left out");
  c->callback([=, &outcome] {
    // NAME and then a whole problem line, which repeats the name.
    if (o->words.size() > 1 && (o->words[1] + " ").starts_with(o->words[0] + " ")) o->words.erase(o->words.begin());
    StatusOr<std::string> text = showOperator(join(o->words), o->stage, o->target);
    outcome.status = text.status();
    if (text.ok()) fmt::print("{}{}", *text, text->ends_with('\n') ? "" : "\n");
  });
}

/// The problems of a command line: words that stand for themselves, being names or whole lines in quotes, or one line
/// whose words the shell took apart.
std::vector<std::string> problemsOf(const std::vector<std::string>& words) {
  bool quoted = std::ranges::any_of(words, [](const std::string& w) { return w.find(' ') != std::string::npos; });
  bool names = std::ranges::none_of(words, [](const std::string& w) { return w.find('=') != std::string::npos; });
  if (quoted || names) return words;
  return {join(words)};
}

struct ProblemLine {
  std::string place; // "file:line: " where it came from a file
  std::string text;
};

/// Lines of a file, without blank ones and comments.
StatusOr<std::vector<ProblemLine>> problemLines(const std::string& path) {
  TG_ASSIGN_OR_RETURN(std::string text, readFile(path));
  std::istringstream in(text);
  std::vector<ProblemLine> lines;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') lines.push_back({fmt::format("{}:{}: ", path, number), line});
  }
  if (lines.empty()) return invalid("{}: holds no problem line", path);
  return lines;
}

/// An error of the operator library is every problem's: said once, before any of them.
Status operatorsLoad() {
  Status s = OperatorLibrary::loadEmbedded().status();
  if (s.ok()) return s;
  return Status(s.code(), fmt::format("{}\nthe operator library does not load, so nothing was checked", message(s)));
}

void addCheck(CLI::App& op, Outcome& outcome) {
  struct Options {
    std::vector<std::string> words;
    std::string file;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c =
      op.add_subcommand("check", "Compare a compiled operator with the reference evaluator, forward and backward, and\n"
                                 "its gradient with finite differences.");
  c->footer("examples: tegula op check \"softmax x=4,1000 f32\"\n          tegula op check --file problems.txt");
  c->add_option("problem", o->words, "Names (their @examples are used) or problem lines, each in quotes");
  c->add_option("--file", o->file, "A file with one problem a line");
  c->callback([=, &outcome] {
    std::vector<ProblemLine> lines;
    if (!o->words.empty())
      for (std::string& text : problemsOf(o->words)) lines.push_back({{}, std::move(text)});
    if (!o->file.empty()) {
      StatusOr<std::vector<ProblemLine>> more = problemLines(o->file);
      if (!more.ok()) {
        outcome.status = more.status();
        return;
      }
      lines.insert(lines.end(), more->begin(), more->end());
    }
    outcome.status = lines.empty() ? invalid("op check: give a problem line or --file") : operatorsLoad();
    if (!outcome.status.ok()) return;
    for (const ProblemLine& line : lines) {
      StatusOr<std::string> report = checkOperator(line.text);
      if (!report.ok()) outcome.exitCode = 1;
      fmt::print("{}{}\n", line.place,
                 report.ok() ? *report : fmt::format("FAILED {}: {}", line.text, message(report.status())));
      std::fflush(stdout);
    }
  });
}

void addBench(CLI::App& op, Outcome& outcome) {
  struct Options {
    std::vector<std::string> words;
    int threads = 0, rounds = 20;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = op.add_subcommand("bench", "Time a compiled operator.");
  c->footer("example: tegula op bench \"matmul a=1024,1024 b=1024,1024 f32\" --threads 1");
  c->add_option("problem", o->words, "A name (its @example is used) or a problem line")->required();
  c->add_option("--threads", o->threads, "0 means TEGULA_THREADS or, where that is not set, every core")
      ->transform(wholeNumber(0, kMostThreads));
  constexpr int64_t kMostRounds = 1'000'000; // each one's time is kept
  c->add_option("--rounds", o->rounds, "Timed runs; the median is reported")
      ->transform(wholeNumber(1, kMostRounds))
      ->capture_default_str();
  c->callback([=, &outcome] {
    StatusOr<std::string> report = benchOperator(join(o->words), o->threads, o->rounds);
    outcome.status = report.status();
    if (report.ok()) fmt::print("{}\n", *report);
  });
}

} // namespace

void addOp(CLI::App& app, Outcome& outcome) {
  CLI::App* op = app.add_subcommand("op", "Look at, check and time operators of the library.");
  op->require_subcommand(1);
  op->footer("example: tegula op show softmax --stage pattern");
  addShow(*op, outcome);
  addCheck(*op, outcome);
  addBench(*op, outcome);
}

} // namespace tegula::cli
