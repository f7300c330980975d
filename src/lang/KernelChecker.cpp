#include "lang/Library.h"
namespace tegula::lang {
void checkKernel(const KernelDecl&, const OperatorDecl&, Diagnostics&) {}
} // namespace tegula::lang
