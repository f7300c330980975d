// The loader of code images: whole ones run, anything else is refused in words before it is mapped.
#include "TestImage.h"
#include "hal/Device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using test::addImage;
using test::sealed;
using ::testing::HasSubstr;

class ImageLoader : public ::testing::Test {
protected:
  void SetUp() override {
    auto backend = Backend::load("cpu");
    ASSERT_TRUE(backend.ok()) << backend.status();
    device = Device::open(*backend, 0, {.threads = 1}).value();
  }
  Status load(const std::vector<uint8_t>& image) { return device->loadKernel("probe", "cpu-image-1", image).status(); }
  std::string refusal(const std::vector<uint8_t>& image) {
    Status s = load(image);
    return s.ok() ? "(accepted)" : std::string(message(s));
  }
  static tg_cpu_image_header headerOf(const std::vector<uint8_t>& image) {
    tg_cpu_image_header h;
    std::memcpy(&h, image.data(), sizeof(h));
    return h;
  }
  std::shared_ptr<Device> device;
};

TEST_F(ImageLoader, acceptsAWholeImage) { EXPECT_TRUE(load(addImage()).ok()) << load(addImage()); }

TEST_F(ImageLoader, refusesEveryTruncation) {
  auto image = addImage();
  for (size_t size : {size_t(0), size_t(1), size_t(39), sizeof(tg_cpu_image_header), size_t(4096), image.size() - 1})
    EXPECT_FALSE(load({image.begin(), image.begin() + size}).ok()) << size << " bytes";
  auto longer = image;
  longer.push_back(0);
  EXPECT_THAT(refusal(longer), HasSubstr("should have 8192 bytes but has 8193"));
}

/// Past the header the checksum sees every byte; of the header, the fields before the layout are compared with what
/// they must be.
TEST_F(ImageLoader, refusesEveryFlippedByte) {
  auto image = addImage();
  auto flipped = [&](size_t i) {
    auto broken = image;
    broken[i] ^= 0x10;
    return load(broken);
  };
  for (size_t i = 0; i < offsetof(tg_cpu_image_header, code_offset); ++i) EXPECT_FALSE(flipped(i).ok()) << "byte " << i;
  for (size_t i = offsetof(tg_cpu_image_header, checksum); i < image.size(); i += i < 300 ? 1 : 61)
    EXPECT_FALSE(flipped(i).ok()) << "byte " << i;
}

TEST_F(ImageLoader, namesWhatIsWrong) {
  auto image = addImage();
  auto with = [&](auto change) {
    tg_cpu_image_header h = headerOf(image);
    change(h);
    return sealed(h, image);
  };
  EXPECT_THAT(refusal(with([](auto& h) { h.magic = 7; })), HasSubstr("no code image"));
  EXPECT_THAT(refusal(with([](auto& h) { h.version = 9; })), HasSubstr("version 9, this backend loads version 1"));
  EXPECT_THAT(refusal(with([](auto& h) { h.entry_offset = 0; })), HasSubstr("offsets"));
  EXPECT_THAT(refusal(with([](auto& h) { h.entry_offset = ~0ull; })), HasSubstr("offsets"));
  EXPECT_THAT(refusal(with([](auto& h) { h.code_bytes = ~0ull; })), HasSubstr("offsets"));
  EXPECT_THAT(refusal(with([](auto& h) { h.code_offset = 64; })), HasSubstr("offsets"));
  EXPECT_THAT(refusal(with([](auto& h) { h.constants_offset = 4096, h.constants_bytes = 1; })), HasSubstr("offsets"));
  EXPECT_THAT(refusal(with([](auto& h) { h.header_bytes = 1u << 30; })), HasSubstr("header"));
  EXPECT_THAT(refusal(with([](auto& h) { h.isa = 1ull << 40; })), HasSubstr("lacks"));
  auto damaged = image;
  damaged[5000] ^= 1;
  EXPECT_THAT(refusal(damaged), HasSubstr("checksum"));
}

TEST_F(ImageLoader, refusesAnotherFormat) {
  auto image = addImage();
  EXPECT_THAT(std::string(message(device->loadKernel("probe", "ptx", image).status())), HasSubstr("takes cpu-image-1"));
}

} // namespace
} // namespace tegula
