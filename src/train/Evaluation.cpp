// Validation loss.
#include "train/Evaluation.h"

namespace tegula {

StatusOr<Evaluation> evaluateValidation(Session& session, const Gpt& model, const Dataset& data, int64_t B, int64_t T) {
  Evaluation out;
  double sum = 0;
  for (int64_t i = 0; i < data.validationBatches(B, T); ++i) {
    Batch batch = data.validationBatch(i, B, T);
    std::vector<Tensor> p = model.parameters().read(session);
    Tensor loss =
        model.loss(model.logits(p, model.hidden(p, session.input(batch.tokens))), session.input(batch.labels), "sum");
    const Tensor results[] = {loss};
    TG_RETURN_IF_ERROR(session.evaluate(results));
    TG_ASSIGN_OR_RETURN(double value, session.scalarValue(loss));
    sum += value;
    out.predictions += batch.counted;
  }
  if (out.predictions > 0) out.loss = sum / static_cast<double>(out.predictions);
  return out;
}

} // namespace tegula
