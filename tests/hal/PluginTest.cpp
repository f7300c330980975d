// Plugins built out of tree, from include/ and backends/ alone, and loaded by path; politely refused when something is
// wrong.
#include "../backend/TestImage.h"
#include "hal/Device.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tegula {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A folder that holds copies of the public headers, the SDK and two backends, and nothing else of the project.
class Plugin : public ::testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / fmt::format("tegula-plugin-{}-{}", getpid(), count++);
    fs::create_directories(folder);
    fs::path source(TEGULA_SOURCE_DIR);
    fs::copy(source / "include", folder / "include", fs::copy_options::recursive);
    fs::copy(source / "backends", folder / "backends", fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(folder); }

  static void shell(const std::string& command) {
    int status = std::system((command + " > /dev/null").c_str());
    ASSERT_EQ(status, 0) << command;
  }
  /// Builds backends/NAME of the folder by its own CMakeLists.txt, as a user would.
  std::string build(const std::string& name) {
    fs::path out = folder / "build" / name;
    shell(fmt::format(
        "{} --no-warn-unused-cli -S {} -B {} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER={} -DCMAKE_CXX_COMPILER={}",
        TEGULA_CMAKE, (folder / "backends" / name).string(), out.string(), TEGULA_C_COMPILER, TEGULA_CXX_COMPILER));
    shell(fmt::format("{} --build {}", TEGULA_CMAKE, out.string()));
    return out / fmt::format("libtegula_backend_{}.so", name);
  }
  /// Compiles a C plugin whose text is the skeleton's after `change`.
  std::string variant(const std::string& name, const std::string& find, const std::string& replace) {
    std::ifstream in(folder / "backends/null/Backend.c");
    std::string text((std::istreambuf_iterator<char>(in)), {});
    size_t at = text.find(find);
    EXPECT_NE(at, std::string::npos) << find;
    text.replace(at, find.size(), replace);
    fs::path c = folder / (name + ".c"), so = folder / (name + ".so");
    std::ofstream(c) << text;
    shell(fmt::format("{} -std=c11 -shared -fPIC -fvisibility=hidden -I{}/include -I{}/backends -o {} {}",
                      TEGULA_C_COMPILER, folder.string(), folder.string(), so.string(), c.string()));
    return so;
  }
  static std::string refusal(const std::string& nameOrPath) {
    auto backend = Backend::load(nameOrPath);
    return backend.ok() ? "(accepted)" : std::string(message(backend.status()));
  }
  fs::path folder;
  static inline int count = 0;
};

TEST_F(Plugin, skeletonBuildsLoadsAndAdds) {
  auto backend = Backend::load(build("null"));
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->name(), "null");
  auto device = Device::open(*backend, 0, {}).value();
  EXPECT_TRUE(device->info().codeFormats.empty());
  EXPECT_THAT(std::string(message(device->loadKernel("k", "cpu-image-1", test::addImage()).status())),
              HasSubstr("takes none"));

  int64_t extents[] = {2, 3}, strides[] = {3, 1}, transposed[] = {1, 2};
  tg_tensor operands[] = {{TG_F32, 2, extents, strides}, {TG_F32, 2, extents, strides}, {TG_F32, 2, extents, strides}};
  tg_problem add{sizeof(add), "add", "", operands, 3, 1};
  EXPECT_TRUE(device->supports(add));
  tg_problem softmax = add;
  softmax.op = "softmax";
  EXPECT_FALSE(device->supports(softmax));
  EXPECT_FALSE(device->loadOperator(softmax, *std::make_unique<int64_t>()).ok());
  operands[1].strides = transposed;
  EXPECT_FALSE(device->supports(add));
  operands[1].strides = strides;

  int64_t scratch = -1;
  Kernel kernel = device->loadOperator(add, scratch).value();
  EXPECT_EQ(scratch, 0);
  Buffer a = device->allocate(24).value(), y = device->allocate(24).value();
  float values[] = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(a.write(0, values, 24).ok());
  CommandList list = device->createList().value();
  tg_binding bindings[] = {{a.handle(), 0}, {a.handle(), 0}, {y.handle(), 0}};
  tg_segment segment{bindings, nullptr, 3, 0, 1};
  tg_dispatch d{};
  d.size = sizeof(d), d.kernel = kernel.handle(), d.segments = &segment, d.segment_count = 1;
  ASSERT_TRUE(list.append(d).ok());
  ASSERT_TRUE(list.finish().ok());
  Queue queue = device->createQueue().value();
  ASSERT_TRUE(queue.execute(list).ok());
  float sums[6];
  ASSERT_TRUE(y.read(0, sums, 24).ok());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(sums[i], 2 * values[i]);
}

