// Attributes, and what holds for every primitive of the list.
#include "Evaluate.h"

#include "absl/hash/hash.h"
#include <set>

namespace tegula {
namespace {

TEST(Attributes, OrderOfSettingDoesNotMatter) {
  Attributes a = {{"axis", int64_t{-1}}, {"keepdim", true}}, b = {{"keepdim", true}, {"axis", int64_t{-1}}};
  EXPECT_EQ(a, b);
  EXPECT_EQ(absl::Hash<Attributes>()(a), absl::Hash<Attributes>()(b));
  EXPECT_EQ(toString(a), "axis=-1, keepdim=true");
  b.set("axis", int64_t{2});
  EXPECT_NE(a, b);
  b.erase("axis");
  EXPECT_FALSE(b.has("axis"));
  EXPECT_EQ(b.getIntOr("axis", 7), 7);
}

TEST(Attributes, FloatsCompareByBits) {
  auto value = [](AttrValue v) { return Attributes{{"value", v}}; };
  EXPECT_EQ(value(kNan), value(kNan));
  EXPECT_NE(value(0.0), value(-0.0));
  EXPECT_NE(value(1.0), value(int64_t{1}));
  EXPECT_EQ(absl::Hash<Attributes>()(value(kNan)), absl::Hash<Attributes>()(value(kNan)));
}

TEST(Attributes, PrintingKeepsTypes) {
  EXPECT_EQ(toString(AttrValue(1.0)), "1.0");
  EXPECT_EQ(toString(AttrValue(1e-5)), "1e-05");
  EXPECT_EQ(toString(AttrValue(int64_t{1})), "1");
  EXPECT_EQ(toString(AttrValue(Shape{1, 2})), "[1,2]");
  EXPECT_EQ(toString(AttrValue(DType::BF16)), "bf16");
  EXPECT_EQ(toString(AttrValue(Symbol("erf"))), "erf");
  EXPECT_EQ(toString(AttrValue()), "none");
  EXPECT_EQ(toString(AttrValue(kInfinity)), "inf");
  EXPECT_EQ((Attributes{{"x", int64_t{3}}}).getFloat("x"), 3.0);
}

TEST(Primitives, TheListIsCompleteAndNamesAreUnique) {
  std::set<std::string_view> names;
  for (const Primitive* p : allPrimitives()) {
    EXPECT_TRUE(names.insert(p->name.text()).second) << p->name.text();
    EXPECT_EQ(findPrimitive(p->name), p);
    EXPECT_NE(p->infer, nullptr);
    EXPECT_EQ(p->evaluate != nullptr, TEGULA_REFERENCE != 0) << p->name.text();
  }
  EXPECT_EQ(names.size(), 54u); // the table in Primitive.h
  EXPECT_EQ(findPrimitive("no_such_primitive"), nullptr);
}

TEST(Primitives, NoRuleAcceptsOrCrashesOnNonsense) {
  for (const Primitive* p : allPrimitives()) {
    std::vector<TensorType> many(9, TensorType{DType::F32, {2, 2}});
    EXPECT_FALSE(p->infer(many, {{"nonsense", int64_t{1}}}).ok()) << p->name.text();
    if (p->inputs != 0) EXPECT_FALSE(p->infer({}, {}).ok()) << p->name.text();
  }
}

// Wide evaluation: the same arguments with f64 outputs give the unrounded value.
TEST(Primitives, WideOutputsAreNotRounded) {
  HostArray a = f32({1}, {1}), b = f32({1}, {3}), y = HostArray::zeros(DType::F64, {1});
  std::vector<HostArray> outputs = {y};
  ASSERT_TRUE(findPrimitive("div")->evaluate(std::vector<HostArray>{a, b}, {}, outputs).ok());
  EXPECT_EQ(y.get(0), 1.0 / 3);
}

} // namespace
} // namespace tegula
