#include "couplet/io/sparse_file.hpp"

#include <string>

#include "couplet/core/threads.hpp"
#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::bytes_of;
using testing::refusal;

SparseTensor sparse_of(const std::string& text, IndexBase base = IndexBase::detect) {
    return decode_sparse(bytes_of(text), "x.tns", base);
}

Tensor<double> dense_of(const std::string& text, IndexBase base = IndexBase::detect) {
    LineReader lines(bytes_of(text), "x.tns");
    return to_dense(read_tns_entries(lines, base), 1 << 20, "x.tns");
}

/// Plain lines go another way than lines with comments: both are the tensor that the dense reader makes.
TEST(SparseFile, AgreesWithTheDenseReader) {
    for (const std::string text :
         {"1 2 3 0.5\n2 1 1 -1\n", "1 2 3 0.5\r\n2 0 1 -1\r\n\r\n", "# c\n1 2 3 0.5\n\n2\t1  1 -1 # more\n",
          "3 1\n1 2\n3 4", "  1   1 1e-3\n\t2 2 +7\n1 1 2\n"}) {
        const auto expected = dense_of(text);
        const auto found = sparse_of(text).full();
        ASSERT_EQ(found.shape(), expected.shape()) << text;
        for (Index i = 0; i < expected.size(); ++i) EXPECT_EQ(found.data()[i], expected.data()[i]) << text;
    }
    EXPECT_EQ(sparse_of("1 1 5", IndexBase::zero).shape(), (Shape{2, 2}));
    EXPECT_EQ(sparse_of("1 1 5", IndexBase::one).shape(), (Shape{1, 1}));
}

/// Several pieces of text, whose borders lie within lines.
TEST(SparseFile, ReadsLongTextsInPieces) {
    std::string text;
    Index expected = 0;
    for (Index i = 0; text.size() < (std::size_t{5} << 20); ++i, ++expected) {
        text += std::to_string(1 + i % 1000) + " " + std::to_string(1 + i / 1000) + " " + std::to_string(i) + ".25\n";
    }
    const auto x = sparse_of(text);
    EXPECT_EQ(x.count(), expected);
    EXPECT_EQ(x.shape()[0], 1000);
    for (Index i : {Index{0}, expected / 2, expected - 1}) {
        const Index offset = x.shape().offset(std::vector<Index>{i % 1000, i / 1000});
        const auto at = std::ranges::lower_bound(x.offsets(), offset) - x.offsets().begin();
        EXPECT_EQ(x.values()[static_cast<std::size_t>(at)], static_cast<double>(i) + 0.25);
    }
    // An error far behind is named by its line, whichever reader finds it.
    EXPECT_EQ(refusal("x.tns", [&] { sparse_of(text + "1 x 5\n"); }),
              "line " + std::to_string(expected + 1) + ", field 2 holds 'x'; expected an index, counted from 0");
}

TEST(SparseFile, RefusesWhatIsNoTensor) {
    const auto refused = [](const std::string& text, IndexBase base = IndexBase::detect) {
        return refusal("x.tns", [&] { sparse_of(text, base); });
    };
    EXPECT_EQ(refused("1 0 5\n", IndexBase::one), "line 1, field 2 holds '0'; expected an index, counted from 1");
    EXPECT_EQ(refused("1 1 5\n1 1 1 5"), "line 2 has 4 fields; expected 3 as on line 1");
    EXPECT_EQ(refused("1 9223372036854775807 5"),
              "line 1, field 2 holds '9223372036854775807'; expected an index, counted from 0");
    EXPECT_EQ(refused("1 1000000000000 5"),
              "mode 2 with 1000000000000 indices for 1 entries; expected at most 1000064. Number patients and codes "
              "from 1 without gaps; identifiers are no indices.");
    EXPECT_NE(refused("4000000000 4000000000 4000000000 1").find("fewer than 2^63 cells"), std::string::npos);
    for (const std::string text : {"", "\n\n", "5\n", "# nothing\n", "1 1 5\n\x01\x02"}) EXPECT_NE(refused(text), "");
}

}  // namespace
}  // namespace couplet
