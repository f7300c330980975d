// The face of lang: queries, attributes, instantiation. Loading is in Load.cpp.
#include "lang/OperatorLibrary.h"
#include "lang/Binding.h"
#include "lang/Declarations.h"
#include "lang/Format.h"
#include "lang/Library.h"
#include <algorithm>

namespace tegula {

using namespace lang;

OperatorLibrary::OperatorLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OperatorLibrary::~OperatorLibrary() = default;

namespace {
const OperatorLibrary::Impl::Entry* entryOf(const OperatorLibrary::Impl& impl, Symbol name) {
  auto it = impl.entries.find(name);
  return it == impl.entries.end() ? nullptr : &it->second;
}

StatusOr<const OperatorLibrary::Impl::Entry*> require(const OperatorLibrary::Impl& impl, Symbol name) {
  if (const auto* e = entryOf(impl, name)) return e;
  std::vector<std::string_view> names;
  for (const auto& [n, e] : impl.entries) names.push_back(n.text());
  std::sort(names.begin(), names.end());
  return notFound("no operator '{}' in the library{}", name.text(), didYouMean(name.text(), names));
}

/// `softmax (ops/softmax.tile:7:5): …` for an error inside a body; errors about the call itself name the operator
/// already.
Status locate(const OperatorLibrary::Impl& impl, const OperatorDecl& op, const Status& s, Span at) {
  if (at.line == 0 || at.file < 0 || static_cast<size_t>(at.file) >= impl.sources.size()) return s;
  return withContext(s, fmt::format("{} ({}:{}:{})", op.name.text(), impl.sources[at.file].path, at.line, at.column));
}

/// locate, and the line with a caret below: once, where the innermost operator failed.
Status locateAndShow(const OperatorLibrary::Impl& impl, const OperatorDecl& op, const Status& s, Span at) {
  Status located = locate(impl, op, s, at);
  if (at.line == 0 || message(s).find('\n') != std::string_view::npos) return located;
  return Status(located.code(), fmt::format("{}{}", message(located), renderLine(at, impl.sources)));
}
} // namespace

const OperatorInfo* OperatorLibrary::find(Symbol name) const {
  const auto* e = entryOf(*impl_, name);
  return e ? &e->info : nullptr;
}

std::vector<Symbol> OperatorLibrary::names() const { return impl_->names(); }

StatusOr<Attributes> OperatorLibrary::completeAttributes(Symbol op, const Attributes& attributes) const {
  TG_ASSIGN_OR_RETURN(const auto* e, require(*impl_, op));
  return impl_->complete(*e->op, attributes);
}

StatusOr<TensorTypes> OperatorLibrary::infer(Symbol op, std::span<const TensorType* const> inputs,
                                             const Attributes& attributes) const {
  TG_ASSIGN_OR_RETURN(const auto* e, require(*impl_, op));
  Impl::Failure at;
  StatusOr<TensorTypes> t = impl_->infer(*e, inputs, attributes, &at);
  return t.ok() ? t : locateAndShow(*impl_, *e->op, t.status(), at.body);
}

StatusOr<Values> OperatorLibrary::instantiate(Symbol op, std::span<const Value> inputs, const Attributes& attributes,
                                              Builder& builder) const {
  TG_ASSIGN_OR_RETURN(const auto* e, require(*impl_, op));
  Impl::Failure at;
  StatusOr<Values> v = impl_->run(*e, inputs, attributes, builder, &at);
  return v.ok() ? v : locateAndShow(*impl_, *e->op, v.status(), at.body);
}

StatusOr<Values> OperatorLibrary::instantiateGrad(Symbol op, std::span<const Value> inputs,
                                                  std::span<const Value> outputs,
                                                  std::span<const Value> outputGradients, const Attributes& attributes,
                                                  Builder& builder) const {
  TG_ASSIGN_OR_RETURN(const auto* e, require(*impl_, op));
  if (!e->grad) return notFound("{}: no @grad; its gradient is derived from its body", op.text());
  Impl::Failure at;
  StatusOr<Values> v = impl_->runGrad(*e, inputs, outputs, outputGradients, attributes, builder, &at);
  return v.ok() ? v : locateAndShow(*impl_, *e->op, v.status(), at.body);
}

const OperatorDecl* OperatorLibrary::declaration(Symbol op) const {
  const auto* e = entryOf(*impl_, op);
  return e ? e->op.get() : nullptr;
}

const KernelDecl* OperatorLibrary::kernelFor(Symbol op) const {
  const auto* e = entryOf(*impl_, op);
  return e ? e->kernel.get() : nullptr;
}

std::string OperatorLibrary::sourceOf(Symbol op) const {
  const auto* e = entryOf(*impl_, op);
  if (!e) return {};
  std::string s = formatFunction(*e->op->function);
  if (e->grad) s += "\n\n" + formatFunction(*e->grad->function);
  if (e->kernel) s += "\n\n" + formatFunction(*e->kernel->function);
  return s;
}

// ---- Impl

const OperatorDecl* OperatorLibrary::Impl::find(Symbol name) const {
  auto it = entries.find(name);
  return it == entries.end() ? nullptr : it->second.op.get();
}

std::vector<Symbol> OperatorLibrary::Impl::names() const {
  std::vector<Symbol> names;
  for (const auto& [n, e] : entries) names.push_back(n);
  std::sort(names.begin(), names.end());
  return names;
}

StatusOr<Attributes> OperatorLibrary::Impl::complete(const OperatorDecl& op, const Attributes& given) const {
  for (const auto& [name, value] : given) {
    if (op.attribute(name)) continue;
    std::vector<std::string_view> names;
    std::string all;
    for (const AttributeDecl& a : op.attributes) {
      names.push_back(a.name.text());
      all += fmt::format("{}{}", all.empty() ? "" : ", ", a.name.text());
    }
    std::string hint = didYouMean(name.text(), names);
    if (hint.empty()) hint = all.empty() ? "; it has none" : fmt::format("; it has {}", all);
    return invalid("{}: unknown attribute '{}'{}", op.name.text(), name.text(), hint);
  }
  Attributes out;
  for (const AttributeDecl& a : op.attributes) {
    const AttrValue* value = given.find(a.name);
    if (!value) {
      if (a.required)
        return invalid("{}: attribute '{}' is missing; expected a value of type {}", op.name.text(), a.name.text(),
                       toString(a.type));
      out.set(a.name, a.defaultValue);
      continue;
    }
    std::optional<AttrValue> converted = convertAttribute(*value, a.type);
    if (!converted)
      return invalid("{}: attribute '{}' is {}; expected {}", op.name.text(), a.name.text(), toString(*value),
                     toString(a.type));
    out.set(a.name, *std::move(converted));
  }
  return out;
}

namespace {
/// The operands of an operator's inputs by name, and their types.
Status bindHeader(const OperatorDecl& op, std::span<const Value> inputs, const Attributes& attributes, Interpreter& it,
                  Binding& binding) {
  TG_ASSIGN_OR_RETURN(auto ranges, inputRanges(op, inputs.size()));
  for (const auto& [name, value] : attributes) it.bind(name, Operand::of(value));
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].variadic) {
      it.bind(op.inputs[i].name, ranges[i].begin < ranges[i].end ? Operand(inputs[ranges[i].begin]) : Operand());
      continue;
    }
    Sequence q;
    for (size_t k = ranges[i].begin; k < ranges[i].end; ++k) q.emplace_back(inputs[k]);
    it.bind(op.inputs[i].name, Operand(std::move(q)));
  }
  absl::InlinedVector<TensorType, 6> types(inputs.size());
  absl::InlinedVector<const TensorType*, 6> pointers(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present()) continue;
    types[i] = it.emitter().type(inputs[i]);
    pointers[i] = &types[i];
  }
  return binding.bindInputs(pointers);
}

