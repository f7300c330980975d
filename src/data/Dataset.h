// A prepared data set: a folder with train.tokens, validation.tokens and tokenizer.json, and how batches are cut from
// it.
//
//   train.tokens        there exactly while the other two belong to it; holds their seal
//   validation.tokens
//   tokenizer.json
//   lock                locked while the folder is written
//   prepare.tmp-PID-N/  the three of a preparation that goes on or was killed; the next one removes it
//
// A preparation writes its files aside and then puts them in the place of older ones, train.tokens being the first to
// go and the last to come. Other files of the folder stay as they are.
//
//   TG_RETURN_IF_ERROR(prepareDataset("shakespeare.txt", "data", {}));       // `tegula data prepare`
//   TG_ASSIGN_OR_RETURN(Dataset data, Dataset::open("data"));
//   Batch b = data.trainBatch(order, firstSample, B, T);
#pragma once

#include "data/Order.h"
#include "data/Text.h"
#include "data/TokenFile.h"
#include "data/Tokenizer.h"
#include "tensor/HostArray.h"

namespace tegula {

struct PrepareOptions {
  std::string tokenizer = "byte";  // or "char"
  double validationFraction = 0.1; // the last tokens, contiguous
};

struct PrepareReport {
  int64_t documents = 0, bytes = 0, trainTokens = 0, validationTokens = 0, vocabulary = 0;
};

/// Tokenizes text and writes the folder's three files. Documents are separated by the boundary symbol where there is
/// more than one. Fails: a text that leaves nothing to predict or holds out nothing; another process that prepares the
/// folder; a disk that is full (what the folder held stays).
StatusOr<PrepareReport> prepareDataset(const TextDocuments&, const std::string& folder, const PrepareOptions&);
/// The same of a file or folder of text.
StatusOr<PrepareReport> prepareDataset(const std::string& textPath, const std::string& folder, const PrepareOptions&);
/// How many of a text's tokens train: the first floor((1 - fraction) n), nanoGPT's split.
int64_t trainingTokens(int64_t tokens, double validationFraction);
/// The shortest decimal fraction that splits so. Requires: at least one token of each.
double validationFractionOf(int64_t trainTokens, int64_t validationTokens);
/// Whether `path` is a folder that prepareDataset() wrote.
bool isPreparedDataset(const std::string& path);

/// What train.tokens says of the two other files; never 0.
uint64_t sealOf(const TokenFile& validation, const Tokenizer&);

/// Inputs and labels, i32 [B, T]. Labels of positions without a next token are kIgnored.
struct Batch {
  static constexpr int32_t kIgnored = -100;
  HostArray tokens, labels;
  int64_t counted = 0; // labels that count
};

struct Dataset {
  TokenFile train, validation;
  Tokenizer tokenizer;
  std::string folder;

  /// Fails: files that are missing, damaged or of two preparations; no validation tokens.
  static StatusOr<Dataset> open(const std::string& folder);
  /// A checksum of both token files, for checkpoints: resuming on other data is refused.
  uint64_t checksum() const { return train.checksum() * 0x9E3779B97F4A7C15u + validation.checksum(); }

  /// Samples [first, first + B) of the run.
  Batch trainBatch(const DataOrder&, int64_t first, int64_t B, int64_t T) const;
  /// Validation is read whole, in windows of T that do not overlap; the last window may be ragged and the last batch
  /// has empty rows. `i` counts batches below validationBatches(B, T).
  Batch validationBatch(int64_t i, int64_t B, int64_t T) const;
  int64_t validationBatches(int64_t B, int64_t T) const;
  /// Fails: fewer tokens than one training sample needs, naming the way out.
  Status checkTrainLength(int64_t T) const;
  /// Fails: fewer tokens than one validation batch needs, naming the way out.
  Status checkValidationLength(int64_t B, int64_t T) const;
};

} // namespace tegula
