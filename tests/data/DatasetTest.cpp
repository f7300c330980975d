// Tokenizers, token files, and the order and cutting of batches.
#include "data/Dataset.h"
#include "TemporaryFolder.h"
#include <gmock/gmock.h>
#include <numeric>
#include <set>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tegula;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string text(const Status& s) { return std::string(message(s)); }

TEST(Tokenizer, CharactersAreSortedCodePoints) {
  std::string_view texts[] = {"bé€a b"};
  Tokenizer t = Tokenizer::characters(texts);
  EXPECT_EQ(t.vocabulary(), 5); // ' ', a, b, é, €
  EXPECT_THAT(*t.encode("ab €é"), ElementsAre(1, 2, 0, 4, 3));
  EXPECT_EQ(t.decode(*t.encode("b€é a")), "b€é a");
  EXPECT_THAT(text(t.encode("abx").status()), HasSubstr("'x' at offset 2 is not among the 5 characters"));
  EXPECT_THAT(text(t.encode("\n").status()), HasSubstr("'\\n' at offset 0"));
  EXPECT_THAT(text(t.encode("\x1b[31m").status()), HasSubstr("'\\x1b' at offset 0"));
}

TEST(Tokenizer, BytesTakeAnything) {
  Tokenizer t = Tokenizer::bytes();
  EXPECT_EQ(t.vocabulary(), 256);
  EXPECT_EQ(t.decode(*t.encode("\xff\n")), "\xff\n");
}

TEST(Tokenizer, JsonReadsBackTheSame) {
  std::string_view texts[] = {"a\"\\\n\t é€"};
  for (bool boundary : {false, true})
    for (const Tokenizer& t : {Tokenizer::bytes(boundary), Tokenizer::characters(texts, boundary)}) {
      auto back = Tokenizer::fromJson(t.toJson(), "t.json");
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_TRUE(*back == t);
      EXPECT_EQ(back->boundary(), boundary ? t.vocabulary() - 1 : -1);
    }
  EXPECT_THAT(text(Tokenizer::fromJson("{}", "t.json").status()), HasSubstr("t.json: is not a tokenizer file"));
}

TEST(TokenFile, KeepsTokensAndFindsDamage) {
  TemporaryFolder f;
  for (int64_t vocabulary : {7, 70000}) {
    std::vector<int32_t> tokens{0, 3, 6, static_cast<int32_t>(vocabulary) - 1};
    std::string path = f.path("t.tokens");
    ASSERT_TRUE(TokenFile::write(path, tokens, vocabulary).ok());
    auto file = TokenFile::open(path);
    ASSERT_TRUE(file.ok()) << file.status();
    std::vector<int32_t> back(4);
    file->read(0, back);
    EXPECT_EQ(back, tokens);
    std::string bytes = *readFile(path);
    std::string damaged = bytes;
    damaged.back() ^= 1;
    ASSERT_TRUE(writeFileAtomically(path, damaged).ok());
    EXPECT_THAT(text(TokenFile::open(path).status()), HasSubstr("checksum does not match"));
    ASSERT_TRUE(writeFileAtomically(path, std::string_view(bytes).substr(0, bytes.size() - 2)).ok());
    EXPECT_THAT(text(TokenFile::open(path).status()), HasSubstr("cut short"));
    ASSERT_TRUE(writeFileAtomically(path, std::string_view("hello")).ok());
    EXPECT_THAT(text(TokenFile::open(path).status()), HasSubstr("is not a token file"));
  }
  std::vector<int32_t> outside{7};
  EXPECT_THAT(text(TokenFile::write(f.path("x"), outside, 7)), HasSubstr("token 7 at position 0 is outside"));
}

TEST(Order, EveryEpochIsAPermutation) {
  for (int64_t count : {1, 2, 3, 17, 64, 1000})
    for (int64_t epoch : {0, 1, 5}) {
      std::set<int64_t> seen;
      for (int64_t i = 0; i < count; ++i) seen.insert(permuted(42, epoch, i, count));
      EXPECT_EQ(seen.size(), static_cast<size_t>(count));
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), count - 1);
    }
}

TEST(Order, EpochsAndSeedsDiffer) {
  auto order = [](uint64_t seed, int64_t epoch) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < 100; ++i) all.push_back(permuted(seed, epoch, i, 100));
    return all;
  };
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
  std::vector<int64_t> identity(100);
  std::iota(identity.begin(), identity.end(), 0);
  EXPECT_NE(order(1, 0), identity);
}

