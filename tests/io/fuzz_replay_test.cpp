#include "../fuzz/io_targets.hpp"
#include "io_test_support.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Target = int (*)(const std::uint8_t*, std::size_t);

/// Replays tests/fuzz/corpus/<name>; anything but a result or an InputError escapes and fails the test.
void replay(const std::string& name, Target target) {
    std::size_t inputs = 0;
    for (const auto& entry :
         fs::directory_iterator(fs::path(COUPLET_TEST_DIR).parent_path() / "fuzz" / "corpus" / name)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const std::vector<std::uint8_t> bytes(text.begin(), text.end());
        EXPECT_NO_THROW(target(bytes.data(), bytes.size())) << entry.path();
        ++inputs;
    }
    EXPECT_GE(inputs, 10u) << "the corpus of " << name << " is missing";
}

TEST(FuzzReplay, Npy) { replay("npy", fuzz::npy); }
TEST(FuzzReplay, Model) { replay("model", fuzz::model); }
TEST(FuzzReplay, Csv) { replay("csv", fuzz::csv); }
TEST(FuzzReplay, Tns) { replay("tns", fuzz::tns); }

}  // namespace
}  // namespace couplet
