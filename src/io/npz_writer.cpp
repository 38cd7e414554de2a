#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/npz.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

struct Discard {
    void operator()(zip_t* archive) const { ::zip_discard(archive); }
};

zip_t* create_archive(const std::filesystem::path& path, const std::string& name) {
    int code = 0;
    zip_t* archive = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (archive != nullptr) return archive;
    zip_error_t error;
    ::zip_error_init_with_code(&error, code);
    const std::string why = ::zip_error_strerror(&error);
    ::zip_error_fini(&error);
    throw RunError({name, "creating an archive failed: " + why, "a disk that takes it", ""});
}

std::u32string code_points(const std::string& text, const std::string& array) {
    auto points = decode_utf8(text);
    if (!points) throw InputError({array, "text that is not UTF-8: " + shown(text), "UTF-8 text", ""});
    if (points->ends_with(U'\0')) throw InputError({array, "text that ends in a NUL", "text without it", ""});
    return *std::move(points);
}

/// Strings as NumPy keeps them: four bytes a character, all as wide as the widest.
std::string encode_texts(const Shape& shape, std::span<const std::string> values, const std::string& array) {
    std::vector<std::u32string> decoded;
    std::size_t width = 1;
    for (const std::string& value : values) {
        decoded.push_back(code_points(value, array));
        width = std::max(width, decoded.back().size());
    }
    std::string bytes = encode_npy_header(fmt::format("<U{}", width), shape);
    for (std::u32string& points : decoded) {
        points.resize(width);
        bytes.append(reinterpret_cast<const char*>(points.data()), width * sizeof(char32_t));
    }
    return bytes;
}

}  // namespace

class NpzWriter::Archive {
  public:
    Archive(const std::filesystem::path& path, bool overwrite)
        : name_(path.string()), file_(path, overwrite), zip_(create_archive(file_.temporary_path(), name_)) {}

    /// Keeps `head`, refers to `elements`.
    void add(const std::string& array, std::string head, std::span<const std::byte> elements = {}) {
        heads_.push_back(std::move(head));
        std::string& kept = heads_.back();
        std::array<zip_buffer_fragment_t, 2> fragments{
            zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(kept.data()), kept.size()},
            zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(elements.data())),
                                  elements.size()}};
        zip_source_t* source = ::zip_source_buffer_fragment(zip_.get(), fragments.data(), elements.empty() ? 1 : 2, 0);
        if (source == nullptr) fail();
        const zip_int64_t position = ::zip_file_add(zip_.get(), (array + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
        if (position < 0) {
            ::zip_source_free(source);
            if (::zip_error_code_zip(::zip_get_error(zip_.get())) == ZIP_ER_EXISTS) {
                throw InputError({name_, "two arrays called " + shown(array), "names of their own", ""});
            }
            fail();
        }
        // NumPy's own time stamp, 1980-01-01, in the form of MS-DOS: equal content gives equal bytes.
        constexpr zip_uint16_t midnight = 0;
        constexpr zip_uint16_t first_day = 1 << 5 | 1;
        const auto index = static_cast<zip_uint64_t>(position);
        if (::zip_set_file_compression(zip_.get(), index, ZIP_CM_STORE, 0) != 0) fail();
        if (::zip_file_set_dostime(zip_.get(), index, midnight, first_day, 0) != 0) fail();
    }

    void commit() {
        if (heads_.empty()) throw InputError({name_, "no arrays", "at least one", ""});
        if (::zip_close(zip_.get()) != 0) fail();
        (void)zip_.release();
        file_.commit();
    }

  private:
    [[noreturn]] void fail() {
        throw RunError({name_, fmt::format("writing failed: {}", ::zip_strerror(zip_.get())),
                        "a disk that takes all the bytes", "Free some space or write to another disk."});
    }

    std::string name_;
    AtomicFile file_;
    std::deque<std::string> heads_;  ///< a deque, because the archive refers to its elements
    std::unique_ptr<zip_t, Discard> zip_;
};

NpzWriter::NpzWriter(const std::filesystem::path& path, bool overwrite)
    : archive_(std::make_unique<Archive>(path, overwrite)) {}

NpzWriter::~NpzWriter() = default;
NpzWriter::NpzWriter(NpzWriter&&) noexcept = default;
NpzWriter& NpzWriter::operator=(NpzWriter&&) noexcept = default;

void NpzWriter::add(const std::string& array, const TensorView<const float>& tensor) {
    archive_->add(array, encode_npy_header("<f4", tensor.shape()),
                  std::as_bytes(std::span(tensor.data(), static_cast<std::size_t>(tensor.size()))));
}

void NpzWriter::add(const std::string& array, const TensorView<const double>& tensor) {
    archive_->add(array, encode_npy_header("<f8", tensor.shape()),
                  std::as_bytes(std::span(tensor.data(), static_cast<std::size_t>(tensor.size()))));
}

void NpzWriter::add_integers(const std::string& array, std::span<const std::int64_t> values) {
    std::string bytes = encode_npy_header("<i8", Shape{static_cast<Index>(values.size())});
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    archive_->add(array, std::move(bytes));
}

void NpzWriter::add_texts(const std::string& array, std::span<const std::string> values) {
    archive_->add(array, encode_texts(Shape{static_cast<Index>(values.size())}, values, array));
}

void NpzWriter::add_text(const std::string& array, const std::string& value) {
    archive_->add(array, encode_texts(Shape{}, std::span(&value, 1), array));
}

void NpzWriter::commit() { archive_->commit(); }

}  // namespace couplet