TEST(Order, WindowsStayInsideAndDoNotOverlap) {
  for (int64_t tokens : {9, 16, 17, 100, 1003}) {
    int64_t T = 8;
    DataOrder order(3, tokens, T);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::set<int64_t> starts;
      for (int64_t i = 0; i < order.windowsPerEpoch(); ++i) {
        int64_t o = order.offsetOf(epoch * order.windowsPerEpoch() + i);
        EXPECT_GE(o, 0);
        EXPECT_LE(o + T + 1, tokens);
        starts.insert(o);
      }
      ASSERT_EQ(starts.size(), static_cast<size_t>(order.windowsPerEpoch()));
      int64_t last = -T;
      for (int64_t o : starts) {
        EXPECT_GE(o - last, T);
        last = o;
      }
    }
  }
}

TEST(Dataset, ValidationIsWholeWithARaggedEnd) {
  TemporaryFolder f;
  std::string all;
  for (int i = 0; i < 1000; ++i) all += static_cast<char>('a' + i % 26);
  f.write("t.txt", all);
  auto report = prepareDataset(f.path("t.txt"), f.path("data"), {.tokenizer = "char"});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->trainTokens, 900);
  EXPECT_EQ(report->validationTokens, 100);
  EXPECT_EQ(report->vocabulary, 26);
  auto data = Dataset::open(f.path("data"));
  ASSERT_TRUE(data.ok()) << data.status();
  int64_t B = 4, T = 8, counted = 0;
  std::vector<int32_t> labels;
  EXPECT_EQ(data->validationBatches(B, T), 4); // 99 predictions: 13 windows, the last of 3
  for (int64_t i = 0; i < data->validationBatches(B, T); ++i) {
    Batch b = data->validationBatch(i, B, T);
    counted += b.counted;
    for (int64_t j = 0; j < B * T; ++j)
      if (int32_t label = b.labels.as<int32_t>()[j]; label != Batch::kIgnored) {
        labels.push_back(label);
        EXPECT_EQ(label, (b.tokens.as<int32_t>()[j] + 1) % 26);
      }
  }
  EXPECT_EQ(counted, 99);
  ASSERT_EQ(labels.size(), 99u);
  for (int64_t i = 0; i < 99; ++i) EXPECT_EQ(labels[i], data->validation[i + 1]);
}

TEST(Dataset, TheFractionIsFoundAgain) {
  for (int64_t tokens : {10, 999, 1115394, 1234567890})
    for (double fraction : {0.1, 0.05, 0.25, 0.333, 0.9}) {
      int64_t train = trainingTokens(tokens, fraction);
      EXPECT_EQ(trainingTokens(tokens, validationFractionOf(train, tokens - train)), train)
          << tokens << " " << fraction;
    }
  EXPECT_EQ(validationFractionOf(trainingTokens(1115394, 0.05), 1115394 - trainingTokens(1115394, 0.05)), 0.05);
}

TEST(Dataset, EverySplitHasAFractionThatAConfigTakes) {
  for (int64_t tokens = 3; tokens < 300; ++tokens)
    for (int64_t train = 2; train < tokens; ++train) {
      double fraction = validationFractionOf(train, tokens - train);
      EXPECT_EQ(trainingTokens(tokens, fraction), train) << tokens << " " << fraction;
    }
  for (int64_t tokens : {3, 20, 30, 37, 999, 1234567891})
    for (double fraction : {0.9, 0.89, 0.899999, 0.5, 1e-3, 1e-9, 3e-16}) {
      int64_t train = trainingTokens(tokens, fraction);
      if (train < 2 || train == tokens) continue;
      double again = validationFractionOf(train, tokens - train);
      EXPECT_EQ(trainingTokens(tokens, again), train) << tokens << " " << fraction;
      EXPECT_TRUE(again > 0 && again <= 0.9) << tokens << " " << fraction << " " << again;
    }
}

TEST(Dataset, AFractionThatHoldsOutNothingIsRefused) {
  TemporaryFolder f;
  f.write("t.txt", std::string(1000, 'x'));
  EXPECT_THAT(
      text(prepareDataset(f.path("t.txt"), f.path("data"), {.validationFraction = 1e-17}).status()),
      HasSubstr("a validation fraction of 1e-17 holds out none of the text's 1000 tokens; give at least 0.001"));
  EXPECT_FALSE(isFolder(f.path("data")));
  EXPECT_TRUE(prepareDataset(f.path("t.txt"), f.path("data"), {.validationFraction = 0.001}).ok());
  ASSERT_TRUE(TokenFile::write(f.path("data/train.tokens"), std::vector<int32_t>(1000), 256).ok());
  ASSERT_TRUE(TokenFile::write(f.path("data/validation.tokens"), {}, 256).ok());
  EXPECT_THAT(text(Dataset::open(f.path("data")).status()),
              HasSubstr("holds no token; prepare the folder again with a validation fraction of at least 0.001"));
}

