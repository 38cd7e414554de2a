#include "couplet/tt/sparse_source.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "couplet/core/error.hpp"
#include "couplet/tt/tt_svd.hpp"
#include "sparse.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using support::random_sparse;
using support::true_error;

TtSvdResult<double> decompose(const SparseTensor& x, const TtSvdOptions& options) {
    return tt_svd(sparse_source(x), x.shape(), options);
}

/// Orders 1 to 5, from nearly empty to nearly full, by error and by rank: the promised error, and that of the dense
/// tensor.
TEST(SparseSource, DecomposesLikeTheDenseTensor) {
    for (const Shape& shape : {Shape{40}, Shape{30, 50}, Shape{40, 13, 17}, Shape{9, 8, 7, 11}, Shape{5, 4, 1, 6, 7},
                               Shape{2, 3, 2, 50}, Shape{1, 1, 1}, Shape{60, 1, 45}}) {
        for (const Index count : {Index{1}, shape.size() / 20, shape.size() / 3, 2 * shape.size()}) {
            const auto x = random_sparse(shape, count, 11);
            const auto dense = x.full();
            for (const TtSvdOptions& options :
                 {TtSvdOptions{.eps = 0.3}, TtSvdOptions{.max_rank = 4}, TtSvdOptions{.eps = 1e-9},
                  TtSvdOptions{.eps = 0.2, .max_rank = 6, .method = SvdMethod::qr}}) {
                const auto found = decompose(x, options);
                const double error = true_error(dense, found.train);
                EXPECT_LE(error, found.rel_error + 1e-12) << shape.to_string() << " " << count;
                if (options.max_rank == unlimited_rank) {
                    EXPECT_LE(error, options.eps + 1e-13) << shape.to_string();
                }
                const auto expected = tt_svd(dense.view(), options);
                EXPECT_NEAR(found.norm, expected.norm, 1e-12 * expected.norm);
                if (shape.order() == 2) {
                    EXPECT_NEAR(found.rel_error, expected.rel_error, 1e-10);
                } else if (options.max_rank != unlimited_rank) {
                    EXPECT_LE(found.rel_error, 1.1 * expected.rel_error + 1e-10) << shape.to_string() << " " << count;
                }
            }
        }
    }
}

/// A low rank that second moments cannot show to rounding: the polished space can.
TEST(SparseSource, FindsAnExactLowRank) {
    std::vector<Index> indices;
    std::vector<double> values;
    for (Index p = 0; p < 60; ++p) {
        for (Index i = 0; i < 20; ++i) {
            if ((p + i) % 2 != 0) continue;  // two interleaved blocks, each of rank one
            indices.insert(indices.end(), {p, i, i % 7});
            values.push_back(static_cast<double>(1 + p) * static_cast<double>(2 + i));
        }
    }
    const SparseTensor x({60, 20, 7}, indices, std::move(values));
    const auto found = decompose(x, {.eps = 1e-12});
    EXPECT_LE(true_error(x.full(), found.train), 1e-12);
    EXPECT_EQ(found.train.ranks()[1], 2);
}

TEST(SparseSource, ZeroAndExtremeNumbers) {
    const SparseTensor zero({3, 4, 5}, {}, {});
    EXPECT_EQ(decompose(zero, {.eps = 0.1}).norm, 0);
    for (const double scale : {1e-200, 1e200}) {
        const auto x = random_sparse({20, 9, 8}, 300, 5);
        std::vector<Index> indices;
        std::vector<double> values;
        for (std::size_t e = 0; e < x.values().size(); ++e) {
            const auto at = x.shape().indices(x.offsets()[e]);
            indices.insert(indices.end(), at.begin(), at.end());
            values.push_back(scale * x.values()[e]);
        }
        const SparseTensor scaled(x.shape(), indices, std::move(values));
        const auto found = decompose(scaled, {.eps = 0.2});
        EXPECT_LE(found.rel_error, 0.2);
        EXPECT_NEAR(found.norm / scale, decompose(x, {.eps = 0.2}).norm, 1e-9);
    }
}

TEST(SparseSource, NamesANumberThatIsNotFinite) {
    const SparseTensor x({2, 3, 2}, std::vector<Index>{0, 0, 1, 1, 2, 0}, {1, std::numeric_limits<double>::infinity()});
    try {
        decompose(x, {.eps = 0.1});
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("Inf at index (1, 2, 0)"), std::string::npos) << error.what();
    }
}

/// 2 x 10^12 cells and 2000 entries: nothing of the dense size is made, and a rank that holds every entry is exact.
TEST(SparseSource, NeverMakesTheDenseTensor) {
    const Shape shape{2000, 1000, 1000, 1000};
    std::vector<Index> indices;
    std::vector<double> values;
    for (Index e = 0; e < 2000; ++e) {
        indices.insert(indices.end(), {e, e % 5, e % 2, e % 3});
        values.push_back(1.0 + static_cast<double>(e % 11));
    }
    const SparseTensor x(shape, indices, std::move(values));
    const auto found = decompose(x, {.max_rank = 30});
    EXPECT_NEAR(found.train.at(std::vector<Index>{1234, 1234 % 5, 1234 % 2, 1234 % 3}), 1.0 + 1234 % 11, 1e-9);
    EXPECT_NEAR(found.train.at(std::vector<Index>{1234, 7, 0, 0}), 0, 1e-9);
    EXPECT_LE(found.rel_error, 1e-5) << "sums of squares show no less of an exact rank";
}

}  // namespace
}  // namespace couplet
