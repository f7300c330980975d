// Reading the words of problem lines.
#include "lang/ProblemText.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace tegula::lang {

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

StatusOr<std::pair<double, double>> parseRange(std::string_view text) {
  size_t dots = text.find("..");
  auto low = parseNumber<double>(text.substr(0, dots)), high = parseNumber<double>(text.substr(dots + 2));
  if (!low || !high || !(*low < *high) || !std::isfinite(*high - *low))
    return invalid("range {} is not low..high with finite numbers", text);
  return std::pair(*low, *high);
}

} // namespace

std::vector<std::string_view> problemWords(std::string_view line) {
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

std::optional<Shape> parseIntList(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  Shape list;
  if (text.empty()) return list;
  for (std::string_view part : split(text, ',')) {
    auto value = parseNumber<int64_t>(part);
    if (!value || list.rank() == kMaxRank) return std::nullopt;
    list.push_back(*value);
  }
  return list;
}

StatusOr<InputText> parseInputText(std::string_view name, std::string_view text, DType otherwise) {
  InputText input;
  std::vector<std::string_view> parts = split(text, ':');
  auto shape = parseIntList(parts[0]); // empty: rank 0
  if (!shape) return invalid("{}: shape {} is not a list of at most {} extents", name, parts[0], kMaxRank);
  input.shape = *shape;
  bool hasLayout = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    bool again = false;
    if (parts[i] == "t" || parts[i] == "e") {
      again = std::exchange(hasLayout, true);
      input.layout = parts[i] == "t" ? InputLayout::Transposed : InputLayout::Expanded;
    } else if (auto dtype = parseDType(parts[i])) {
      again = input.dtype.has_value();
      input.dtype = dtype;
    } else if (parts[i].find("..") != std::string_view::npos) {
      again = input.range.has_value();
      TG_ASSIGN_OR_RETURN(input.range, parseRange(parts[i]));
    } else
      return invalid("{}: {} is not t, e, a dtype or a range low..high", name, parts[i]);
    if (again)
      return invalid("{}: {} is one too many; an input has one layout, one dtype and one range", name, parts[i]);
  }
  if (!checkedElements(input.shape, sizeBytes(input.dtype.value_or(otherwise))))
    return invalid("{}: shape {} has a negative extent or is too large", name, parts[0]);
  return input;
}

StatusOr<AttrValue> parseAttributeText(std::string_view name, std::string_view type, std::string_view text) {
  std::optional<AttrValue> value;
  if (text == "none" && type != "str") return AttrValue();
  if (type.starts_with("ints")) {
    auto list = parseIntList(text);
    bool repeats = list && list->rank() == 1 && !text.starts_with('['); // one number stands for each axis
    if (repeats)
      value = (*list)[0];
    else if (list)
      value = *list;
  } else if (type.starts_with("int")) {
    if (auto whole = parseNumber<int64_t>(text)) value = *whole;
  } else if (type.starts_with("float")) {
    if (auto real = parseNumber<double>(text)) value = *real;
  } else if (type.starts_with("bool")) {
    if (text == "true" || text == "false") value = text == "true";
  } else if (type.starts_with("dtype")) {
    if (auto dtype = parseDType(text)) value = *dtype;
  } else
    value = Symbol(text);
  if (!value) return invalid("{}={}: expected a value of type {}", name, text, type);
  return *value;
}

std::optional<DType> statedType(const InputDecl& input) {
  if (input.type.alternatives.empty()) return std::nullopt;
  const DTypeRule& rule = input.type.alternatives[0].tensor.dtype;
  if (rule.kind == DTypeRule::Kind::Fixed) return rule.dtype;
  if (rule.kind == DTypeRule::Kind::Int) return DType::I64;
  return std::nullopt;
}

} // namespace tegula::lang