Status collectResults(const OperatorDecl& op, const Operand& returned, Values& out) {
  auto one = [&](const Operand& o) -> Status {
    if (!o.tensor()) return invalid("{}: result {} is {}; expected a tensor", op.name.text(), out.size(), describe(o));
    out.push_back(*o.tensor());
    return OkStatus();
  };
  if (!returned.sequence()) {
    TG_RETURN_IF_ERROR(one(returned));
  } else {
    for (const Operand& o : *returned.sequence()) TG_RETURN_IF_ERROR(one(o));
  }
  if (out.size() != op.results.size())
    return invalid("{}: the body returns {} results but {} are declared", op.name.text(), out.size(),
                   op.results.size());
  return OkStatus();
}
} // namespace

StatusOr<Values> OperatorLibrary::Impl::run(const Entry& e, std::span<const Value> inputs, const Attributes& given,
                                            Builder& builder, Failure* failure) const {
  TG_ASSIGN_OR_RETURN(Attributes attributes, complete(*e.op, given));
  Interpreter it(*this, builder);
  Binding binding(*e.op, it);
  Span* place = failure ? &failure->body : nullptr;
  if (Status s = bindHeader(*e.op, inputs, attributes, it, binding); !s.ok()) {
    if (failure) failure->header = binding.failedInput();
    return s;
  }
  TG_RETURN_IF_ERROR(binding.expectResults(place));
  StatusOr<Operand> returned = it.run(e.op->body());
  if (!returned.ok()) {
    if (failure) failure->body = it.failure();
    return returned.status();
  }
  Values out;
  if (Status s = collectResults(*e.op, *returned, out); !s.ok()) {
    if (failure) failure->body = it.returnedAt();
    return s;
  }
  absl::InlinedVector<TensorType, 3> types;
  for (Value v : out) types.push_back(builder.typeOf(v));
  TG_RETURN_IF_ERROR(binding.checkResults(types, place));
  return out;
}

