// Lazy tensors: the one way to build graphs. An operation records a node in the session's arena and returns a handle;
// nothing is computed until a value is asked for, and then all live results and state assignments run as one plan.
//
//   Session& s = …;
//   Tensor x = s.input("x", {DType::F32, {B, T, C}}), w = s.state("w", array);
//   Tensor y = gelu(matmul(x, w)) + x;
//   TG_RETURN_IF_ERROR(s.evaluate({y}));    y.value() …
//
// Errors: recording never throws; a type error poisons the result, and evaluate() reports the first one with its scope.
// Threads: a Session and its tensors belong to one thread.
#pragma once

#include "primitives/Attributes.h"
#include "tensor/HostArray.h"
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace tegula {

class Session;

/// A counted handle on a recorded value: 16 bytes, copies are cheap, no heap.
class Tensor {
public:
  Tensor() = default; // absent: what an optional input takes
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(Tensor) noexcept;
  ~Tensor();
  bool present() const { return session_ != nullptr; }
  Session& session() const { return *session_; }
  /// Shape of a poisoned tensor is empty.
  const Shape& shape() const;
  DType dtype() const;
  int64_t dim(int axis) const; // negative counts from the end

private:
  friend class Session;
  Tensor(Session* s, int32_t node, int16_t result);
  Session* session_ = nullptr;
  int32_t node_ = -1;
  int16_t result_ = 0;
};

/// Any library operator or primitive by name. The first form is for one result.
Tensor call(Symbol op, std::initializer_list<Tensor> inputs, const Attributes& = {});
Tensor call(Symbol op, std::span<const Tensor> inputs, const Attributes& = {});
std::vector<Tensor> callAll(Symbol op, std::span<const Tensor> inputs, const Attributes& = {});

// Operators broadcast by NumPy's rule.
Tensor operator+(const Tensor&, const Tensor&);
Tensor operator-(const Tensor&, const Tensor&);
Tensor operator*(const Tensor&, const Tensor&);
Tensor operator/(const Tensor&, const Tensor&);
Tensor operator*(const Tensor&, double);
Tensor operator+(const Tensor&, double);
Tensor matmul(const Tensor&, const Tensor&);
Tensor reshape(const Tensor&, const Shape&);
Tensor transpose(const Tensor&, const Shape& permutation);
Tensor slice(const Tensor&, int axis, int64_t begin, int64_t end);
Tensor cast(const Tensor&, DType);

/// d(loss)/d(wrt): one recorded node, expanded in the plan.
std::vector<Tensor> grad(const Tensor& loss, std::span<const Tensor> wrt);

} // namespace tegula
