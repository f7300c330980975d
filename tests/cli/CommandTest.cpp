// The command line: help, refusals in words, and small answers.
#include "../data/TemporaryFolder.h"
#include "Process.h"
#include <gmock/gmock.h>
#include <sys/stat.h>

using namespace tegula;
using testing::AllOf;
using testing::HasSubstr;

namespace {

TEST(Command, EveryCommandHasHelpWithAnExample) {
  for (std::vector<std::string> command : std::vector<std::vector<std::string>>{{"train"},
                                                                                {"generate"},
                                                                                {"devices"},
                                                                                {"op", "show"},
                                                                                {"op", "check"},
                                                                                {"op", "bench"},
                                                                                {"graph", "dump"},
                                                                                {"fmt"},
                                                                                {"config", "check"},
                                                                                {"config", "reference"},
                                                                                {"data", "prepare"},
                                                                                {"data", "baseline"},
                                                                                {"cache"},
                                                                                {"op"},
                                                                                {"graph"},
                                                                                {"config"},
                                                                                {"data"}}) {
    command.push_back("--help");
    Finished f = runTegula(command);
    EXPECT_EQ(f.exitCode, 0) << f.output;
    EXPECT_THAT(f.output, AllOf(HasSubstr("example"), HasSubstr("tegula " + command[0])));
  }
}

TEST(Command, VersionAndMistypedCommands) {
  EXPECT_THAT(runTegula({"--version"}).output, testing::MatchesRegex("tegula [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  Finished mistyped = runTegula({"trian"});
  EXPECT_EQ(mistyped.exitCode, 2);
  EXPECT_THAT(mistyped.output, HasSubstr("no command 'trian'; did you mean train?"));
  EXPECT_THAT(runTegula({"op", "chek", "x"}).output, HasSubstr("no command 'chek'; did you mean check?"));
  EXPECT_EQ(runTegula({}).exitCode, 2);
}

TEST(Command, ConfigCheckPrintsTheResolvedFileOrEveryError) {
  TemporaryFolder f;
  f.write("x.txt", "text");
  f.write("good.toml", "[data]\npath = \"" + f.path("x.txt") + "\"\n");
  Finished good = runTegula({"config", "check", f.path("good.toml"), "--set", "training.steps=12"});
  EXPECT_EQ(good.exitCode, 0);
  EXPECT_THAT(good.output, AllOf(HasSubstr("steps = 12"), HasSubstr("/x.txt\"")));
  f.write("flat.toml", "steps = 3\n");
  EXPECT_THAT(runTegula({"config", "check", f.path("flat.toml")}).output,
              HasSubstr("flat.toml:1: the key 'steps' stands above every section; it belongs to [training]"));
  f.write("bad.toml", "[training]\nstpes = 1\nseq_len = 0\n");
  Finished bad = runTegula({"config", "check", f.path("bad.toml")});
  EXPECT_EQ(bad.exitCode, 1);
  EXPECT_THAT(bad.output, AllOf(HasSubstr(":2: [training] unknown key 'stpes'; did you mean 'steps'?"),
                                HasSubstr(":3: [training] seq_len")));
  auto refused = [&](const std::string& set) {
    Finished r = runTegula({"config", "check", f.path("good.toml"), "--set", set});
    EXPECT_EQ(r.exitCode, 1);
    return r.output;
  };
  EXPECT_THAT(refused("model.dim=30"), HasSubstr("--set model.dim=30: [model] dim 30 is not a multiple of n_heads 4"));
  f.write("odd.toml", "[data]\npath = \"x.txt\"\n[model]\nn_heads = 3\ndim = 33\n");
  EXPECT_THAT(runTegula({"config", "check", f.path("odd.toml"), "--set", "model.n_heads=2"}).output,
              HasSubstr("odd.toml:5, --set model.n_heads=2: [model] dim 33 is not a multiple of n_heads 2"));
  EXPECT_THAT(refused("steps=4"),
              HasSubstr("--set steps=4: the key 'steps' belongs to [training]; write training.steps=4"));
  EXPECT_THAT(refused("stpes=4"), HasSubstr("--set stpes=4: found no section, expected section.key=value"));
  EXPECT_THAT(refused("training.log_freq=3"), HasSubstr("unknown key 'log_freq'; it belongs to [metrics]"));
  EXPECT_THAT(refused("training.enable=true"), HasSubstr("it belongs to [checkpoint] or [validation]"));
  EXPECT_THAT(refused("training.batch_size=3"), HasSubstr("did you mean 'local_batch_size'?"));
  EXPECT_THAT(refused("training.max_steps=3"), HasSubstr("did you mean 'steps'?"));
  EXPECT_THAT(refused("lr_scheduler.warmup=3"), HasSubstr("did you mean 'warmup_steps'?"));
  EXPECT_THAT(refused("data.path=none.txt"), HasSubstr("[data] path: none.txt: no such file or folder"));
  EXPECT_THAT(refused("hardware.target=x86-64-v5"), HasSubstr("[hardware] target: "));
  EXPECT_THAT(
      runTegula({"config", "check", f.path("good.toml"), "--set", "training.steps=100"}).output,
      HasSubstr("lr_scheduler.warmup_steps=100 is no less than training.steps=100: optimizer.lr=0.001 is never"));
  EXPECT_THAT(runTegula({"config", "check", f.path("good.toml"), "--set", "training.steps=101"}).output,
              testing::Not(HasSubstr("warning")));
  EXPECT_THAT(runTegula({"config", "check", f.path("good.toml")}, {"TEGULA_THREADS=abc"}).output,
              HasSubstr("TEGULA_THREADS=abc: found a string, expected an integer"));
  EXPECT_THAT(runTegula({"config", "reference"}).output, HasSubstr("| `local_batch_size` | integer"));
}

TEST(Command, AKernelThatIsNotUsedIsNamed) {
  const char* line = "matmul a=9 b=9 f32";
  auto says = HasSubstr("matmul's tile kernel is not used: result 1 is a scalar");
  EXPECT_THAT(runTegula({"op", "show", line, "--stage", "tile"}).output, says);
  EXPECT_THAT(runTegula({"op", "check", line}).output, says);
  EXPECT_THAT(runTegula({"op", "show", "matmul", "--stage", "tile"}).output, testing::Not(HasSubstr("is not used")));
}

/// A command whose standard output goes to a full disk, by a shell.
Finished runOnFullDisk(const std::string& arguments) {
  std::FILE* pipe = ::popen((TEGULA_EXECUTABLE " " + arguments + " 2>&1 >/dev/full").c_str(), "r");
  Finished f;
  char buffer[4096];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) f.output.append(buffer, n);
  int status = ::pclose(pipe);
  if (WIFEXITED(status)) f.exitCode = WEXITSTATUS(status);
  return f;
}

TEST(Command, OutputThatCannotBeWrittenIsAFailure) {
  TemporaryFolder f;
  f.write("x.txt", std::string(500, 'x'));
  f.write("x.toml", "[data]\npath = \"" + f.path("x.txt") + "\"\n");
  for (const std::string& command :
       {std::string("--help"), std::string("config reference"), std::string("cache"), std::string("op check relu"),
        std::string("op show relu"), std::string("op bench \"relu x=5 f32\" --rounds 1"), std::string("devices null"),
        "config check " + f.path("x.toml"), "data prepare " + f.path("x.txt") + " " + f.path("prepared")}) {
    Finished r = runOnFullDisk(command);
    EXPECT_EQ(r.exitCode, 1) << command;
    EXPECT_THAT(r.output, HasSubstr("tegula: cannot write standard output")) << command;
  }
  std::string run = "train --data " + f.path("x.txt") + " --set job.dump_folder=" + f.path("run");
  for (const char* set :
       {"model.dim=32", "model.n_layers=1", "training.steps=2", "training.local_batch_size=2", "training.seq_len=8"})
    run += std::string(" --set ") + set;
  Finished trained = runOnFullDisk(run);
  EXPECT_EQ(trained.exitCode, 1) << trained.output;
  EXPECT_THAT(trained.output, HasSubstr("going on, every step is in " + f.path("run") + "/log.jsonl"));
  EXPECT_TRUE(fileExists(f.path("run/checkpoints/step-2/manifest.json")));
  EXPECT_EQ(runOnFullDisk("generate " + f.path("run") + " --tokens 2").exitCode, 1);
}

TEST(Command, OpCheckSeesAWrongGradient) {
  TemporaryFolder f;
  f.write("mine.tile",
          "@tile_op\n@example(\"cube x=4,7 f32\")\ndef cube(x: Tensor[... : float]) -> Tensor[...]:\n"
          "    return x * x * x\n\n\n@grad(cube)\ndef cube_grad(x, y, dy):\n    return dy * 2.0 * x * x\n");
  Finished wrong = runTegula({"op", "check", "cube"}, {"TEGULA_OPS=" + f.path()});
  EXPECT_EQ(wrong.exitCode, 1);
  EXPECT_THAT(wrong.output, HasSubstr("gradient of x along random direction 0"));
  EXPECT_THAT(runTegula({"op", "check", "softmax"}).output, HasSubstr("gradient agrees with differences in f64"));
  EXPECT_THAT(runTegula({"op", "check", "softmax x=3 f8e4m3"}).output, HasSubstr("does not compute in f8e4m3 yet"));
}

TEST(Command, OpCheckSeesAKernelThatForgetsItsSteps) {
  TemporaryFolder f;
  f.write("mine.tile", R"(
@tile_op(differentiable=False)
@example("product a=5,64 b=64,9 f32")
def product(a: Tensor[M, K], b: Tensor[K, N]) -> Tensor[M, N]:
    return a @ b


@tile_kernel(implements=product)
def product_by_tiles(a: Tensor[M, K], b: Tensor[K, N], c: Out[M, N], BM: Tunable, BN: Tunable, BK: Tunable):
    for i, j in grid(M, BM, N, BN):
        acc = zeros(BM, BN, f32)
        for k in tiles(K, BK):
            acc = dot(a[i, k], b[k, j])
        c[i, j] = acc
)");
  Finished wrong = runTegula({"op", "check", "product"}, {"TEGULA_OPS=" + f.path()});
  EXPECT_EQ(wrong.exitCode, 1);
  EXPECT_THAT(wrong.output, HasSubstr("with small blocks"));
}

TEST(Command, ExampleConfigsAreValid) {
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TEGULA_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".toml") continue;
    Finished f = runTegula({"config", "check", entry.path().string(), "--data", entry.path().string()});
    EXPECT_EQ(f.exitCode, 0) << f.output;
    ++checked;
  }
  EXPECT_GE(checked, 2);
}

