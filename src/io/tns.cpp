#include "couplet/io/tns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
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

}  // namespace

TnsEntries read_tns_entries(LineReader& lines, IndexBase base) {
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
        for (std::size_t n = 0; n + 1 < words.size(); ++n) {
            const Index i = parse_index(lines, n, words[n], smallest);
            zero_seen = zero_seen || i == 0;
            entries.sizes[n] = std::max(entries.sizes[n], i);
            entries.indices.push_back(i);
        }
        entries.values.push_back(parse_value(lines, words.size() - 1, words.back()));
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
    Index bytes = sizeof(double);
    bool fits = true;
    std::string sizes;
    for (const Index size : entries.sizes) {
        fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
        sizes += (sizes.empty() ? "" : "x") + std::to_string(size);
    }
    if (!fits || bytes > max_bytes) {
        throw InputError({where,
                          fmt::format("a sparse tensor of shape {}, which needs {} bytes as a dense one", sizes,
                                      fits ? std::to_string(bytes) : "more than 2^63"),
                          fmt::format("at most {} bytes", max_bytes), "Drop or merge indices, or raise the limit."});
    }
    auto tensor = Tensor<double>::zeros(Shape(entries.sizes));
    for (std::size_t e = 0; e < entries.values.size(); ++e) {
        tensor.data()[tensor.shape().offset(entries.index(e))] += entries.values[e];
    }
    return tensor;
}

}  // namespace couplet
