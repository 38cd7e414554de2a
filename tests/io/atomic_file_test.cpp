#include "couplet/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "io_test_support.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using testing::refusal;

class AtomicFileTest : public testing::IoTest {
  protected:
    void write(const std::string& name, std::string_view text, bool overwrite) {
        AtomicFile file(path(name), overwrite);
        file.write(bytes_of(text));
        file.commit();
    }
    std::string refusal_of(const std::string& name, bool overwrite = false) {
        return refusal(path(name), [&] { write(name, "new", overwrite); });
    }
};

constexpr const char* exists_already = "a file that exists already; expected a new name. Use --force to replace it.";

TEST_F(AtomicFileTest, AppearsOnlyWhenComplete) {
    {
        AtomicFile file(path("x"), false);
        file.write(bytes_of("one "));
        EXPECT_FALSE(fs::exists(path("x")));
        file.write(bytes_of("two"));
        file.commit();
    }
    EXPECT_EQ(get("x"), "one two");
    EXPECT_EQ(files(), std::vector<std::string>{"x"});
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
    put("x", "old");
    {
        AtomicFile file(path("x"), true);
        file.write(bytes_of("half"));
    }
    EXPECT_EQ(get("x"), "old");
    EXPECT_EQ(files(), std::vector<std::string>{"x"});
}

TEST_F(AtomicFileTest, ReplacesOnlyWhenAsked) {
    put("x", "old");
    EXPECT_EQ(refusal_of("x"), exists_already);
    EXPECT_EQ(get("x"), "old");
    write("x", "new", true);
    EXPECT_EQ(get("x"), "new");
    EXPECT_EQ(files(), std::vector<std::string>{"x"});
}

TEST_F(AtomicFileTest, LosesTheRaceForANameCleanly) {
    {
        AtomicFile file(path("x"), false);
        file.write(bytes_of("new"));
        put("x", "somebody else's");
        EXPECT_EQ(refusal(path("x"), [&] { file.commit(); }), exists_already);
    }
    EXPECT_EQ(get("x"), "somebody else's");
    EXPECT_EQ(files(), std::vector<std::string>{"x"});
}

TEST_F(AtomicFileTest, PermissionsFollowTheUmask) {
    write("x", "new", false);
    put("plain", "");
    EXPECT_EQ(fs::status(path("x")).permissions(), fs::status(path("plain")).permissions());
}

TEST_F(AtomicFileTest, RefusesPlacesThatCannotHoldIt) {
    EXPECT_EQ(refusal_of("no/x"), "no folder " + path("no") +
                                      "; expected an existing folder to write into. Create it with: mkdir -p " +
                                      path("no"));
    fs::create_directory(path("folder"));
    EXPECT_EQ(refusal_of("folder", true), "a folder; expected the name of a file to write. Choose another name.");
    EXPECT_EQ(refusal_of("folder/", true), "a folder; expected the name of a file to write");
    EXPECT_EQ(refusal("", [] { require_output("", false); }), "an empty name; expected the name of a file to write");
    EXPECT_EQ(refusal("/dev/null", [] { require_output("/dev/null", true); }),
              "something that is no regular file; expected the name of a file to write. Choose another name.");
    EXPECT_EQ(files(), std::vector<std::string>{"folder"});
}

TEST_F(AtomicFileTest, RefusesAFolderThatIsNotWritable) {
    fs::permissions(folder_,
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec | fs::perms::others_read);
    // Permissions do not bind root: look as nobody does.
    constexpr uid_t nobody = 65534;
    const bool root = ::geteuid() == 0;
    if (root) {
        ASSERT_EQ(::seteuid(nobody), 0);
    }
    const std::string message = refusal_of("x");
    if (root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    EXPECT_EQ(message,
              "folder " + folder_.string() +
                  " is not writable; expected a writable folder. Choose another place or change its permissions.");
}

TEST_F(AtomicFileTest, AFullDiskIsAFailureOfTheRun) {
    // A limit on file size stands for a full disk: both make write() fail halfway.
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit tiny{4096, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
    std::string message;
    try {
        write("x", std::string(10000, 'x'), false);
    } catch (const RunError& error) {
        message = error.what();
    }
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_EQ(message, path("x") + ": writing failed: File too large; expected a disk that takes all the bytes");
    EXPECT_TRUE(files().empty());
}

TEST_F(AtomicFileTest, RequireOutputProtectsInputs) {
    put("in.npy", "data");
    fs::create_symlink(path("in.npy"), path("alias.npy"));
    fs::create_hard_link(path("in.npy"), path("twin.npy"));
    const std::vector<fs::path> inputs{path("missing.npy"), path("in.npy")};
    const std::string expected = "a file that is also an input; expected an output of its own. Choose another name.";
    for (const char* name : {"in.npy", "./in.npy", "alias.npy", "twin.npy"}) {
        EXPECT_EQ(refusal(path(name), [&] { require_output(path(name), true, inputs); }), expected);
    }
    EXPECT_EQ(refusal(path("in.npy"), [&] { require_output(path("in.npy"), false); }), exists_already);
    EXPECT_NO_THROW(require_output(path("in.npy"), true));
    EXPECT_NO_THROW(require_output(path("out.npy"), false, inputs));
    EXPECT_NO_THROW(require_output("out-in-current-folder.npy", false, inputs));
}

}  // namespace
}  // namespace couplet
