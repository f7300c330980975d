// Binding header symbols.
#include "lang/Binding.h"
#include "lang/Builtins.h"
#include <algorithm>

namespace tegula::lang {

namespace {
Shape part(const Shape& s, int from, int to) {
  return Shape(std::span<const int64_t>(s.begin() + from, static_cast<size_t>(to - from)));
}
int openAt(const TensorRule& r) {
  for (size_t i = 0; i < r.dims.size(); ++i)
    if (r.dims[i].kind == Dim::Kind::Ellipsis || r.dims[i].kind == Dim::Kind::Group) return static_cast<int>(i);
  return -1;
}
std::string written(const TensorRule& r) { return fmt::format("[{}]", dimensionsText(r, "…")); }
} // namespace

std::string dimensionsText(const TensorRule& r, std::string_view computed) {
  std::string s;
  for (const Dim& d : r.dims) {
    if (!s.empty()) s += ", ";
    switch (d.kind) {
    case Dim::Kind::Symbol:
      s += d.name.text();
      break;
    case Dim::Kind::Constant:
      s += std::to_string(d.value);
      break;
    case Dim::Kind::Ellipsis:
      s += "...";
      break;
    case Dim::Kind::Group:
      s += fmt::format("*{}", d.name.text());
      break;
    case Dim::Kind::Computed:
      s += computed;
      break;
    }
  }
  return s;
}

StatusOr<std::vector<InputRange>> inputRanges(const OperatorDecl& op, size_t count) {
  std::vector<InputRange> ranges;
  size_t at = 0;
  for (const InputDecl& in : op.inputs) {
    size_t end = in.variadic ? count : std::min(at + 1, count);
    if (end == at && !in.variadic && !in.optional) {
      std::string names;
      for (const InputDecl& i : op.inputs) names += fmt::format("{}{}", names.empty() ? "" : ", ", i.name.text());
      return invalid("{}: {} inputs given, '{}' is missing; expected {}", op.name.text(), count, in.name.text(), names);
    }
    ranges.push_back({std::min(at, end), end});
    at = std::max(at, end);
  }
  if (at < count) return invalid("{}: {} inputs given; it takes {}", op.name.text(), count, op.inputs.size());
  return ranges;
}

Status Binding::bindInputs(std::span<const TensorType* const> types) {
  TG_ASSIGN_OR_RETURN(auto ranges, inputRanges(op_, types.size()));
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    const InputDecl& in = op_.inputs[i];
    for (size_t k = ranges[i].begin; k < ranges[i].end; ++k) {
      if (!types[k]) {
        if (in.optional) continue;
        return invalid("{}: '{}' is absent but not optional", op_.name.text(), in.name.text());
      }
      TG_ASSIGN_OR_RETURN(const TensorRule* rule, choose(in.type));
      failedInput_ = rule->span;
      TG_RETURN_IF_ERROR(bindInput(in.name, *rule, *types[k]));
      failedInput_ = Span();
    }
  }
  for (const Bound& b : dims_) interpreter_.bind(b.name, Operand(b.extent));
  for (const auto& [name, shape] : groups_) interpreter_.bind(name, Operand::of(shape));
  return OkStatus();
}

StatusOr<const TensorRule*> Binding::choose(const TypeRule& rule) {
  for (const TypeRule::Alternative& a : rule.alternatives) {
    if (!a.condition) return &a.tensor;
    TG_ASSIGN_OR_RETURN(bool holds, interpreter_.condition(*a.condition));
    if (holds) return &a.tensor;
  }
  return &rule.alternatives.back().tensor;
}

