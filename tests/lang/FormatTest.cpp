// The formatter: canonical for ops/, idempotent, keeps comments and meaning; and Python's own parser reads every file.
#include "lang/Format.h"
#include "lang/OperatorLibrary.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace tegula {
namespace {

std::vector<SourceFile> operatorSources() {
  std::vector<SourceFile> out;
  for (const auto& e : std::filesystem::directory_iterator(TEGULA_SOURCE_DIR "/ops")) {
    if (e.path().extension() != ".tile") continue;
    std::ifstream in(e.path());
    std::stringstream s;
    s << in.rdbuf();
    out.push_back({e.path().string(), s.str()});
  }
  return out;
}

std::string formatted(const std::string& text) {
  auto r = lang::format({"t.tile", text});
  EXPECT_TRUE(r.ok()) << r.status();
  return r.ok() ? *r : "";
}

TEST(Format, OperatorsAreCanonical) {
  for (const SourceFile& s : operatorSources())
    EXPECT_EQ(formatted(s.text), s.text) << s.path << " (tegula fmt writes it)";
}

TEST(Format, MessyTextBecomesCanonical) {
  std::string messy = "# about f\n@tile_op\ndef f( x:Tensor[ ...,N :f32 ],axis : int=- 1 )->Tensor[...,N]:\n"
                      "  '''what it does'''\n"
                      "  # first\n\n\n\n  y=exp( x )   # same line\n"
                      "  if axis==-1 :\n     y=y*2**- 1\n     # inside\n  else:\n     y = (y+1)*(2)\n  return y [ ... "
                      ", 0 : N ]\n# the end\n";
  std::string canonical = "# about f\n@tile_op\ndef f(x: Tensor[..., N : f32], axis: int = -1) -> Tensor[..., N]:\n"
                          "    \"\"\"what it does\"\"\"\n"
                          "    # first\n\n    y = exp(x)  # same line\n"
                          "    if axis == -1:\n        y = y * 2**-1\n        # inside\n    else:\n        y = (y + 1) "
                          "* 2\n    return y[..., 0:N]\n\n\n# the end\n";
  EXPECT_EQ(formatted(messy), canonical);
  EXPECT_EQ(formatted(canonical), canonical);
}

TEST(Format, ParenthesesKeepMeaning) {
  std::string before, after;
  for (std::string e :
       {"a - (b - c)", "(a - b) - c", "-(a**2)", "(-a)**2", "a**-b", "(a**b)**c", "a**b**c", "not (a and b)",
        "(not a) == b", "(a if b else c) + d", "a @ (b @ c)", "(a < b) & (c < d)", "-x[0].shape[1]", "(a, b)[0]",
        "(a + b)[0]", "f((a, b), c)", "x[(a, b), None]", "(a & b) | c", "a & (b | c)"}) {
    std::string text = "@tile_op\ndef f(x: Tensor) -> Tensor:\n    return " + e + "\n";
    std::string once = formatted(text);
    EXPECT_EQ(formatted(once), once) << e;
    before += text;
    after += once;
  }
  // Python is the judge of meaning: both must give the same tree.
  std::string a = testing::TempDir() + "/tegula_format_a.py", b = testing::TempDir() + "/tegula_format_b.py";
  std::ofstream(a) << before;
  std::ofstream(b) << after;
  std::string command = "python3 -c \"import ast,sys; a,b=[ast.dump(ast.parse(open(p).read())) for p in sys.argv[1:]]; "
                        "sys.exit(a!=b)\" " +
                        a + " " + b;
  EXPECT_EQ(std::system(command.c_str()), 0) << before << "became\n" << after;
}

TEST(Format, RefusesWhatDoesNotParse) {
  auto r = lang::format({"t.tile", "@tile_op\ndef f(:\n"});
  ASSERT_FALSE(r.ok());
  EXPECT_NE(message(r.status()).find("t.tile:2:7"), std::string_view::npos) << r.status();
}

TEST(Python, ParsesEveryTileFile) {
  std::string command = "python3 -c \"import ast,sys; [ast.parse(open(p).read(), p) for p in sys.argv[1:]]\"";
  for (const SourceFile& s : operatorSources()) command += " " + s.path;
  EXPECT_EQ(std::system(command.c_str()), 0);
}

} // namespace
} // namespace tegula
