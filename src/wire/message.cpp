#include "couplet/wire/message.hpp"

#include "couplet/core/error.hpp"

namespace couplet::wire {
namespace {

constexpr std::array<std::string_view, 22> kind_names{"join",
                                                      "welcome",
                                                      "greeting",
                                                      "start",
                                                      "request for a sum",
                                                      "upload",
                                                      "sum",
                                                      "features",
                                                      "report",
                                                      "last word",
                                                      "refusal",
                                                      "state of merge",
                                                      "greeting of a peer",
                                                      "beat",
                                                      "state of a consensus",
                                                      "basis",
                                                      "merge",
                                                      "bulletin",
                                                      "sums of a completion",
                                                      "request of a secure sum",
                                                      "part of a secure sum",
                                                      "centring"};
static_assert(kind_names.size() == std::variant_size_v<Body>);

int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

std::string_view to_string(Kind kind) noexcept { return kind_names[static_cast<std::size_t>(kind)]; }

std::string to_hex(std::span<const std::uint8_t> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

JobId parse_job_id(std::string_view text) {
    JobId job{};
    bool good = text.size() == 2 * job.size();
    for (std::size_t i = 0; good && i < job.size(); ++i) {
        const int high = digit_value(text[2 * i]);
        const int low = digit_value(text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        if (good) job[i] = static_cast<std::uint8_t>(16 * high + low);
    }
    if (!good) throw InputError({"job", "'" + std::string(text.substr(0, 40)) + "'", "32 hexadecimal digits", ""});
    return job;
}

}  // namespace couplet::wire
