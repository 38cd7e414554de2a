#include "../fuzz/table_targets.hpp"
#include "replay.hpp"

namespace couplet {
namespace {

const std::filesystem::path tests = std::filesystem::path(COUPLET_TEST_DIR).parent_path();

TEST(FuzzReplay, TableCsv) { support::replay(tests, "table_csv", fuzz::table_csv); }
TEST(FuzzReplay, TableNdjson) { support::replay(tests, "table_ndjson", fuzz::table_ndjson); }
TEST(FuzzReplay, TableBuild) { support::replay(tests, "table_build", fuzz::table_build); }
TEST(FuzzReplay, Vocabulary) { support::replay(tests, "vocabulary", fuzz::vocabulary); }

}  // namespace
}  // namespace couplet
