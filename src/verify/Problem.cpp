// Parsing and printing of problem lines.
#include "verify/Problem.h"

#include "base/NearestName.h"
#include <algorithm>
#include <utility>

namespace tegula {
namespace {

/// Attributes of primitives have no declared types: these are lists of ints even with one number.
bool isListAttribute(std::string_view name) {
  constexpr std::string_view kLists[] = {"axes",  "batch_a",  "batch_b", "contract_a", "contract_b", "dilation",
                                         "high",  "interior", "low",     "pad_high",   "pad_low",    "permutation",
                                         "shape", "sizes",    "starts",  "steps",      "strides"};
  return std::find(std::begin(kLists), std::end(kLists), name) != std::end(kLists);
}

AttrValue guessValue(std::string_view name, std::string_view text) {
  if (isListAttribute(name))
    if (auto list = lang::parseIntList(text)) return *list;
  if (text == "none") return std::monostate();
  if (text == "true" || text == "false") return text == "true";
  if (auto whole = parseNumber<int64_t>(text)) return *whole;
  if (auto real = parseNumber<double>(text)) return *real;
  if (auto dtype = parseDType(text)) return *dtype;
  if (auto list = lang::parseIntList(text)) return *list;
  return Symbol(text);
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
    TG_ASSIGN_OR_RETURN(AttrValue value, lang::parseAttributeText(name, a.type, text));
    problem.attributes.set(a.name, value);
    return OkStatus();
  }
  for (const CallSignature::Input& input : signature.inputs) known.push_back(input.name.text());
  return invalid("{}: no input or attribute {}{}", problem.op.text(), name, didYouMean(name, known));
}

Status addInput(Problem& problem, const CallSignature::Input& declared, std::string_view text) {
  DType otherwise = declared.dtype.value_or(problem.dtype);
  TG_ASSIGN_OR_RETURN(lang::InputText input, lang::parseInputText(declared.name.text(), text, otherwise));
  problem.inputs.push_back(
      {declared.name, true, {input.dtype.value_or(otherwise), input.shape}, input.layout, input.range});
  return OkStatus();
}

} // namespace

StatusOr<Problem> parseProblem(std::string_view line, const OperatorLibrary& library) {
  std::vector<std::string_view> parts = lang::problemWords(line);
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
      auto seed = parseNumber<uint64_t>(text);
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
