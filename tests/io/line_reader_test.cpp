#include "couplet/io/line_reader.hpp"

#include <zlib.h>

#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::bytes_of;
using testing::refusal;

std::vector<std::string> lines_of(LineReader reader) {
    std::vector<std::string> lines;
    for (std::string_view line; reader.next(line);) {
        lines.emplace_back(line);
        EXPECT_EQ(reader.line_number(), static_cast<Index>(lines.size()));
    }
    return lines;
}

std::vector<std::string> lines_of(std::string_view text) { return lines_of(LineReader(bytes_of(text), "x.csv")); }

class LineReaderFile : public testing::IoTest {
  protected:
    /// Writes a gzip file of several members, and returns its bytes.
    std::string gzip(const std::string& name, const std::vector<std::string>& members) {
        for (const std::string& member : members) {
            gzFile file = ::gzopen(path(name).c_str(), "ab");
            ::gzwrite(file, member.data(), static_cast<unsigned>(member.size()));
            ::gzclose(file);
        }
        return get(name);
    }
};

using Lines = std::vector<std::string>;

TEST(LineReader, SplitsAtEveryKindOfEnd) {
    EXPECT_EQ(lines_of(""), Lines{});
    EXPECT_EQ(lines_of("\n"), Lines{""});
    EXPECT_EQ(lines_of("a"), Lines{"a"});
    EXPECT_EQ(lines_of("a\nb\n"), (Lines{"a", "b"}));
    EXPECT_EQ(lines_of("a\r\n\r\nb"), (Lines{"a", "", "b"}));
    EXPECT_EQ(lines_of("\xEF\xBB\xBFname\n1"), (Lines{"name", "1"}));
    EXPECT_EQ(lines_of("\xEF\xBB"), Lines{"\xEF\xBB"});
}

TEST_F(LineReaderFile, ReadsGzipOfSeveralMembers) {
    const std::string bytes = gzip("x.gz", {"\xEF\xBB\xBF"
                                            "a\nb",
                                            "c\n", "", "d"});
    EXPECT_EQ(lines_of(LineReader(path("x.gz"))), (Lines{"a", "bc", "d"}));
    EXPECT_EQ(lines_of(LineReader(bytes_of(bytes), "memory.gz")), (Lines{"a", "bc", "d"}));
}

