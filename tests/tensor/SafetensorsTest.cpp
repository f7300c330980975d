// Safetensors files: written ones read back, and every lie of a header is refused with the tensor's name.
#include "tensor/Safetensors.h"

#include "base/Files.h"
#include <cstring>
#include <gmock/gmock.h>

namespace tegula {
namespace {

using testing::HasSubstr;

class SafetensorsTest : public testing::Test {
protected:
  void TearDown() override { ASSERT_TRUE(removeAll(path_).ok()); }
  /// Writes a file with this header and `dataBytes` zeros, and gives the reader's complaint.
  std::string complaint(std::string_view header, size_t dataBytes) {
    uint64_t length = header.size();
    std::string text(reinterpret_cast<const char*>(&length), 8);
    text += header;
    text.resize(text.size() + dataBytes);
    return complaintOfFile(text);
  }
  std::string complaintOfFile(std::string_view bytes) {
    EXPECT_TRUE(writeFileAtomically(path_, bytes).ok());
    return std::string(message(readSafetensors(path_).status()));
  }
  std::string path_ = temporaryName(testing::TempDir() + "tegula-tensors");
};

TEST_F(SafetensorsTest, ReadsBackWhatWasWritten) {
  Safetensors out;
  out.metadata = {{"format", "pt"}, {"quote", "\"ü\""}};
  out.tensors["b"] = HostArray::fromValues(DType::BF16, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  out.tensors["a"] = HostArray::fromValues(DType::U8, {3}, std::vector<double>{7, 8, 9}); // leaves later ones unaligned
  out.tensors["empty"] = HostArray::zeros(DType::F32, {0, 4});
  out.tensors["scalar"] = HostArray::scalar(DType::F64, -0.0);
  const int64_t order[] = {1, 0};
  out.tensors["t"] = out.tensors["b"].transpose(order);
  ASSERT_TRUE(writeSafetensors(path_, out).ok());
  auto in = readSafetensors(path_);
  ASSERT_TRUE(in.ok()) << message(in.status());
  EXPECT_EQ(in->metadata, out.metadata);
  ASSERT_EQ(in->tensors.size(), out.tensors.size());
  for (const auto& [name, array] : out.tensors) {
    EXPECT_EQ(in->tensors[name].type(), array.type()) << name;
    EXPECT_EQ(in->tensors[name].toVector(), array.toVector()) << name;
  }
}

TEST_F(SafetensorsTest, RefusesHeadersThatLie) {
  EXPECT_THAT(complaintOfFile("abc"), HasSubstr("the file has 3 bytes"));
  EXPECT_THAT(complaintOfFile(std::string(8, '\xff') + "{}"),
              HasSubstr("the header claims 18446744073709551615 bytes"));
  EXPECT_THAT(complaint("{", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(complaint("[]", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(complaint(std::string(100000, '['), 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(complaint(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})", 8),
              HasSubstr("tensor w: bytes 0 to 16 lie outside the 8 bytes of data"));
  EXPECT_THAT(complaint(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), HasSubstr("lie outside"));
  EXPECT_THAT(complaint(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
              HasSubstr("tensor w: f32[3] does not fill its 8 bytes"));
  EXPECT_THAT(complaint(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 8),
              HasSubstr("does not fill its 0 bytes"));
  EXPECT_THAT(complaint(R"({"w":{"dtype":"Q4","shape":[2],"data_offsets":[0,8]}})", 8),
              HasSubstr("tensor w: dtype Q4 is not supported"));
  EXPECT_THAT(complaint(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), HasSubstr("not a count"));
  EXPECT_THAT(complaint(R"({"w":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})", 8),
              HasSubstr("9 axes"));
  EXPECT_THAT(complaint(R"({"w":{"dtype":"F32","data_offsets":[0,8]}})", 8), HasSubstr("gives no shape"));
  EXPECT_THAT(complaint(R"({"__metadata__":{"a":1}})", 0), HasSubstr("__metadata__ a is 1; expected a text"));
  EXPECT_THAT(complaint(R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                            "w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                        12),
              HasSubstr("tensor w: bytes 4 to 12 overlap those of v (0 to 8)"));
}

TEST_F(SafetensorsTest, RefusesTheReservedNameAndNamesTheFile) {
  Safetensors out;
  out.tensors["__metadata__"] = HostArray::scalar(DType::F32, 1);
  EXPECT_THAT(std::string(message(writeSafetensors(path_, out))), HasSubstr("__metadata__"));
  EXPECT_THAT(std::string(message(readSafetensors(path_).status())), HasSubstr(path_));
}

} // namespace
} // namespace tegula