TEST(Command, TrainingRefusesTextsInWords) {
  TemporaryFolder f;
  f.write("empty.txt", "");
  f.write("short.txt", "too short");
  f.write("latin.txt", "caf\xe9");
  auto train = [&](const char* name) {
    Finished r = runTegula({"train", "--data", f.path(name), "--set", "job.dump_folder=" + f.path("run")});
    EXPECT_EQ(r.exitCode, 1);
    return r.output;
  };
  EXPECT_THAT(train("empty.txt"), HasSubstr("is empty"));
  EXPECT_THAT(train("short.txt"), HasSubstr("one validation batch needs local_batch_size 16 x seq_len 64 + 1 = 1025"));
  EXPECT_THAT(train("latin.txt"), HasSubstr("offset 3 is not UTF-8"));
  EXPECT_THAT(train("missing.txt"), HasSubstr("no such file or folder"));
  ASSERT_EQ(::mkfifo(f.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(train("pipe"), HasSubstr("pipe: is a pipe; give a file or a folder"));
  EXPECT_FALSE(isFolder(f.path("run")));
  EXPECT_THAT(runTegula({"train"}).output, HasSubstr("give --data FILE or a config file"));
  EXPECT_THAT(runTegula({"train", f.path("short.txt")}).output,
              HasSubstr("is a text to train on: tegula train --data"));
  EXPECT_THAT(runTegula({"train", "--resume", f.path("none")}).output, HasSubstr("cannot open"));
  EXPECT_THAT(runTegula({"train", "--resume"}).output, HasSubstr("--resume: which run?"));
}

TEST(Command, NumbersOutOfRangeAreRefusedInWords) {
  auto refused = [](std::vector<std::string> arguments) {
    Finished r = runTegula(std::move(arguments));
    EXPECT_EQ(r.exitCode, 2);
    return r.output;
  };
  EXPECT_THAT(refused({"generate", "run", "--temperature", "nan"}),
              HasSubstr("--temperature: found 'nan', expected a number >= 0"));
  EXPECT_THAT(refused({"generate", "run", "--seed", "-1"}),
              HasSubstr("--seed: found '-1', expected a whole number from 0 on"));
  EXPECT_THAT(refused({"generate", "run", "--tokens", "2.5"}), HasSubstr("--tokens: found '2.5'"));
  EXPECT_THAT(refused({"data", "prepare", "a", "b", "--validation", "0"}),
              HasSubstr("--validation: found '0', expected a number > 0 and <= 0.9"));
  EXPECT_THAT(refused({"train", "--stop-at", "0"}), HasSubstr("--stop-at: found '0'"));
  EXPECT_THAT(refused({"generate", "run", "--top-k", "99999999999999999999"}),
              HasSubstr("--top-k: found '99999999999999999999', expected at most 9223372036854775807"));
  EXPECT_THAT(refused({"op", "bench", "relu", "--rounds", "2147483647"}),
              HasSubstr("--rounds: found '2147483647', expected at most 1000000"));
  EXPECT_THAT(refused({"op", "bench", "relu", "--rounds", "0x10"}),
              HasSubstr("--rounds: found '0x10', expected a whole"));
  for (std::vector<std::string> command : {std::vector<std::string>{"op", "bench", "relu"}, {"generate", "run"}})
    for (const char* threads : {"4097", "2147483648", "99999999999999999999"}) {
      command.insert(command.end(), {"--threads", threads});
      EXPECT_THAT(refused(command), HasSubstr(fmt::format("--threads: found '{}', expected at most 4096", threads)));
      command.resize(command.size() - 2);
    }
  EXPECT_THAT(runTegula({"op", "bench", "relu x=5 f32", "--rounds", "010"}).output, HasSubstr(" ms of 10"));
  EXPECT_THAT(refused({"generate", "run", "--promt", "x"}),
              testing::StartsWith("tegula: generate: no option '--promt'; did you mean --prompt?"));
  EXPECT_THAT(refused({"op", "bench", "relu", "--zz=3"}), HasSubstr("op bench: no option '--zz'; there are --help"));
  EXPECT_THAT(refused({"config", "check", "a.toml", "b.toml", "c.toml"}),
              HasSubstr("config check: unexpected 'b.toml c.toml'"));
}

TEST(Command, OperatorsAreGivenByNameByWordsOrByLines) {
  Finished r = runTegula({"op", "check", "relu x=3 f32", "gelu x=5 f32"});
  EXPECT_EQ(r.exitCode, 0) << r.output;
  EXPECT_THAT(r.output, AllOf(HasSubstr("ok relu x=3 f32: "), HasSubstr("\nok gelu x=5 f32: ")));
  EXPECT_THAT(runTegula({"op", "check", "relu", "gelu"}).output, AllOf(HasSubstr("ok relu "), HasSubstr("\nok gelu ")));
  EXPECT_THAT(runTegula({"op", "check", "relu", "x=3", "f32"}).output, HasSubstr("ok relu x=3 f32: "));
  EXPECT_THAT(runTegula({"op", "bench", "softmax", "--rounds", "1"}).output,
              testing::ContainsRegex("softmax x=.*: median .* ms of 1"));
  for (const char* command : {"check", "bench"}) {
    r = runTegula({"op", command, "relu x=100000,100000,100000 f32"});
    EXPECT_EQ(r.exitCode, 1);
    EXPECT_THAT(r.output, HasSubstr("relu x=100000,100000,100000:f32 f32: there is not enough memory; the inputs alone "
                                    "take 3725290.30 GiB"));
  }
}

TEST(Command, ProblemFilesNameTheirLines) {
  TemporaryFolder f;
  f.write("a.problems", "# two good lines and a bad one\nadd a=3 b=3 f32\n\n  softmax x=4,5 f32\r\nsoftmax x=3 x=3\n");
  Finished r = runTegula({"op", "check", "--file", f.path("a.problems")});
  EXPECT_EQ(r.exitCode, 1);
  EXPECT_THAT(r.output, AllOf(HasSubstr("a.problems:4: ok"), HasSubstr("a.problems:5: FAILED"),
                              HasSubstr("softmax: x is given more than once")));
  f.write("none.problems", "# nothing\n");
  EXPECT_THAT(runTegula({"op", "check", "--file", f.path("none.problems")}).output, HasSubstr("holds no problem line"));
}

TEST(Command, ALibraryThatDoesNotLoadIsSaidOnce) {
  TemporaryFolder f;
  f.write("mine.tile", "@tile_op\ndef cube(x: Tensor[... : float]) -> Tensor[...]:\n    return x * x * z\n");
  f.write("a.problems", "cube x=3 f32\ncube x=4 f32\nsoftmax x=4,5 f32\n");
  Finished r = runTegula({"op", "check", "--file", f.path("a.problems")}, {"TEGULA_OPS=" + f.path()});
  EXPECT_EQ(r.exitCode, 1);
  EXPECT_THAT(r.output, HasSubstr("mine.tile:3:20: error: unknown name 'z'"));
  EXPECT_EQ(r.output.find("unknown name"), r.output.rfind("unknown name")) << r.output;
  EXPECT_THAT(r.output, AllOf(HasSubstr("the operator library does not load, so nothing was checked"),
                              Not(HasSubstr("FAILED")), Not(HasSubstr("a.problems"))));
}

TEST(Command, OptionsThatWouldDoNothingAreRefused) {
  EXPECT_THAT(runTegula({"op", "show", "gelu", "--target", "x86-64-v9"}).output, HasSubstr("x86-64-v9"));
  EXPECT_THAT(runTegula({"graph", "dump", "--json", "--after", "plan"}).output, HasSubstr("a plan has no JSON form"));
}

TEST(Command, ConfigsThatAreNestedTooDeepOrHoldNoSectionsAreRefused) {
  TemporaryFolder f;
  f.write("x.txt", "text");
  std::string key;
  for (int i = 0; i < 100000; ++i) key += "a.";
  f.write("deep.toml", "# deep\n" + key + "a = 1\n");
  f.write("list.json", "[1, 2]");
  auto refused = [&](const char* name) {
    Finished r = runTegula({"config", "check", f.path(name), "--data", f.path("x.txt")});
    EXPECT_EQ(r.exitCode, 1);
    return r.output;
  };
  EXPECT_THAT(refused("deep.toml"), HasSubstr("deep.toml:2:130: keys, arrays or tables are nested too deep"));
  EXPECT_THAT(refused("list.json"), HasSubstr("list.json:1: the file holds an array, expected an object"));
}

TEST(Command, FmtChecksAndRewrites) {
  TemporaryFolder f;
  f.write("a.tile", "@tile_op\ndef twice( x : Tensor[...] )->Tensor[...]:\n    return x*2\n");
  EXPECT_EQ(runTegula({"fmt", "--check", f.path("a.tile")}).exitCode, 1);
  Finished rewritten = runTegula({"fmt", f.path("a.tile")});
  EXPECT_EQ(rewritten.exitCode, 0) << rewritten.output;
  EXPECT_EQ(runTegula({"fmt", "--check", f.path("a.tile")}).exitCode, 0);
  EXPECT_THAT(*readFile(f.path("a.tile")), HasSubstr("def twice(x: Tensor[...]) -> Tensor[...]:"));
  f.write("b.tile", "@tile_op\ndef (\n");
  EXPECT_THAT(runTegula({"fmt", f.path("b.tile")}).output, HasSubstr("b.tile:2:"));
}

TEST(Command, FmtFollowsLinksAndKeepsPermissions) {
  TemporaryFolder f;
  f.write("real/a.tile", "@tile_op\ndef twice( x : Tensor[...] )->Tensor[...]:\n    return x*2\n");
  std::filesystem::permissions(f.path("real/a.tile"), std::filesystem::perms(0600));
  std::filesystem::create_symlink("real/a.tile", f.path("inner"));
  std::filesystem::create_symlink("inner", f.path("link.tile"));
  EXPECT_EQ(runTegula({"fmt", f.path("link.tile")}).exitCode, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(f.path("link.tile")) && std::filesystem::is_symlink(f.path("inner")));
  EXPECT_THAT(*readFile(f.path("real/a.tile")), HasSubstr("def twice(x: Tensor[...]) -> Tensor[...]:"));
  EXPECT_EQ(std::filesystem::status(f.path("real/a.tile")).permissions(), std::filesystem::perms(0600));
}

TEST(Command, DataPrepareReports) {
  TemporaryFolder f;
  f.write("texts/a.txt", std::string(500, 'a'));
  f.write("texts/b.md", std::string(499, 'b'));
  f.write("texts/c.png", "no");
  Finished r = runTegula({"data", "prepare", f.path("texts"), f.path("out"), "--tokenizer", "char"});
  EXPECT_EQ(r.exitCode, 0);
  EXPECT_THAT(r.output,
              AllOf(HasSubstr("data: 2 files read, 1 left out (.png)\n"),
                    HasSubstr("2 documents, 999 bytes, 900 training and 100 validation tokens, vocabulary 3")));
  r = runTegula({"data", "prepare", f.path("texts"), f.path("none"), "--validation", "1e-17"});
  EXPECT_EQ(r.exitCode, 1);
  EXPECT_THAT(r.output, HasSubstr("holds out none of the text's 1000 tokens; give at least 0.001"));
}

/// Settings of a run that takes a moment, as `--set` of each.
std::vector<std::string> tiny(std::vector<std::string> arguments) {
  for (const char* set : {"model.dim=32", "model.n_layers=1", "training.steps=2", "training.local_batch_size=2",
                          "training.seq_len=8", "lr_scheduler.warmup_steps=1"})
    arguments.insert(arguments.end(), {"--set", set});
  return arguments;
}

TEST(Command, TrainSaysWhatOfAFolderWasReadAndWhatWasKept) {
  TemporaryFolder f;
  f.write("texts/a.txt", std::string(500, 'a'));
  f.write("texts/b.py", "no");
  std::string folder = "job.dump_folder=" + f.path("run");
  Finished r =
      runTegula(tiny({"train", "--data", f.path("texts"), "--set", folder, "--set", "checkpoint.enable=false"}));
  EXPECT_EQ(r.exitCode, 0);
  EXPECT_THAT(r.output, AllOf(HasSubstr("data: 1 file read, 1 left out (.py)\n"),
                              HasSubstr("done: 2 steps; checkpoint.enable is false, so no checkpoint was kept"),
                              testing::Not(HasSubstr("tegula generate"))));
  r = runTegula(tiny({"train", "--data", f.path("texts/a.txt"), "--set", folder}));
  EXPECT_THAT(r.output, AllOf(HasSubstr("done: 2 steps; sample from it with"), testing::Not(HasSubstr("files read"))));
  EXPECT_THAT(runTegula({"train", "--resume", f.path("run"), "--set", "training.steps=9", "--stop-at", "1"}).output,
              HasSubstr("nothing to do: 2 steps are done, no less than --stop-at 1; raise it, or leave it out"));
}

TEST(Command, APreparedFolderKeepsWhatItWasMadeWith) {
  TemporaryFolder f;
  f.write("a.txt", std::string(400, 'a') + std::string(100, 'b'));
  std::string data = f.path("prepared"), folder = "job.dump_folder=" + f.path("run");
  ASSERT_EQ(
      runTegula({"data", "prepare", f.path("a.txt"), data, "--tokenizer", "char", "--validation", "0.2"}).exitCode, 0);
  for (std::vector<std::string> command : {std::vector<std::string>{"train"}, {"config", "check"}}) {
    f.write("run.toml", "[data]\npath = \"" + data + "\"\n");
    if (command[0] == "config") command.push_back(f.path("run.toml"));
    command.insert(command.end(), {"--data", data, "--set", folder});
    auto with = [&](const std::string& set) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--set", set});
      Finished r = runTegula(tiny(arguments));
      EXPECT_EQ(r.exitCode, 1) << r.output;
      return r.output;
    };
    EXPECT_THAT(with("data.tokenizer=byte"), HasSubstr("was prepared with char; leave data.tokenizer out"));
    EXPECT_THAT(with("data.validation_fraction=0.1"),
                HasSubstr("was prepared with 0.2; leave data.validation_fraction out"));
    EXPECT_FALSE(isFolder(f.path("run")));
  }
  EXPECT_THAT(runTegula(tiny({"config", "check", f.path("run.toml")})).output,
              AllOf(HasSubstr("tokenizer = \"char\""), HasSubstr("validation_fraction = 0.2\n")));
  ASSERT_EQ(runTegula(tiny({"train", "--data", data, "--set", folder})).exitCode, 0);
  EXPECT_THAT(*readFile(f.path("run/config.toml")),
              AllOf(HasSubstr("tokenizer = \"char\""), HasSubstr("validation_fraction = 0.2\n")));
  EXPECT_EQ(runTegula({"train", "--resume", f.path("run")}).exitCode, 0);
}

TEST(Command, GenerateChecksItsPromptFirst) {
  TemporaryFolder f;
  f.write("a.txt", std::string(300, 'a') + std::string(300, 'b')); // without a line break
  ASSERT_EQ(runTegula(tiny({"train", "--data", f.path("a.txt"), "--set", "job.dump_folder=" + f.path("run"), "--set",
                            "data.tokenizer=char"}))
                .exitCode,
            0);
  Finished r = runTegula({"generate", f.path("run"), "--tokens", "3"});
  EXPECT_EQ(r.exitCode, 0) << r.output;
  EXPECT_THAT(r.output, testing::MatchesRegex("a[ab]{3}\n"));
  EXPECT_THAT(runTegula({"generate", f.path("run"), "--prompt", "zzz"}).output,
              testing::StartsWith("tegula: --prompt: 'z' at offset 0 is not among the 2 characters"));
  EXPECT_THAT(runTegula({"generate", f.path("run"), "--prompt", "a\n"}).output, HasSubstr("'\\n' at offset 1"));
  EXPECT_THAT(runTegula({"generate", f.path("run"), "--prompt", ""}).output,
              testing::StartsWith("tegula: --prompt: is empty"));
}

TEST(Command, WithoutValidationAShortTextTrains) {
  TemporaryFolder f;
  f.write("a.txt", std::string(50, 'a'));
  std::vector<std::string> arguments =
      tiny({"train", "--data", f.path("a.txt"), "--set", "job.dump_folder=" + f.path("run")});
  EXPECT_THAT(runTegula(arguments).output, HasSubstr("or set validation.enable=false"));
  arguments.insert(arguments.end(), {"--set", "validation.enable=false"});
  Finished r = runTegula(arguments);
  EXPECT_EQ(r.exitCode, 0) << r.output;
}

TEST(Command, OperatorsShowTheirPattern) {
  Finished softmax = runTegula({"op", "show", "softmax x=4,1000 f32", "--stage", "pattern"});
  EXPECT_EQ(softmax.exitCode, 0) << softmax.output;
  EXPECT_THAT(softmax.output, AllOf(HasSubstr("x[0] result[0]"), HasSubstr("independent"),
                                    HasSubstr("folded by reduce_max, folded by reduce_sum")));
  Finished matmul = runTegula({"op", "show", "matmul a=5,7 b=7,3 f32", "--stage", "pattern"});
  EXPECT_THAT(matmul.output, HasSubstr("a[1] b[0]                extent 7        folded by contract"));
  EXPECT_THAT(runTegula({"op", "show", "sotfmax"}).output, HasSubstr("softmax"));
  EXPECT_THAT(runTegula({"op", "show", "softmax", "--stage", "assembly"}).output, HasSubstr("asm"));
}

TEST(Command, StagesOfAKernelDiffer) {
  std::set<std::string> seen;
  for (const char* stage : {"source", "pattern", "graph", "schedule", "tile", "mlir", "llvm", "asm"}) {
    Finished r = runTegula({"op", "show", "gemm", "--target", "x86-64-v3", "--stage", stage});
    EXPECT_EQ(r.exitCode, 0) << stage << ": " << r.output.substr(0, 500);
    EXPECT_GT(r.output.size(), 40u) << stage;
    EXPECT_TRUE(seen.insert(r.output).second) << stage << " prints what an earlier stage printed";
  }
}

TEST(Command, CacheIsShownAndEmptied) {
  TemporaryFolder f;
  std::vector<std::string> environment{"TEGULA_CACHE=" + f.path("cache")};
  EXPECT_EQ(runTegula({"op", "check", "softmax x=3,5 f32"}, environment).exitCode, 0);
  EXPECT_THAT(runTegula({"cache"}, environment).output, testing::Not(HasSubstr(" 0 images")));
  for (const char* mine : {"cache/x.image", "cache/disk.image.tmp-1-1", "cache/0123456789abcdef.image"})
    f.write(mine, "mine");
  EXPECT_THAT(runTegula({"cache", "--clear"}, environment).output, HasSubstr("removed"));
  EXPECT_THAT(runTegula({"cache"}, environment).output, HasSubstr(" 0 images"));
  for (const char* mine : {"cache/x.image", "cache/disk.image.tmp-1-1", "cache/0123456789abcdef.image"})
    EXPECT_TRUE(fileExists(f.path(mine))) << mine;
}

} // namespace
