#include "identifiers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace couplet {
namespace {

constexpr Index enough = 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_social_security_number(std::string_view text) {
    constexpr std::string_view form = "ddd-dd-dddd";
    return text.size() == form.size() && std::equal(text.begin(), text.end(), form.begin(), [](char c, char expected) {
               return expected == 'd' ? is_digit(c) : c == '-';
           });
}

std::string letters_of(std::string_view label) {
    std::string plain;
    for (const char c : label) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0) plain += static_cast<char>(std::tolower(byte));
    }
    return plain;
}

}  // namespace

bool names_identifier(std::string_view label) {
    const std::string plain = letters_of(label);
    for (const char* whole : {"id", "pid", "uid", "mrn", "ssn", "patient", "subject", "person"}) {
        if (plain == whole) return true;
    }
    for (const std::string whose : {"patient", "subject", "person", "record", "case", "study", "insurance"}) {
        for (const char* what : {"id", "number", "no", "nr"}) {
            if (plain == whose + what) return true;
        }
    }
    return false;
}

void ColumnWatch::see(std::string_view cell) {
    ++filled_;
    const bool digits = std::all_of(cell.begin(), cell.end(), is_digit);
    whole_ += digits ? 1 : 0;
    constexpr std::size_t many = 7;
    long_ += digits && cell.size() >= many ? 1 : 0;
    coded_ += is_social_security_number(cell) ? 1 : 0;
    if (repeated_) return;
    repeated_ = !seen_.emplace(cell).second;
    if (repeated_) seen_.clear();
}

std::optional<ColumnWatch::Doubt> ColumnWatch::doubt(const std::string& label, const std::string& unit) const {
    if (filled_ == 0) return std::nullopt;
    const std::string keep = fmt::format("{0}:number or {0}:category keeps it, if it is meant.", label);
    if (coded_ == filled_) {
        return Doubt{fmt::format("{} numbers written as social security numbers are", filled_),
                     "Leave it out by naming the columns that count in `modes`. " + keep};
    }
    const bool numbered = filled_ >= enough && whole_ == filled_ && !repeated_ && unit.empty();
    if (numbered && (names_identifier(label) || long_ == filled_)) {
        return Doubt{fmt::format("{} whole numbers, no two alike, as identifiers are", filled_),
                     "Leave it out by naming the columns that count in `modes`. " + keep};
    }
    return std::nullopt;
}

}  // namespace couplet
