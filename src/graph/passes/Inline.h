// A Builder that records operators with a gradient or a tile kernel and inlines the others. What is differentiated more
// than once is primitives and operators without residuals: a @grad reads residuals, and nothing carries a gradient by
// those back.
#pragma once

#include "graph/Graph.h"

namespace tegula {

class InliningBuilder final : public Builder {
public:
  InliningBuilder(Graph& g, Symbol scope, bool inlinesResiduals = false)
      : graph_(g), scope_(scope), inlinesResiduals_(inlinesResiduals) {}

  static bool inlines(const OperatorLibrary& library, Symbol op, bool inlinesResiduals = false) {
    const OperatorInfo* info = library.find(op);
    return info && ((!info->hasGrad && !info->hasKernel) || (inlinesResiduals && info->residuals > 0));
  }

  TensorType typeOf(Value v) const override { return graph_.typeOf(v); }
  StatusOr<Values> primitive(Symbol name, std::span<const Value> in, const Attributes& a) override {
    return graph_.addPrimitive(name, in, a, scope_);
  }
  StatusOr<Values> call(Symbol op, std::span<const Value> in, const Attributes& a) override {
    if (!inlines(graph_.library(), op, inlinesResiduals_)) return graph_.addOperator(op, in, a, scope_);
    TG_ASSIGN_OR_RETURN(Attributes complete, graph_.library().completeAttributes(op, a));
    return graph_.library().instantiate(op, in, complete, *this);
  }

private:
  Graph& graph_;
  Symbol scope_;
  bool inlinesResiduals_;
};

} // namespace tegula
