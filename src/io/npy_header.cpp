#include "couplet/io/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/mapped_file.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr const char* save_again = "Save it again with numpy.save('x.npy', x.astype('<f8')).";
constexpr const char* write_again = "The file is truncated or damaged: write or copy it again.";

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads the Python literal {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } and nothing else.
class HeaderParser {
  public:
    HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

    NpyHeader parse() {
        NpyHeader header;
        bool has_descr = false;
        bool has_order = false;
        bool has_shape = false;
        const auto once = [&](bool& seen, std::string_view key) {
            if (std::exchange(seen, true)) fail(fmt::format("the key '{}' once", key));
        };
        require('{');
        while (!accept('}')) {
            const std::string_view key = string_literal();
            require(':');
            if (key == "descr") {
                once(has_descr, key);
                header.descr = descr();
            } else if (key == "fortran_order") {
                once(has_order, key);
                header.fortran_order = boolean();
            } else if (key == "shape") {
                once(has_shape, key);
                header.shape = shape();
            } else {
                fail("only the keys 'descr', 'fortran_order' and 'shape'");
            }
            if (!accept(',') && peek() != '}') fail("',' or '}'");
        }
        if (!has_descr || !has_order || !has_shape) fail("the keys 'descr', 'fortran_order' and 'shape'");
        skip_space();
        if (at_ != text_.size()) fail("nothing but spaces after '}'");
        return header;
    }

  private:
    [[noreturn]] void fail(const std::string& expected) const {
        throw InputError({where_,
                          fmt::format("a damaged .npy header at its byte {}: {}", at_, shown(text_.substr(at_))),
                          expected, "Save the array again with numpy.save."});
    }
    void skip_space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    }
    char peek() {
        skip_space();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool accept(char c) {
        if (peek() != c || at_ == text_.size()) return false;
        ++at_;
        return true;
    }
    void require(char c) {
        if (!accept(c)) fail(fmt::format("'{}'", c));
    }
    bool accept_word(std::string_view word) {
        skip_space();
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }
    std::string_view string_literal() {
        const char quote = peek();
        if (quote != '\'' && quote != '"') fail("a quoted string");
        const std::size_t begin = at_ + 1;
        const std::size_t end = text_.find(quote, begin);
        if (end == std::string_view::npos) fail("a closing quote");
        at_ = end + 1;
        return text_.substr(begin, end - begin);
    }
    std::string descr() {
        if (peek() == '[') {
            throw InputError({where_, "an array of records (structured dtype)", "float32 or float64 elements",
                              "Save one field, for example numpy.save('x.npy', x['name'].astype('<f8'))."});
        }
        return std::string(string_literal());
    }
    bool boolean() {
        if (accept_word("True")) return true;
        if (!accept_word("False")) fail("True or False");
        return false;
    }
    Index size() {
        skip_space();
        Index value = 0;
        const char* end = text_.data() + text_.size();
        const auto [next, error] = std::from_chars(text_.data() + at_, end, value);
        if (error == std::errc::result_out_of_range) fail("a mode size below 2^63");
        if (error != std::errc() || value < 0) fail("a mode size");
        at_ = static_cast<std::size_t>(next - text_.data());
        accept('L');  // Python 2 wrote long integers so.
        return value;
    }
    Shape shape() {
        require('(');
        const std::size_t begin = at_;
        std::vector<Index> sizes;
        Index product = 1;
        while (!accept(')')) {
            sizes.push_back(size());
            if (sizes.back() > 0 && __builtin_mul_overflow(product, sizes.back(), &product)) {
                at_ = begin;
                fail("a shape with fewer than 2^63 elements");
            }
            if (!accept(',') && peek() != ')') fail("',' or ')'");
        }
        return Shape(std::move(sizes));
    }

    std::string_view text_;
    const std::string& where_;
    std::size_t at_ = 0;
};

struct ItemType {
    char byte_order = '|';
    char kind = '?';
    Index size = 0;  ///< in bytes; for 'U' in characters of four bytes
};

