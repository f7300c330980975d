// The tables of names from elsewhere.
#include "lang/ForeignNames.h"
#include "lang/Diagnostics.h"
#include "tensor/DType.h"
#include <algorithm>
#include <span>

namespace tegula::lang {

namespace {

using Row = std::pair<std::string_view, std::string_view>;

constexpr Row kTypes[] = {{"float16", "f16"},       {"fp16", "f16"},
                          {"half", "f16"},          {"float32", "f32"},
                          {"fp32", "f32"},          {"single", "f32"},
                          {"float64", "f64"},       {"fp64", "f64"},
                          {"double", "f64"},        {"bfloat16", "bf16"},
                          {"bfloat", "bf16"},       {"int8", "i8"},
                          {"int16", "i16"},         {"short", "i16"},
                          {"int32", "i32"},         {"int64", "i64"},
                          {"long", "i64"},          {"uint8", "u8"},
                          {"byte", "u8"},           {"uint16", "u16"},
                          {"boolean", "bool"},      {"float8_e4m3fn", "f8e4m3"},
                          {"float8_e5m2", "f8e5m2"}};

constexpr Row kFunctions[] = {
    {"zeros", "full(shape, 0.0)"},
    {"ones", "full(shape, 1.0)"},
    {"empty", "full(shape, 0.0)"},
    {"ones_like", "full(x.shape, 1, x.dtype)"},
    {"full_like", "full(x.shape, value, x.dtype)"},
    {"arange", "iota((n,))"},
    {"cat", "concatenate(xs, axis)"},
    {"stack", "concatenate(xs, axis) of x[None]"},
    {"pow", "x ** y"},
    {"power", "x ** y"},
    {"square", "x ** 2"},
    {"relu", "maximum(x, 0)"},
    {"int", "cast(x, i64) for a tensor, and '//' for a whole quotient"},
    {"bool", "x != 0"},
    {"matmul", "a @ b"},
    {"dot", "a @ b"},
    {"fabs", "abs(x)"},
    {"absolute", "abs(x)"},
    {"softmax", "e = exp(x - max(x, axis, True)) and then e / sum(e, axis, True)"},
    {"sigmoid", "1 / (1 + exp(-x))"},
    {"amax", "max(x, axis)"},
    {"amin", "min(x, axis)"},
    {"argmax", "arg_max(x, axis)"},
    {"argmin", "arg_min(x, axis)"},
    {"cumsum", "scan(x, \"sum\", axis)"},
    {"cumprod", "scan(x, \"prod\", axis)"},
    {"expand", "broadcast_to(x, shape)"},
    {"view", "reshape(x, shape)"},
    {"permute", "transpose(x, permutation)"},
    {"unsqueeze", "x[None]"},
    {"gather", "take(x, indices, axis)"},
    {"clip", "minimum(maximum(x, low), high)"},
    {"isnan", "is_nan(x)"},
    {"isinstance", "'x is None' for an optional input; other kinds are known from the header"},
    {"enumerate", "for i in range(len(xs))"},
    {"zip", "for i in range(len(xs))"},
    {"print", "nothing in its place: a body is mathematics"}};

constexpr Row kMembers[] = {{"view", "reshape(x, shape)"},
                            {"flatten", "reshape(x, (-1,))"},
                            {"ravel", "reshape(x, (-1,))"},
                            {"permute", "transpose(x, permutation)"},
                            {"T", "transpose(x)"},
                            {"mT", "transpose(x)"},
                            {"t", "transpose(x)"},
                            {"to", "cast(x, dtype)"},
                            {"type", "cast(x, dtype)"},
                            {"astype", "cast(x, dtype)"},
                            {"float", "cast(x, f32)"},
                            {"half", "cast(x, f16)"},
                            {"long", "cast(x, i64)"},
                            {"int", "cast(x, i32)"},
                            {"size", "x.shape[axis]"},
                            {"shape", "x.shape[axis]"},
                            {"dtype", "x.dtype"},
                            {"ndim", "rank(x)"},
                            {"dim", "rank(x)"},
                            {"numel", "count(x)"},
                            {"unsqueeze", "x[None]"},
                            {"expand", "broadcast_to(x, shape)"},
                            {"detach", "stop_gradient(x)"},
                            {"item", "x; a tensor of rank 0 broadcasts"}};

constexpr Row kNames[] = {{"true", "True"}, {"false", "False"}, {"none", "None"},
                          {"null", "None"}, {"nil", "None"},    {"newaxis", "None"},
                          {"NaN", "nan"},   {"Inf", "inf"},     {"infinity", "inf"}};

constexpr Row kAnnotations[] = {{"Optional", "int | None, or Tensor[…] | None"},
                                {"Union", "T | None; a type that depends on something is A if … else B"},
                                {"integer", "int"},
                                {"boolean", "bool"},
                                {"string", "str"},
                                {"double", "float"},
                                {"number", "float"},
                                {"array", "Tensor[…]"},
                                {"ndarray", "Tensor[…]"},
                                {"list", "ints, or ints[2] for two"},
                                {"List", "ints, or ints[2] for two"},
                                {"tuple", "ints, or ints[2] for two; results are tuple[Tensor[…], …]"},
                                {"Tuple", "ints, or ints[2] for two; results are tuple[Tensor[…], …]"}};

constexpr std::string_view kModules[] = {"np", "numpy", "torch", "math", "jnp", "jax", "tf", "F", "nn", "tl", "cp"};

std::string_view find(std::span<const Row> table, std::string_view name) {
  for (auto [from, to] : table)
    if (from == name) return to;
  return {};
}

std::string write(std::string_view instead) {
  return instead.empty() ? std::string() : fmt::format("; write {}", instead);
}

} // namespace

std::string_view foreignType(std::string_view name) { return find(kTypes, name); }

std::string didYouMeanType(std::string_view name) {
  if (std::string_view t = foreignType(name); !t.empty()) return fmt::format("; did you mean '{}'?", t);
  std::vector<std::string_view> types;
  for (int i = 0; i <= static_cast<int>(DType::F64); ++i) types.push_back(tegula::name(static_cast<DType>(i)));
  return didYouMean(name, types);
}

std::string didYouMeanElementType(std::string_view name) {
  std::string hint = didYouMean(name, {"float", "int"});
  return hint.empty() || !foreignType(name).empty() ? didYouMeanType(name) : hint;
}

std::string didYouMeanForeignType(std::string_view name) {
  return foreignType(name).empty() ? std::string() : didYouMeanType(name);
}

bool isForeignModule(std::string_view name) {
  return std::find(std::begin(kModules), std::end(kModules), name) != std::end(kModules);
}

std::string insteadOfAnnotation(std::string_view name) { return write(find(kAnnotations, name)); }
std::string insteadOfFunction(std::string_view name) { return write(find(kFunctions, name)); }
std::string insteadOfMember(std::string_view name) { return write(find(kMembers, name)); }

std::string insteadOfName(std::string_view name) {
  std::string_view n = find(kNames, name);
  return n.empty() ? std::string() : fmt::format("; did you mean '{}'?", n);
}

} // namespace tegula::lang
