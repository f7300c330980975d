// `tegula generate`
#include "cli/Commands.h"

#include "cli/Ranges.h"
#include "train/Sampler.h"
#include <iostream>
#include <iterator>

namespace tegula::cli {

void addGenerate(CLI::App& app, Outcome& outcome) {
  struct Options {
    std::string run, prompt;
    SamplingOptions sampling;
    SamplingPlace place;
  };
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("generate", "Sample text from a trained model, as it is made.");
  c->footer("example: tegula generate runs/my-1 --prompt \"Once\" --tokens 200 --temperature 0.8");
  c->add_option("run", o->run, "A run folder, or one of its checkpoints")->required();
  CLI::Option* prompt = c->add_option("--prompt", o->prompt, "The text to continue; - reads it from standard input");
  prompt->default_str("a line break if the model knows it");
  c->add_option("--tokens", o->sampling.tokens, "How many tokens to add")
      ->transform(wholeNumber(0))
      ->capture_default_str();
  c->add_option("--temperature", o->sampling.temperature, "0 takes the likeliest token")
      ->check(number({.min = 0}))
      ->capture_default_str();
  c->add_option("--top-k", o->sampling.topK, "Draw among the k likeliest; 0 among all")
      ->transform(wholeNumber(0))
      ->capture_default_str();
  c->add_option("--seed", o->sampling.seed, "The same seed draws the same text")
      ->transform(wholeNumber(0))
      ->capture_default_str();
  c->add_option("--target", o->place.target, "A name from targets/; the run's when left out");
  c->add_option("--threads", o->place.threads,
                "0 means TEGULA_THREADS or, where that is not set, every core; the run's when left out")
      ->transform(wholeNumber(0, kMostThreads));
  c->callback([=, &outcome] {
    if (o->prompt == "-") o->prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
    StatusOr<std::unique_ptr<Sampler>> sampler = Sampler::load(o->run, o->place);
    if (!sampler.ok()) {
      outcome.status = sampler.status();
      return;
    }
    if (prompt->count() == 0) o->prompt = (*sampler)->defaultPrompt();
    outcome.status = (*sampler)->checkPrompt(o->prompt);
    if (!outcome.status.ok()) return;
    fmt::print("{}", o->prompt);
    outcome.status = (*sampler)->generate(o->prompt, o->sampling, [](std::string_view piece) {
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    });
    fmt::print("\n");
  });
}

} // namespace tegula::cli
