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
    const std::string whole = gzip("x.gz", {std::string(1000, 'a') + "\nb\n"});
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

TEST_F(LineReaderFile, ABombOfOneLineIsRefused) {
    const std::string bomb = gzip("x.gz", {std::string(LineReader::longest_line + 1, ' ')});
    EXPECT_LT(bomb.size(), 100'000u);
    EXPECT_EQ(refusal("x.gz", [&] { lines_of(LineReader(bytes_of(bomb), "x.gz")); }),
              "line 1 is longer than 67108864 bytes; expected lines of text. Check that this is a text file.");
}

}  // namespace
}  // namespace couplet
