// Declaring parameters and moving their values in and out of a session.
#include "models/Parameters.h"

#include "base/Hash.h"
#include "runtime/Tensor.h"
#include <algorithm>
#include <cassert>

namespace tegula {

int32_t Parameters::declare(std::string name, Shape shape, Initialization initialization) {
  for ([[maybe_unused]] const Parameter& p : list_) assert(p.name != name && "a parameter is declared once");
  list_.push_back({std::move(name), shape, initialization});
  return static_cast<int32_t>(list_.size()) - 1;
}

int64_t Parameters::elements() const {
  int64_t n = 0;
  for (const Parameter& p : list_) n += p.shape.elements();
  return n;
}

Status Parameters::create(Session& session, uint64_t seed) {
  static const Symbol normal("normal");
  for (Parameter& p : list_) {
    using Kind = Initialization::Kind;
    if (p.initialization.kind == Kind::Ones) {
      HostArray ones = HostArray::zeros(DType::F32, p.shape);
      std::fill_n(ones.as<float>(), ones.elements(), 1.0f);
      p.state = session.addState(p.name, ones);
      continue;
    }
    p.state = session.addState(p.name, TensorType{DType::F32, p.shape});
    if (p.initialization.kind != Kind::Normal) continue;
    // 53 bits, so that a scalar carries them exactly.
    auto own = static_cast<double>(hash64(fmt::format("{}:{}", seed, p.name)) >> 11);
    session.assign(p.state,
                   call(normal, {session.read(p.state), session.scalar(own, DType::I64), session.scalar(0, DType::I64),
                                 session.scalar(p.initialization.standardDeviation)}));
  }
  return session.evaluate({});
}

Status Parameters::create(Session& session, const std::map<std::string, HostArray>& arrays) {
  TG_RETURN_IF_ERROR(check(arrays));
  for (Parameter& p : list_) {
    const HostArray& array = arrays.at(p.name);
    p.state = session.addState(p.name, array.dtype() == DType::F32 ? array : array.cast(DType::F32));
  }
  return OkStatus();
}

Status Parameters::store(Session& session, const std::map<std::string, HostArray>& arrays) const {
  TG_RETURN_IF_ERROR(check(arrays));
  for (const Parameter& p : list_) {
    const HostArray& array = arrays.at(p.name);
    TG_RETURN_IF_ERROR(session.storeState(p.state, array.dtype() == DType::F32 ? array : array.cast(DType::F32)));
  }
  return OkStatus();
}

StatusOr<std::map<std::string, HostArray>> Parameters::fetch(Session& session) const {
  std::map<std::string, HostArray> out;
  for (const Parameter& p : list_) {
    TG_ASSIGN_OR_RETURN(HostArray array, session.fetchState(p.state));
    out.emplace(p.name, std::move(array));
  }
  return out;
}

std::vector<Tensor> Parameters::read(Session& session) const {
  std::vector<Tensor> values;
  read(session, values);
  return values;
}

void Parameters::read(Session& session, std::vector<Tensor>& values) const {
  values.clear();
  values.reserve(list_.size());
  for (const Parameter& p : list_) values.push_back(session.read(p.state));
}

Status Parameters::check(const std::map<std::string, HostArray>& arrays) const {
  std::string errors;
  auto add = [&](std::string line) { errors += (errors.empty() ? "" : "\n") + line; };
  std::map<std::string, Shape> known;
  for (const Parameter& p : list_) {
    known.emplace(p.name, p.shape);
    auto found = arrays.find(p.name);
    if (found == arrays.end())
      add(fmt::format("{}: the model needs it with shape {}, the file has no such tensor", p.name, toString(p.shape)));
    else if (!(found->second.shape() == p.shape))
      add(fmt::format("{}: the model needs shape {}, the file has {}", p.name, toString(p.shape),
                      toString(found->second.shape())));
  }
  for (const auto& [name, array] : arrays)
    if (!known.contains(name))
      add(fmt::format("{}: in the file with shape {}, but the model has no such parameter", name,
                      toString(array.shape())));
  return errors.empty() ? OkStatus() : absl::InvalidArgumentError(errors);
}

} // namespace tegula
