#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace couplet {

/// An output that exists completely or not at all: bytes go to a temporary name in the same folder, and
/// commit() makes them durable and gives them their name in one step. Destroyed without commit(), nothing is
/// left behind.
class AtomicFile {
  public:
    /// Throws InputError when the folder is missing or not writable, when something other than a regular file
    /// is in the way, or when the file exists and `overwrite` is false.
    /// `permissions` are cut by the umask as for any new file; 0600 keeps a secret.
    AtomicFile(std::filesystem::path path, bool overwrite, unsigned permissions = 0666);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// Appends; throws RunError when the disk is full or fails.
    void write(std::span<const std::byte> bytes);
    /// Where the bytes are until commit(), for writers that need a name. Such a writer may replace the file
    /// there.
    const std::filesystem::path& temporary_path() const noexcept { return temporary_; }
    /// Throws RunError when the disk fails, InputError when the name was taken meanwhile and `overwrite` is
    /// false.
    void commit();

  private:
    std::filesystem::path path_;
    std::filesystem::path temporary_;
    bool overwrite_;
    int descriptor_ = -1;
};

/// Checks up front what AtomicFile would refuse at the end of a long computation, and that `path` is none of
/// the `inputs` by whatever name. Throws InputError.
void require_output(const std::filesystem::path& path, bool overwrite,
                    std::span<const std::filesystem::path> inputs = {});

}  // namespace couplet
