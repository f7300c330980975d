// Values that a later group can compute again from what it reads anyway are not stored: the forward pass keeps a
// layer's input, not five functions of it. (Whole layers are recomputed by another pass; this one only saves memory
// traffic.)
#pragma once

#include "graph/fusion/Fuse.h"
#include "graph/fusion/FusionQuery.h"

namespace tegula {

/// Adds elementwise nodes to the groups that read them, so that their home group need not store them. Looks at
/// structure only (operand through a broadcast: small), never at extents.
void recomputeCheapValues(const Graph&, FusionQuery&, Partition&);

} // namespace tegula
