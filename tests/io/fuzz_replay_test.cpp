#include "../fuzz/io_targets.hpp"
#include "replay.hpp"

namespace couplet {
namespace {

const std::filesystem::path tests = std::filesystem::path(COUPLET_TEST_DIR).parent_path();

TEST(FuzzReplay, Npy) { support::replay(tests, "npy", fuzz::npy); }
TEST(FuzzReplay, Model) { support::replay(tests, "model", fuzz::model); }
TEST(FuzzReplay, Csv) { support::replay(tests, "csv", fuzz::csv); }
TEST(FuzzReplay, Tns) { support::replay(tests, "tns", fuzz::tns); }

}  // namespace
}  // namespace couplet
