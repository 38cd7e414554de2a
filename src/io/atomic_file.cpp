#include "couplet/io/atomic_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"
#include "rename.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

std::string reason(int code) { return std::generic_category().message(code); }

[[noreturn]] void refuse_existing(const fs::path& path) {
    throw InputError({path.string(), "a file that exists already", "a new name", "Use `force` to replace it."});
}

[[noreturn]] void fail_writing(const fs::path& path, int code) {
    const char* remedy = code == ENOSPC || code == EDQUOT ? "Free some space or write to another disk." : "";
    throw RunError({path.string(), "writing failed: " + reason(code), "a disk that takes all the bytes", remedy});
}

/// Renames without replacing. False when the target exists.
bool rename_new(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno == EEXIST) return false;
    // Some network file systems know no RENAME_NOREPLACE; link() does not replace either.
    if (errno != EINVAL && errno != ENOSYS) fail_writing(to, errno);
    if (::link(from.c_str(), to.c_str()) == 0) {
        ::unlink(from.c_str());
        return true;
    }
    if (errno == EEXIST) return false;
    fail_writing(to, errno);
}

void sync_path(const fs::path& path, int flags, const fs::path& named) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
    if (descriptor < 0) fail_writing(named, errno);
    const int code = ::fsync(descriptor) == 0 ? 0 : errno;
    ::close(descriptor);
    // EINVAL: the file system has nothing to synchronise (some do so for folders).
    if (code != 0 && code != EINVAL) fail_writing(named, code);
}

/// Creates a file with a name of its own in `folder`.
int create_temporary(const fs::path& folder, unsigned permissions, fs::path& name) {
    for (;;) {
        name = temporary_name(folder, ".tmp");
        const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
}

}  // namespace

fs::path temporary_name(const fs::path& folder, const char* ending) {
    static std::atomic<unsigned> counter{0};
    return folder / (".couplet-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ending);
}

void move_into_place(const fs::path& from, const fs::path& to, bool overwrite) {
    if (overwrite) {
        if (::rename(from.c_str(), to.c_str()) != 0) fail_writing(to, errno);
    } else if (!rename_new(from, to)) {
        refuse_existing(to);
    }
}

void sync_folder(const fs::path& folder, const fs::path& named) { sync_path(folder, O_DIRECTORY, named); }

AtomicFile::AtomicFile(fs::path path, bool overwrite, unsigned permissions)
    : path_(std::move(path)), overwrite_(overwrite) {
    require_output(path_, overwrite);
    descriptor_ = create_temporary(folder_of(path_), permissions, temporary_);
    if (descriptor_ < 0) fail_writing(path_, errno);
}

AtomicFile::~AtomicFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail_writing(path_, errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

void AtomicFile::commit() {
    // By name: a writer that used temporary_path() may have put another file there.
    sync_path(temporary_, 0, path_);
    move_into_place(temporary_, path_, overwrite_);
    ::close(std::exchange(descriptor_, -1));
    sync_folder(folder_of(path_), path_);
}

void require_output(const fs::path& path, bool overwrite, std::span<const fs::path> inputs) {
    const std::string where = path.string();
    if (!path.has_filename()) {
        throw InputError({where, where.empty() ? "an empty name" : "a folder", "the name of a file to write", ""});
    }
    std::error_code ignored;
    const fs::path folder = folder_of(path);
    if (!fs::is_directory(folder, ignored)) {
        throw InputError({where, "no folder " + folder.string(), "an existing folder to write into",
                          "Create it with: mkdir -p " + folder.string()});
    }
    if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
        throw InputError({where, "folder " + folder.string() + " is not writable", "a writable folder",
                          "Choose another place or change its permissions."});
    }
    const bool is_input = std::any_of(inputs.begin(), inputs.end(),
                                      [&](const fs::path& input) { return fs::equivalent(path, input, ignored); });
    if (is_input) {
        throw InputError({where, "a file that is also an input", "an output of its own", "Choose another name."});
    }
    const fs::file_status status = fs::symlink_status(path, ignored);
    if (!fs::exists(status)) return;
    if (!fs::is_regular_file(fs::status(path, ignored))) {
        throw InputError({where, fs::is_directory(status) ? "a folder" : "something that is no regular file",
                          "the name of a file to write", "Choose another name."});
    }
    if (!overwrite) refuse_existing(path);
}

}  // namespace couplet
