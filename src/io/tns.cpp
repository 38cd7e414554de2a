#include "couplet/io/tns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "couplet/core/error.hpp"
#include "couplet/io/npy_header.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

constexpr const char* line_form = "a line of indices and one value: i_1 i_2 ... i_N value";

void split_words(std::string_view line, std::vector<std::string_view>& words) {
    constexpr std::string_view spaces = " \t";
    words.clear();
    line = line.substr(0, line.find('#'));
    for (;;) {
        const std::size_t begin = line.find_first_not_of(spaces);
        if (begin == std::string_view::npos) return;
        line.remove_prefix(begin);
        const std::size_t length = std::min(line.find_first_of(spaces), line.size());
        words.push_back(line.substr(0, length));
        line.remove_prefix(length);
    }
}

[[noreturn]] void refuse_word(const LineReader& lines, std::size_t position, std::string_view word,
                              const std::string& expected) {
    throw InputError({lines.name(),
                      fmt::format("line {}, field {} holds {}", lines.line_number(), position + 1, shown(word)),
                      expected, ""});
}

Index parse_index(const LineReader& lines, std::size_t position, std::string_view word, Index smallest) {
    constexpr Index largest = std::numeric_limits<Index>::max() / 2;
    Index value = 0;
    const char* const end = word.data() + word.size();
    const auto [next, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && next == end && value >= smallest && value <= largest) return value;
    refuse_word(lines, position, word, fmt::format("an index, counted from {}", smallest));
}

double parse_value(const LineReader& lines, std::size_t position, std::string_view word) {
    double value = 0;
    if (parse_number(word, value) == NumberText::number) return value;
    refuse_word(lines, position, word, "a number in the range of float64");
}

void check_order(const LineReader& lines, Index order, Index words, Index first_line) {
    if (order == 0 && (words < 2 || words - 1 > max_order)) {
        throw InputError({lines.name(), fmt::format("line {} has {} fields", lines.line_number(), words), line_form,
                          fmt::format("A tensor has 1 to {} modes.", max_order)});
    }
    if (order > 0 && words != order + 1) {
        throw InputError({lines.name(), fmt::format("line {} has {} fields", lines.line_number(), words),
                          fmt::format("{} as on line {}", order + 1, first_line), ""});
    }
}

/// Bytes of the dense tensor of these sizes; nothing when that is beyond 2^63.
std::optional<Index> dense_bytes(const std::vector<Index>& sizes) {
    Index bytes = sizeof(double);
    for (const Index size : sizes) {
        if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
    }
    return bytes;
}

std::string shape_of(const std::vector<Index>& sizes) {
    std::string shape;
    for (const Index size : sizes) shape += (shape.empty() ? "" : "x") + std::to_string(size);
    return shape;
}

void require_dense(const std::vector<Index>& sizes, Index max_bytes, const std::string& where,
                   const std::string& by_line) {
    const auto bytes = dense_bytes(sizes);
    if (bytes && *bytes <= max_bytes) return;
    throw InputError({where,
                      fmt::format("a sparse tensor of shape {}{}, which needs {} bytes as a dense one", shape_of(sizes),
                                  by_line, bytes ? std::to_string(*bytes) : "more than 2^63"),
                      fmt::format("at most {} bytes", max_bytes),
                      "Drop or merge indices, or split the file by patients."});
}

/// A line of fourteen bytes can claim gigabytes. Records of people are far denser than this; what is thinner has
/// identifiers in the place of indices.
void require_density(const TnsEntries& entries, const std::string& where) {
    constexpr Index numbers_per_entry = 10'000'000;
    constexpr Index always = Index{1} << 23;  // 64 MiB: no harm whatever it holds
    Index numbers = 1;
    for (const Index size : entries.sizes) numbers *= size;
    const auto count = static_cast<Index>(entries.values.size());
    if (numbers <= always || numbers / numbers_per_entry <= count) return;
    throw InputError({where,
                      fmt::format("{} {} in a tensor of shape {}, which has {} numbers as a dense one", count,
                                  count == 1 ? "entry" : "entries", shape_of(entries.sizes), numbers),
                      fmt::format("an entry for every {} numbers or fewer", numbers_per_entry),
                      "Number patients and codes from 1 without gaps; identifiers are no indices."});
}