TEST_F(Plugin, cpuBackendAlsoWorksAsAPlugin) {
  if (!test::kCanRunTestImage) GTEST_SKIP() << "needs x86-64: the test image is machine code";
  auto backend = Backend::load(build("cpu"));
  ASSERT_TRUE(backend.ok()) << backend.status();
  auto device = Device::open(*backend, 0, {.threads = 2}).value();
  EXPECT_EQ(device->info().threads, 2);
  EXPECT_TRUE(device->takesFormat("cpu-image-1"));
  EXPECT_TRUE(device->loadKernel("add", "cpu-image-1", test::addImage()).ok());
}

TEST_F(Plugin, refusesAnotherMajorVersionNamingBoth) {
  std::string path = variant("major", ".version_major = TG_BACKEND_VERSION_MAJOR", ".version_major = 7");
  EXPECT_THAT(refusal(path), AllOf(HasSubstr("7.0"), HasSubstr("1.0"), HasSubstr("built for the host's version")));
}

TEST_F(Plugin, refusesAPluginThatIgnoresTheVersion) {
  std::string path =
      variant("ignores", "return tg_answer_query(request, reply, &table);",
              "static tg_backend t; t = table; t.version_major = 3; reply->backend = &t; (void)request; return TG_OK;");
  EXPECT_THAT(refusal(path), AllOf(HasSubstr("3.0"), HasSubstr("1.0")));
}

TEST_F(Plugin, acceptsAnotherMinorVersion) {
  EXPECT_EQ(refusal(variant("minor", ".version_minor = TG_BACKEND_VERSION_MINOR", ".version_minor = 9")), "(accepted)");
}

TEST_F(Plugin, refusesAMissingSymbol) {
  std::string path = variant("symbol", "tg_result tg_backend_query(", "tg_result some_other_name(");
  EXPECT_THAT(refusal(path), AllOf(HasSubstr("exports no symbol `tg_backend_query`"), HasSubstr("TG_BACKEND_EXPORT")));
}

TEST_F(Plugin, refusesAShortTable) {
  std::string path = variant("short", ".size = sizeof(tg_backend)", ".size = 40");
  EXPECT_THAT(refusal(path), AllOf(HasSubstr("its table has 40 bytes"), HasSubstr("sizeof(tg_backend)")));
}

TEST_F(Plugin, slotsPastTheTablesSizeAreNotSeen) {
  std::string path = variant("older", ".size = sizeof(tg_backend)", ".size = offsetof(tg_backend, supports)");
  auto backend = Backend::load(path);
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->table().supports, nullptr);
  EXPECT_EQ((*backend)->table().operator_load, nullptr);
}

TEST_F(Plugin, refusesANullRequiredSlot) {
  EXPECT_THAT(refusal(variant("slot", ".queue_copy = queue_copy", ".queue_copy = NULL")),
              HasSubstr("required slot `queue_copy`"));
}

