// Parsing and printing of problem lines.
#include "verify/Problem.h"

#include "base/NearestName.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace tegula {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  constexpr std::string_view kBlank = " \t\r";
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) return result;
    size_t end = std::min(line.find_first_of(kBlank), line.size());
    result.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

template <typename T> std::optional<T> number(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Shape> intList(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  Shape list;
  if (text.empty()) return list;
  for (std::string_view part : split(text, ',')) {
    auto value = number<int64_t>(part);
    if (!value || list.rank() == kMaxRank) return std::nullopt;
    list.push_back(*value);
  }
  return list;
}

StatusOr<std::pair<double, double>> parseRange(std::string_view text) {
  size_t dots = text.find("..");
  auto low = number<double>(text.substr(0, dots)), high = number<double>(text.substr(dots + 2));
  if (!low || !high || !(*low < *high) || !std::isfinite(*high - *low))
    return invalid("range {} is not low..high with finite numbers", text);
  return std::pair(*low, *high);
}

/// `3,67,5:t:bf16:0..4` after the equals sign.
Status parseInputText(std::string_view text, ProblemInput& input) {
  std::vector<std::string_view> parts = split(text, ':');
  auto shape = intList(parts[0]); // empty: rank 0
  if (!shape) return invalid("{}: shape {} is not a list of at most {} extents", input.name.text(), parts[0], kMaxRank);
  input.type.shape = *shape;
  bool hasLayout = false, hasDType = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    bool again = false;
    if (parts[i] == "t" || parts[i] == "e") {
      again = std::exchange(hasLayout, true);
      input.layout = parts[i] == "t" ? InputLayout::Transposed : InputLayout::Expanded;
    } else if (auto dtype = parseDType(parts[i])) {
      again = std::exchange(hasDType, true);
      input.type.dtype = *dtype;
    } else if (parts[i].find("..") != std::string_view::npos) {
      again = input.range.has_value();
      TG_ASSIGN_OR_RETURN(input.range, parseRange(parts[i]));
    } else
      return invalid("{}: {} is not t, e, a dtype or a range low..high", input.name.text(), parts[i]);
    if (again)
      return invalid("{}: {} is one too many; an input has one layout, one dtype and one range", input.name.text(),
                     parts[i]);
  }
  if (!checkedElements(input.type.shape, sizeBytes(input.type.dtype)))
    return invalid("{}: shape {} has a negative extent or is too large", input.name.text(), parts[0]);
  return OkStatus();
}

/// Attributes of primitives have no declared types: these are lists of ints even with one number.
bool isListAttribute(std::string_view name) {
  constexpr std::string_view kLists[] = {"axes",  "batch_a",  "batch_b", "contract_a", "contract_b", "dilation",
                                         "high",  "interior", "low",     "pad_high",   "pad_low",    "permutation",
                                         "shape", "sizes",    "starts",  "steps",      "strides"};
  return std::find(std::begin(kLists), std::end(kLists), name) != std::end(kLists);
}

AttrValue guessValue(std::string_view name, std::string_view text) {
  if (isListAttribute(name))
    if (auto list = intList(text)) return *list;
  if (text == "none") return std::monostate();
  if (text == "true" || text == "false") return text == "true";
  if (auto whole = number<int64_t>(text)) return *whole;
  if (auto real = number<double>(text)) return *real;
  if (auto dtype = parseDType(text)) return *dtype;
  if (auto list = intList(text)) return *list;
  return Symbol(text);
}

/// The text as a value of the declared type (`int`, `float`, `ints[2] | None`, …).
StatusOr<AttrValue> parseValue(const OperatorInfo::Attribute& attribute, std::string_view text) {
  std::string_view type = attribute.type;
  std::optional<AttrValue> value;
  if (text == "none" && type != "str") return AttrValue();
  if (type.starts_with("ints")) {
    auto list = intList(text);
    bool repeats = list && list->rank() == 1 && !text.starts_with('['); // one number stands for each axis
    if (repeats)
      value = (*list)[0];
    else if (list)
      value = *list;
  } else if (type.starts_with("int")) {
    if (auto whole = number<int64_t>(text)) value = *whole;
  } else if (type.starts_with("float")) {
    if (auto real = number<double>(text)) value = *real;
  } else if (type.starts_with("bool")) {
    if (text == "true" || text == "false") value = text == "true";
  } else if (type.starts_with("dtype")) {
    if (auto dtype = parseDType(text)) value = *dtype;
  } else
    value = Symbol(text);
  if (!value) return invalid("{}={}: expected a value of type {}", attribute.name.text(), text, attribute.type);
  return *value;
}

Status setAttribute(Problem& problem, const CallSignature& signature, std::string_view name, std::string_view text) {
  if (signature.isPrimitive) {
    problem.attributes.set(name, guessValue(name, text));
    return OkStatus();
  }
  std::vector<std::string_view> known;
  for (const OperatorInfo::Attribute& a : signature.attributes) {
    known.push_back(a.name.text());
    if (a.name.text() != name) continue;
    TG_ASSIGN_OR_RETURN(AttrValue value, parseValue(a, text));
    problem.attributes.set(a.name, value);
    return OkStatus();
  }
  for (const CallSignature::Input& input : signature.inputs) known.push_back(input.name.text());
  return invalid("{}: no input or attribute {}{}", problem.op.text(), name, didYouMean(name, known));
}

