// Recording: types and errors at the call, equal programs give equal recordings, no heap once warm.
#include "runtime/Recorder.h"
#include "AllocationCount.h"
#include "TestCompiler.h"
#include "graph/Graph.h"
#include "runtime/Session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::HasSubstr;

class RecordingTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto lib = OperatorLibrary::loadEmbedded();
    ASSERT_TRUE(lib.ok()) << lib.status();
    library = *lib;
    SessionOptions options;
    options.cacheFolder = folder.path();
    options.fallback = SessionOptions::Fallback::Host;
    auto made = Session::create(options, library, nullptr);
    ASSERT_TRUE(made.ok()) << made.status();
    session = std::move(*made);
  }
  Recorder& recorder() { return session->recorder(); }
  std::string firstError() { return std::string(message(recorder().current().error)); }
  std::shared_ptr<const OperatorLibrary> library;
  test::TemporaryFolder folder;
  std::unique_ptr<Session> session;
};

TEST_F(RecordingTest, typesAreKnownAtOnce) {
  Tensor a = session->input(HostArray::zeros(DType::F32, {2, 3})),
         b = session->input(HostArray::zeros(DType::F32, {3}));
  Tensor y = matmul(a + b, transpose(a * b, {1, 0}));
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  EXPECT_EQ(cast(y, DType::BF16).dtype(), DType::BF16);
  EXPECT_EQ(slice(a, -1, 1, -1).shape(), (Shape{2, 1}));
  EXPECT_EQ((a * 2.0 + 1.0).dim(-1), 3);
  EXPECT_EQ(reshape(a, {6}).shape(), (Shape{6}));
  EXPECT_TRUE(recorder().current().error.ok()) << recorder().current().error;
}

TEST_F(RecordingTest, theFirstErrorIsKeptWithItsScope) {
  Tensor a = session->input(HostArray::zeros(DType::F32, {2, 3})),
         b = session->input(HostArray::zeros(DType::F32, {4}));
  {
    Scope layers(*session, "layers.0"), mlp(*session, "mlp");
    Tensor bad = a + b;
    EXPECT_TRUE(bad.present());
    EXPECT_EQ(bad.shape().rank(), 0);
    Tensor later = matmul(bad, a) + bad;
    EXPECT_EQ(later.shape().rank(), 0);
  }
  (void)call("no_such_operator", {a});
  EXPECT_THAT(firstError(), HasSubstr("layers.0.mlp: "));
  Status s = session->evaluate({});
  EXPECT_EQ(std::string(message(s)).find("no_such_operator"), std::string::npos) << s;
  EXPECT_TRUE(recorder().current().error.ok()) << "a new recording starts clean";
}

TEST_F(RecordingTest, refusesWhatCannotBe) {
  HostArray x = HostArray::zeros(DType::F32, {2, 3});
  auto errorOf = [&](auto record) {
    record(session->input(x));
    return std::string(message(session->evaluate({})));
  };
  EXPECT_THAT(errorOf([&](Tensor a) { (void)call("no_such_operator", {a}); }), HasSubstr("no operator or primitive"));
  EXPECT_THAT(errorOf([&](Tensor a) { (void)slice(a, 2, 0, 1); }), HasSubstr("axis 2 is outside [2,3]"));
  EXPECT_THAT(errorOf([&](Tensor a) { (void)slice(a, 1, 0, 4); }), HasSubstr("elements 0 to 4"));
  EXPECT_THAT(errorOf([&](Tensor a) { (void)(a + Tensor()); }), HasSubstr("absent"));
  EXPECT_THAT(errorOf([&](Tensor a) { (void)grad(a, std::vector<Tensor>{a}); }), HasSubstr("shape [2,3]"));
  int32_t state = session->addState("w", HostArray::zeros(DType::F32, {3}));
  EXPECT_THAT(errorOf([&](Tensor a) { session->assign(state, a); }),
              HasSubstr("assign w: the value is f32[2,3], the state f32[3]"));
  Tensor old = session->input(x);
  ASSERT_TRUE(session->evaluate({}).ok());
  EXPECT_THAT(errorOf([&](Tensor a) { (void)(a + old); }), HasSubstr("recorded before the last evaluate()"));
}

