#include "suggest.hpp"

#include <algorithm>
#include <vector>

namespace couplet::cli {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Optimal string alignment; rows i - 2, i - 1 and i of the table.
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(above);
        above.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

namespace {

/// The only name that fulfils a condition.
template <class Condition>
std::optional<std::string> only(std::span<const std::string> names, const Condition& fits) {
    if (std::count_if(names.begin(), names.end(), fits) != 1) return {};
    return *std::find_if(names.begin(), names.end(), fits);
}

bool is_short_option(std::string_view name) { return name.size() == 2 && name.front() == '-'; }

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> names) {
    const std::string start = is_short_option(word) ? "-" + std::string(word) : std::string(word);
    const auto starts = [&](const std::string& name) { return start.size() > 1 && name.starts_with(start); };
    if (auto name = only(names, starts)) return name;
    if (is_short_option(word)) return {};  // one letter is no misspelling of another
    const auto ends = [&](const std::string& name) {
        return word.starts_with("--") && name.ends_with(word.substr(1)) && name != word;
    };
    if (auto name = only(names, ends)) return name;
    std::optional<std::string> best;
    std::size_t least = 0;
    for (const std::string& name : names) {
        if (is_short_option(name)) continue;
        const std::size_t distance = edit_distance(word, name);
        if (distance > std::max<std::size_t>(1, name.size() / 3)) continue;
        if (best && distance >= least) continue;
        best = name;
        least = distance;
    }
    return best;
}

}  // namespace couplet::cli
