// Lazy tensors: the one way to build graphs. An operation records a node in the session's arena and returns a handle;
// nothing is computed until a value is asked for, and then the results asked for and all state assignments run as one
// plan.
//
//   Session& s = …;
//   Tensor x = s.input(batch), w = s.read(weight);
//   Tensor y = gelu(matmul(x, w)) + x;
//   TG_RETURN_IF_ERROR(s.evaluate({{y}}));    s.value(y) …
//
// Errors: recording never throws; a type error poisons the result, and evaluate() reports the first one with its scope.
// Lifetime: a handle is good until the next evaluate(), which runs what was recorded and starts a new recording. After
// it, the handles given to evaluate() can be read (Session::value) until the following one. Using an older handle is an
// error. Threads: a Session and its tensors belong to one thread.
#pragma once

#include "primitives/Attributes.h"
#include "tensor/HostArray.h"
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace tegula {

class Session;

/// A handle on a recorded value: 16 bytes, a plain value, no heap and nothing to release.
class Tensor {
public:
  Tensor() = default; // absent: what an optional input takes
  bool present() const { return session_ != nullptr; }
  Session& session() const { return *session_; }
  /// Shape of a poisoned tensor is empty.
  const Shape& shape() const;
  DType dtype() const;
  int64_t dim(int axis) const; // negative counts from the end

private:
  friend class Session;
  friend class Recorder;
  Tensor(Session* s, int32_t node, int16_t result, uint16_t recording)
      : session_(s), node_(node), result_(result), recording_(recording) {}
  Session* session_ = nullptr;
  int32_t node_ = -1;
  int16_t result_ = 0;
  uint16_t recording_ = 0; // number of the recording it belongs to, modulo 2^16
};

/// Any library operator or primitive by name (a library operator wins). The first forms are for one result.
Tensor call(Symbol op, std::initializer_list<Tensor> inputs, const Attributes& = {});
Tensor call(Symbol op, std::span<const Tensor> inputs, const Attributes& = {});
std::vector<Tensor> callAll(Symbol op, std::span<const Tensor> inputs, const Attributes& = {});
/// The same for calls that may have no tensor at all, such as `iota`.
std::vector<Tensor> callAll(Session&, Symbol op, std::span<const Tensor> inputs, const Attributes& = {});
/// The same into `results`, whose memory a caller keeps from step to step.
void callAll(Symbol op, std::span<const Tensor> inputs, const Attributes&, std::vector<Tensor>& results);

// Operators broadcast by NumPy's rule; element types must be equal.
Tensor operator+(const Tensor&, const Tensor&);
Tensor operator-(const Tensor&, const Tensor&);
Tensor operator*(const Tensor&, const Tensor&);
Tensor operator/(const Tensor&, const Tensor&);
// The number is rounded to the tensor's type, which must hold it if it is one of integers, and is part of the plan's key;
// Session::scalar is for what changes.
Tensor operator*(const Tensor&, double);
Tensor operator+(const Tensor&, double);
Tensor matmul(const Tensor&, const Tensor&);
Tensor reshape(const Tensor&, const Shape&);
Tensor transpose(const Tensor&, const Shape& permutation);
/// Elements begin … end-1 of an axis; negative numbers count from the end.
Tensor slice(const Tensor&, int axis, int64_t begin, int64_t end);
Tensor cast(const Tensor&, DType);

/// d(loss)/d(wrt): one recorded node, expanded in the plan.
std::vector<Tensor> grad(const Tensor& loss, std::span<const Tensor> wrt);
void grad(const Tensor& loss, std::span<const Tensor> wrt, std::vector<Tensor>& results);

} // namespace tegula
