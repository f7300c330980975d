// Cutting batches from a prepared data set.
#include "data/Dataset.h"

#include "base/Hash.h"
#include <algorithm>

namespace tegula {
namespace {

Batch emptyBatch(int64_t B, int64_t T) {
  Batch batch{HostArray::zeros(DType::I32, {B, T}), HostArray::zeros(DType::I32, {B, T})};
  int32_t* labels = batch.labels.as<int32_t>();
  std::fill(labels, labels + B * T, Batch::kIgnored);
  return batch;
}

/// Row `row` holds the `count` predictions that begin at token `begin`.
void fillRow(Batch& batch, int64_t row, const TokenFile& file, int64_t begin, int64_t count) {
  int64_t T = batch.tokens.shape()[1];
  file.read(begin, {batch.tokens.as<int32_t>() + row * T, static_cast<size_t>(count)});
  file.read(begin + 1, {batch.labels.as<int32_t>() + row * T, static_cast<size_t>(count)});
  batch.counted += count;
}

} // namespace

uint64_t sealOf(const TokenFile& validation, const Tokenizer& tokenizer) {
  uint64_t seal = hash64(fmt::format("{} {} {}", validation.size(), toHex(validation.checksum()), tokenizer.toJson()));
  return seal == 0 ? 1 : seal;
}

StatusOr<Dataset> Dataset::open(const std::string& folder) {
  Dataset d;
  d.folder = folder;
  TG_ASSIGN_OR_RETURN(d.train, TokenFile::open(folder + "/train.tokens"));
  TG_ASSIGN_OR_RETURN(d.validation, TokenFile::open(folder + "/validation.tokens"));
  TG_ASSIGN_OR_RETURN(d.tokenizer, Tokenizer::load(folder + "/tokenizer.json"));
  for (const TokenFile* file : {&d.train, &d.validation})
    if (file->vocabulary() != d.tokenizer.vocabulary())
      return invalid("{}: the tokens were made for a vocabulary of {}, the tokenizer has {}; prepare the folder again",
                     folder, file->vocabulary(), d.tokenizer.vocabulary());
  if (d.train.seal() != 0 && d.train.seal() != sealOf(d.validation, d.tokenizer))
    return invalid("{}: train.tokens was not prepared together with validation.tokens and tokenizer.json; prepare the "
                   "folder again",
                   folder);
  if (d.validation.size() == 0)
    return invalid("{}: validation.tokens holds no token; prepare the folder again with a validation fraction of at "
                   "least {}",
                   folder, validationFractionOf(std::max<int64_t>(1, d.train.size() - 1), 1));
  return d;
}

Batch Dataset::trainBatch(const DataOrder& order, int64_t first, int64_t B, int64_t T) const {
  Batch batch = emptyBatch(B, T);
  for (int64_t row = 0; row < B; ++row) fillRow(batch, row, train, order.offsetOf(first + row), T);
  return batch;
}

int64_t Dataset::validationBatches(int64_t B, int64_t T) const {
  int64_t predictions = std::max<int64_t>(0, validation.size() - 1);
  int64_t windows = (predictions + T - 1) / T;
  return (windows + B - 1) / B;
}

Batch Dataset::validationBatch(int64_t i, int64_t B, int64_t T) const {
  Batch batch = emptyBatch(B, T);
  for (int64_t row = 0; row < B; ++row) {
    int64_t begin = (i * B + row) * T, count = std::min(T, validation.size() - 1 - begin);
    if (count > 0) fillRow(batch, row, validation, begin, count);
  }
  return batch;
}

Status Dataset::checkValidationLength(int64_t B, int64_t T) const {
  if (validation.size() < B * T + 1)
    return invalid(
        "the text has {} tokens for validation, but one validation batch needs local_batch_size {} x seq_len {} + 1 "
        "= {}; give a longer text, lower training.local_batch_size or training.seq_len, or set validation.enable=false",
        validation.size(), B, T, B * T + 1);
  return OkStatus();
}

Status Dataset::checkTrainLength(int64_t T) const {
  if (train.size() < T + 1)
    return invalid(
        "the text has {} tokens for training, but one sample needs seq_len {} + 1; give a longer text, or lower "
        "training.seq_len",
        train.size(), T);
  return OkStatus();
}

} // namespace tegula