Status addInput(Problem& problem, const CallSignature::Input& declared, std::string_view text) {
  ProblemInput input;
  input.name = declared.name;
  input.present = true;
  input.type.dtype = declared.dtype.value_or(problem.dtype);
  TG_RETURN_IF_ERROR(parseInputText(text, input));
  problem.inputs.push_back(input);
  return OkStatus();
}

} // namespace

StatusOr<Problem> parseProblem(std::string_view line, const OperatorLibrary& library) {
  std::vector<std::string_view> parts = words(line);
  if (parts.empty()) return invalid("the problem line is empty; expected OP name=shape … dtype attr=value");
  Problem problem;
  problem.op = Symbol(parts[0]);
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(problem.op, library));
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  bool hasDType = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    size_t equals = parts[i].find('=');
    if (equals != std::string_view::npos) {
      pairs.emplace_back(parts[i].substr(0, equals), parts[i].substr(equals + 1));
    } else if (auto dtype = parseDType(parts[i])) {
      if (std::exchange(hasDType, true))
        return invalid("{}: {} is a second dtype; one input's own dtype is written {}", problem.op.text(), parts[i],
                       "name=shape:dtype");
      problem.dtype = *dtype;
    } else {
      return invalid("{}: {} is neither name=value nor a dtype", problem.op.text(), parts[i]);
    }
  }
  for (const CallSignature::Input& declared : signature.inputs) {
    size_t before = problem.inputs.size();
    for (auto it = pairs.begin(); it != pairs.end();) {
      bool more = declared.variadic || problem.inputs.size() == before;
      if (it->first != declared.name.text() || !more) {
        ++it;
        continue;
      }
      TG_RETURN_IF_ERROR(addContext(addInput(problem, declared, it->second), problem.op.text()));
      it = pairs.erase(it);
    }
    if (problem.inputs.size() > before || declared.variadic) continue;
    if (!declared.optional)
      return invalid("{}: input {} is missing; expected {}=shape", problem.op.text(), declared.name.text(),
                     declared.name.text());
    problem.inputs.emplace_back().name = declared.name;
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& [name, text] = pairs[i];
    bool isInput = std::ranges::any_of(signature.inputs, [&](auto& in) { return in.name.text() == name; });
    if (isInput || std::ranges::count(pairs, name, &std::pair<std::string_view, std::string_view>::first) > 1)
      return invalid("{}: {} is given more than once", problem.op.text(), name);
    if (name == "seed") {
      auto seed = number<uint64_t>(text);
      if (!seed) return invalid("seed={}: expected a count", text);
      problem.seed = *seed;
    } else {
      TG_RETURN_IF_ERROR(setAttribute(problem, signature, name, text));
    }
  }
  return problem;
}

namespace {

std::string listText(const Shape& list, std::string_view empty) {
  std::string text;
  for (int64_t x : list) text += fmt::format("{}{}", text.empty() ? "" : ",", x);
  return text.empty() ? std::string(empty) : text;
}

std::string inputText(const ProblemInput& input) {
  std::string text = listText(input.type.shape, "") + ":" + std::string(name(input.type.dtype));
  if (input.layout != InputLayout::Contiguous) text += input.layout == InputLayout::Transposed ? ":t" : ":e";
  if (input.range) text += fmt::format(":{}..{}", input.range->first, input.range->second);
  return text;
}

} // namespace

std::string toString(const Problem& problem) {
  std::string text(problem.op.text());
  for (const ProblemInput& input : problem.inputs) {
    if (!input.present) continue;
    text += fmt::format(" {}={}", input.name.text(), inputText(input));
  }
  text += fmt::format(" {}", name(problem.dtype));
  for (const auto& [attribute, value] : problem.attributes) {
    const Shape* list = std::get_if<Shape>(&value);
    text += fmt::format(" {}={}", attribute.text(), list ? listText(*list, "[]") : toString(value));
  }
  if (problem.seed != 1) text += fmt::format(" seed={}", problem.seed);
  return text;
}

StatusOr<TensorTypes> resultTypes(const Problem& problem, const OperatorLibrary& library) {
  TG_ASSIGN_OR_RETURN(CallSignature signature, signatureOf(problem.op, library));
  std::vector<TensorType> types;
  std::vector<const TensorType*> pointers;
  for (const ProblemInput& input : problem.inputs) types.push_back(input.type);
  if (signature.isPrimitive) return findPrimitive(problem.op)->infer(types, problem.attributes);
  for (size_t i = 0; i < types.size(); ++i) pointers.push_back(problem.inputs[i].present ? &types[i] : nullptr);
  TG_ASSIGN_OR_RETURN(TensorTypes results, library.infer(problem.op, pointers, problem.attributes));
  results.resize(static_cast<size_t>(signature.results)); // without residuals
  return results;
}

} // namespace tegula
