#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "couplet/core/spelling.hpp"
#include "couplet/ctt/blocks.hpp"

namespace couplet::net {

/// Lines of messages.
inline constexpr const char* sent_event = "sent";
inline constexpr const char* received_event = "received";

/// SHA-256 of bytes that come in pieces.
class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    void add(std::span<const std::byte> bytes);
    void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
    /// Hexadecimal digits; call once.
    std::string finish();

  private:
    struct Context;
    std::unique_ptr<Context> context_;
};
std::string sha256(std::string_view text);
/// Of the numbers of all cores, little endian, in order: what any party can compute from its features.npz.
std::string result_hash(const Features& features);
std::string result_hash(const Matrix<double>& personal);

/// What a party did, for whoever asks later: one JSON object a line in a file that is only ever appended to, readable
/// by its owner. Every line holds the SHA-256 of the line before it (`previous`), so that one that was changed or taken
/// out from between others shows. The last ones can be taken away without a trace in the file: the trail of whoever was
/// at the other end still has them. May be used by several threads and processes.
class AuditTrail {
  public:
    using Fields = nlohmann::ordered_json;

    /// `spelling`: how those who read it write parameters.
    explicit AuditTrail(std::filesystem::path file, Spelling spelling = {});

    /// Throws RunError when the line cannot be kept: what is not recorded must not go on as if it were.
    void write(std::string_view event, const Fields& fields);
    /// The same for what a party can cause as often as it likes: once for equal fields, repetition is counted. Throws
    /// InputError for a party of which there are more lines already than any job has: nobody fills the disk, and nobody
    /// goes on unrecorded.
    void write_once(const std::string& party, std::string_view event, const Fields& fields);
    /// How often write_once() had the line already, by party; those without are left out.
    std::map<std::string, std::size_t> unwritten() const;

    const std::filesystem::path& file() const noexcept { return file_; }

  private:
    void append(std::string_view event, const Fields& fields);

    std::filesystem::path file_;
    Spelling spelling_;
    mutable std::mutex mutex_;
    std::map<std::string, std::set<std::string>> known_;  ///< hashes of the lines of each party
    std::map<std::string, std::size_t> unwritten_;
};

/// Calls `use` with every line that is one; none where there is no file. Throws InputError when it cannot be read.
void for_each_line(const std::filesystem::path& file, const std::function<void(const AuditTrail::Fields& line)>& use);
/// A field that the trail of another version may lack or have otherwise.
template <class T>
T field(const AuditTrail::Fields& line, const char* key, T otherwise) {
    try {
        return line.value(key, otherwise);
    } catch (const AuditTrail::Fields::exception&) {
        return otherwise;
    }
}

/// Number of the first line, from 1, that does not follow from the one before; nothing when all do.
std::optional<std::size_t> first_broken_line(const std::filesystem::path& file);
/// The same in words for whoever goes on writing to it; empty when all do.
std::string broken_trail_text(const std::filesystem::path& file);

}  // namespace couplet::net
