// Shapes, layouts and host arrays: views of every kind read like the array they view.
#include "tensor/HostArray.h"

#include <gtest/gtest.h>

namespace tegula {
namespace {

HostArray counting(DType d, Shape s) {
  HostArray a(TensorType{d, s});
  for (int64_t i = 0; i < a.elements(); ++i) a.setInt(i, i);
  return a;
}

TEST(Shape, StridesAndCounts) {
  EXPECT_EQ(rowMajorStrides({2, 3, 4}), Shape({12, 4, 1}));
  EXPECT_EQ(rowMajorStrides({2, 0, 4}), Shape({4, 4, 1}));
  EXPECT_EQ(rowMajorStrides({}), Shape());
  EXPECT_EQ(checkedElements({2, 3}, 4), 6);
  EXPECT_EQ(checkedElements({}, 4), 1);
  EXPECT_EQ(checkedElements({5, 0}, 4), 0);
  EXPECT_FALSE(checkedElements({2, -1}, 4));
  EXPECT_FALSE(checkedElements({int64_t{1} << 31, int64_t{1} << 31}, 4));
  EXPECT_FALSE(checkedElements({int64_t{1} << 40, int64_t{1} << 40, 0}, 4));
  EXPECT_EQ(toString(TensorType{DType::F32, {2, 3}}), "f32[2,3]");
  EXPECT_EQ(toString(TensorType{DType::I64, {}}), "i64[]");
}

TEST(Shape, Broadcasting) {
  EXPECT_EQ(broadcastShapes({2, 1, 4}, {3, 1}), Shape({2, 3, 4}));
  EXPECT_EQ(broadcastShapes({}, {3}), Shape({3}));
  EXPECT_EQ(broadcastShapes({1}, {0}), Shape({0}));
  EXPECT_FALSE(broadcastShapes({2}, {3}));
  EXPECT_FALSE(broadcastShapes({2}, {0}));
}

TEST(Layout, FootprintsCountWhatIsTouched) {
  TensorType t{DType::F32, {3, 5}};
  EXPECT_EQ(footprintBytes(Layout::rowMajor(t.shape), t), 60);
  EXPECT_EQ(footprintBytes(Layout::strided({10, 2}), t), (20 + 8 + 1) * 4);
  EXPECT_EQ(footprintBytes(Layout::strided({5, -1}), t), 60);
  EXPECT_EQ(footprintBytes(Layout::strided({0, 1}), t), 20);
  EXPECT_EQ(footprintBytes(Layout::rowMajor({0, 5}), {DType::F32, {0, 5}}), 0);
  EXPECT_EQ(footprintBytes(Layout::blocked(1, 16, 2), t), 4 * 16 * 4);
  EXPECT_EQ(footprintBytes(Layout::blocked(0, 4, 2), {DType::BF16, {2, 3, 5}}), 2 * 4 * 6 * 2);
  EXPECT_EQ(toString(Layout::rowMajor(t.shape)), "strides[5,1]");
  EXPECT_EQ(toString(Layout::blocked(1, 32, 2)), "blocked[axis 1, 32x2]");
}

TEST(Layout, RowMajorIgnoresStridesOfExtentOne) {
  EXPECT_TRUE(isRowMajor(Layout::strided({99, 1}), {1, 4}));
  EXPECT_TRUE(isRowMajor(Layout::strided({7, 7}), {0, 4}));
  EXPECT_FALSE(isRowMajor(Layout::strided({1, 4}), {4, 4}));
  EXPECT_FALSE(isRowMajor(Layout::blocked(1, 4, 1), {4, 4}));
}

TEST(HostArray, ViewsReadLikeTheirArrays) {
  for (DType d : {DType::U8, DType::BF16, DType::F32, DType::F64, DType::I64}) {
    HostArray a = counting(d, {2, 3, 5});
    const int64_t order[] = {2, 0, 1};
    HostArray t = a.transpose(order);
    ASSERT_EQ(t.shape(), Shape({5, 2, 3}));
    EXPECT_FALSE(t.isContiguous());
    HostArray dense = t.contiguous();
    EXPECT_TRUE(dense.isContiguous());
    EXPECT_EQ(dense.toVector(), t.toVector());
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(t.getInt((i * 2 + j) * 3 + k), (j * 3 + k) * 5 + i);
    t.set(1, 7); // views share storage: [0,0,1] of the view is [0,1,0]
    EXPECT_EQ(a.get(5), 7);
  }
}

TEST(HostArray, ExpandRepeats) {
  HostArray row = counting(DType::F32, {3, 1});
  HostArray wide = row.expand({2, 3, 4});
  EXPECT_EQ(wide.strides(), Shape({0, 1, 0}));
  EXPECT_EQ(wide.get(2 * 4 + 3), 2);
  EXPECT_EQ(wide.contiguous().get(12 + 2 * 4 + 3), 2);
}

TEST(HostArray, NegativeStridesAndZeroSizes) {
  HostArray a = counting(DType::I32, {7});
  HostArray reversed = HostArray::wrap(a.type(), {-1}, a.as<int32_t>() + 6, nullptr);
  EXPECT_EQ(reversed.toIntVector(), (std::vector<int64_t>{6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(reversed.contiguous().getInt(1), 5);
  HostArray empty = HostArray::zeros(DType::F32, {3, 0});
  EXPECT_TRUE(empty.toVector().empty());
  EXPECT_EQ(empty.clone().shape(), Shape({3, 0}));
  EXPECT_EQ(HostArray::scalar(DType::F32, 2.5).get(0), 2.5);
}

TEST(HostArray, CopyFromConvertsIntoViews) {
  HostArray a = HostArray::zeros(DType::BF16, {2, 4});
  HostArray column = HostArray::wrap({DType::BF16, {2}}, {4}, a.as<uint16_t>() + 1, nullptr);
  column.copyFrom(HostArray::fromValues(DType::F64, {2}, std::vector<double>{1.5, -2}));
  EXPECT_EQ(a.toVector(), (std::vector<double>{0, 1.5, 0, 0, 0, -2, 0, 0}));
}

} // namespace
} // namespace tegula
