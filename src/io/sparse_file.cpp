#include "couplet/io/sparse_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/io/mapped_file.hpp"
#include "couplet/io/npy_header.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/schema_file.hpp"

namespace couplet {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr Index largest_index = std::numeric_limits<Index>::max() / 2;

/// The entries of some lines. Lines in any form but plain numbers are left to the reader that explains them.
struct Chunk {
    std::vector<Index> indices;
    std::vector<double> values;
    bool understood = true;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view next_word(std::string_view& line) {
    std::size_t begin = 0;
    while (begin < line.size() && is_blank(line[begin])) ++begin;
    std::size_t end = begin;
    while (end < line.size() && !is_blank(line[end])) ++end;
    const auto word = line.substr(begin, end - begin);
    line.remove_prefix(end);
    return word;
}

std::string_view next_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

Index count_words(std::string_view line) {
    Index words = 0;
    while (!next_word(line).empty()) ++words;
    return words;
}

bool parse_entry(std::string_view line, Index order, Chunk& chunk) {
    for (Index n = 0; n < order; ++n) {
        const auto word = next_word(line);
        Index value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc() || end != word.data() + word.size() || value < 0 || value > largest_index)
            return false;
        chunk.indices.push_back(value);
    }
    const auto word = next_word(line);
    double value = 0;
    if (word.empty() || parse_number(word, value) != NumberText::number) return false;
    chunk.values.push_back(value);
    return next_word(line).empty();
}

Chunk parse_chunk(std::string_view text, Index order) {
    Chunk chunk;
    chunk.values.reserve(text.size() / 8);
    chunk.indices.reserve(text.size() / 8 * static_cast<std::size_t>(order));
    while (!text.empty() && chunk.understood) {
        const auto line = next_line(text);
        auto rest = line;
        if (!next_word(rest).empty()) chunk.understood = parse_entry(line, order, chunk);
    }
    return chunk;
}

/// Pieces of whole lines.
std::vector<std::string_view> chunks_of(std::string_view text) {
    std::vector<std::string_view> chunks;
    while (!text.empty()) {
        std::size_t end = text.find('\n', std::min(chunk_bytes, text.size() - 1));
        end = end == std::string_view::npos ? text.size() : end + 1;
        chunks.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return chunks;
}

/// Entries of lines that are numbers and nothing else; nothing for any other text.
std::optional<TnsEntries> parse_plain(std::string_view text) {
    auto rest = text;
    std::string_view first;
    while (!rest.empty() && count_words(first) == 0) first = next_line(rest);
    const Index order = count_words(first) - 1;
    if (order < 1 || order > max_order) return std::nullopt;
    const auto pieces = chunks_of(text);
    std::vector<Chunk> chunks(pieces.size());
    parallel_for(static_cast<Index>(pieces.size()), [&](Index i) {
        const auto at = static_cast<std::size_t>(i);
        chunks[at] = parse_chunk(pieces[at], order);
    });
    TnsEntries entries;
    entries.sizes.assign(static_cast<std::size_t>(order), 0);
    for (Chunk& chunk : chunks) {
        if (!chunk.understood) return std::nullopt;
        entries.indices.insert(entries.indices.end(), chunk.indices.begin(), chunk.indices.end());
        entries.values.insert(entries.values.end(), chunk.values.begin(), chunk.values.end());
        chunk = {};
    }
    return entries;
}

/// As the reader of lines does it: indices count from 0 where one of them is 0, else from 1. False for a 0 among
/// indices that count from 1.
bool settle_base(TnsEntries& entries, IndexBase base) {
    const bool zero = std::ranges::find(entries.indices, Index{0}) != entries.indices.end();
    if (base == IndexBase::one && zero) return false;
    const Index shift = base == IndexBase::zero || (base == IndexBase::detect && zero) ? 0 : 1;
    const std::size_t order = entries.sizes.size();
    for (std::size_t i = 0; i < entries.indices.size(); ++i) {
        Index& index = entries.indices[i] -= shift;
        entries.sizes[i % order] = std::max(entries.sizes[i % order], index + 1);
    }
    return true;
}

SparseTensor to_sparse(TnsEntries entries, const std::string& name) {
    const auto count = static_cast<Index>(entries.values.size());
    const Index longest = 64 * count + 1'000'000;
    Index cells = 1;
    bool fits = true;
    std::string shape;
    for (const Index size : entries.sizes) {
        fits = fits && !__builtin_mul_overflow(cells, size, &cells);
        shape += (shape.empty() ? "" : "x") + std::to_string(size);
    }
    if (!fits) {
        throw InputError({name, fmt::format("a sparse tensor of shape {}", shape), "fewer than 2^63 cells",
                          "Drop or merge indices; identifiers are no indices."});
    }
    for (std::size_t n = 0; n < entries.sizes.size(); ++n) {
        if (entries.sizes[n] <= longest) continue;
        throw InputError({name, fmt::format("mode {} with {} indices for {} entries", n + 1, entries.sizes[n], count),
                          fmt::format("at most {}", longest),
                          "Number patients and codes from 1 without gaps; identifiers are no indices."});
    }
    return SparseTensor(Shape(std::move(entries.sizes)), entries.indices, std::move(entries.values));
}

bool is_gzip(std::span<const std::byte> bytes) {
    return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

}  // namespace

bool is_sparse_name(const std::string& path) { return path.ends_with(".tns") || path.ends_with(".tns.gz"); }

SparseTensor decode_sparse(std::span<const std::byte> text, const std::string& name, IndexBase base) {
    if (!is_gzip(text)) {
        auto entries = parse_plain({reinterpret_cast<const char*>(text.data()), text.size()});
        if (entries && settle_base(*entries, base)) return to_sparse(std::move(*entries), name);
    }
    LineReader lines(text, name);
    return to_sparse(read_tns_entries(lines, base), name);
}

SparseTensor read_sparse(const std::filesystem::path& path, IndexBase base) {
    const MappedFile file(path);
    file.expect_stream();
    SparseTensor tensor = decode_sparse(file.bytes(), path.string(), base);
    tensor.set_labels(labels_beside(path, tensor.shape()));
    return tensor;
}

}  // namespace couplet
