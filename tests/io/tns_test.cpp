#include "couplet/io/tns.hpp"

#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::bytes_of;
using testing::refusal;

TnsEntries entries_of(const std::string& text, IndexBase base = IndexBase::detect) {
    LineReader lines(bytes_of(text), "x.tns");
    return read_tns_entries(lines, base);
}

std::string refusal_of(const std::string& text, IndexBase base = IndexBase::detect) {
    return refusal("x.tns", [&] { entries_of(text, base); });
}

TEST(Tns, DetectsTheIndexBase) {
    const TnsEntries one = entries_of("# comment\n1 2 3 0.5\n\n2\t1  1 -1 # more\n");
    EXPECT_EQ(one.sizes, (std::vector<Index>{2, 2, 3}));
    EXPECT_EQ(one.indices, (std::vector<Index>{0, 1, 2, 1, 0, 0}));
    EXPECT_EQ(one.values, (std::vector<double>{0.5, -1}));
    EXPECT_EQ(one.index(1)[0], 1);

    const TnsEntries zero = entries_of("1 2 3 0.5\r\n2 0 1 -1\r\n");
    EXPECT_EQ(zero.sizes, (std::vector<Index>{3, 3, 4}));
    EXPECT_EQ(zero.indices, (std::vector<Index>{1, 2, 3, 2, 0, 1}));

    EXPECT_EQ(entries_of("1 1 5", IndexBase::zero).sizes, (std::vector<Index>{2, 2}));
    EXPECT_EQ(entries_of("1 1 5", IndexBase::one).sizes, (std::vector<Index>{1, 1}));
}

TEST(Tns, DenseSumsDuplicates) {
    const Tensor<double> dense = to_dense(entries_of("1 1 5\n2 3 1\n1 1 2\n"), 1 << 20, "x.tns");
    EXPECT_EQ(dense.shape(), (Shape{2, 3}));
    EXPECT_EQ(std::vector<double>(dense.data(), dense.data() + 6), (std::vector<double>{7, 0, 0, 0, 0, 1}));
}

TEST(Tns, NamesTheBadField) {
    EXPECT_EQ(refusal_of("1 1 5\n1 x 5\n"), "line 2, field 2 holds 'x'; expected an index, counted from 0");
    EXPECT_EQ(refusal_of("1 1 5\n1 -1 5\n"), "line 2, field 2 holds '-1'; expected an index, counted from 0");
    EXPECT_EQ(refusal_of("1 0 5\n", IndexBase::one), "line 1, field 2 holds '0'; expected an index, counted from 1");
    EXPECT_EQ(refusal_of("1 9223372036854775807 5"),
              "line 1, field 2 holds '9223372036854775807'; expected an index, counted from 0");
    EXPECT_EQ(refusal_of("1 1 five"), "line 1, field 3 holds 'five'; expected a number in the range of float64");
    EXPECT_EQ(refusal_of("1 1 5\n\n1 1 1 5"), "line 3 has 4 fields; expected 3 as on line 1");
    EXPECT_EQ(refusal_of("5"),
              "line 1 has 1 fields; expected a line of indices and one value: i_1 i_2 ... i_N value. A "
              "tensor has 1 to 64 modes.");
    EXPECT_EQ(refusal_of("# nothing\n"),
              "no entries; expected a line of indices and one value: i_1 i_2 ... i_N value. Check how the "
              "file was made.");
}

TEST(Tns, RefusesADenseTensorBeyondTheLimit) {
    const auto dense_refusal = [](const std::string& text) {
        return refusal("x.tns", [&] { to_dense(entries_of(text), Index{8} << 30, "x.tns"); });
    };
    EXPECT_EQ(dense_refusal("1000000 1000000 1"),
              "a sparse tensor of shape 1000000x1000000, which needs 8000000000000 bytes as a dense one; "
              "expected at most 8589934592 "
              "bytes. Drop or merge indices, or split the file by patients.");
    EXPECT_EQ(dense_refusal("4000000000000000000 4000000000000000000 1"),
              "a sparse tensor of shape 4000000000000000000x4000000000000000000, which needs more than 2^63 "
              "bytes as a dense one; "
              "expected at most 8589934592 bytes. Drop or merge indices, or split the file by patients.");
}