std::optional<ItemType> parse_descr(std::string_view descr) {
    if (descr.empty()) return std::nullopt;
    ItemType type;
    if (std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
        type.byte_order = descr[0];
        descr.remove_prefix(1);
    }
    if (descr.empty()) return std::nullopt;
    type.kind = descr[0];
    descr.remove_prefix(1);
    if (type.kind == 'O') return type;
    // Dates carry their unit after the size: '<M8[ns]'.
    const auto [end, error] = std::from_chars(descr.data(), descr.data() + descr.size(), type.size);
    const bool complete = end == descr.data() + descr.size() || *end == '[';
    constexpr Index largest = std::numeric_limits<Index>::max() / 8;  // counted in bits by describe()
    if (error != std::errc() || !complete || type.size < 0 || type.size > largest) return std::nullopt;
    return type;
}

Index item_bytes(const std::optional<ItemType>& type) {
    if (!type) return 0;
    return type->kind == 'U' ? 4 * type->size : type->size;
}

std::string describe(const std::string& descr) {
    const auto type = parse_descr(descr);
    if (!type) return "elements of unknown type " + shown(descr);
    const std::string endian = type->byte_order == '>' ? "big-endian " : "";
    const auto named = [&](std::string_view name) {
        return fmt::format("{}{}{} elements ({})", endian, name, 8 * type->size, shown(descr));
    };
    switch (type->kind) {
        case 'f':
            return named("float");
        case 'i':
            return named("int");
        case 'u':
            return named("uint");
        case 'c':
            return named("complex");
        case 'b':
            return fmt::format("bool elements ({})", shown(descr));
        case 'O':
            return fmt::format("Python objects ({}), which need pickle", shown(descr));
        case 'S':
        case 'U':
            return fmt::format("text ({})", shown(descr));
        case 'M':
        case 'm':
            return fmt::format("dates or times ({})", shown(descr));
        default:
            return "elements of unknown type " + shown(descr);
    }
}

std::string promised_bytes(const NpyHeader& header) {
    Index bytes = 0;
    if (__builtin_mul_overflow(header.shape.size(), header.item_bytes, &bytes) ||
        __builtin_add_overflow(bytes, header.data_offset, &bytes)) {
        return "more than 2^63";
    }
    return std::to_string(bytes);
}

}  // namespace

const char* dtype_name(DType dtype) noexcept { return dtype == DType::f4 ? "float32" : "float64"; }

Index npy_data_offset(std::span<const std::byte> first, Index total_bytes, const std::string& where) {
    constexpr std::size_t short_preamble = 10;
    constexpr std::size_t long_preamble = 12;
    // NumPy itself stops at 10,000 bytes; this leaves room for old files and none for abuse.
    constexpr Index longest_header = 1 << 20;
    const std::string_view text = as_text(first);
    if (text.empty()) throw InputError({where, "an empty file", "a .npy array", write_again});
    if (!text.starts_with(magic.substr(0, std::min(text.size(), magic.size())))) {
        throw InputError({where, "a file that starts with " + shown(text.substr(0, magic.size())),
                          "a .npy array, which starts with '\\x93NUMPY'", "Save it with numpy.save."});
    }
    if (text.size() < short_preamble) {
        throw InputError(
            {where, fmt::format("{} bytes", total_bytes), "a .npy array of at least 10 bytes", write_again});
    }
    const auto byte = [&](std::size_t i) { return std::to_integer<Index>(first[i]); };
    const Index major = byte(6);
    if (major < 1 || major > 3 || byte(7) != 0) {
        throw InputError({where, fmt::format(".npy version {}.{}", major, byte(7)), "version 1.0, 2.0 or 3.0",
                          "Save it again with numpy.save."});
    }
    Index preamble = short_preamble;
    Index header_bytes = byte(8) | byte(9) << 8;
    if (major > 1) {
        if (text.size() < long_preamble) {
            throw InputError(
                {where, fmt::format("{} bytes", total_bytes), "a .npy array of at least 12 bytes", write_again});
        }
        preamble = long_preamble;
        header_bytes |= byte(10) << 16 | byte(11) << 24;
    }
    if (header_bytes > std::min(total_bytes - preamble, longest_header)) {
        throw InputError({where, fmt::format("{} bytes that promise a header of {} bytes", total_bytes, header_bytes),
                          fmt::format("a header inside the file and of at most {} bytes", longest_header),
                          write_again});
    }
    return preamble + header_bytes;
}

