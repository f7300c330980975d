// The `@example` of an operator: a problem line against the header it stands over.
#include "lang/Declarations.h"
#include "lang/ForeignNames.h"
#include "lang/ProblemText.h"
#include "lang/Trial.h"
#include <algorithm>

namespace tegula::lang {

namespace {

class ExampleReader {
public:
  ExampleReader(const OperatorDecl& op, Diagnostics& diagnostics)
      : op_(op), diagnostics_(diagnostics), given_(op.inputs.size()) {}

  std::optional<Trial> read() {
    std::vector<std::string_view> words = problemWords(op_.example);
    if (!lineType(words)) return {};
    for (size_t i = 1; i < words.size(); ++i)
      if (words[i].find('=') != std::string_view::npos && !pair(words[i])) return {};
    for (size_t i = 0; i < op_.inputs.size(); ++i) {
      const InputDecl& in = op_.inputs[i];
      if (given_[i].empty() && !in.optional && !in.variadic)
        return wrong(op_.example, "it has no shape for the input '{}'; expected {}=shape", in.name.text(),
                     in.name.text());
      if (given_[i].empty() && in.optional) trial_.addAbsent();
      for (const TensorType& t : given_[i]) trial_.add(in, t);
    }
    trial_.text = op_.example;
    return std::move(trial_);
  }

private:
  /// Where a word of the example stands: in a plain string at its place, else the whole string.
  Span spanOf(std::string_view word) const {
    Span s = op_.exampleSpan;
    if (s.line != s.endLine || s.endColumn - s.column != static_cast<int32_t>(op_.example.size()) + 2) return s;
    s.column += 1 + static_cast<int32_t>(word.data() - op_.example.data());
    s.endColumn = s.column + static_cast<int32_t>(word.size());
    return s;
  }
  template <typename... A> std::nullopt_t wrong(std::string_view word, fmt::format_string<A...> text, A&&... args) {
    diagnostics_.report(DiagnosticId::ExampleMismatch, spanOf(word), "the example does not fit '{}': {}",
                        op_.name.text(), fmt::format(text, std::forward<A>(args)...));
    return std::nullopt;
  }

  /// The words without '=': the element type of the line. False when something was reported.
  bool lineType(std::span<const std::string_view> words) {
    bool found = false;
    for (std::string_view w : words.subspan(std::min<size_t>(words.size(), 1))) {
      if (w.find('=') != std::string_view::npos) continue;
      std::optional<DType> d = parseDType(w);
      if (!d) {
        wrong(w, "'{}' is neither name=value nor an element type{}", w, didYouMeanType(w));
        return false;
      }
      if (found) {
        wrong(w, "'{}' is a second element type; that of one input is written name=shape:dtype", w);
        return false;
      }
      found = true;
      dtype_ = *d;
    }
    return true;
  }

  /// False when something was reported.
  bool pair(std::string_view word) {
    std::string_view name = word.substr(0, word.find('=')), value = word.substr(name.size() + 1);
    int input = op_.inputIndex(name);
    bool again = input >= 0 ? !given_[input].empty() && !op_.inputs[input].variadic
                            : std::find(seen_.begin(), seen_.end(), name) != seen_.end();
    if (again) {
      wrong(word, "'{}' is given more than once", name);
      return false;
    }
    seen_.push_back(name);
    Status s = input >= 0 ? addInput(input, value) : name == "seed" ? seed(value) : attribute(name, value);
    if (!s.ok()) wrong(word, "{}", message(s));
    return s.ok();
  }

  Status addInput(int i, std::string_view value) {
    const InputDecl& in = op_.inputs[i];
    DType otherwise = statedType(in).value_or(dtype_);
    TG_ASSIGN_OR_RETURN(InputText text, parseInputText(in.name.text(), value, otherwise));
    given_[i].push_back({text.dtype.value_or(otherwise), text.shape});
    return OkStatus();
  }

  static Status seed(std::string_view value) {
    return parseNumber<uint64_t>(value) ? OkStatus() : invalid("seed={}: expected a count", value);
  }

  Status attribute(std::string_view name, std::string_view value) {
    const AttributeDecl* a = op_.attribute(name);
    if (!a) {
      std::vector<std::string_view> known;
      for (const InputDecl& in : op_.inputs) known.push_back(in.name.text());
      for (const AttributeDecl& d : op_.attributes) known.push_back(d.name.text());
      return invalid("'{}' is neither an input nor an attribute{}", name, didYouMean(name, known));
    }
    AttributeType plain{a->type.kind};
    TG_ASSIGN_OR_RETURN(AttrValue v, parseAttributeText(name, toString(plain), value));
    if (!convertAttribute(v, a->type))
      return invalid("{}={}: expected a value of type {}", name, value, toString(a->type));
    trial_.attributes.set(name, v);
    return OkStatus();
  }

  const OperatorDecl& op_;
  Diagnostics& diagnostics_;
  DType dtype_ = DType::F32;
  std::vector<std::vector<TensorType>> given_; // for each input
  std::vector<std::string_view> seen_;
  Trial trial_;
};

} // namespace

std::optional<Trial> readExample(const OperatorDecl& op, Diagnostics& diagnostics) {
  return ExampleReader(op, diagnostics).read();
}

} // namespace tegula::lang
