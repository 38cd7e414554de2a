#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/fortran.hpp"
#include "couplet/io/mapped_file.hpp"
#include "couplet/io/memory_limit.hpp"
#include "couplet/io/npz.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

constexpr const char* damaged = "The file is truncated or damaged: write or copy it again.";

struct CloseArchive {
    void operator()(zip_t* archive) const { ::zip_discard(archive); }
};
struct CloseMember {
    void operator()(zip_file_t* file) const { ::zip_fclose(file); }
};
using ZipHandle = std::unique_ptr<zip_t, CloseArchive>;
using ZipFileHandle = std::unique_ptr<zip_file_t, CloseMember>;

ZipHandle open_archive(std::span<const std::byte> bytes, const std::string& name) {
    if (bytes.empty()) throw InputError({name, "an empty file", "an .npz archive", damaged});
    zip_error_t error;
    ::zip_error_init(&error);
    zip_source_t* source = ::zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source == nullptr) throw std::bad_alloc();
    ZipHandle archive(::zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
    if (archive == nullptr) {
        ::zip_source_free(source);
        const std::string why = ::zip_error_strerror(&error);
        ::zip_error_fini(&error);
        throw InputError({name, "no readable archive (" + why + ")", "an .npz archive", damaged});
    }
    return archive;
}

/// An array being read: the header first, then the elements.
class Member {
  public:
    Member(zip_t* archive, std::uint64_t position, Index total_bytes, std::string where)
        : file_(::zip_fopen_index(archive, position, 0)), total_bytes_(total_bytes), where_(std::move(where)) {
        if (file_ == nullptr) {
            throw InputError({where_, fmt::format("an unreadable member ({})", ::zip_strerror(archive)),
                              "a stored or deflated array", damaged});
        }
        constexpr Index preamble = 12;
        std::vector<std::byte> first(static_cast<std::size_t>(std::min(preamble, total_bytes_)));
        read(first);
        const auto already = static_cast<Index>(first.size());
        const Index offset = npy_data_offset(first, total_bytes_, where_);
        if (offset < already) throw InputError({where_, "an empty .npy header", "a dict", damaged});
        first.resize(static_cast<std::size_t>(offset));
        read(std::span(first).subspan(static_cast<std::size_t>(already)));
        header_ = parse_npy_header(first, total_bytes_, where_);
    }

    const NpyHeader& header() const { return header_; }
    const std::string& where() const { return where_; }
    void check_size() const { check_npy_size(header_, total_bytes_, where_); }

    void read(std::span<std::byte> into) {
        while (!into.empty()) {
            const zip_int64_t count = ::zip_fread(file_.get(), into.data(), into.size());
            if (count <= 0) refuse();
            into = into.subspan(static_cast<std::size_t>(count));
        }
    }
    /// The elements, all of them; the archive verifies its checksum at the end.
    void read_elements(std::span<std::byte> into) {
        read(into);
        std::byte beyond{};
        if (::zip_fread(file_.get(), &beyond, 1) != 0) refuse();
    }
    std::vector<std::byte> elements() {
        check_size();
        std::vector<std::byte> bytes(static_cast<std::size_t>(header_.shape.size() * header_.item_bytes));
        read_elements(bytes);
        return bytes;
    }

  private:
    [[noreturn]] void refuse() {
        throw InputError({where_, fmt::format("data that cannot be read ({})", ::zip_file_strerror(file_.get())),
                          fmt::format("{} bytes with their checksum", total_bytes_), damaged});
    }

    ZipFileHandle file_;
    Index total_bytes_;
    std::string where_;
    NpyHeader header_;
};

template <Real T>
Tensor<T> read_tensor(Member& member) {
    member.check_size();
    if (member.header().fortran_order) {
        const std::vector<std::byte> bytes = member.elements();
        return from_fortran<T>(bytes.data(), member.header().shape);
    }
    Tensor<T> tensor(member.header().shape);
    member.read_elements(std::as_writable_bytes(tensor.elements()));
    return tensor;
}

