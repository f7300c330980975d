// The parts of the primitive list, one per file; All.cpp joins them. Each returns a table that lives as long as the
// process, made on first use.
#pragma once

#include "primitives/Primitive.h"

namespace tegula {

std::span<const Primitive> unaryPrimitives();
std::span<const Primitive> logicPrimitives();
std::span<const Primitive> arithmeticPrimitives();
std::span<const Primitive> comparePrimitives();
std::span<const Primitive> choosePrimitives();
std::span<const Primitive> broadcastPrimitives();
std::span<const Primitive> reducePrimitives();
std::span<const Primitive> argExtremePrimitives();
std::span<const Primitive> contractPrimitives();
std::span<const Primitive> convolutionPrimitives();
std::span<const Primitive> gatherPrimitives();
std::span<const Primitive> gatherElementsPrimitives();
std::span<const Primitive> viewPrimitives();
std::span<const Primitive> movePrimitives();
std::span<const Primitive> sourcePrimitives();
std::span<const Primitive> randomPrimitives();
std::span<const Primitive> sortPrimitives();
std::span<const Primitive> scanPrimitives();
std::span<const Primitive> relayoutPrimitives();

} // namespace tegula
