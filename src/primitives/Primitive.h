// The primitives: the whole vocabulary that operators, gradients and graphs are made of. One file each under this
// folder holds name, attributes, shape and type rule, pattern and reference evaluation; All.cpp lists them.
//
// | name | inputs | attributes | result |
// |---|---|---|---|
// | neg abs sign exp log sin cos tanh erf sqrt rsqrt floor | x | | same type (floats; neg abs sign also ints) |
// | logical_not is_nan | x | | bool |
// | add sub mul div pow maximum minimum remainder | a b (same type: broadcasting is a node of its own) | | same type |
// | equal less less_equal | a b | | bool |
// | logical_and logical_or | a b (bool) | | bool |
// | select | cond(bool) a b | | type of a |
// | cast | x | dtype | |
// | stop_gradient | x | | same; derivative is zero |
// | broadcast | x | shape (ints), axes (ints: output axis of each input axis, increasing) | input extents are 1 or
// equal | | reduce_sum reduce_max reduce_min reduce_prod | x | axes (ints), keepdim (bool) | | | arg_max arg_min | x |
// axis, keepdim | i64; first of ties; a NaN wins | | contract | a b | batch_a batch_b contract_a contract_b (ints),
// dtype (optional result type) | batch, free a, free b | | convolution | x[N,C,…] w[O,C/groups,…] | strides, pad_low,
// pad_high, dilation (ints), groups | [N,O,…] | | gather | x indices | axis | x.shape[:axis] + indices.shape +
// x.shape[axis+1:]; index outside: NaN (floats), 0 (ints) | | scatter_add | updates indices | axis, size | inverse of
// gather: zeros + sums, in order of the indices; outside: skipped | | gather_elements | x indices | axis |
// indices.shape; y[i,j] = x[idx[i,j], j] for axis 0 | | scatter_elements_add | updates indices | axis, size | inverse
// of gather_elements | | slice | x | starts, sizes, steps (ints; a step may be negative) | | | pad | x | low, high,
// interior (ints >= 0), value (float) | | | concatenate | x… | axis | | | transpose | x | permutation | | | reshape | x
// | shape | | | iota | | shape, axis, dtype | index along axis | | constant | | value (float or int or bool), dtype |
// rank 0 | | random_uniform | seed step (i64, rank 0) | shape, stream (int), dtype | [0,1), Philox4x32-10 | | sort | x
// | axis, descending | values, indices (i64); stable; NaN last | | scan | x | kind (sum prod max min), axis, reverse |
// cumulative | | relayout | x | panel_axis, panel, pair (0 = strided) | same value, other layout |
#pragma once

#include "base/Status.h"
#include "primitives/Attributes.h"
#include "tensor/HostArray.h"
#include <span>

namespace tegula {

using TensorTypes = absl::InlinedVector<TensorType, 2>;

/// Which kind of loop a primitive is; fusion and templates decide by this, never by name.
enum class PrimitiveKind : uint8_t {
  Elementwise, // result[i] depends on input[i] only
  Broadcast,   // result[i] = input[i without some axes]
  Reduce,      // some axes are folded
  Contract,    // contract, convolution
  View,        // same elements, other indices, affine (slice, transpose, reshape)
  Move,        // pad, concatenate: pieces of inputs
  Gather,
  Scatter,
  Source,  // iota, constant, random_uniform
  Ordered, // sort, scan, arg_max, arg_min: an axis has an order
  Relayout
};

struct Primitive {
  Symbol name;
  PrimitiveKind kind;
  int inputs; // -1: one or more
  bool differentiable;
  /// Result types, or what is wrong in words (`concatenate: …`).
  StatusOr<TensorTypes> (*infer)(std::span<const TensorType>, const Attributes&);
  /// Reference meaning. Inputs may be strided; outputs are row-major and preallocated, in the inferred type or (wide
  /// evaluation) with f64 in place of every float. Computes in double / int64 and rounds once into the output.
  /// Null when built with TEGULA_REFERENCE=0.
  Status (*evaluate)(std::span<const HostArray>, const Attributes&, std::span<HostArray> outputs);
};

/// Nothing if there is no such primitive.
const Primitive* findPrimitive(Symbol name);
std::span<const Primitive* const> allPrimitives();

/// Stores the number of a `constant` into an array of one element, as its type holds it. Requires: checked attributes.
void storeConstant(const Attributes&, HostArray& element);

} // namespace tegula