/// What a prepared folder holds, decoded; "" where it is not prepared.
std::string contents(const std::string& folder) {
  if (!isPreparedDataset(folder)) return {};
  StatusOr<Dataset> data = Dataset::open(folder);
  if (!data.ok()) return text(data.status());
  std::string all;
  for (const TokenFile* file : {&data->train, &data->validation}) {
    std::vector<int32_t> tokens(static_cast<size_t>(file->size()));
    file->read(0, tokens);
    all += data->tokenizer.decode(tokens);
  }
  return all;
}

/// Two texts of as many symbols each: their prepared files differ in nothing but what they say.
std::string ofWords(const char* word, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += word;
  return all;
}

TEST(Dataset, FilesOfTwoPreparationsAreRefused) {
  TemporaryFolder f;
  f.write("a.txt", ofWords("abc", 100));
  f.write("b.txt", ofWords("xyz", 100));
  for (const char* name : {"a", "b"})
    ASSERT_TRUE(prepareDataset(f.path(name) + std::string(".txt"), f.path(name), {.tokenizer = "char"}).ok());
  for (const char* name : {"train.tokens", "validation.tokens", "tokenizer.json"}) {
    std::filesystem::copy(f.path("a"), f.path(std::string("mixed-") + name));
    f.write(std::string("mixed-") + name + "/" + name, *readFile(f.path("b/") + name));
    // The words are three letters in order both times, so that the tokens are the same: then any will do.
    bool differs = std::string_view(name) == "tokenizer.json" || std::string_view(name) == "train.tokens";
    EXPECT_EQ(Dataset::open(f.path(std::string("mixed-") + name)).ok(), !differs) << name;
  }
  EXPECT_THAT(
      text(Dataset::open(f.path("mixed-tokenizer.json")).status()),
      HasSubstr("train.tokens was not prepared together with validation.tokens and tokenizer.json; prepare the"));
  f.write("c.txt", ofWords("bca", 100));
  ASSERT_TRUE(prepareDataset(f.path("c.txt"), f.path("c"), {.tokenizer = "char"}).ok());
  f.write("a/validation.tokens", *readFile(f.path("c/validation.tokens")));
  EXPECT_THAT(text(Dataset::open(f.path("a")).status()), HasSubstr("was not prepared together"));
}

TEST(Dataset, FoldersWithoutASealAreRead) {
  TemporaryFolder f;
  std::vector<int32_t> train{1, 2, 3}, validation{4, 5};
  ASSERT_TRUE(TokenFile::write(f.path("train.tokens"), train, 256).ok());
  ASSERT_TRUE(TokenFile::write(f.path("validation.tokens"), validation, 256).ok());
  ASSERT_TRUE(Tokenizer::bytes().save(f.path("tokenizer.json")).ok());
  EXPECT_EQ(contents(f.path()), "\1\2\3\4\5");
}