Status Binding::bindInput(Symbol input, const TensorRule& rule, const TensorType& type) {
  TG_RETURN_IF_ERROR(bindDType(input, rule.dtype, type.dtype));
  if (rule.anyShape) return OkStatus();
  int open = openAt(rule), fixed = static_cast<int>(rule.dims.size()) - (open >= 0), rank = type.shape.rank();
  if (open < 0 ? rank != fixed : rank < fixed)
    return invalid("{}: {} is {} of rank {}; expected {} of rank {}{}", op_.name.text(), input.text(), toString(type),
                   rank, written(rule), fixed, open < 0 ? "" : " or more");
  int lead = open < 0 ? fixed : open, axis = 0;
  for (int i = 0; i < lead; ++i) {
    TG_RETURN_IF_ERROR(bindDim(input, rule.dims[i], type.shape[axis], axis));
    ++axis;
  }
  if (open < 0) return OkStatus();
  int end = rank - (fixed - open);
  TG_RETURN_IF_ERROR(bindOpen(input, rule.dims[open], part(type.shape, axis, end)));
  axis = end;
  for (size_t i = open + 1; i < rule.dims.size(); ++i) {
    TG_RETURN_IF_ERROR(bindDim(input, rule.dims[i], type.shape[axis], axis));
    ++axis;
  }
  return OkStatus();
}

Status Binding::bindDim(Symbol input, const Dim& d, int64_t extent, int axis) {
  if (d.kind == Dim::Kind::Constant) {
    if (extent == d.value) return OkStatus();
    return invalid("{}: axis {} of {} has extent {}; expected {}", op_.name.text(), axis, input.text(), extent,
                   d.value);
  }
  for (const Bound& b : dims_) {
    if (b.name != d.name) continue;
    if (b.extent == extent) return OkStatus();
    if (b.by == input)
      return invalid("{}: {} has {}={} and also {}={}", op_.name.text(), input.text(), d.name.text(), b.extent,
                     d.name.text(), extent);
    return invalid("{}: {} has {}={} but {} has {}={}", op_.name.text(), b.by.text(), d.name.text(), b.extent,
                   input.text(), d.name.text(), extent);
  }
  dims_.push_back({d.name, extent, input});
  return OkStatus();
}

Status Binding::bindOpen(Symbol input, const Dim& d, const Shape& extents) {
  if (d.kind == Dim::Kind::Group) {
    for (auto& [name, shape] : groups_) {
      if (name != d.name) continue;
      if (shape == extents) return OkStatus();
      return invalid("{}: {} has *{}={} but {} was bound before", op_.name.text(), input.text(), d.name.text(),
                     toString(extents), toString(shape));
    }
    groups_.emplace_back(d.name, extents);
    return OkStatus();
  }
  if (!ellipsis_) {
    ellipsis_ = extents;
    return OkStatus();
  }
  std::optional<Shape> both = broadcastShapes(*ellipsis_, extents);
  if (!both)
    return invalid("{}: the leading axes {} of {} do not broadcast with {} of the inputs before it", op_.name.text(),
                   toString(extents), input.text(), toString(*ellipsis_));
  ellipsis_ = *both;
  return OkStatus();
}

Status Binding::bindDType(Symbol input, const DTypeRule& rule, DType d) {
  auto refuse = [&](std::string_view expected) {
    return invalid("{}: {} is {}; expected {}", op_.name.text(), input.text(), name(d), expected);
  };
  switch (rule.kind) {
  case DTypeRule::Kind::Any:
    return OkStatus();
  case DTypeRule::Kind::Fixed:
    return d == rule.dtype ? OkStatus() : refuse(name(rule.dtype));
  case DTypeRule::Kind::Float:
    return isFloat(d) ? OkStatus() : refuse("floats");
  case DTypeRule::Kind::Int:
    return isInteger(d) ? OkStatus() : refuse("integers");
  case DTypeRule::Kind::Variable:
    break;
  }
  for (const auto& [n, bound] : dtypes_)
    if (n == rule.name)
      return bound == d ? OkStatus() : refuse(fmt::format("{}, as {} was bound before", name(bound), n.text()));
  dtypes_.emplace_back(rule.name, d);
  return OkStatus();
}