std::string decode_item(std::span<const std::byte> item, char kind, const std::string& where) {
    std::string text;
    if (kind == 'U') {
        std::u32string points(item.size() / sizeof(char32_t), U'\0');
        std::memcpy(points.data(), item.data(), item.size());
        points.resize(points.find_last_not_of(U'\0') + 1);
        const bool valid = std::all_of(points.begin(), points.end(),
                                       [](char32_t p) { return p < 0xD800 || (p > 0xDFFF && p <= 0x10FFFF); });
        if (!valid) throw InputError({where, "text with an invalid character", "Unicode text", damaged});
        return encode_utf8(points);
    }
    text.assign(reinterpret_cast<const char*>(item.data()), item.size());
    if (kind == 'S') text.resize(text.find_last_not_of('\0') + 1);
    if (!is_utf8(text)) throw InputError({where, "bytes that are not UTF-8", "UTF-8 text", damaged});
    return text;
}

}  // namespace

class NpzReader::Archive {
  public:
    Archive(MappedFile file, std::span<const std::byte> bytes, std::string name, const NpzLimits& limits)
        : file_(std::move(file)), name_(std::move(name)), zip_(open_archive(bytes, name_)) {
        list_members(static_cast<Index>(bytes.size()), limits);
    }

    Member open(std::string_view array) const {
        const auto found = members_.find(array);
        if (found == members_.end()) refuse_name(array);
        return {zip_.get(), found->second.position, found->second.bytes, fmt::format("{}: {}", name_, array)};
    }

    struct Entry {
        std::uint64_t position = 0;
        Index bytes = 0;
    };
    const std::map<std::string, Entry, std::less<>>& members() const { return members_; }

  private:
    [[noreturn]] void refuse_name(std::string_view array) const {
        constexpr std::size_t most = 20;
        std::string known;
        for (auto member = members_.begin(); member != members_.end(); ++member) {
            if (static_cast<std::size_t>(std::distance(members_.begin(), member)) == most) {
                known += ", ...";
                break;
            }
            known += (known.empty() ? "" : ", ") + shown(member->first);
        }
        throw InputError(
            {name_, "no array " + shown(array), known.empty() ? "at least one array" : "one of " + known, ""});
    }

    void list_members(Index archive_bytes, const NpzLimits& limits) {
        // A quarter of the memory: an array is converted, transposed and worked on.
        const Index room = std::min(limits.max_inflated_bytes, memory_limit() / 4);
        Index stored = 0;
        Index inflated = 0;
        const zip_int64_t count = ::zip_get_num_entries(zip_.get(), 0);
        for (zip_int64_t i = 0; i < count; ++i) {
            zip_stat_t status;
            ::zip_stat_init(&status);
            if (::zip_stat_index(zip_.get(), static_cast<zip_uint64_t>(i), 0, &status) != 0)
                refuse("a member without sizes");
            const std::string_view member = status.name;
            if (!member.ends_with(".npy")) continue;
            stored = add_size(stored, status.comp_size, archive_bytes, "members that overlap");
            if (status.comp_method != ZIP_CM_STORE) {
                check_deflated(status);
                inflated += expanded(status, inflated, room);
            } else if (status.size != status.comp_size) {
                refuse("a stored member of two sizes");
            }
            const std::string array(member.substr(0, member.size() - 4));
            const Entry entry{static_cast<std::uint64_t>(i), static_cast<Index>(status.size)};
            members_.emplace(array, entry);  // The archive itself refuses equal names.
        }
    }

    void check_deflated(const zip_stat_t& status) const {
        // Deflate cannot do better than 1032 to 1 (zlib's technical note), so a larger promise is a lie.
        constexpr zip_uint64_t best_ratio = 1032;
        if (status.comp_method != ZIP_CM_DEFLATE) {
            refuse(fmt::format("compression method {}", status.comp_method));
        }
        if (status.size / best_ratio > status.comp_size) refuse("a compressed member that promises too much");
    }

