#include "couplet/linalg/sparse_end.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::naive_distance;
using support::orthonormal_columns;

/// A sparse matrix of blocks beside the dense one, seen from either end.
struct Case {
    std::vector<double> values;
    std::unique_ptr<SparseEnd> sparse;
    Matrix<double> dense;  ///< rows are terms

    Case(bool rows, Index groups, Index places, Index width, Index every) {
        SparseBlocks blocks{.width = width, .starts = {0}, .places = {}, .values = {}};
        const Index order = rows ? places * width : places;
        const Index per_group = rows ? 1 : width;
        dense = Matrix<double>::zeros(groups * per_group, order);
        Index count = 0;
        for (Index g = 0; g < groups; ++g) {
            for (Index q = 0; q < places; ++q) {
                if ((g * 7 + q * 3) % every != 0) continue;
                blocks.places.push_back(q);
                for (Index t = 0; t < width; ++t) {
                    const double value = 1.0 + static_cast<double>((g * 31 + q * 17 + t * 5) % 13) / 7;
                    values.push_back(value);
                    (rows ? dense(g, q * width + t) : dense(g * width + t, q)) = value;
                }
                ++count;
            }
            blocks.starts.push_back(count);
        }
        blocks.values = values;
        // Rows of zeros are terms too.
        const Index terms = groups * per_group + 5;
        if (rows) {
            sparse = std::make_unique<SparseRows>(std::move(blocks), order, terms);
        } else {
            sparse = std::make_unique<SparseColumns>(std::move(blocks), order, terms);
        }
    }
};

/// Widths on both sides of where products take over from loops; sizes 1, primes, one past a part of 64 groups.
TEST(SparseEnd, AgreesWithTheDenseMatrix) {
    for (const bool rows : {true, false}) {
        for (const Index width : {1, 3, 8, 11}) {
            for (const auto& [groups, places] :
                 std::vector<std::pair<Index, Index>>{{1, 1}, {5, 7}, {65, 23}, {700, 13}, {1100, 40}}) {
                const Case one(rows, groups, places, width, 3);
                const DenseEnd<double> dense(one.dense.view(), Side::right);
                const Index order = one.sparse->order();
                ASSERT_EQ(order, dense.order());
                const double norm2 = dense.squared_norm();
                EXPECT_NEAR(one.sparse->squared_norm(), norm2, 1e-12 * norm2);
                const auto gram = one.sparse->summarise(Summary::Kind::gram);
                EXPECT_LE(naive_distance(gram.matrix().view(), dense.summarise(Summary::Kind::gram).matrix().view()),
                          1e-12 * norm2);
                EXPECT_EQ(gram.terms(), one.dense.rows() + 5);
                const auto triangle = one.sparse->summarise(Summary::Kind::triangle);
                const auto squared = product<double>(triangle.matrix().view(), triangle.matrix().view(), Op::transpose);
                EXPECT_LE(naive_distance(squared.view(), gram.matrix().view()), 1e-11 * norm2);
                const auto v = orthonormal_columns(order, std::min<Index>(order, 4), 3);
                EXPECT_LE(naive_distance(one.sparse->apply_gram(v.view()).view(), dense.apply_gram(v.view()).view()),
                          1e-12 * norm2);
                const auto image = one.sparse->summarise_image(Summary::Kind::gram, v);
                EXPECT_LE(naive_distance(image.matrix().view(),
                                         dense.summarise_image(Summary::Kind::gram, v).matrix().view()),
                          1e-12 * norm2);
                EXPECT_NEAR(one.sparse->residual_norm2(v), dense.residual_norm2(v), 1e-12 * norm2);
            }
        }
    }
}

TEST(SparseEnd, DoesNotDependOnThreads) {
    const int before = thread_count();
    for (const bool rows : {true, false}) {
        const Case one(rows, 1100, 40, 3, 4);
        std::vector<Matrix<double>> found;
        for (const int threads : {1, 2, 5}) {
            set_thread_count(threads);
            found.push_back(one.sparse->summarise(Summary::Kind::gram).matrix().size() > 0
                                ? Matrix<double>::copy(one.sparse->summarise(Summary::Kind::gram).matrix().view())
                                : Matrix<double>());
        }
        set_thread_count(before);
        EXPECT_EQ(naive_distance(found[0].view(), found[1].view()), 0);
        EXPECT_EQ(naive_distance(found[0].view(), found[2].view()), 0);
    }
}

TEST(SparseEnd, RefusesAGramMatrixThatNobodyHasMemoryFor) {
    const std::vector<double> values{1};
    const SparseRows end({.width = 1, .starts = {0, 1}, .places = {7}, .values = values}, Index{1} << 20, 10);
    EXPECT_THROW(end.summarise(Summary::Kind::gram), InputError);
    const auto v = Matrix<double>::zeros(Index{1} << 20, 2);
    EXPECT_EQ(end.apply_gram(v.view()).rows(), Index{1} << 20) << "a small rank needs none";
}

}  // namespace
}  // namespace couplet
