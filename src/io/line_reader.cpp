#include "couplet/io/line_reader.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

bool is_gzip(std::span<const std::byte> bytes) {
    return bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B};
}

/// Lets go of the pages before `end` each time a piece of the file is read: a table of any size takes little memory.
void release_read(const MappedFile& file, const char* begin, const char* end) {
    constexpr std::ptrdiff_t piece = std::ptrdiff_t{16} << 20;
    const char* base = reinterpret_cast<const char*>(file.bytes().data());
    if (file.bytes().empty() || (begin - base) / piece == (end - base) / piece) return;
    const Index first = (begin - base) / piece * piece;
    file.release(first, begin - base - first);
}

}  // namespace

/// Decompresses a gzip stream, of one or several members, into a window that keeps what is still unread.
class LineReader::Inflater {
  public:
    Inflater(std::span<const std::byte> input, const std::string& name, const LineLimits& limits)
        : input_(input),
          most_expansion_(limits.most_expansion),
          most_text_(std::max(limits.free_text, limits.most_expansion * input.size())),
          name_(name),
          window_(1 << 18) {
        constexpr int gzip_only = 16 + MAX_WBITS;
        if (::inflateInit2(&stream_, gzip_only) != Z_OK) throw std::bad_alloc();
    }
    ~Inflater() { ::inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    /// Moves `unread` (a part of the window) to its front and appends more bytes; false when there are none.
    bool refill(std::string_view& unread) {
        if (!unread.empty()) std::memmove(window_.data(), unread.data(), unread.size());
        if (unread.size() == window_.size()) window_.resize(2 * window_.size());
        std::size_t filled = unread.size();
        while (filled == unread.size() && !finished_) filled += inflate_into(filled);
        const bool more = filled > unread.size();
        unread = {window_.data(), filled};
        return more;
    }

  private:
    std::size_t inflate_into(std::size_t filled) {
        constexpr std::size_t largest = std::numeric_limits<uInt>::max();
        const std::size_t room = std::min(window_.size() - filled, largest);
        const std::size_t offered = std::min(input_.size(), largest);
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input_.data()));
        stream_.avail_in = static_cast<uInt>(offered);
        stream_.next_out = reinterpret_cast<Bytef*>(window_.data() + filled);
        stream_.avail_out = static_cast<uInt>(room);
        const int code = ::inflate(&stream_, Z_NO_FLUSH);
        input_ = input_.subspan(offered - stream_.avail_in);
        if (code == Z_STREAM_END) {
            finished_ = input_.empty();
            if (!finished_) ::inflateReset(&stream_);
        } else if (code == Z_BUF_ERROR || (code == Z_OK && input_.empty() && stream_.avail_out > 0)) {
            throw InputError({name_, "a gzip stream that stops in the middle", "a complete gzip file",
                              "The file is truncated: copy or compress it again."});
        } else if (code != Z_OK) {
            const std::string why = stream_.msg != nullptr ? stream_.msg : "bad data";
            throw InputError({name_, "a damaged gzip stream (" + why + ")", "a valid gzip file", "Compress it again."});
        }
        const std::size_t added = room - stream_.avail_out;
        text_ += added;
        if (text_ > most_text_) {
            throw InputError({name_, fmt::format("a gzip file that holds more than {} bytes of text", most_text_),
                              fmt::format("at most {} times its own size", most_expansion_),
                              "Decompress it if you trust it: plain text of any size is read."});
        }
        return added;
    }

    std::span<const std::byte> input_;
    std::size_t most_expansion_;
    std::size_t most_text_;
    std::size_t text_ = 0;
    std::string name_;
    std::vector<char> window_;
    z_stream stream_{};
    bool finished_ = false;
};

LineReader::LineReader(const std::filesystem::path& path) : name_(path.string()), file_(path) {
    file_.expect_stream();
    open(file_.bytes());
}

LineReader::LineReader(std::span<const std::byte> bytes, std::string name, const LineLimits& limits)
    : name_(std::move(name)), limits_(limits) {
    open(bytes);
}

LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;

void LineReader::open(std::span<const std::byte> bytes) {
    if (is_gzip(bytes)) {
        inflater_ = std::make_unique<Inflater>(bytes, name_, limits_);
    } else if (name_.ends_with(".gz")) {
        throw InputError({name_, "a file that is not compressed", "a gzip file, as its name says",
                          "Drop .gz from the name or compress it with gzip."});
    } else {
        pending_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    while (pending_.size() < byte_order_mark.size() && refill()) continue;
    if (pending_.starts_with(byte_order_mark)) pending_.remove_prefix(byte_order_mark.size());
}

bool LineReader::refill() { return inflater_ != nullptr && inflater_->refill(pending_); }

bool LineReader::next(std::string_view& line) {
    std::size_t searched = 0;
    std::size_t end = pending_.find('\n');
    while (end == std::string_view::npos && pending_.size() <= limits_.longest_line) {
        searched = pending_.size();
        if (!refill()) break;
        end = pending_.find('\n', searched);
    }
    if (end == std::string_view::npos && pending_.empty()) return false;
    ++line_number_;
    const std::size_t length = std::min(end, pending_.size());
    if (length > limits_.longest_line) {
        throw InputError({name_, fmt::format("line {} is longer than {} bytes", line_number_, limits_.longest_line),
                          "lines of text", "Check that this is a text file."});
    }
    line = pending_.substr(0, length);
    if (inflater_ == nullptr) release_read(file_, line.data(), line.data() + length + 1);
    pending_.remove_prefix(end == std::string_view::npos ? length : length + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
}

}  // namespace couplet