/// Fourteen bytes that would be three gigabytes; and the same shape with as many entries as somebody could mean.
TEST(Tns, RefusesAlmostNothingInALargeTensor) {
    const auto refused = [](const std::string& text) {
        return refusal("x.tns", [&] { to_dense(entries_of(text), Index{8} << 30, "x.tns"); });
    };
    const std::string said = refused("20000 20000 1\n");
    EXPECT_NE(said.find("1 entry in a tensor of shape 20000x20000, which has 400000000 numbers"), std::string::npos)
        << said;
    EXPECT_NE(said.find("identifiers are no indices"), std::string::npos) << said;
    EXPECT_NE(refused("5000 5000 1\n").find("5000x5000"), std::string::npos);
    EXPECT_EQ(to_dense(entries_of("5000 5000 1\n1 1 1\n"), Index{8} << 30, "x.tns").size(), 25'000'000);
    EXPECT_EQ(to_dense(entries_of("2000 4000 1\n"), Index{8} << 30, "x.tns").size(), 8'000'000);
}

TEST(Tns, IsRefusedByTheLineThatMakesItTooLarge) {
    const std::string text = "1 1 1\n10 100 2\n10 101 3\nnot read\n";
    LineReader lines(bytes_of(text), "x.tns");
    EXPECT_EQ(refusal("x.tns", [&] { read_tns_entries(lines, IndexBase::one, {.max_bytes = 8000}); }),
              "a sparse tensor of shape 10x101 by line 3, which needs 8080 bytes as a dense one; expected at most 8000 "
              "bytes. Drop or merge indices, or split the file by patients.");
    const std::string exact = "1 1 1\n10 100 2\n";
    LineReader fits(bytes_of(exact), "x.tns");
    EXPECT_EQ(read_tns_entries(fits, IndexBase::one, {.max_bytes = 8000}).values.size(), 2u);
    // Sizes whose product is beyond 2^63 have no number to compare with.
    LineReader huge(bytes_of("4000000000000000000 4000000000000000000 1"), "x.tns");
    EXPECT_NE(refusal("x.tns", [&] { read_tns_entries(huge, IndexBase::one, {.max_bytes = 8000}); }).find("2^63"),
              std::string::npos);
}

TEST(Tns, EqualEntriesAreMergedBeforeTheyFillTheMemory) {
    // 0.1 added a thousand times in the order of the file is not 100: the sum must be that of a dense tensor.
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "1 2 0.1\n2 2 " + std::to_string(i) + "e-3\n2 1 -7\n";
    LineReader all(bytes_of(text), "x.tns");
    const auto kept = read_tns_entries(all, IndexBase::one);
    EXPECT_EQ(kept.values.size(), 3000u) << "few entries stay as they are";
    const auto expected = to_dense(kept, 1 << 20, "x.tns");
    for (const Index spare : {0, 1, 7}) {
        LineReader lines(bytes_of(text), "x.tns");
        const auto merged = read_tns_entries(lines, IndexBase::one, {.spare_entries = spare});
        EXPECT_LE(merged.values.size(), 18u + static_cast<std::size_t>(spare));
        EXPECT_GE(merged.values.size(), 3u);
        EXPECT_EQ(merged.indices.size(), 2 * merged.values.size());
        EXPECT_EQ(merged.index(0)[1], 1) << "the first keeps its place";
        EXPECT_TRUE(testing::same_elements(to_dense(merged, 1 << 20, "x.tns"), expected)) << spare;
    }
}

class TnsFile : public testing::IoTest {};

TEST_F(TnsFile, ReadsAFile) { EXPECT_EQ(read_tns_entries(put("x.tns", "1 2 3\n")).values, std::vector<double>{3}); }

}  // namespace
}  // namespace couplet