// TG_OK without what was asked for breaks the protocol: a message, not a crash.
TEST_F(Plugin, handlesThatWereNotMadeAreErrors) {
  auto open = [&](const std::string& name, const std::string& find) -> StatusOr<std::shared_ptr<Device>> {
    auto backend = Backend::load(variant(name, find, "return TG_OK; " + find));
    if (!backend.ok()) return backend.status();
    return Device::open(*backend, 0, {});
  };
  auto text = [](const Status& s) { return std::string(message(s)); };
  EXPECT_THAT(text(open("device", "*device = calloc").status()),
              HasSubstr("`device_open` returned TG_OK but made nothing"));
  auto buffer = open("buffer", "b = calloc(1, sizeof(*b));"), queue = open("queue", "*queue = calloc"),
       event = open("event", "*event = calloc"), list = open("list", "*list = calloc");
  for (const auto* device : {&buffer, &queue, &event, &list}) ASSERT_TRUE(device->ok()) << device->status();
  EXPECT_THAT(text((*buffer)->allocate(8).status()), HasSubstr("`buffer_alloc` returned TG_OK but made nothing"));
  EXPECT_THAT(text((*queue)->createQueue().status()), HasSubstr("`queue_create` returned TG_OK but made nothing"));
  EXPECT_THAT(text((*event)->createEvent().status()), HasSubstr("`event_create` returned TG_OK but made nothing"));
  EXPECT_THAT(text((*list)->createList().status()), HasSubstr("`list_create` returned TG_OK but made nothing"));
}

TEST_F(Plugin, nullCodeFormatsAreRefused) {
  auto backend = Backend::load(variant("formats", "full.code_format_count = 0", "full.code_format_count = 2"));
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_THAT(std::string(message(Device::open(*backend, 0, {}).status())), HasSubstr("`code_formats` is null"));
}

TEST_F(Plugin, refusesWhatIsNoLibrary) {
  fs::path text = folder / "text.so";
  std::ofstream(text) << "not a library";
  EXPECT_THAT(refusal(text), HasSubstr("cannot be loaded"));
  EXPECT_THAT(refusal(folder / "absent.so"), HasSubstr("no such file"));
  EXPECT_THAT(refusal("gpu9000"), AllOf(HasSubstr("known are cpu"), HasSubstr("TEGULA_BACKEND_PATH")));
  EXPECT_THAT(refusal(""), HasSubstr("empty name"));
}

TEST_F(Plugin, isFoundByNameInTheSearchPath) {
  std::string path = build("null");
  setenv("TEGULA_BACKEND_PATH", fs::path(path).parent_path().c_str(), 1);
  EXPECT_EQ(refusal("null"), "(accepted)");
  EXPECT_THAT(Backend::names(), ::testing::ElementsAre("cpu", "null"));
  unsetenv("TEGULA_BACKEND_PATH");
}

TEST(Backends, cpuIsBuiltInBehindTheSameTable) {
  auto backend = Backend::load("cpu").value();
  EXPECT_EQ(backend->origin(), "built in");
  auto device = Device::open(backend, 0, {}).value();
  EXPECT_GE(device->info().threads, 1);
  EXPECT_GT(device->info().memoryBytes, 0);
  EXPECT_TRUE(device->info().hostVisible);
  EXPECT_FALSE(device->info().name.empty());
}

/// A host built later may ask with a longer info struct, an older one with a shorter: only what fits is written.
TEST(Backends, infoFillsOnlyWhatTheCallerKnows) {
  auto backend = Backend::load("cpu").value();
  auto device = Device::open(backend, 0, {}).value();
  tg_device_info info;
  std::memset(&info, 0x5a, sizeof(info));
  info.size = offsetof(tg_device_info, code_formats);
  tg_error error{sizeof(error), {}};
  ASSERT_EQ(backend->table().device_info(device->handle(), &info, &error), TG_OK);
  EXPECT_NE(info.name, nullptr);
  EXPECT_EQ(info.code_format_count, 0x5a5a5a5a);
}

} // namespace
} // namespace tegula
