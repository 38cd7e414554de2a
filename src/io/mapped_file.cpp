#include "couplet/io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

  private:
    int fd_;
};

std::string reason(int code) { return std::generic_category().message(code); }

[[noreturn]] void refuse_open(const std::string& where, int code) {
    if (code == ENOENT || code == ENOTDIR) {
        throw InputError({where, "no such file", "an existing file", "Check the spelling and the current folder."});
    }
    if (code == EACCES || code == EPERM) {
        throw InputError({where, "a file that may not be read", "a readable file", "Check its permissions."});
    }
    throw RunError({where, "opening failed: " + reason(code), "a readable file", ""});
}

std::string kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "a special file";
}

/// What to read in the place of a folder: the tensor that couplet table writes, or the first of those that are there.
std::string remedy_for(const std::filesystem::path& folder) {
    constexpr int most_looked_at = 10'000;
    std::string first;
    std::error_code failed;
    int looked_at = 0;
    for (std::filesystem::directory_iterator entry(folder, failed), end;
         !failed && entry != end && looked_at < most_looked_at; entry.increment(failed), ++looked_at) {
        const std::string name = entry->path().filename().string();
        if (entry->path().extension() != ".npy" || name.starts_with(".")) continue;
        if (name == "tensor.npy") return "Name the file in it: " + entry->path().string();
        if (first.empty() || name < first) first = name;
    }
    return first.empty() ? "Name the files in it." : "Name the files in it, such as " + (folder / first).string();
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
    const std::string where = path.string();
    // O_NONBLOCK: opening a pipe without a writer must fail below, not hang.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) refuse_open(where, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) refuse_open(where, errno);
    if (!S_ISREG(status.st_mode)) {
        throw InputError({where, kind_of(status.st_mode), "a regular file",
                          S_ISDIR(status.st_mode) ? remedy_for(path) : "Save the data to a file first."});
    }
    if (status.st_size == 0) return;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED)
        throw RunError({where, "mapping failed: " + reason(errno), "a file that can be mapped", ""});
    bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

void MappedFile::expect_stream() const noexcept {
    if (bytes_.empty()) return;
    void* data = const_cast<std::byte*>(bytes_.data());
    ::madvise(data, bytes_.size(), MADV_SEQUENTIAL);
    // Reading everything ahead helps only while it cannot push out what it has just read.
    const std::size_t memory =
        static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (bytes_.size() <= memory / 4) ::madvise(data, bytes_.size(), MADV_WILLNEED);
}

void MappedFile::release(Index first, Index count) const noexcept {
    const auto size = static_cast<Index>(bytes_.size());
    if (first < 0 || count <= 0 || first >= size) return;
    const Index page = ::sysconf(_SC_PAGESIZE);
    const Index end = first + std::min(count, size - first);
    const Index begin_page = (first + page - 1) / page * page;
    // The last page of the file is whole as far as the mapping is concerned.
    const Index end_page = end == size ? size : end / page * page;
    if (begin_page >= end_page) return;
    ::madvise(const_cast<std::byte*>(bytes_.data()) + begin_page, static_cast<std::size_t>(end_page - begin_page),
              MADV_DONTNEED);
}

}  // namespace couplet