NpyHeader parse_npy_header(std::span<const std::byte> bytes, Index total_bytes, const std::string& where) {
    const Index offset = npy_data_offset(bytes, total_bytes, where);
    const std::size_t preamble = bytes[6] == std::byte{1} ? 10 : 12;
    const std::string_view literal = as_text(bytes).substr(preamble, static_cast<std::size_t>(offset) - preamble);
    NpyHeader header = HeaderParser(literal, where).parse();
    header.item_bytes = item_bytes(parse_descr(header.descr));
    header.data_offset = offset;
    return header;
}

void check_npy_size(const NpyHeader& header, Index total_bytes, const std::string& where) {
    const Index available = total_bytes - header.data_offset;
    const Index count = header.shape.size();
    const bool too_many = header.item_bytes > 0 && count > available / header.item_bytes;
    const std::string promise = fmt::format("{} bytes for shape {} of {}", promised_bytes(header),
                                            header.shape.to_string(), shown(header.descr));
    if (too_many) {
        throw InputError({where, fmt::format("{} bytes, while the header promises {}", total_bytes, promise),
                          "all the promised bytes", write_again});
    }
    if (count * header.item_bytes < available) {
        throw InputError({where, fmt::format("{} bytes, while the header promises only {}", total_bytes, promise),
                          "nothing after the array", "Save one array per file, or write the damaged file again."});
    }
}

DType require_tensor_header(const NpyHeader& header, const std::string& where) {
    const std::string_view descr = header.descr;
    const bool single = descr == "<f4" || descr == "=f4";
    if (!single && descr != "<f8" && descr != "=f8") {
        const auto type = parse_descr(descr);
        const char kind = type ? type->kind : '?';
        const char* remedy =
            kind == 'c'   ? "Save numpy.stack([x.real, x.imag], axis=-1) instead: one more mode of size 2, the last."
            : kind == 'O' ? "Encode what is text as numbers, then numpy.save('x.npy', x.astype('<f8'))."
            : kind == 'U' || kind == 'S' || kind == 'M' || kind == 'm' ? "Encode it as numbers first."
                                                                       : save_again;
        throw InputError({where, describe(header.descr), "real numbers", remedy});
    }
    const Index order = header.shape.order();
    if (order == 0) {
        throw InputError({where, "a scalar (order 0)", "a tensor of at least one mode", "Save numpy.atleast_1d(x)."});
    }
    if (order > max_order) {
        throw InputError({where, fmt::format("{} modes", order), fmt::format("at most {}", max_order),
                          "Merge modes with x.reshape(...)."});
    }
    for (Index n = 0; n < order; ++n) {
        if (header.shape[n] > 0) continue;
        throw InputError({where,
                          fmt::format("an empty tensor: mode {} of {} has size 0", n + 1, header.shape.to_string()),
                          "at least one index in every mode", "Check how the file was made."});
    }
    return single ? DType::f4 : DType::f8;
}

NpyHeader read_npy_header(const std::filesystem::path& path) {
    const MappedFile file(path);
    return parse_npy_header(file.bytes(), static_cast<Index>(file.bytes().size()), path.string());
}

std::string encode_npy_header(const std::string& descr, const Shape& shape) {
    constexpr std::size_t alignment = 64;
    constexpr std::size_t preamble = 10;
    std::string sizes;
    for (const Index size : shape.sizes()) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
    if (shape.order() == 1) sizes += ",";
    std::string literal = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
    const std::size_t unpadded = preamble + literal.size() + 1;
    literal.append((alignment - unpadded % alignment) % alignment, ' ');
    literal += '\n';
    std::string header(magic);
    header += {'\x01', '\x00', static_cast<char>(literal.size() & 0xFF), static_cast<char>(literal.size() >> 8)};
    return header + literal;
}

}  // namespace couplet