StatusOr<Values> OperatorLibrary::Impl::runGrad(const Entry& e, std::span<const Value> inputs,
                                                std::span<const Value> outputs, std::span<const Value> outputGradients,
                                                const Attributes& given, Builder& builder, Failure* failure) const {
  const OperatorDecl& op = *e.op;
  TG_ASSIGN_OR_RETURN(Attributes attributes, complete(op, given));
  if (outputs.size() != op.results.size() || outputGradients.size() != static_cast<size_t>(op.resultCount()))
    return invalid("{}: its gradient needs {} outputs and {} output gradients, {} and {} given", op.name.text(),
                   op.results.size(), op.resultCount(), outputs.size(), outputGradients.size());
  Interpreter it(*this, builder);
  Binding binding(op, it);
  TG_RETURN_IF_ERROR(bindHeader(op, inputs, attributes, it, binding));
  // Outputs and their gradients follow the inputs, by position.
  size_t p = op.inputs.size();
  for (Value v : outputs) it.bind(e.grad->function->parameters[p++].name, Operand(v));
  for (size_t i = 0; i < outputGradients.size(); ++i) {
    Value v = outputGradients[i];
    TensorType t = builder.typeOf(outputs[i]);
    if (!v.present() && isFloat(t.dtype)) {
      TG_ASSIGN_OR_RETURN(v, it.emitter().fill(Operand(0.0), t.dtype, t.shape));
    }
    it.bind(e.grad->function->parameters[p++].name, Operand(v));
  }
  StatusOr<Operand> returned = it.run(e.grad->body());
  if (!returned.ok()) {
    if (failure) failure->body = it.failure();
    return returned.status();
  }
  Sequence gradients = returned->sequence() ? *returned->sequence() : Sequence{*returned};
  TG_ASSIGN_OR_RETURN(auto ranges, inputRanges(op, inputs.size()));
  Values out(inputs.size());
  if (failure) failure->body = it.returnedAt();
  size_t next = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].differentiable) continue;
    if (next >= gradients.size())
      return invalid("{}: its @grad returns too few gradients: {}", op.name.text(), gradients.size());
    const Operand& g = gradients[next++];
    // A variadic input that is the only one may be returned as the sequence itself.
    Sequence parts;
    if (op.inputs[i].variadic && g.sequence())
      parts = *g.sequence();
    else if (op.inputs[i].variadic && gradients.size() == ranges[i].end - ranges[i].begin)
      parts = gradients, next = gradients.size();
    else
      parts = {g};
    size_t count = ranges[i].end - ranges[i].begin;
    if (count > 0 && parts.size() != count)
      return invalid("{}: {} gradients for the {} inputs of '{}'", op.name.text(), parts.size(), count,
                     op.inputs[i].name.text());
    for (size_t k = 0; k < count; ++k) {
      size_t at = ranges[i].begin + k;
      if (!inputs[at].present() || parts[k].isNone()) continue;
      TensorType want = builder.typeOf(inputs[at]);
      if (!isFloat(want.dtype)) continue;
      if (!parts[k].tensor())
        return invalid("{}: the gradient of '{}' is {}; expected a tensor or None", op.name.text(),
                       op.inputs[i].name.text(), describe(parts[k]));
      Shape got = builder.typeOf(*parts[k].tensor()).shape;
      if (std::optional<Shape> both = broadcastShapes(want.shape, got); !both || *both != got)
        return invalid("{}: the gradient of '{}' has shape {} but the input has {}", op.name.text(),
                       op.inputs[i].name.text(), toString(got), toString(want.shape));
      TG_ASSIGN_OR_RETURN(out[at], it.emitter().cast(*parts[k].tensor(), want.dtype));
    }
  }
  if (next < gradients.size())
    return invalid("{}: its @grad returns too many gradients: {}", op.name.text(), gradients.size());
  if (failure) failure->body = Span();
  return out;
}

