// Operator calls through a session: recorded as lazy tensors, planned, compiled and run on its device. Strided inputs
// become views of what memory holds (transpose, broadcast, slice), so that kernels meet the strides.
#pragma once

#include "runtime/Session.h"
#include "verify/Operation.h"

namespace tegula {

/// The session must outlive the operation, and is used by it alone while it runs.
OperationUnderTest sessionOperation(Session& session);

/// `array` as an input of the session with the same strides, as far as views can state them.
Tensor recordInput(Session& session, const HostArray& array);

} // namespace tegula