/// Prepares in a process of its own, which may write files of `limitBytes` at most and is killed where one grows larger.
int prepareWithin(rlim_t limitBytes, const std::string& textPath, const std::string& folder) {
  pid_t child = fork();
  if (child == 0) {
    rlimit limit{limitBytes, limitBytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(prepareDataset(textPath, folder, {.validationFraction = 0.25}).ok() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Dataset, APreparationThatIsCutShortLeavesTheFolderAsItWas) {
  TemporaryFolder f;
  f.write("a.txt", ofWords("old ", 100));
  f.write("b.txt", ofWords("new text ", 1000));
  std::string data = f.path("data");
  for (bool again : {false, true}) {
    std::string before = contents(data);
    EXPECT_TRUE(WIFSIGNALED(prepareWithin(5000, f.path("b.txt"), data))); // validation.tokens fits, train.tokens not
    EXPECT_EQ(contents(data), before);
    if (!again)
      EXPECT_THAT(text(readTextDocuments(data).status()),
                  HasSubstr("a `tegula data prepare` into it was cut short, run it again"));
    ASSERT_TRUE(prepareDataset(f.path("a.txt"), data, {}).ok());
    EXPECT_EQ(contents(data), ofWords("old ", 100));
  }
}

TEST(Dataset, LeftoversAreRemovedAndOtherFilesStay) {
  TemporaryFolder f;
  f.write("t.txt", ofWords("word ", 100));
  std::vector<std::string> kept{"notes.txt",       "train.tokens.tmp-mine", "train.tokens.tmp-1-2.bak",
                                "prepare/x.txt",   "prepare.tmp-1/x",       "my.tmp-1-2",
                                "train.tokens.bak"},
      leftovers{"train.tokens.tmp-1-2", "validation.tokens.tmp-3-0", "tokenizer.json.tmp-77-12",
                "prepare.tmp-4-5/train.tokens"};
  for (const std::vector<std::string>* names : {&kept, &leftovers})
    for (const std::string& name : *names) f.write("data/" + name, "x");
  ASSERT_TRUE(prepareDataset(f.path("t.txt"), f.path("data"), {}).ok());
  for (const std::string& name : kept) EXPECT_TRUE(fileExists(f.path("data/" + name))) << name;
  for (const std::string& name : leftovers) EXPECT_FALSE(fileExists(f.path("data/" + name))) << name;
  EXPECT_FALSE(isFolder(f.path("data/prepare.tmp-4-5")));
}

TEST(Dataset, PreparationsOfOneFolderExcludeEachOther) {
  TemporaryFolder f;
  f.write("t.txt", ofWords("word ", 100));
  ASSERT_TRUE(makeFolders(f.path("data")).ok());
  {
    StatusOr<FileLock> other = FileLock::tryAcquire(f.path("data/lock"));
    ASSERT_TRUE(other.ok());
    EXPECT_THAT(text(prepareDataset(f.path("t.txt"), f.path("data"), {}).status()),
                HasSubstr("data: another process is preparing this folder; wait for it or stop it"));
    EXPECT_FALSE(isPreparedDataset(f.path("data")));
  }
  EXPECT_TRUE(prepareDataset(f.path("t.txt"), f.path("data"), {}).ok());
}

/// Kills at any moment: the folder holds one of the texts whole, or says that it is not prepared.
TEST(Dataset, APreparationKilledAtAnyMomentMixesNothing) {
  TemporaryFolder f;
  std::string texts[] = {ofWords("old text ", 500), ofWords("new word ", 500)};
  f.write("0.txt", texts[0]);
  f.write("1.txt", texts[1]);
  std::string data = f.path("data");
  ASSERT_TRUE(prepareDataset(f.path("0.txt"), data, {}).ok());
  constexpr int kKills = 40, kStepMicroseconds = 700; // some preparations long: about 20 ms each with their fsyncs
  for (int kill = 0; kill < kKills; ++kill) {
    pid_t child = fork();
    if (child == 0)
      for (int i = 1;; i = 1 - i) (void)prepareDataset(f.path(fmt::format("{}.txt", i)), data, {});
    usleep(kill * kStepMicroseconds);
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::string found = contents(data);
    EXPECT_TRUE(found.empty() || found == texts[0] || found == texts[1]) << "after kill " << kill << ": " << found;
  }
  ASSERT_TRUE(prepareDataset(f.path("0.txt"), data, {}).ok());
  EXPECT_THAT(*listFolder(data), ElementsAre("lock", "tokenizer.json", "train.tokens", "validation.tokens"));
}

TEST(Dataset, ATextThatLeavesNothingToPredictIsRefused) {
  TemporaryFolder f;
  f.write("one.txt", "x");
  EXPECT_THAT(text(prepareDataset(f.path("one.txt"), f.path("data"), {}).status()),
              HasSubstr("the text has 1 token, of which a validation fraction of 0.1 leaves 0 for training"));
  EXPECT_FALSE(isFolder(f.path("data")));
}

TEST(Dataset, TrainBatchLabelsAreTheNextTokens) {
  TemporaryFolder f;
  f.write("a.txt", std::string(300, 'x') + "yz");
  f.write("b.txt", "hello");
  ASSERT_TRUE(prepareDataset(f.path(), f.path("data"), {}).ok());
  auto data = Dataset::open(f.path("data"));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->tokenizer.vocabulary(), 257);
  DataOrder order(1, data->train.size(), 16);
  Batch b = data->trainBatch(order, 5, 3, 16);
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t t = 0; t < 16; ++t) {
      int64_t at = order.offsetOf(5 + row) + t;
      EXPECT_EQ(b.tokens.as<int32_t>()[row * 16 + t], data->train[at]);
      EXPECT_EQ(b.labels.as<int32_t>()[row * 16 + t], data->train[at + 1]);
    }
  EXPECT_TRUE(data->checkTrainLength(64).ok());
  EXPECT_THAT(text(data->checkTrainLength(300)), HasSubstr("one sample needs seq_len 300 + 1"));
  EXPECT_THAT(text(data->checkValidationLength(4, 64)),
              HasSubstr("one validation batch needs local_batch_size 4 x seq_len 64 + 1 = 257"));
}

} // namespace