StatusOr<TensorTypes> OperatorLibrary::Impl::infer(const Entry& e, std::span<const TensorType* const> inputs,
                                                   const Attributes& attributes, Failure* failure,
                                                   int64_t* budget) const {
  TypeBuilder builder(*this, budget);
  Values values;
  for (const TensorType* t : inputs) values.push_back(t ? builder.input(*t) : Value());
  TG_ASSIGN_OR_RETURN(Values out,
                      run(e, std::span<const Value>(values.data(), values.size()), attributes, builder, failure));
  TensorTypes types;
  for (Value v : out) types.push_back(builder.typeOf(v));
  return types;
}

// ---- TypeBuilder

namespace lang {

Values TypeBuilder::add(TensorTypes types) {
  Values out;
  for (size_t i = 0; i < types.size(); ++i)
    out.push_back({static_cast<int32_t>(types_.size()), static_cast<int32_t>(i)});
  types_.push_back(std::move(types));
  return out;
}

Value TypeBuilder::input(const TensorType& t) { return add({t})[0]; }

StatusOr<Values> TypeBuilder::primitive(Symbol name, std::span<const Value> inputs, const Attributes& attributes) {
  const Primitive* p = findPrimitive(name);
  if (!p) return internal("no primitive '{}'", name.text());
  absl::InlinedVector<TensorType, 4> types;
  for (Value v : inputs) types.push_back(typeOf(v));
  TG_ASSIGN_OR_RETURN(TensorTypes out, p->infer(types, attributes));
  return add(std::move(out));
}

StatusOr<Values> TypeBuilder::call(Symbol op, std::span<const Value> inputs, const Attributes& attributes) {
  auto it = library_.entries.find(op);
  if (it == library_.entries.end()) return internal("no operator '{}'", op.text());
  if (--*budget_ < 0) return invalid("{}: this looks into more than {} operators", op.text(), kMostCalls);
  absl::InlinedVector<TensorType, 6> types(inputs.size());
  absl::InlinedVector<const TensorType*, 6> pointers(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].present()) types[i] = typeOf(inputs[i]), pointers[i] = &types[i];
  OperatorLibrary::Impl::Failure at;
  StatusOr<TensorTypes> out = library_.infer(it->second, pointers, attributes, &at, budget_);
  if (!out.ok()) return locate(library_, *it->second.op, out.status(), at.body);
  return add(*std::move(out));
}

} // namespace lang
} // namespace tegula
