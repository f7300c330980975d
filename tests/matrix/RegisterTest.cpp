// Accumulators stay in registers: the loop of products of a fused kernel touches no stack, on any target.
#include "KernelRun.h"
#include "compiler/matrix/CompileKernel.h"
#include "compiler/matrix/KernelScheduler.h"

#include <gtest/gtest.h>
#include <sstream>

namespace tegula {
namespace {

/// gelu(a @ b), both results stored, as one group.
StatusOr<Group> productWithGelu(const std::shared_ptr<const OperatorLibrary>& library) {
  Group group{Graph(library), {}, {}, "gelu"};
  Graph& g = group.body;
  Shape m{64, 48}, n{48, 80}, c{64, 80};
  Value a = g.addInput("a", {DType::F32, m}), b = g.addInput("b", {DType::F32, n});
  TG_ASSIGN_OR_RETURN(Values product, g.addOperator("matmul", {{a, b}}, {}));
  auto number = [&](double value) -> StatusOr<Value> {
    TG_ASSIGN_OR_RETURN(Values x, g.addPrimitive("constant", {}, {{"value", value}, {"dtype", DType::F32}}));
    TG_ASSIGN_OR_RETURN(Values all, g.addPrimitive("broadcast", {{x[0]}}, {{"shape", c}, {"axes", Shape{}}}));
    return all[0];
  };
  TG_ASSIGN_OR_RETURN(Value half, number(0.5));
  TG_ASSIGN_OR_RETURN(Value one, number(1));
  TG_ASSIGN_OR_RETURN(Value root, number(0.70710678118654752));
  TG_ASSIGN_OR_RETURN(Values halved, g.addPrimitive("mul", {{product[0], half}}, {}));
  TG_ASSIGN_OR_RETURN(Values scaled, g.addPrimitive("mul", {{product[0], root}}, {}));
  TG_ASSIGN_OR_RETURN(Values erf, g.addPrimitive("erf", {{scaled[0]}}, {}));
  TG_ASSIGN_OR_RETURN(Values sum, g.addPrimitive("add", {{erf[0], one}}, {}));
  TG_ASSIGN_OR_RETURN(Values gelu, g.addPrimitive("mul", {{halved[0], sum[0]}}, {}));
  g.outputs() = {product[0], gelu[0]};
  group.inputLayouts = {Layout::rowMajor(m), Layout::rowMajor(n)};
  group.outputLayouts = {Layout::rowMajor(c), Layout::rowMajor(c)};
  return group;
}

/// Bodies of the innermost loops: from a label to a jump back to it, without a jump between.
std::vector<std::vector<std::string>> innermostLoops(const std::string& assembly) {
  std::vector<std::vector<std::string>> loops;
  std::vector<std::string> body; // since the last label or jump
  std::string label;
  std::istringstream in(assembly);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with(":")) {
      label = line.substr(0, line.size() - 1);
      body.clear();
      continue;
    }
    size_t word = line.find_first_not_of(" \t");
    if (word == std::string::npos || line[word] != 'j') {
      body.push_back(line);
      continue;
    }
    if (!label.empty() && line.ends_with(label) && line[line.size() - label.size() - 1] == '\t') loops.push_back(body);
    body.clear();
    label.clear();
  }
  return loops;
}

int64_t count(const std::vector<std::string>& lines, std::string_view word) {
  return std::ranges::count_if(lines, [&](const std::string& l) { return l.find(word) != std::string::npos; });
}

TEST(Registers, AccumulatorsOfAFusedProductStayInThem) {
  for (const std::string& name : targetNames()) {
    SCOPED_TRACE(name);
    auto target = targetByName(name);
    ASSERT_TRUE(target.ok()) << target.status();
    auto group = productWithGelu(testLibrary());
    ASSERT_TRUE(group.ok()) << group.status();
    matrix::KernelScheduler scheduler(*target, testLibrary());
    auto schedule = scheduler.schedule(*group);
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    const auto& source = dynamic_cast<const matrix::TileKernelSource&>(*schedule->dispatches[0].kernel);
    matrix::KernelTexts texts;
    auto image = matrix::compileKernel(source, *target, &texts);
    ASSERT_TRUE(image.ok()) << image.status();
    int64_t accumulators =
        source.schedule.registerRows * source.schedule.registerColumns / target->vectorElements(sizeof(float));
    int found = 0;
    for (const std::vector<std::string>& body : innermostLoops(texts.stages.assembly)) {
      bool loads = count(body, "vbroadcastss") + count(body, "to16}") >= source.schedule.registerRows;
      if (count(body, "vfmadd231ps") != accumulators || !loads) continue; // polynomials are chains, not products
      ++found;
      EXPECT_EQ(count(body, "[rsp"), 0) << texts.stages.assembly;
    }
    EXPECT_GE(found, 1) << "the loop of products was not found";
  }
}

} // namespace
} // namespace tegula
