// One wrong token anywhere in the operator library: at most five diagnostics, the first on the line of the token, or a
// program that still checks. Where a name stands for another, which of the two places is wrong cannot be known: the
// first diagnostic must be on a line that holds one of the two names. Where the changed line has a meaning of its own,
// the error may be reported where that meaning meets the rest: in the same definition or one that it names. Wrong
// syntax, unknown functions and wrong types must be reported on the very line. The default run takes every kStride-th
// token; TEGULA_LONG=1 takes all.
#include "lang/Diagnostics.h"
#include "lang/Lexer.h"
#include "lang/OperatorLibrary.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <sstream>

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
  bool renames = false; // a name for a name
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
      out.push_back({"replace by " + r,
                     before + gap(before.empty() ? ' ' : before.back(), r.front()) + r +
                         gap(r.back(), after.empty() ? ' ' : after.front()) + after,
                     t.kind == lang::TokenKind::Name && (r == "x" || r == "zzz")});
  return out;
}

std::string lineOf(const std::string& text, int line) {
  std::istringstream in(text);
  std::string s;
  while (line-- > 0 && std::getline(in, s)) {
  }
  return s;
}

bool isSyntax(const std::string& text) {
  std::string first = text.substr(0, text.find('\n'));
  for (auto id :
       {lang::DiagnosticId::ExpectedToken, lang::DiagnosticId::ExpectedExpression, lang::DiagnosticId::ExpectedBlock,
        lang::DiagnosticId::ExpectedDefinition, lang::DiagnosticId::BadTarget, lang::DiagnosticId::UnsupportedSyntax,
        lang::DiagnosticId::UnmatchedBracket, lang::DiagnosticId::BadIndent, lang::DiagnosticId::UnexpectedIndent,
        lang::DiagnosticId::KeywordOrder, lang::DiagnosticId::ChainedComparison, lang::DiagnosticId::NoEffect,
        lang::DiagnosticId::UnknownFunction, lang::DiagnosticId::UnknownType, lang::DiagnosticId::BadDimension,
        lang::DiagnosticId::UnknownDecorator})
    if (first.find(fmt::format("[{}]", lang::name(id))) != std::string::npos) return true;
  return false;
}

/// The names that the definition around a line has, or names: its own and those of its decorators.
std::string definitionAround(const std::string& source, int line) {
  std::istringstream in(source);
  std::string s, around;
  bool body = false;
  for (int n = 1; std::getline(in, s); ++n) {
    if (s.starts_with("@") && body) {
      if (n > line) break;
      around.clear(), body = false;
    }
    body |= s.starts_with("def");
    around += s + "\n";
  }
  return around;
}

/// Whether two lines belong to one definition, or to two of which one names the other.
bool related(const std::string& source, int a, int b) {
  std::string x = definitionAround(source, a), y = definitionAround(source, b);
  auto nameOf = [](const std::string& d) {
    size_t at = d.find("\ndef ");
    return at == std::string::npos ? std::string("?") : d.substr(at + 5, d.find('(', at) - at - 5);
  };
  return x == y || x.find(nameOf(y)) != std::string::npos || y.find(nameOf(x)) != std::string::npos;
}

TEST(Mutation, OneWrongTokenIsFoundOnItsLine) {
  bool all = std::getenv("TEGULA_LONG") != nullptr;
  const char* stride = std::getenv("TEGULA_MUTATION_STRIDE");
  const size_t kStride = all ? 1 : stride ? std::strtoul(stride, nullptr, 10) : 31;
  std::vector<std::filesystem::path> files;
  for (const auto& e : std::filesystem::directory_iterator(TEGULA_SOURCE_DIR "/ops"))
    if (e.path().extension() == ".tile") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  size_t tried = 0, accepted = 0, wrongLine = 0, counter = 0;
  for (const auto& file : files) {
    std::string source = readAll(file);
    lang::Diagnostics ignored;
    lang::TokenList list = lang::tokenize(source, 0, ignored);
    ASSERT_TRUE(ignored.empty());
    SourceFile original{file.filename().string(), source};
    auto whole = OperatorLibrary::load({&original, 1});
    ASSERT_TRUE(whole.ok()) << "every file of ops/ stands alone: " << whole.status();
    for (const lang::Token& t : list.tokens) {
      if (t.text.empty()) continue;
      for (const Mutation& m : mutations(source, t)) {
        if (counter++ % kStride != 0) continue;
        ++tried;
        SourceFile changed{original.path, m.text};
        auto library = OperatorLibrary::load({&changed, 1});
        if (library.ok()) {
          ++accepted;
          continue;
        }
        std::string text(message(library.status()));
        size_t errors = 0;
        for (size_t at = 0; (at = text.find(": error: ", at)) != std::string::npos; ++at) ++errors;
        int line = std::atoi(text.c_str() + original.path.size() + 1);
        bool rightLine = line >= t.span.line && line <= t.span.endLine;
        if (!rightLine && m.renames) {
          std::string at = lineOf(m.text, line);
          rightLine = at.find(t.text) != std::string::npos || at.find(m.name.substr(11)) != std::string::npos;
        }
        // The line itself has a meaning, but another one than the rest: found where the two meet.
        if (!rightLine && !isSyntax(text)) rightLine = related(source, t.span.line, line);
        // Nothing is left on the line of a token that stood alone.
        if (!rightLine && m.name == "delete" &&
            lineOf(m.text, t.span.line).find_first_not_of(" ,:") == std::string::npos)
          rightLine = line == t.span.line - 1 || line == t.span.line + 1;
        if (!rightLine) ++wrongLine;
        EXPECT_TRUE(errors >= 1 && errors <= 5) << original.path << ":" << t.span.line << ": " << m.name;
        if (!rightLine)
          std::cout << original.path << ":" << t.span.line << ":" << t.span.column << ": " << m.name << " of '"
                    << t.text.substr(0, 30) << "' gave\n"
                    << text << "\n";
      }
    }
  }
  // A bracket or a comma that changes inside a statement of several lines can leave sense up to a later line, where no
  // rule knows which of the two was meant: fewer than one in 250.
  EXPECT_LE(wrongLine, tried / 250);
  EXPECT_GT(tried, 1000u);
  // Most mistakes are mistakes: a checker that accepts everything would pass the rest of this test.
  EXPECT_LT(accepted, tried / 3);
  RecordProperty("tried", static_cast<int>(tried));
  RecordProperty("accepted", static_cast<int>(accepted));
}

} // namespace
} // namespace tegula
