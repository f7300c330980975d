// Strict configuration: what is accepted, and the words with which the rest is refused.
#include "config/Schema.h"
#include <gmock/gmock.h>

using namespace tegula;
using namespace tegula::config;
using testing::AllOf;
using testing::Eq;
using testing::HasSubstr;

namespace {

struct Level {
  int64_t size = 0;
  std::string kind = "data";
};

struct Options {
  std::string name = "run";
  int64_t steps = 100;
  double lr = 1e-3;
  bool tied = true;
  std::string device = "cpu";
  std::vector<int64_t> sizes{1, 2};
  std::optional<double> peak;
  std::vector<Level> levels;
  Schema schema{"Test options"};
  Options() {
    schema.section("").key("name", &name, {.doc = "A name."});
    schema.section("training", "The loop.")
        .key("steps", &steps, {.doc = "Steps.", .min = 1})
        .key("lr", &lr, {.doc = "Rate.", .above = 0});
    schema.section("hardware")
        .key("device", &device, {.doc = "Backend.", .choices = {"cpu", "null"}})
        .key("tied", &tied)
        .key("sizes", &sizes, {.min = 0})
        .key("peak", &peak);
    schema.tables<Level>("cache", levels, [](Section& s, Level& l) {
      s.key("size", &l.size, {.doc = "Bytes.", .min = 1, .required = true}).key("kind", &l.kind);
    });
  }
  Status load(std::string_view text) {
    auto d = parseToml(text, "run.toml");
    return d.ok() ? schema.load(*d) : d.status();
  }
};

std::string text(const Status& s) { return std::string(message(s)); }

TEST(Schema, ReadsEveryType) {
  Options o;
  Status s = o.load("name = \"x\"\n[training]\nsteps = 7\nlr = 1\n[hardware]\ntied = false\nsizes = [3]\npeak = 2.5\n"
                    "[[cache]]\nsize = 32\n[[cache]]\nsize = 64\nkind = \"all\"\n");
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_EQ(o.name, "x");
  EXPECT_EQ(o.steps, 7);
  EXPECT_EQ(o.lr, 1.0);
  EXPECT_FALSE(o.tied);
  EXPECT_THAT(o.sizes, testing::ElementsAre(3));
  EXPECT_EQ(o.peak, 2.5);
  ASSERT_EQ(o.levels.size(), 2u);
  EXPECT_EQ(o.levels[1].size, 64);
  EXPECT_EQ(o.levels[0].kind, "data");
  EXPECT_TRUE(o.schema.section("training").given("steps"));
  EXPECT_FALSE(o.schema.section("hardware").given("device"));
}

TEST(Schema, ReportsEveryErrorWithLineAndNearestName) {
  Options o;
  Status s = o.load("[training]\nstpes = 7\nlr = 0\n[hardwear]\ndevice = \"gpu\"\n[[cache]]\nkind = 3\n");
  EXPECT_THAT(text(s), HasSubstr("run.toml:2: [training] unknown key 'stpes'; did you mean 'steps'?"));
  EXPECT_THAT(text(s), HasSubstr("run.toml:3: [training] lr: 0.0 is out of range: must be > 0"));
  EXPECT_THAT(text(s), HasSubstr("run.toml:4: unknown section 'hardwear'; did you mean 'hardware'?"));
  EXPECT_THAT(text(s), HasSubstr("run.toml:7: [cache] kind: found an integer, expected a string"));
  EXPECT_THAT(text(s), HasSubstr("[cache] needs the key 'size'"));
}

TEST(Schema, RefusesWrongTypesRangesAndChoices) {
  struct Case {
    const char *file, *expected;
  } cases[] = {{"[training]\nsteps = 1.5", "steps: found a number, expected an integer"},
               {"[training]\nsteps = 0", "steps: 0 is out of range: must be >= 1"},
               {"[training]\nsteps = \"7\"", "steps: found a string, expected an integer"},
               {"[hardware]\ndevice = \"tpu\"", "device: found 'tpu', expected one of cpu, null"},
               {"[hardware]\nsizes = [1, -2]", "sizes: element 1: -2 is out of range: must be >= 0"},
               {"[hardware]\nsizes = 3", "sizes: found an integer, expected an array"},
               {"training = 3", "unknown key 'training'"},
               {"nmae = 3", "unknown key 'nmae'; did you mean 'name'?"},
               {"[cache]\nsize = 3", "found a table, expected [[cache]]"},
               {"[training\n", "run.toml:1:"}};
  for (const Case& c : cases) {
    Options o;
    Status s = o.load(c.file);
    if (std::string_view(c.file).starts_with("training"))
      EXPECT_THAT(text(s), HasSubstr("'training' is an integer, expected the section [training]"));
    else
      EXPECT_THAT(text(s), HasSubstr(c.expected)) << c.file;
  }
}

TEST(Schema, OverridesByName) {
  Options o;
  EXPECT_TRUE(o.schema.set("training.steps=9").ok());
  EXPECT_TRUE(o.schema.set("hardware.device=null").ok());
  EXPECT_TRUE(o.schema.set("name=7").ok()); // a string that looks like a number
  EXPECT_TRUE(o.schema.set("hardware.sizes=[4, 5]").ok());
  EXPECT_EQ(o.steps, 9);
  EXPECT_EQ(o.device, "null");
  EXPECT_EQ(o.name, "7");
  EXPECT_THAT(o.sizes, testing::ElementsAre(4, 5));
  EXPECT_THAT(text(o.schema.set("training.step=9")), HasSubstr("did you mean 'steps'?"));
  EXPECT_THAT(text(o.schema.set("trainin.steps=9")), HasSubstr("did you mean 'training'?"));
  EXPECT_THAT(text(o.schema.set("training.steps=0")), HasSubstr("out of range"));
  EXPECT_THAT(text(o.schema.set("training.steps")), HasSubstr("expected section.key=value"));
  EXPECT_THAT(text(o.schema.set("training.steps=1\nlr=3")), HasSubstr("expected an integer"));
}

TEST(Schema, AKeyInTheWrongSectionNamesItsOwn) {
  Options o;
  EXPECT_THAT(text(o.load("[hardware]\nsteps = 9\n")),
              HasSubstr("run.toml:2: [hardware] unknown key 'steps'; it belongs to [training]"));
  EXPECT_THAT(text(o.schema.set("hardware.lr=9")), HasSubstr("unknown key 'lr'; it belongs to [training]"));
  EXPECT_THAT(text(o.load("[training]\nmax_steps = 9\n")), HasSubstr("did you mean 'steps'?"));
}

TEST(Schema, RemembersWhereAKeyWasGiven) {
  Options o;
  ASSERT_TRUE(o.load("[training]\nsteps = 9\n").ok());
  EXPECT_EQ(o.schema.section("training").placeOf("steps"), "run.toml:2");
  EXPECT_EQ(o.schema.section("training").placeOf("lr"), "");
  ASSERT_TRUE(o.schema.set("training.steps=8").ok());
  EXPECT_EQ(o.schema.section("training").placeOf("steps"), "--set training.steps=8");
}

TEST(Schema, ResolvedFileReadsBackTheSame) {
  Options a;
  ASSERT_TRUE(
      a.load("name = \"a \\\"b\\\" \\\\ \\n\"\n[training]\nlr = 0.30000000000000004\n[[cache]]\nsize = 3\n").ok());
  Options b;
  ASSERT_TRUE(b.load(a.schema.toToml()).ok()) << a.schema.toToml();
  EXPECT_EQ(b.name, a.name);
  EXPECT_EQ(b.lr, a.lr);
  EXPECT_FALSE(b.peak.has_value());
  EXPECT_EQ(b.schema.toToml(), a.schema.toToml());
}

TEST(Schema, ReferenceNamesEveryKey) {
  Options o;
  std::string page = o.schema.reference();
  EXPECT_THAT(page, AllOf(HasSubstr("# Test options"), HasSubstr("## [training]"), HasSubstr("## [[cache]]"),
                          HasSubstr("| `steps` | integer; >= 1 | `100` | Steps. |"),
                          HasSubstr("| `size` | integer; >= 1 | required | Bytes. |"), HasSubstr("| `peak` |")));
}

TEST(Toml, CommonSlipsNameTheWayOutAndShowTheLine) {
  std::string deep = "a = " + std::string(400, '[') + std::string(400, ']');
  struct Case {
    std::string file, expected;
  } cases[] = {
      {"path = my.txt", "run.toml:1:8: a string needs quotes: path = \"my.txt\"\n    path = my.txt\n           ^"},
      {"a = 1\npath = /a/b.txt # mine", "run.toml:2:8: a string needs quotes: path = \"/a/b.txt\"\n"},
      {"name = foo bar", "a string needs quotes: name = \"foo bar\""},
      {"device = null", "a string needs quotes: device = \"null\""},
      {"tied = True", "true and false are written in small letters"},
      {"a = \"x\nb = 2", "run.toml:1:7: the string has no closing \" on its line\n    a = \"x\n          ^"},
      {"a = 'x", "the string has no closing ' on its line"},
      {"a = 1\na = 2", "run.toml:2:5: the key 'a' is given a second time; keep one"},
      {"[a]\nx = 1\n[a]\n", "run.toml:3:1: this section stands here a second time; put its keys together"},
      {"a = \"C:\\path\"", "write it twice, or the string in single quotes"},
      {"a =\nb = 1", "the key 'a' has no value"},
      {"a =", "the key 'a' has no value"},
      {"steps: 3", "expected key = value"},
      {deep, "nested too deep"},
      {"a = [\"é\" 2]", "\n    a = [\"é\" 2]\n             ^"}};
  for (const Case& c : cases) {
    std::string found = text(parseToml(c.file, "run.toml").status());
    EXPECT_THAT(found, HasSubstr(c.expected)) << c.file;
    EXPECT_THAT(found, testing::Not(HasSubstr("TOML_MAX_NESTED_VALUES")));
    EXPECT_LT(found.size(), 500u);
  }
  Options o;
  EXPECT_THAT(text(o.load("[training]\nsteps = 2024-01-01\n")),
              HasSubstr("found a date or a time, expected an integer"));
  for (const char* rubbish : {"\xff\xfe = 1", "", "=", "\r\n=\r\n", "a = \"\x01\""}) // no crash
    (void)parseToml(rubbish, "run.toml");
}

/// `depth` tables, one in another.
std::string tables(size_t depth) {
  std::string text;
  for (size_t i = 0; i < depth; ++i) text += "{a = ";
  return text + "1" + std::string(depth, '}');
}

std::string manyParts() {
  std::string dots; // one frame of any size for each of 100,000 parts would overflow the stack
  for (int i = 0; i < 100000; ++i) dots += "a.";
  return dots + "a";
}

TEST(Toml, DeepNestingIsRefusedBeforeItIsParsed) {
  std::string key = manyParts(), quoted, spaced;
  for (int i = 0; i < 100000; ++i) quoted += "'a'.\"\".", spaced += "a .\t";
  for (const std::string& deep :
       {key + " = 1", quoted + "a = 1", spaced + "a = 1", "[" + key + "]", "[[" + key + "]]", "x = {" + key + " = 1}",
        "x = [1, {" + key + " = 1}]", "x = " + std::string(30, '[') + "{" + key + " = 1}" + std::string(30, ']'),
        "x = " + tables(65), R"(x = "\"" )" + ("\n" + key) + " = 1", R"(x = '\')" + ("\n" + key) + " = 1",
        "x = \"\"\"\n\"\"\"\"\"\n" + key + " = 1", "x = ['''\n'''', {" + key + " = 1}]", "# '''\n" + key + " = 1"}) {
    std::string found = text(parseToml("é = 1\r\n" + deep, "run.toml").status());
    EXPECT_THAT(found, HasSubstr("keys, arrays or tables are nested too deep, more than 64 levels; no key takes more"));
    EXPECT_THAT(found, testing::ContainsRegex("^run\\.toml:[2-4]:[0-9]+: .*\n    .*\n +\\^$")) << deep.substr(0, 60);
    EXPECT_LT(found.size(), 500u);
  }
  EXPECT_THAT(text(parseToml("\"é\"." + key + " = 1", "run.toml").status()), HasSubstr("run.toml:1:132: "));
}

TEST(Toml, DotsThatNestNothingAreNoDepth) {
  std::string dots(1000, '.'), numbers, lines;
  for (int i = 0; i < 200; ++i) numbers += "1.5, ", lines += fmt::format("a{}.b = 1.5 # ...\n", i);
  for (const std::string& flat :
       {"x = \"" + dots + "\"", "x = '" + dots + "'", "x = \"\"\"\n" + dots + "\n\"\"\"\"\"", "x = '''" + dots + "'''",
        "# " + dots, "x = [" + numbers + "\n" + numbers + "]", lines, "\"" + dots + "\" = 1", "x = " + tables(64)})
    EXPECT_TRUE(parseToml(flat, "run.toml").ok()) << text(parseToml(flat, "run.toml").status());
}

TEST(Schema, OverridesThatAreNestedTooDeepAreStrings) {
  Options o;
  for (const std::string& deep : {"{" + manyParts() + " = 1}", tables(65), std::string(100000, '[')}) {
    EXPECT_THAT(text(o.schema.set("training.steps=" + deep)), HasSubstr("found a string, expected an integer"));
    EXPECT_TRUE(o.schema.set("name=" + deep).ok());
    EXPECT_EQ(o.name, deep);
  }
  EXPECT_THAT(text(o.schema.set(manyParts() + "=1")), HasSubstr("unknown section"));
}

TEST(Json, ARootThatIsNoObjectIsRefused) {
  struct Case {
    const char *file, *expected;
  } cases[] = {{"[1, 2]", "c.json:1: the file holds an array, expected an object"},
               {"\n\"training.steps=5\"", "c.json:2: the file holds a string, expected an object"},
               {"[]", "the file holds an array"},
               {"3", "the file holds an integer"},
               {"null", "the file holds null"}};
  for (const Case& c : cases) EXPECT_THAT(text(parseJson(c.file, "c.json").status()), HasSubstr(c.expected)) << c.file;
  EXPECT_TRUE(parseJson("{}", "c.json").ok());
}

TEST(Json, KeepsLinesAndRefusesRubbish) {
  auto d = parseJson("{\n \"name\": \"x\",\n \"training\": {\n  \"stepz\": 3\n }\n}", "c.json");
  ASSERT_TRUE(d.ok()) << d.status();
  Options o;
  EXPECT_THAT(text(o.schema.load(*d)), HasSubstr("c.json:4: [training] unknown key 'stepz'; did you mean 'steps'?"));
  EXPECT_THAT(text(parseJson("{\"a\": }", "c.json").status()), HasSubstr("c.json:1: not JSON"));
  std::string deep(100000, '[');
  EXPECT_THAT(text(parseJson(deep, "c.json").status()), HasSubstr("nested more than"));
}

} // namespace
