// sin and cos on vectors; used by codegen/Math.cpp.
#pragma once

#include "compiler/codegen/Lanes.h"

namespace tegula {

mlir::Value emitSinOrCos(Lanes&, bool isCos, mlir::Value x);

} // namespace tegula
