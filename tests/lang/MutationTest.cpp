// One wrong token anywhere in the operator library: at most five diagnostics, the first on the right line, or a program
// that still checks. The right line is what spec/tile-language.md, section 8, says: the line of the token; for names,
// the declaration or a use of one that came or went; for a line that means something else than before, a line that its
// meaning flows to. There are no exceptions. The default run takes a sample of every file; TEGULA_LONG=1 takes all.
#include "lang/Diagnostics.h"
#include "lang/Lexer.h"
#include "lang/OperatorLibrary.h"
#include "lang/Parser.h"
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace tegula {
namespace {

std::string readAll(const std::filesystem::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

struct Mutation {
  std::string name, text;
};

/// A space where two words would grow together.
std::string gap(char a, char b) {
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '"'; };
  return word(a) && word(b) ? " " : "";
}

std::vector<Mutation> mutations(const std::string& source, const lang::Token& t) {
  size_t begin = static_cast<size_t>(t.text.data() - source.data());
  std::string before = source.substr(0, begin), token(t.text), after = source.substr(begin + token.size());
  std::vector<Mutation> out = {{"delete", before + after}, {"double", before + token + " " + token + after}};
  for (std::string r : {"zzz", "42", "+", ")", "[", ",", ":", "\"s\"", "return", "x", "not"})
    if (r != token)
      out.push_back({"replace by " + r, before + gap(before.empty() ? ' ' : before.back(), r.front()) + r +
                                            gap(r.back(), after.empty() ? ' ' : after.front()) + after});
  return out;
}

std::string lineOf(const std::string& text, int line) {
  std::istringstream in(text);
  std::string s;
  while (line-- > 0 && std::getline(in, s)) {
  }
  return s;
}

using Names = std::set<std::string>;

/// A statement, the head of a block, or a part of a definition's header: what it reads and what it sets.
struct Piece {
  int first, last;
  Names reads, sets;
};

/// The pieces of a file, and which depend on which.
class Flow {
public:
  Flow(const lang::Module& module, const lang::TokenList& list) : list_(list) {
    for (const auto& f : module.functions) operators_.insert(std::string(f->name.text()));
    for (const auto& f : module.functions) definition(*f);
  }

  /// Whether what stands at line `to` depends on what stands at line `from`, directly or by way of others.
  bool reaches(int from, int to) const {
    std::vector<bool> seen(pieces_.size());
    std::vector<size_t> next;
    auto visit = [&](size_t i) {
      if (!seen[i]) next.push_back(i);
      seen[i] = true;
    };
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (pieces_[i].first <= from && from <= pieces_[i].last) visit(i);
    while (!next.empty()) {
      const Piece& p = pieces_[next.back()];
      next.pop_back();
      if (p.first <= to && to <= p.last) return true;
      for (size_t i = 0; i < pieces_.size(); ++i)
        for (const std::string& s : p.sets)
          if (pieces_[i].reads.contains(s)) visit(i);
    }
    return false;
  }

private:
  /// Names are those of one definition, except those of operators.
  std::string scoped(const std::string& name) const { return operators_.contains(name) ? name : here_ + "." + name; }

  Names namesIn(int first, int last) const {
    Names out;
    for (const lang::Token& t : list_.tokens)
      if (t.kind == lang::TokenKind::Name && t.span.line >= first && t.span.line <= last)
        out.insert(scoped(std::string(t.text)));
    return out;
  }

  Piece& piece(lang::Span a) {
    pieces_.push_back({a.line, a.endLine, namesIn(a.line, a.endLine), {}});
    return pieces_.back();
  }

  /// The header is read as a whole: example, parameters and their types. Its result types and its name are where the
  /// results of the body arrive. A definition's name stands for its header where another one mentions it.
  void definition(const lang::Function& f) {
    std::string name(f.name.text());
    here_ = name + std::to_string(f.span.line);
    const std::string header = here_ + "()", results = here_ + "->";
    int end = f.parameters.empty() ? f.nameSpan.line : f.parameters.back().span.line;
    for (const lang::Parameter& p : f.parameters)
      for (const auto* e : {p.annotation.get(), p.defaultValue.get()})
        if (e) end = std::max(end, e->span.endLine);
    Piece top{f.span.line, end, namesIn(f.span.line, end), namesIn(f.span.line, end)};
    top.reads.insert(header);
    top.reads.erase(name); // what its results become does not change its header
    top.sets.insert({name, header});
    pieces_.push_back(top);
    Piece out{f.nameSpan.line, f.nameSpan.line, {results}, {name}};
    pieces_.push_back(out);
    if (f.returns) {
      lang::Span r = f.returns->span;
      Names names = namesIn(r.line, r.endLine);
      Names arriving = names;
      arriving.insert({results, header});
      pieces_.push_back({r.line, r.endLine, arriving, {name}});
      pieces_.push_back({r.line, r.endLine, {}, names}); // when the declaration itself changes
    }
    block(f.body, results);
  }

  void block(const lang::Block& b, const std::string& results) {
    for (const lang::StmtPtr& s : b) statement(*s, results);
  }

  void targets(const lang::Expr& e, Names& out) const {
    if (e.is(lang::ExprKind::Name)) out.insert(scoped(std::string(e.name.text())));
    if (e.is(lang::ExprKind::Index)) targets(e.arg(0), out);
    if (e.is(lang::ExprKind::Tuple))
      for (const auto& a : e.args) targets(*a, out);
  }

  /// All that a block sets: its condition or range decides it.
  Names setBy(const lang::Block& b, const std::string& results) const {
    Names out;
    for (const lang::StmtPtr& s : b) {
      if (s->target) targets(*s->target, out);
      if (s->kind == lang::StmtKind::Return) out.insert(results);
      for (const auto& branch : s->branches) out.merge(setBy(branch.body, results));
      out.merge(setBy(s->body, results));
      out.merge(setBy(s->orElse, results));
    }
    return out;
  }

  void statement(const lang::Stmt& s, const std::string& results) {
    if (s.kind == lang::StmtKind::If) {
      for (const auto& branch : s.branches) {
        piece(branch.condition->span).sets = setBy(branch.body, results);
        pieces_.back().sets.merge(setBy(s.orElse, results));
        block(branch.body, results);
      }
      block(s.orElse, results);
      return;
    }
    Piece& p = piece(s.span);
    if (s.target) targets(*s.target, p.sets);
    if (s.kind == lang::StmtKind::Return) p.sets.insert(results);
    if (s.kind == lang::StmtKind::Assert) p.sets = p.reads; // it says what they can be from here on
    if (s.kind == lang::StmtKind::For) {
      p.sets.merge(setBy(s.body, results));
      block(s.body, results);
    }
  }

  const lang::TokenList& list_;
  Names operators_;
  std::string here_;
  std::vector<Piece> pieces_;
};

/// Errors of form: they are found where the form is wrong, so no flow explains another line.
bool isForm(const std::string& text) {
  using enum lang::DiagnosticId;
  std::string first = text.substr(0, text.find('\n'));
  for (auto id :
       {BadCharacter, UnterminatedString, BadNumber,     BadEscape,          BadIndent,        UnexpectedIndent,
        TabIndent,    UnmatchedBracket,   ExpectedToken, ExpectedExpression, ExpectedBlock,    ExpectedDefinition,
        BadTarget,    UnsupportedSyntax,  KeywordOrder,  DefaultOrder,       DuplicateKeyword, ChainedComparison,
        NoEffect,     UnknownType,        BadDimension,  UnknownDecorator,   MissingDecorator, DecoratorArguments})
    if (first.find(fmt::format("[{}]", lang::name(id))) != std::string::npos) return true;
  return false;
}

/// The names that a mutation adds or takes away.
Names changedNames(const lang::TokenList& before, const std::string& text) {
  lang::Diagnostics ignored;
  std::map<std::string, int> count;
  for (const lang::Token& t : before.tokens)
    if (t.kind == lang::TokenKind::Name) ++count[std::string(t.text)];
  for (const lang::Token& t : lang::tokenize(text, 0, ignored).tokens)
    if (t.kind == lang::TokenKind::Name) --count[std::string(t.text)];
  Names out;
  for (const auto& [name, n] : count)
    if (n != 0) out.insert(name);
  return out;
}

bool holdsWord(const std::string& line, const std::string& word) {
  auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = 0; (at = line.find(word, at)) != std::string::npos; ++at)
    if ((at == 0 || !part(line[at - 1])) && (at + word.size() >= line.size() || !part(line[at + word.size()])))
      return true;
  return false;
}

/// One file of ops/, its tokens and its flow.
struct Original {
  std::string path, source;
  lang::TokenList list;
  std::unique_ptr<Flow> flow;
  lang::ParsedModule module;
};

std::string_view rightLine(const Original& o, const lang::Token& t, const Mutation& m, const std::string& text,
                           int line) {
  if (line >= t.span.line && line <= t.span.endLine) return "token";
  // Nothing is left on the line of a token that stood alone.
  bool gone = lineOf(m.text, t.span.line).find_first_not_of(" ,:") == std::string::npos;
  if (isForm(text)) return gone && std::abs(line - t.span.line) == 1 ? "beside" : "";
  for (const std::string& name : changedNames(o.list, m.text))
    if (holdsWord(lineOf(m.text, line), name)) return "name";
  bool function = text.substr(0, text.find('\n')).ends_with("[unknown-function]");
  return !function && o.flow->reaches(t.span.line, line) ? "flow" : "";
}

class Tally {
public:
  void accepted() {
    std::lock_guard lock(mutex_);
    ++tried_, ++accepted_;
  }
  void refused(const Original& o, const lang::Token& t, const Mutation& m, const std::string& text) {
    size_t errors = 0;
    for (size_t at = 0; (at = text.find(": error: ", at)) != std::string::npos; ++at) ++errors;
    int line = std::atoi(text.c_str() + o.path.size() + 1);
    std::string_view why = rightLine(o, t, m, text, line);
    std::lock_guard lock(mutex_);
    ++tried_;
    ++reasons_[std::string(why)];
    std::string what = fmt::format("{}:{}:{}: {} of '{}' gave\n{}\n", o.path, t.span.line, t.span.column, m.name,
                                   t.text.substr(0, 30), text);
    EXPECT_TRUE(errors >= 1 && errors <= 5) << what;
    EXPECT_FALSE(why.empty()) << "not on the right line: " << what;
  }
  void check() {
    EXPECT_GT(tried_, 1000u);
    // Most mistakes are mistakes: a checker that accepts everything would pass the rest of this test.
    EXPECT_LT(accepted_, tried_ / 3);
    // And most are found on their own line.
    EXPECT_GT(reasons_["token"], (tried_ - accepted_) * 9 / 10);
    testing::Test::RecordProperty("tried", static_cast<int>(tried_));
    testing::Test::RecordProperty("accepted", static_cast<int>(accepted_));
    std::string line = fmt::format("{} mutations, {} accepted", tried_, accepted_);
    for (const auto& [why, n] : reasons_) line += fmt::format(", {}: {}", why.empty() ? "wrong" : why, n);
    std::puts(line.c_str());
  }

private:
  std::mutex mutex_;
  size_t tried_ = 0, accepted_ = 0;
  std::map<std::string, size_t> reasons_;
};

void tryOne(const Original& o, const lang::Token& t, const Mutation& m, Tally& tally) {
  SourceFile changed{o.path, m.text};
  auto library = OperatorLibrary::load({&changed, 1});
  if (library.ok())
    tally.accepted();
  else
    tally.refused(o, t, m, std::string(message(library.status())));
}

/// Every stride-th mutation of a file, on all cores.
void tryFile(const Original& o, size_t stride, size_t offset, Tally& tally) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < o.list.tokens.size();) {
      const lang::Token& t = o.list.tokens[i];
      if (t.text.empty()) continue;
      size_t k = i * 13; // at most 13 mutations of a token, so the sample does not depend on the number of threads
      for (const Mutation& m : mutations(o.source, t))
        if ((k++ + offset) % stride == 0) tryOne(o, t, m, tally);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned n = std::min(std::thread::hardware_concurrency(), 8u); n > 1; --n) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
}

TEST(Mutation, OneWrongTokenIsFoundOnTheRightLine) {
  const char* given = std::getenv("TEGULA_MUTATION_STRIDE");
  size_t stride = std::getenv("TEGULA_LONG") ? 1 : given ? std::strtoul(given, nullptr, 10) : 31;
  std::vector<std::filesystem::path> files;
  for (const auto& e : std::filesystem::directory_iterator(TEGULA_SOURCE_DIR "/ops"))
    if (e.path().extension() == ".tile") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  Tally tally;
  size_t offset = 0;
  for (const auto& file : files) {
    Original o{file.filename().string(), readAll(file), {}, {}, {}};
    lang::Diagnostics none;
    o.list = lang::tokenize(o.source, 0, none);
    o.module = lang::parseModule(o.source, 0, none);
    ASSERT_TRUE(none.empty());
    o.flow = std::make_unique<Flow>(*o.module.module, o.list);
    SourceFile original{o.path, o.source};
    auto whole = OperatorLibrary::load({&original, 1});
    ASSERT_TRUE(whole.ok()) << "every file of ops/ stands alone: " << whole.status();
    tryFile(o, stride, offset++, tally);
  }
  tally.check();
}

} // namespace
} // namespace tegula
