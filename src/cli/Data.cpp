// `tegula data`
#include "cli/Commands.h"

#include "base/Files.h"
#include "cli/Ranges.h"
#include "data/Dataset.h"
#include "train/Baseline.h"

namespace tegula::cli {
namespace {

Status prepare(const std::string& path, const std::string& folder, const PrepareOptions& options) {
  TG_ASSIGN_OR_RETURN(TextDocuments text, readTextDocuments(path));
  if (isFolder(path)) fmt::print("data: {}\n", text.filesText());
  StatusOr<PrepareReport> r = prepareDataset(text, folder, options);
  if (!r.ok()) return addContext(r.status(), path);
  fmt::print("{}: {} documents, {} bytes, {} training and {} validation tokens, vocabulary {}\n", folder, r->documents,
             r->bytes, r->trainTokens, r->validationTokens, r->vocabulary);
  return OkStatus();
}

void addPrepare(CLI::App& data, Outcome& outcome) {
  struct Options {
    std::string text, folder;
    PrepareOptions prepare;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = data.add_subcommand("prepare", "Tokenize a text or a folder of texts, once, for many runs.");
  c->footer("example: tegula data prepare my-texts/ prepared/ --tokenizer char");
  c->add_option("text", o->text, "A text file or a folder of them")->required();
  c->add_option("folder", o->folder, "Where train.tokens, validation.tokens and tokenizer.json go")->required();
  c->add_option("--tokenizer", o->prepare.tokenizer, "byte or char")
      ->check(CLI::IsMember({"byte", "char"}))
      ->capture_default_str();
  c->add_option("--validation", o->prepare.validationFraction, "How much of the end is held out")
      ->check(number({.above = 0, .max = 0.9}))
      ->capture_default_str();
  c->callback([=, &outcome] { outcome.status = prepare(o->text, o->folder, o->prepare); });
}

void addBaseline(CLI::App& data, Outcome& outcome) {
  struct Options {
    std::string text, run;
    double fraction = 0.1; // where --validation was given
  };
  auto o = std::make_shared<Options>();
  CLI::App* c =
      data.add_subcommand("baseline", "Compare a run's validation loss with models that count byte sequences.");
  c->footer("example: tegula data baseline my.txt --run runs/my-1");
  c->add_option("text", o->text, "The text file or folder that the run was trained on")->required();
  c->add_option("--run", o->run, "The run; without it only the counting models are printed");
  CLI::Option* fraction =
      c->add_option("--validation", o->fraction, "How much of the end is held out: the run's, or 0.1 without one");
  fraction->check(number({.above = 0, .max = 0.9}));
  c->callback([=, &outcome] {
    std::optional<double> given = fraction->count() > 0 ? std::optional(o->fraction) : std::nullopt;
    StatusOr<Baseline> b = measureBaseline(o->text, given, o->run);
    outcome.status = b.status();
    if (!b.ok()) return;
    if (b->lossPerByte)
      fmt::print("val_loss: {:.4f} nats/byte (3-gram {:.4f}, 4-gram {:.4f})\n", *b->lossPerByte, b->threeGram,
                 b->fourGram);
    else
      fmt::print("counting models: 3-gram {:.4f}, 4-gram {:.4f} nats/byte\n", b->threeGram, b->fourGram);
  });
}

} // namespace

void addData(CLI::App& app, Outcome& outcome) {
  CLI::App* data = app.add_subcommand("data", "Prepare texts for training.");
  data->require_subcommand(1);
  data->footer("example: tegula data prepare my-texts/ prepared/");
  addPrepare(*data, outcome);
  addBaseline(*data, outcome);
}

} // namespace tegula::cli