StatusOr<Shape> Binding::shapeOf(const TensorRule& rule, bool& known, Span* at) {
  Shape s;
  auto add = [&](int64_t extent) -> Status {
    if (s.rank() == kMaxRank) return invalid("the result would have more than {} axes", kMaxRank);
    s.push_back(extent);
    return OkStatus();
  };
  for (const Dim& d : rule.dims) {
    if (at) *at = d.span;
    switch (d.kind) {
    case Dim::Kind::Constant:
      TG_RETURN_IF_ERROR(add(d.value));
      break;
    case Dim::Kind::Symbol: {
      const Operand* v = interpreter_.lookup(d.name);
      for (const Bound& b : dims_)
        if (b.name == d.name) {
          TG_RETURN_IF_ERROR(add(b.extent));
          v = nullptr;
        }
      if (!v) {
        bool bound = std::any_of(dims_.begin(), dims_.end(), [&](const Bound& b) { return b.name == d.name; });
        known &= bound; // the symbol of an absent optional input
        break;
      }
      if (!v->integer()) return invalid("'{}' of a result is {}; expected an integer", d.name.text(), describe(*v));
      TG_RETURN_IF_ERROR(add(*v->integer()));
      break;
    }
    case Dim::Kind::Ellipsis:
      if (!ellipsis_)
        known = false;
      else
        for (int64_t e : *ellipsis_) TG_RETURN_IF_ERROR(add(e));
      break;
    case Dim::Kind::Group: {
      bool found = false;
      for (const auto& [name, shape] : groups_)
        if (name == d.name) {
          found = true;
          for (int64_t e : shape) TG_RETURN_IF_ERROR(add(e));
        }
      known &= found;
      break;
    }
    case Dim::Kind::Computed: {
      TG_ASSIGN_OR_RETURN(Operand v, interpreter_.evaluate(*d.expr));
      if (!v.integer()) return invalid("a dimension of a result is {}; expected an integer", describe(v));
      TG_RETURN_IF_ERROR(add(*v.integer()));
      break;
    }
    }
  }
  return s;
}

Status Binding::expectResults(Span* at) {
  for (const ResultDecl& r : op_.results) {
    if (at) *at = r.type.alternatives[0].tensor.span;
    TG_ASSIGN_OR_RETURN(const TensorRule* rule, choose(r.type));
    Expected e{rule, {}, !rule->anyShape, {}};
    if (e.known) {
      TG_ASSIGN_OR_RETURN(e.shape, shapeOf(*rule, e.known, at));
    }
    if (rule->dtype.kind == DTypeRule::Kind::Fixed) e.dtype = rule->dtype.dtype;
    if (rule->dtype.kind == DTypeRule::Kind::Variable) {
      for (const auto& [n, d] : dtypes_)
        if (n == rule->dtype.name) e.dtype = d;
      if (const Operand* v = interpreter_.lookup(rule->dtype.name); v && v->dtype()) e.dtype = *v->dtype();
    }
    expected_.push_back(e);
  }
  if (at) *at = Span();
  return OkStatus();
}

Status Binding::checkResults(std::span<const TensorType> types, Span* at) {
  for (size_t i = 0; i < expected_.size(); ++i) {
    const Expected& e = expected_[i];
    const TensorType& t = types[i];
    if (at) *at = e.rule->span;
    auto refuse = [&](std::string_view says) {
      return invalid("{}: result {} is {}; its declaration says {}", op_.name.text(), i, toString(t), says);
    };
    if (e.rule->dtype.kind == DTypeRule::Kind::Float && !isFloat(t.dtype)) return refuse("floats");
    if (e.rule->dtype.kind == DTypeRule::Kind::Int && !isInteger(t.dtype)) return refuse("integers");
    if (e.dtype && *e.dtype != t.dtype) return refuse(name(*e.dtype));
    if (e.known && e.shape != t.shape) {
      // The one dimension that differs, where positions correspond.
      bool plain = openAt(*e.rule) < 0 && e.shape.rank() == t.shape.rank() &&
                   e.rule->dims.size() == static_cast<size_t>(t.shape.rank());
      for (int k = t.shape.rank() - 1; at && plain && k >= 0; --k)
        if (e.shape[k] != t.shape[k]) *at = e.rule->dims[k].span;
      return refuse(fmt::format("{} = {}", written(*e.rule), toString(e.shape)));
    }
  }
  if (at) *at = Span();
  return OkStatus();
}

} // namespace tegula::lang