/// Cells of the tensor so far; sizes are largest indices, which may count from 0. Nothing when that is beyond 2^63.
std::optional<Index> cells_so_far(const TnsEntries& entries) {
    Index cells = 1;
    for (const Index largest : entries.sizes) {
        if (__builtin_mul_overflow(cells, largest + 1, &cells)) return std::nullopt;
    }
    return cells;
}

/// Adds up entries of equal indices, of which there are more than cells. The first keeps its place, and values are
/// added in the order of the file, as a dense tensor would add them.
void merge_equal(TnsEntries& entries, Index cells) {
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> place(static_cast<std::size_t>(cells), none);
    const std::size_t width = entries.sizes.size();
    std::size_t kept = 0;
    for (std::size_t e = 0; e < entries.values.size(); ++e) {
        Index cell = 0;
        for (std::size_t n = 0; n < width; ++n) cell = cell * (entries.sizes[n] + 1) + entries.indices[e * width + n];
        std::size_t& first = place[static_cast<std::size_t>(cell)];
        if (first != none) {
            entries.values[first] += entries.values[e];
            continue;
        }
        first = kept;
        for (std::size_t n = 0; n < width; ++n) entries.indices[kept * width + n] = entries.indices[e * width + n];
        entries.values[kept++] = entries.values[e];
    }
    entries.indices.resize(kept * width);
    entries.values.resize(kept);
}

/// Merges equal entries once there are more than two for each cell and `spare` beyond: at least half of them go.
void bound_entries(TnsEntries& entries, Index spare) {
    const auto cells = cells_so_far(entries);
    if (!cells || *cells > std::numeric_limits<Index>::max() / 4) return;
    if (static_cast<Index>(entries.values.size()) > 2 * *cells + spare) merge_equal(entries, *cells);
}

}  // namespace

TnsEntries read_tns_entries(LineReader& lines, IndexBase base, const TnsLimits& limits) {
    TnsEntries entries;
    Index first_line = 0;
    const Index smallest = base == IndexBase::one ? 1 : 0;
    bool zero_seen = false;
    std::string_view line;
    for (std::vector<std::string_view> words; lines.next(line);) {
        split_words(line, words);
        if (words.empty()) continue;
        check_order(lines, entries.order(), static_cast<Index>(words.size()), first_line);
        if (entries.sizes.empty()) {
            entries.sizes.assign(words.size() - 1, 0);
            first_line = lines.line_number();
        }
        bool grown = false;
        for (std::size_t n = 0; n + 1 < words.size(); ++n) {
            const Index i = parse_index(lines, n, words[n], smallest);
            zero_seen = zero_seen || i == 0;
            grown = grown || i > entries.sizes[n];
            entries.sizes[n] = std::max(entries.sizes[n], i);
            entries.indices.push_back(i);
        }
        entries.values.push_back(parse_value(lines, words.size() - 1, words.back()));
        if (grown && limits.max_bytes < std::numeric_limits<Index>::max()) {
            require_dense(entries.sizes, limits.max_bytes, lines.name(),
                          fmt::format(" by line {}", lines.line_number()));
        }
        bound_entries(entries, limits.spare_entries);
    }
    if (entries.values.empty())
        throw InputError({lines.name(), "no entries", line_form, "Check how the file was made."});
    const bool from_zero = base == IndexBase::zero || (base == IndexBase::detect && zero_seen);
    if (from_zero) {
        for (Index& size : entries.sizes) ++size;
    } else {
        for (Index& i : entries.indices) --i;
    }
    return entries;
}

TnsEntries read_tns_entries(const std::filesystem::path& path, IndexBase base) {
    LineReader lines(path);
    return read_tns_entries(lines, base);
}

Tensor<double> to_dense(const TnsEntries& entries, Index max_bytes, const std::string& where) {
    require_dense(entries.sizes, max_bytes, where, "");
    require_density(entries, where);
    auto tensor = Tensor<double>::zeros(Shape(entries.sizes));
    for (std::size_t e = 0; e < entries.values.size(); ++e) {
        tensor.data()[tensor.shape().offset(entries.index(e))] += entries.values[e];
    }
    return tensor;
}

}  // namespace couplet