TEST_F(LineReaderFile, GzipLinesMayExceedTheWindow) {
    std::string text;
    Lines expected;
    for (std::size_t i = 0; i < 5; ++i) {
        expected.emplace_back(i * 200'000, static_cast<char>('a' + i));
        text += expected.back() + "\n";
    }
    gzip("x.gz", {text});
    EXPECT_EQ(lines_of(LineReader(path("x.gz"))), expected);
}

TEST_F(LineReaderFile, RefusesDamagedGzip) {
    std::string text(1000, 'a');
    text += "\nb\n";
    const std::string whole = gzip("x.gz", {text});
    const auto refusal_of = [&](const std::string& bytes) {
        return refusal("x.gz", [&] { lines_of(LineReader(bytes_of(bytes), "x.gz")); });
    };
    for (std::size_t cut = 2; cut < whole.size(); ++cut) {
        EXPECT_EQ(refusal_of(whole.substr(0, cut)),
                  "a gzip stream that stops in the middle; expected a complete gzip file. The file is "
                  "truncated: copy or compress it "
                  "again.")
            << cut;
    }
    std::string damaged = whole;
    damaged[damaged.size() - 6] ^= 1;
    EXPECT_EQ(refusal_of(damaged),
              "a damaged gzip stream (incorrect data check); expected a valid gzip file. Compress it again.");
    EXPECT_EQ(refusal_of(whole + "garbage"),
              "a damaged gzip stream (incorrect header check); expected a valid gzip file. Compress it again.");
    EXPECT_EQ(refusal_of("a,b\n"),
              "a file that is not compressed; expected a gzip file, as its name says. Drop .gz from the name "
              "or compress it with "
              "gzip.");
}

TEST(LineReader, LimitsAreThoseOfRealTables) {
    const LineLimits limits;
    EXPECT_EQ(limits.longest_line, 67108864u);
    EXPECT_EQ(limits.free_text, 33554432u);
    EXPECT_EQ(limits.most_expansion, 100u);
}

TEST(LineReader, ALineWithoutEndIsRefused) {
    std::string text = "a\n" + std::string(1000, ' ');
    const auto read = [&] { lines_of(LineReader(bytes_of(text), "x.csv", {.longest_line = 1000})); };
    EXPECT_EQ(refusal("x.csv", read), "nothing thrown");
    text += ' ';
    EXPECT_EQ(refusal("x.csv", read),
              "line 2 is longer than 1000 bytes; expected lines of text. Check that this is a text file.");
}

/// gzip of `count` copies of a text, made without holding them.
std::string gzip_of_copies(const std::string& text, std::size_t count) {
    z_stream stream{};
    ::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    std::string copies;
    while (copies.size() < (std::size_t{1} << 20)) copies += text;
    std::string result;
    std::vector<char> out(1 << 16);
    for (std::size_t left = count * text.size(); left > 0;) {
        const std::size_t part = std::min(left, copies.size());
        left -= part;
        stream.next_in = reinterpret_cast<Bytef*>(copies.data());
        stream.avail_in = static_cast<uInt>(part);
        do {
            stream.next_out = reinterpret_cast<Bytef*>(out.data());
            stream.avail_out = static_cast<uInt>(out.size());
            ::deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
            result.append(out.data(), out.size() - stream.avail_out);
        } while (stream.avail_out == 0);
    }
    ::deflateEnd(&stream);
    return result;
}

constexpr LineLimits small{.longest_line = std::size_t{2} << 20, .free_text = std::size_t{1} << 20};

std::string read_all(LineReader& reader) {
    return refusal(reader.name(), [&] {
        for (std::string_view line; reader.next(line);) continue;
    });
}

TEST(LineReaderBomb, OfLinesIsRefusedWhileItIsRead) {
    // 8 MiB of lines in some ten kilobytes.
    const std::string bomb = gzip_of_copies("1 1 1 0\n", std::size_t{1} << 20);
    EXPECT_LT(bomb.size(), 20'000u);
    LineReader reader(bytes_of(bomb), "x.tns.gz", small);
    const std::size_t most = std::max(small.free_text, 100 * bomb.size());
    EXPECT_EQ(read_all(reader),
              "a gzip file that holds more than " + std::to_string(most) +
                  " bytes of text; expected at most 100 times its own size. Decompress it if you trust "
                  "it: plain text of any size is read.");
    EXPECT_LE(reader.line_number(), static_cast<Index>(most / 8));
    EXPECT_GT(reader.line_number(), static_cast<Index>(most / 16));
}

TEST(LineReaderBomb, OfOneLineIsRefusedWhileItIsRead) {
    const std::string bomb = gzip_of_copies(" ", std::size_t{8} << 20);
    LineReader reader(bytes_of(bomb), "x.csv.gz", small);
    EXPECT_TRUE(read_all(reader).starts_with("a gzip file that holds more than 1048576 bytes"));
    LineReader longer(bytes_of(bomb), "x.csv.gz", {.longest_line = 1000, .free_text = std::size_t{16} << 20});
    EXPECT_TRUE(read_all(longer).starts_with("line 1 is longer than 1000 bytes"));
}

TEST(LineReaderBomb, TextUpToTheLimitIsRead) {
    for (const std::size_t more : {0, 1}) {
        const std::string bytes = gzip_of_copies("1 1 1 0\n", small.free_text / 8 + more);
        LineReader reader(bytes_of(bytes), "x.tns.gz", small);
        EXPECT_EQ(read_all(reader) == "nothing thrown", more == 0);
    }
}

TEST(LineReaderBomb, AFileThatIsLargeItselfMayHoldMore) {
    // Random digits shrink to a half: 3 MiB of them are a table, not a bomb.
    std::string text;
    std::uint64_t state = 1;
    while (text.size() < (std::size_t{1} << 20)) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        text += std::to_string(state) + "\n";
    }
    const std::string bytes = gzip_of_copies(text, 3);
    LineReader reader(bytes_of(bytes), "x.csv.gz", small);
    EXPECT_EQ(read_all(reader), "nothing thrown");
}

}  // namespace
}  // namespace couplet
