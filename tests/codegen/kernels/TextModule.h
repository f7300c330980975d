// Compiles a module written as MLIR text, for tests.
#pragma once

#include "compiler/Target.h"
#include "compiler/codegen/Image.h"

namespace tegula {

/// The kernel is the function `kernel`. Fails also on text that does not parse or verify.
StatusOr<CodeImage> compileText(std::string_view mlir, const Target&);

} // namespace tegula
