// Linear regression with lazy tensors: operations record a graph, evaluate() compiles and runs it as one plan, and from the
// second step on the same plan runs again. Prints the loss, the fitted weights and what was compiled.
#include "runtime/Session.h"

using namespace tegula;

namespace {

Status run() {
  TG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create({}));
  Session& s = *session;
  int32_t weights = s.addState("weights", HostArray::zeros(DType::F32, {2, 1}));

  // Four samples of y = 3 x0 - 2 x1.
  HostArray x = HostArray::fromValues(DType::F32, {4, 2}, std::vector<double>{1, 0, 0, 1, 1, 1, 2, 1});
  HostArray y = HostArray::fromValues(DType::F32, {4, 1}, std::vector<double>{3, -2, 1, 4});
  for (int step = 1; step <= 200; ++step) {
    Tensor w = s.read(weights);
    Tensor error = matmul(s.input(x), w) - s.input(y);
    Tensor loss = call("mean", {error * error});
    Tensor slope = grad(loss, {&w, 1})[0];
    s.assign(weights, w - slope * s.scalar(0.3)); // the one way to change a state
    TG_RETURN_IF_ERROR(s.evaluate({&loss, 1}));
    if (step % 50 == 0) {
      TG_ASSIGN_OR_RETURN(double value, s.scalarValue(loss));
      fmt::print("step {:3}: loss {:.3e}\n", step, value);
    }
  }
  TG_ASSIGN_OR_RETURN(HostArray fitted, s.fetchState(weights));
  fmt::print("weights: {:.4f} {:.4f} (3 and -2 are right)\n{}, plans made {}\n", fitted.get(0), fitted.get(1), s.kernelLine(),
             s.stats().plansMade);
  return OkStatus();
}

} // namespace

int main() {
  Status status = run();
  if (!status.ok()) fmt::print(stderr, "lazy_tensors: {}\n", message(status));
  return status.ok() ? 0 : 1;
}
