#include "couplet/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>

#include "io_test_support.hpp"

namespace {

/// What this program asks of the disk, in order, while somebody records it. The functions below stand before those of
/// the C library for everything that is linked into this program; they do what those do, unless told to fail.
struct Disk {
    bool recording = false;
    std::vector<std::string> asked;
    std::function<int(const std::string& call, const std::string& name)> fail;  ///< an error number, 0 for none

    int ask(const char* call, const std::string& name) {
        if (!recording) return 0;
        asked.push_back(std::string(call) + " " + name);
        errno = fail ? fail(call, name) : 0;
        return errno;
    }
} disk;

std::string name_of(int descriptor) {
    char text[4096];
    const auto size = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), text, sizeof text);
    const std::string path(text, size > 0 ? static_cast<std::size_t>(size) : 0);
    struct stat about {};
    ::fstat(descriptor, &about);
    return path.substr(path.rfind('/') + 1) +
           (S_ISDIR(about.st_mode) ? "/" : " of " + std::to_string(about.st_size) + " bytes");
}

}  // namespace

extern "C" {
int fsync(int descriptor) {
    if (disk.ask("sync", name_of(descriptor)) != 0) return -1;
    return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
int rename(const char* from, const char* to) noexcept {
    if (disk.ask("rename", to) != 0) return -1;
    return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
    if (disk.ask("rename new", to) != 0) return -1;
    return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
int link(const char* from, const char* to) noexcept {
    if (disk.ask("link", to) != 0) return -1;
    return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}

namespace couplet {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using testing::refusal;

constexpr const char* exists_already = "a file that exists already; expected a new name. Use `force` to replace it.";

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
    /// Records what `action` asks of the disk, names of this folder and of temporary files made short.
    template <class Action>
    std::vector<std::string> asked_by(const Action& action) {
        disk = {.recording = true, .asked = {}, .fail = std::exchange(disk.fail, {})};
        action();
        disk.recording = false;
        std::vector<std::string> asked = std::exchange(disk.asked, {});
        for (std::string& line : asked) {
            const std::size_t at = line.find(folder_.string() + "/");
            if (at != std::string::npos) line.erase(at, folder_.string().size() + 1);
            const std::size_t own = line.find(folder_.filename().string() + "/");
            if (own != std::string::npos) line.replace(own, folder_.filename().string().size(), "FOLDER");
            const std::size_t temporary = line.find(".couplet-");
            if (temporary != std::string::npos) line.replace(temporary, line.find(".tmp") + 4 - temporary, "TEMPORARY");
        }
        return asked;
    }
    /// What a run that fails says.
    std::string failure_of(const std::string& name, bool overwrite) {
        std::string said;
        asked_by([&] {
            try {
                write(name, "new", overwrite);
            } catch (const RunError& error) {
                said = error.what();
            }
        });
        return said;
    }
    ~AtomicFileTest() override { disk = {}; }
};

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

/// A rename that reaches the disk before the bytes do leaves an empty file after a power cut; one whose folder is not
/// written leaves none.
TEST_F(AtomicFileTest, BytesAreOnTheDiskBeforeTheNameAndTheNameBeforeItReturns) {
    EXPECT_EQ(asked_by([&] { write("x", "four", false); }),
              (std::vector<std::string>{"sync TEMPORARY of 4 bytes", "rename new x", "sync FOLDER/"}));
    EXPECT_EQ(asked_by([&] { write("x", "seven!!", true); }),
              (std::vector<std::string>{"sync TEMPORARY of 7 bytes", "rename x", "sync FOLDER/"}));
    EXPECT_EQ(get("x"), "seven!!");
}

TEST_F(AtomicFileTest, ADiskThatDoesNotKeepTheBytesIsAFailure) {
    put("x", "old");
    const std::string expected =
        path("x") + ": writing failed: Input/output error; expected a disk that takes all the bytes";
    disk.fail = [](const std::string& call, const std::string&) { return call == "sync" ? EIO : 0; };
    EXPECT_EQ(failure_of("x", true), expected);
    EXPECT_EQ(get("x"), "old") << "not replaced by what may not be there";
    EXPECT_EQ(files(), std::vector<std::string>{"x"});
    disk.fail = [](const std::string& call, const std::string&) { return call == "rename" ? EIO : 0; };
    EXPECT_EQ(failure_of("x", true), expected);
    EXPECT_EQ(files(), std::vector<std::string>{"x"});
    disk.fail = [](const std::string& call, const std::string&) { return call == "rename new" ? EIO : 0; };
    EXPECT_EQ(failure_of("y", false), path("y") + expected.substr(path("x").size()));
    EXPECT_EQ(files(), std::vector<std::string>{"x"});
    disk.fail = [](const std::string&, const std::string& name) { return name.ends_with("/") ? EIO : 0; };
    EXPECT_EQ(failure_of("x", true), expected) << "the folder";
    disk.fail = [](const std::string& call, const std::string&) { return call == "sync" ? ENOSPC : 0; };
    EXPECT_EQ(failure_of("x", true),
              path("x") +
                  ": writing failed: No space left on device; expected a disk that takes all the "
                  "bytes. Free some space or write to another disk.");
}

/// Some file systems have nothing to synchronise and say so; some know no rename that does not replace.
TEST_F(AtomicFileTest, WorksOnFileSystemsThatCanDoLess) {
    disk.fail = [](const std::string& call, const std::string&) { return call == "sync" ? EINVAL : 0; };
    EXPECT_EQ(failure_of("a", false), "");
    for (const int code : {EINVAL, ENOSYS}) {
        const std::string name = "b" + std::to_string(code);
        const auto old = [code](const std::string& call, const std::string&) {
            return call == "rename new" ? code : 0;
        };
        disk.fail = old;
        EXPECT_EQ(asked_by([&] { write(name, "new", false); }),
                  (std::vector<std::string>{"sync TEMPORARY of 3 bytes", "rename new " + name, "link " + name,
                                            "sync FOLDER/"}));
        EXPECT_EQ(get(name), "new");
        // Somebody else takes the name in between.
        AtomicFile late(path("c" + std::to_string(code)), false);
        late.write(bytes_of("late"));
        put("c" + std::to_string(code), "first");
        disk.fail = old;
        asked_by([&] { EXPECT_EQ(refusal(path("c" + std::to_string(code)), [&] { late.commit(); }), exists_already); });
        EXPECT_EQ(get("c" + std::to_string(code)), "first");
    }
    disk.fail = [](const std::string& call, const std::string&) {
        return call == "rename new" ? EINVAL : call == "link" ? EPERM : 0;
    };
    EXPECT_EQ(failure_of("d", false),
              path("d") + ": writing failed: Operation not permitted; expected a disk that takes all the bytes");
    EXPECT_EQ(files(), (std::vector<std::string>{"a", "b22", "b38", "c22", "c38"})) << "no temporary file is left";
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
    for (const unsigned permissions : {0600U, 0640U, 0400U}) {
        AtomicFile file(path("own"), true, permissions);
        file.write(bytes_of("secret"));
        EXPECT_EQ(static_cast<unsigned>(fs::status(file.temporary_path()).permissions()), permissions)
            << "never readable by others, not even for a moment";
        file.commit();
        EXPECT_EQ(static_cast<unsigned>(fs::status(path("own")).permissions()), permissions);
    }
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
