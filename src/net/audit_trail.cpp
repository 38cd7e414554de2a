#include "audit_trail.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/wire/hex.hpp"
#include "spelled_fields.hpp"

namespace couplet::net {
namespace {

// Of one party in one run: many times what the longest job has, and a few megabytes.
constexpr std::size_t most_lines = 20'000;
constexpr off_t tail_bytes = 4096;  ///< where the last line is looked for first

std::string utc_now() {
    const auto now = std::chrono::system_clock::now();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                       milliseconds % 1000);
}

/// The open file, locked against other writers while it lives.
class Locked {
  public:
    explicit Locked(const std::filesystem::path& path) : name_(path.string()) {
        descriptor_ = ::open(name_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (descriptor_ < 0) fail();
        if (::flock(descriptor_, LOCK_EX) == 0) return;
        ::close(descriptor_);
        fail();
    }
    ~Locked() { ::close(descriptor_); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

    off_t size() const {
        struct stat about {};
        return ::fstat(descriptor_, &about) == 0 ? about.st_size : 0;
    }
    /// What the next line says of the one before; empty for the first. One that a crash cut off is ended here.
    std::string previous() {
        const off_t end = size();
        if (end == 0) return "";
        for (off_t window = tail_bytes;; window *= 16) {
            const off_t from = std::max<off_t>(0, end - window);
            std::string text(static_cast<std::size_t>(end - from), '\0');
            if (::pread(descriptor_, text.data(), text.size(), from) != static_cast<ssize_t>(text.size())) fail();
            const bool cut_off = text.back() != '\n';
            if (!cut_off) text.pop_back();
            const std::size_t begin = text.rfind('\n');
            if (begin == std::string::npos && from > 0) continue;
            if (cut_off) append("\n");
            return sha256(std::string_view(text).substr(begin == std::string::npos ? 0 : begin + 1));
        }
    }
    /// All or nothing: half a line of a disk that is full is taken back.
    void append(std::string_view text) {
        const off_t before = size();
        const ssize_t written = ::write(descriptor_, text.data(), text.size());
        if (written == static_cast<ssize_t>(text.size())) return;
        const int why = written < 0 ? errno : ENOSPC;
        [[maybe_unused]] const int undone = ::ftruncate(descriptor_, before);
        errno = why;
        fail();
    }

  private:
    [[noreturn]] void fail() const {
        throw RunError({name_, std::strerror(errno), "an audit trail that can be written",
                        "Free some space or change its permissions: nothing goes on unrecorded."});
    }
    std::string name_;
    int descriptor_ = -1;
};

}  // namespace

struct Sha256::Context {
    std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> md{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
    if (!context_->md || EVP_DigestInit_ex(context_->md.get(), EVP_sha256(), nullptr) != 1) {
        throw RunError({"OpenSSL", "SHA-256 failed", "a working libcrypto", ""});
    }
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::span<const std::byte> bytes) { EVP_DigestUpdate(context_->md.get(), bytes.data(), bytes.size()); }

std::string Sha256::finish() {
    std::array<unsigned char, 32> digest{};
    EVP_DigestFinal_ex(context_->md.get(), digest.data(), nullptr);
    return wire::to_hex(digest);
}

std::string sha256(std::string_view text) {
    Sha256 hash;
    hash.add(text);
    return hash.finish();
}

std::string result_hash(const Features& features) {
    Sha256 hash;
    for (Index n = 0; n < features.train.order(); ++n) {
        const auto core = features.train.core(n);
        hash.add(std::as_bytes(std::span(core.data(), static_cast<std::size_t>(core.size()))));
    }
    return hash.finish();
}

std::string result_hash(const Matrix<double>& personal) {
    Sha256 hash;
    hash.add(std::as_bytes(std::span(personal.data(), static_cast<std::size_t>(personal.size()))));
    return hash.finish();
}

AuditTrail::AuditTrail(std::filesystem::path file, Spelling spelling)
    : file_(std::move(file)), spelling_(std::move(spelling)) {
    Locked opened(file_);
    ::chmod(file_.c_str(), 0600);
}

void AuditTrail::write(std::string_view event, const Fields& fields) {
    const std::lock_guard lock(mutex_);
    append(event, fields);
}

void AuditTrail::append(std::string_view event, const Fields& fields) {
    Locked opened(file_);
    const std::string previous = opened.previous();
    Fields line{{"time", utc_now()}, {"event", event}};
    if (fields.is_object()) line.update(spelled_fields(fields, spelling_));
    line["previous"] = previous;
    opened.append(line.dump(-1, ' ', false, Fields::error_handler_t::replace) + "\n");
}

void AuditTrail::write_once(const std::string& party, std::string_view event, const Fields& fields) {
    const std::lock_guard lock(mutex_);
    auto& known = known_[party];
    const std::string key =
        sha256(fmt::format("{} {}", event, fields.dump(-1, ' ', false, Fields::error_handler_t::replace)));
    if (known.contains(key)) {
        ++unwritten_[party];
        return;
    }
    if (known.size() >= most_lines) {
        throw InputError({party, fmt::format("more than {} different messages", most_lines),
                          "no more than can be recorded", "Start the job again."});
    }
    append(event, fields);
    known.insert(key);  // only now: what could not be written is tried again
}

std::map<std::string, std::size_t> AuditTrail::unwritten() const {
    const std::lock_guard lock(mutex_);
    return unwritten_;
}

void for_each_line(const std::filesystem::path& file, const std::function<void(const AuditTrail::Fields& line)>& use) {
    if (!std::filesystem::exists(file)) return;
    std::ifstream stream(file);
    if (!stream) {
        throw InputError(
            {file.string(), "not readable", "what this party has written down", "Ask as the user that it runs as."});
    }
    for (std::string line; std::getline(stream, line);) {
        const auto json = AuditTrail::Fields::parse(line, nullptr, false);
        if (json.is_object()) use(json);
    }
}

std::optional<std::size_t> first_broken_line(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string before;
    std::string line;
    for (std::size_t number = 1; std::getline(stream, line); ++number) {
        const auto json = nlohmann::json::parse(line, nullptr, false);
        // One that a crash cut off is none; the next line still says what it was. Whoever changed one may have made it
        // anything.
        const auto follows = [&] {
            if (!json.is_object()) return false;
            const auto previous = json.find("previous");
            return previous != json.end() && previous->is_string() &&
                   previous->get_ref<const std::string&>() == (number == 1 ? "" : sha256(before));
        };
        if (!json.is_discarded() && !follows()) return number;
        before = line;
    }
    return std::nullopt;
}

std::string broken_trail_text(const std::filesystem::path& file) {
    const auto line = first_broken_line(file);
    if (!line) return "";
    return fmt::format("{}: line {} does not follow from the one before: lines were changed or taken out",
                       file.string(), *line);
}

}  // namespace couplet::net