TEST_F(RecordingTest, equalProgramsGiveEqualRecordings) {
  int32_t w = session->addState("w", HostArray::zeros(DType::F32, {3}));
  auto program = [&](double number, double rate, int64_t rows) {
    Tensor a = session->input(HostArray::zeros(DType::F32, {rows, 3}));
    session->assign(w, session->read(w) * session->scalar(rate));
    (void)(a * number + session->read(w));
    Recording r = recorder().current();
    recorder().next();
    return r;
  };
  Recording first = program(2, 0.1, 4), same = program(2, 0.2, 4), number = program(3, 0.1, 4),
            shape = program(2, 0.1, 5);
  EXPECT_EQ(first.hash, same.hash) << "a host scalar is no part of the key";
  EXPECT_EQ(first.nodes, same.nodes);
  EXPECT_EQ(first.operands, same.operands);
  EXPECT_EQ(first.assigns, same.assigns);
  EXPECT_NE(first.hash, number.hash) << "a constant is";
  EXPECT_NE(first.hash, shape.hash);
}

TEST_F(RecordingTest, aReadAfterAnAssignSeesTheNewValue) {
  int32_t w = session->addState("w", HostArray::fromValues(DType::F32, {1}, std::vector<double>{1}));
  Tensor before = session->read(w);
  session->assign(w, before + 1.0);
  session->assign(w, session->read(w) * 10.0);
  Tensor after = session->read(w);
  Graph g = session->recordedGraph(std::vector<Tensor>{before, after}).value();
  EXPECT_EQ(g.assigns().size(), 1u);
  EXPECT_EQ(g.assigns()[0].value, g.outputs()[1]);
  EXPECT_EQ(g.node(g.outputs()[0].node).kind, Node::Kind::Input);
}

TEST_F(RecordingTest, theGraphHoldsOnlyWhatIsNeeded) {
  Tensor a = session->input(HostArray::zeros(DType::F32, {3})),
         unused = session->input(HostArray::zeros(DType::F32, {7}));
  (void)(unused + unused);
  Tensor y = a * a;
  Graph g = session->recordedGraph(std::vector<Tensor>{y}).value();
  EXPECT_EQ(g.inputs().size(), 1u);
  EXPECT_EQ(g.nodes().size(), 2u);
}

TEST_F(RecordingTest, aWarmRecordingAllocatesNothing) {
  if (test::heapAllocations() < 0) GTEST_SKIP() << "needs a build without sanitizers: they replace malloc";
  int32_t w = session->addState("w", HostArray::zeros(DType::F32, {8}));
  HostArray data = HostArray::zeros(DType::F32, {4, 8});
  int64_t allocations = -1;
  for (int step = 0; step < 3; ++step) {
    int64_t before = test::heapAllocations();
    Tensor x = session->input(data);
    for (int i = 0; i < 50; ++i) {
      Scope scope(*session, "block");
      x = (x + session->read(w)) * 0.5 + session->scalar(0.1 * step);
      x = transpose(reshape(x, {2, 2, 8}), {1, 0, 2});
      x = slice(reshape(x, {4, 8}), 0, 0, 4);
    }
    session->assign(w, reshape(slice(x, 0, 1, 2), {8}));
    allocations = test::heapAllocations() - before;
    recorder().next();
  }
  EXPECT_EQ(allocations, 0);
}

TEST_F(RecordingTest, streamsDependOnTheModulePathAndTheOrdinalOnly) {
  auto streams = [&] {
    std::vector<int64_t> s;
    for (const char* layer : {"layers.0", "layers.1"}) {
      Scope scope(*session, layer);
      s.push_back(session->randomStream());
      s.push_back(session->randomStream());
    }
    return s;
  };
  auto first = streams();
  ASSERT_TRUE(session->evaluate({}).ok());
  EXPECT_EQ(streams(), first);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::unique(first.begin(), first.end()), first.end()) << "all different";
  EXPECT_GE(first[0], 0);
}

} // namespace
} // namespace tegula
