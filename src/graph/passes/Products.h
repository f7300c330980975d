// Contractions as matrix products: how `@` in an operator's body, and every gradient of it, reach the tile kernel of
// `matmul`.
#pragma once

#include "graph/Emit.h"

namespace tegula {

/// contract(a, b) as views around the library's `matmul`, or absent if it has no form as one (integers, nothing free).
/// `attrs`: of the primitive contract.
Value productAsMatmul(Emit&, Value a, Value b, const Attributes& attrs);

} // namespace tegula
