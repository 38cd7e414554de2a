#include "../fuzz/coding_targets.hpp"
#include "replay.hpp"

namespace couplet {
namespace {

TEST(FuzzReplay, Integers) {
    support::replay(std::filesystem::path(COUPLET_TEST_DIR).parent_path(), "integers", fuzz::integers);
}

}  // namespace
}  // namespace couplet
