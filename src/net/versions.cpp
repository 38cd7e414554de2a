#include "versions.hpp"

#include <algorithm>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"

namespace couplet::net {
namespace {

/// "1.2" of "1.2.3" and "1.2.3-rc1"; empty when it is no version.
std::string minor_of(const std::string& version) {
    const std::size_t first = version.find('.');
    const std::size_t second = first == std::string::npos ? first : version.find('.', first + 1);
    const auto digits = [&](std::size_t from, std::size_t to) {
        return to > from && std::all_of(version.begin() + static_cast<std::ptrdiff_t>(from),
                                        version.begin() + static_cast<std::ptrdiff_t>(to),
                                        [](char c) { return c >= '0' && c <= '9'; });
    };
    if (second == std::string::npos || !digits(0, first) || !digits(first + 1, second)) return "";
    return version.substr(0, second);
}

}  // namespace

bool work_together(const std::string& one, const std::string& other) {
    return one == other || (!minor_of(one).empty() && minor_of(one) == minor_of(other));
}

void require_version(const std::string& who, const std::string& theirs, const std::string& own) {
    if (work_together(theirs, own)) return;
    throw InputError({who, theirs.empty() ? "a version of couplet that does not say which" : "couplet " + shown(theirs),
                      "couplet " + minor_of(own) + ".x, as " + own + " has it here",
                      "Install the same minor version at every party; patch versions may differ."});
}

}  // namespace couplet::net
