#include "checks.hpp"

#include <cmath>
#include <limits>
#include <string_view>

#include "couplet/core/error.hpp"
#include "couplet/core/utf8.hpp"

namespace couplet::wire {

void refuse(const std::string& who, const std::string& found, const std::string& expected) {
    throw InputError({who, found, expected, ""});
}

void put(Numbers* field, std::span<const Index> values) {
    for (const Index value : values) field->Add(static_cast<std::uint64_t>(value));
}

Index to_index(std::uint64_t value, const std::string& who, const char* what) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<Index>::max())) {
        refuse(who, std::string(what) + " of " + std::to_string(value), "fewer than 2^63");
    }
    return static_cast<Index>(value);
}

double finite(double value, const std::string& who, const char* what) {
    if (!std::isfinite(value)) refuse(who, std::string(what) + " of " + std::to_string(value), "a finite number");
    return value;
}

double squares(double value, const std::string& who, const char* what) {
    if (!(finite(value, who, what) >= 0)) {
        refuse(who, std::string(what) + " of " + std::to_string(value), "a number of at least 0");
    }
    return value;
}

double part(double value, const std::string& who, const char* what) {
    if (!(value >= 0 && value < 1)) {
        refuse(who, std::string(what) + " of " + std::to_string(value), "a number from 0 up to 1");
    }
    return value;
}

std::string text(const std::string& value, const std::string& who) {
    if (value.size() > most_text) {
        refuse(who, "a text of " + std::to_string(value.size()) + " bytes", "at most " + std::to_string(most_text));
    }
    // It ends in logs, in JSON and on terminals.
    for (std::string_view rest = value; !rest.empty();) {
        const CodePoint next = first_code_point(rest);
        if (next.length == 0) refuse(who, "a text that is not UTF-8", "plain text");
        if (is_control(next.value)) refuse(who, "a text with control characters", "plain text");
        rest.remove_prefix(next.length);
    }
    return value;
}

std::vector<Index> indices(const Numbers& values, const std::string& who, const char* what, int most) {
    if (values.size() > most) {
        refuse(who, std::to_string(values.size()) + " " + what, "at most " + std::to_string(most));
    }
    std::vector<Index> result;
    for (const std::uint64_t value : values) {
        result.push_back(to_index(value, who, what));
        if (result.back() < 1) refuse(who, std::string(what) + " of 0", "at least 1");
    }
    return result;
}

Shape modes_of(const Numbers& values, const std::string& who) {
    if (values.empty()) refuse(who, "no feature modes", "at least one");
    try {
        return Shape(indices(values, who, "modes", most_modes));
    } catch (const InputError& error) {
        refuse(who, error.parts().found, error.parts().expected);
    }
}

std::vector<Index> ranks_of(const Numbers& values, const Shape& modes, const std::string& who) {
    auto ranks = indices(values, who, "ranks", most_modes + 1);
    const Index order = modes.order();
    if (static_cast<Index>(ranks.size()) != order + 1 || ranks.back() != 1) {
        refuse(who, std::to_string(ranks.size()) + " ranks", std::to_string(order + 1) + ", the last of them 1");
    }
    for (Index n = 0; n < order; ++n) {
        const Index left = ranks[static_cast<std::size_t>(n)];
        const Index right = ranks[static_cast<std::size_t>(n) + 1];
        const Index above = left > std::numeric_limits<Index>::max() / modes[n] ? left : left * modes[n];
        const Index below = modes.product(n, order);
        if (left > below || right > above) {
            refuse(who,
                   "ranks " + std::to_string(left) + " and " + std::to_string(right) + " around a mode of " +
                       std::to_string(modes[n]),
                   "at most " + std::to_string(below) + " and " + std::to_string(above));
        }
    }
    return ranks;
}

Index counted(Index a, Index b, const std::string& who) {
    Index product = 0;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    refuse(who, std::to_string(a) + " times " + std::to_string(b) + " numbers", "as many as can be counted");
}

Index train_numbers(const Shape& modes, const std::vector<Index>& ranks, const std::string& who) {
    Index numbers = 0;
    for (Index n = 0; n < modes.order(); ++n) {
        const auto at = static_cast<std::size_t>(n);
        const Index core = counted(counted(ranks[at], modes[n], who), ranks[at + 1], who);
        if (__builtin_add_overflow(numbers, core, &numbers)) counted(core, std::numeric_limits<Index>::max(), who);
    }
    return numbers;
}

}  // namespace couplet::wire
