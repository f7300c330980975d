// Counting models of bytes: what a trained model has to beat before its loss means anything.
#pragma once

#include "base/Status.h"
#include <cstdint>
#include <span>

namespace tegula {

/// Mean negative log-likelihood, in nats per byte, of `validation` under an order-`n` byte model counted on `train`:
/// the next byte given the n-1 before it, with interpolated Witten-Bell smoothing down to the uniform distribution
///   P_k(c|h) = (count(h c) + distinct(h) * P_{k-1}(c|h')) / (count(h) + distinct(h)),   P_0 = 1/256.
/// Source: Witten & Bell 1991, "The zero-frequency problem", method C; Chen & Goodman 1998, section 2.5.
/// The first n-1 bytes of `validation` are predicted from what there is of their history.
/// Requires: 1 <= n <= 5. Fails: empty train or validation.
StatusOr<double> nGramLoss(std::span<const uint8_t> train, std::span<const uint8_t> validation, int n);

} // namespace tegula
