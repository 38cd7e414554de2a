#include "versions.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(VersionsTest, PatchesWorkTogetherAndMinorVersionsDoNot) {
    EXPECT_TRUE(work_together("1.2.3", "1.2.9"));
    EXPECT_TRUE(work_together("0.1.0", "0.1.12-rc1"));
    EXPECT_TRUE(work_together("x", "x"));
    EXPECT_FALSE(work_together("1.2.3", "1.3.3"));
    EXPECT_FALSE(work_together("1.2.3", "2.2.3"));
    EXPECT_FALSE(work_together("1.2.3", "1.20.3"));
    EXPECT_FALSE(work_together("1.2.3", ""));
    EXPECT_FALSE(work_together("1.2", "1.2.0"));
    EXPECT_FALSE(work_together("a.b.c", "a.b.d"));
}

TEST(VersionsTest, SaysWhichAndWhatToDo) {
    EXPECT_EQ(
        complaint([] { require_version("client a", "1.3.0", "1.2.5"); }),
        "client a: couplet '1.3.0'; expected couplet 1.2.x, as 1.2.5 has it here. Install the same minor version at "
        "every party; patch versions may differ.");
    EXPECT_NE(complaint([] { require_version("client a", "", "1.2.5"); }).find("does not say which"),
              std::string::npos);
    EXPECT_NO_THROW(require_version("client a", "1.2.0", "1.2.5"));
}

}  // namespace
}  // namespace couplet::net
