#include "couplet/io/made_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include "io_test_support.hpp"

namespace couplet::testing {
namespace {

namespace fs = std::filesystem;

class MadeFolderTest : public IoTest {};

TEST_F(MadeFolderTest, RemovesWhatItMadeAndWhatStayedEmpty) {
    fs::create_directory(folder_ / "there");
    for (const char* name : {"there/a/b", "there/a/b/", "there"}) {
        const MadeFolder made(folder_ / name);
        EXPECT_TRUE(fs::is_directory(made.path()));
    }
    EXPECT_TRUE(fs::is_directory(folder_ / "there")) << "it was there before";
    EXPECT_TRUE(fs::is_empty(folder_ / "there"));
    {
        const MadeFolder made(folder_ / "there/a/b");
        put("there/a/result", "x");
    }
    EXPECT_FALSE(fs::exists(folder_ / "there/a/b"));
    EXPECT_TRUE(fs::exists(folder_ / "there/a/result"));
}

TEST_F(MadeFolderTest, RefusesWhereThereCanBeNone) {
    put("file", "x");
    EXPECT_THROW(MadeFolder(folder_ / "file"), InputError);
    EXPECT_THROW(MadeFolder(folder_ / "file/below"), InputError);
    EXPECT_THROW(MadeFolder(""), InputError);
}

/// For good, so in a process of its own.
TEST_F(MadeFolderTest, AreAllRemovedAtTheEndOfAProcess) {
    const pid_t child = ::fork();
    if (child == 0) {
        const MadeFolder one(folder_ / "one/deep");
        const MadeFolder other(folder_ / "other");
        put("one/deep/half", "x");
        put("other/result", "x");
        remove_made_folders([&] { fs::remove(folder_ / "one/deep/half"); });
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(fs::exists(folder_ / "one"));
    EXPECT_TRUE(fs::exists(folder_ / "other/result"));
}

}  // namespace
}  // namespace couplet::testing