    /// Bytes of a member that is added to those that expand to `before`.
    Index expanded(const zip_stat_t& status, Index before, Index limit) const {
        if (status.size <= static_cast<zip_uint64_t>(limit - before)) return static_cast<Index>(status.size);
        throw InputError({name_,
                          fmt::format("compressed arrays that expand to {} bytes or more",
                                      static_cast<zip_uint64_t>(before) + status.size),
                          fmt::format("at most {}, and a quarter of the memory", limit),
                          "Save it as .npy, which is read where it lies, or with numpy.savez."});
    }

    Index add_size(Index sum, zip_uint64_t size, Index limit, const char* excess) const {
        if (size > static_cast<zip_uint64_t>(limit - sum)) {
            refuse(fmt::format("{}: over {} bytes", excess, limit));
        }
        return sum + static_cast<Index>(size);
    }

    [[noreturn]] void refuse(const std::string& found) const {
        throw InputError({name_, found, "an .npz archive as numpy.savez or numpy.savez_compressed writes it", damaged});
    }

    MappedFile file_;
    std::string name_;
    ZipHandle zip_;
    std::map<std::string, Entry, std::less<>> members_;
};

NpzReader::NpzReader(const std::filesystem::path& path, const NpzLimits& limits) {
    MappedFile file(path);
    const auto bytes = file.bytes();
    archive_ = std::make_unique<Archive>(std::move(file), bytes, path.string(), limits);
}

NpzReader::NpzReader(std::span<const std::byte> bytes, std::string name, const NpzLimits& limits)
    : archive_(std::make_unique<Archive>(MappedFile(), bytes, std::move(name), limits)) {}

NpzReader::~NpzReader() = default;
NpzReader::NpzReader(NpzReader&&) noexcept = default;
NpzReader& NpzReader::operator=(NpzReader&&) noexcept = default;

std::vector<std::string> NpzReader::names() const {
    std::vector<std::string> result;
    for (const auto& [array, entry] : archive_->members()) result.push_back(array);
    return result;
}

bool NpzReader::contains(std::string_view array) const {
    return archive_->members().find(array) != archive_->members().end();
}

NpyHeader NpzReader::header(std::string_view array) const { return archive_->open(array).header(); }

template <Real T>
Tensor<T> NpzReader::tensor(std::string_view array) const {
    Member member = archive_->open(array);
    const DType dtype = require_tensor_header(member.header(), member.where());
    if constexpr (std::is_same_v<T, float>) {
        if (dtype == DType::f8)
            throw InputError({member.where(), "float64 elements", "float32", "Read it as float64."});
        return read_tensor<float>(member);
    } else {
        if (dtype == DType::f8) return read_tensor<double>(member);
        return convert<double>(read_tensor<float>(member).view());
    }
}

std::vector<std::int64_t> NpzReader::integers(std::string_view array) const {
    Member member = archive_->open(array);
    if (member.header().descr != "<i8") {
        throw InputError({member.where(), "elements of type " + shown(member.header().descr), "int64 ('<i8')", ""});
    }
    const std::vector<std::byte> bytes = member.elements();
    std::vector<std::int64_t> values(bytes.size() / sizeof(std::int64_t));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

std::vector<std::string> NpzReader::texts(std::string_view array) const {
    Member member = archive_->open(array);
    const NpyHeader& header = member.header();
    const bool wide = header.descr.starts_with("<U");
    const bool bytes_text = header.descr == "|u1";
    // A type of no bytes would let a tiny file promise any number of strings.
    if ((!wide && !bytes_text && !header.descr.starts_with("|S")) || header.item_bytes == 0) {
        throw InputError(
            {member.where(), "elements of type " + shown(header.descr), "text ('<U' or '|S') or uint8", ""});
    }
    const std::vector<std::byte> bytes = member.elements();
    if (bytes_text) return {decode_item(bytes, 'B', member.where())};
    std::vector<std::string> values;
    const auto step = static_cast<std::size_t>(header.item_bytes);
    for (std::size_t i = 0; i < bytes.size(); i += step) {
        values.push_back(decode_item(std::span(bytes).subspan(i, step), wide ? 'U' : 'S', member.where()));
    }
    return values;
}

template Tensor<float> NpzReader::tensor(std::string_view) const;
template Tensor<double> NpzReader::tensor(std::string_view) const;

}  // namespace couplet
