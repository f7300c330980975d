// The types and attributes that a body is tried with at load: those of its `@example` (Example.cpp), and extents that
// Probe.cpp chooses. Private to lang.
#pragma once

#include "lang/Ast.h"
#include "lang/Diagnostics.h"
#include "primitives/Attributes.h"

namespace tegula::lang {

struct Trial {
  std::string text;  // for messages: "x f32[3,4]"
  std::string sizes; // for messages: why these, where Probe.cpp chose
  std::vector<TensorType> types;
  std::vector<bool> present;
  Attributes attributes;

  void add(const InputDecl& in, const TensorType& type) {
    types.push_back(type);
    present.push_back(true);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", in.name.text(), toString(type));
  }
  void addAbsent() {
    types.emplace_back();
    present.push_back(false);
  }
  std::vector<const TensorType*> pointers() const {
    std::vector<const TensorType*> p;
    for (size_t i = 0; i < types.size(); ++i) p.push_back(present[i] ? &types[i] : nullptr);
    return p;
  }
};

/// What the operator's `@example` says, by the rules of spec/problem-line.md. Nothing when it breaks one, which is
/// reported at the word.
std::optional<Trial> readExample(const OperatorDecl&, Diagnostics&);

} // namespace tegula::lang
