#include "couplet/core/error.hpp"

#include <utility>

namespace couplet {
namespace {

std::string sentence(const ErrorParts& parts) {
    std::string text = parts.where + ": " + parts.found;
    if (!parts.expected.empty()) text += "; expected " + parts.expected;
    if (!parts.remedy.empty()) text += ". " + parts.remedy;
    return text;
}

}  // namespace

Error::Error(ErrorParts parts) : std::runtime_error(sentence(parts)), parts_(std::move(parts)) {}

const char* version() noexcept { return COUPLET_VERSION; }

}  // namespace couplet
