#include "masks.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/products.hpp"
#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(OrthogonalMask, TakesItselfOff) {
    for (const Index size : {1, 7, 8, 9, 23}) {
        const OrthogonalMask mask(size, 8, 3, 1);
        const auto a = normal_matrix(5, size, 2);
        EXPECT_LT(distance(mask.unmask_columns(mask.mask_columns(a.view()).view()), a), 1e-12);
    }
}

TEST(OrthogonalMask, KeepsGramMatricesAndHidesEntries) {
    const OrthogonalMask mask(12, 5, 3, 1);
    const auto a = normal_matrix(6, 12, 2);
    const auto masked = mask.mask_columns(a.view());
    EXPECT_LT(distance(gram<double>(masked.view(), Side::left), gram<double>(a.view(), Side::left)), 1e-12);
    EXPECT_GT(distance(masked, a), 1);
    const OrthogonalMask rows(6, 4, 9, 2);
    EXPECT_LT(distance(gram<double>(rows.mask_rows(a.view()).view(), Side::right), gram<double>(a.view(), Side::right)),
              1e-12);
}

TEST(OrthogonalMask, DependsOnSeedAndStreamOnly) {
    const auto a = normal_matrix(2, 9, 2);
    const auto masked = OrthogonalMask(9, 4, 1, 5).mask_columns(a.view());
    EXPECT_EQ(distance(masked, OrthogonalMask(9, 4, 1, 5).mask_columns(a.view())), 0);
    EXPECT_GT(distance(masked, OrthogonalMask(9, 4, 2, 5).mask_columns(a.view())), 0.1);
    EXPECT_GT(distance(masked, OrthogonalMask(9, 4, 1, 6).mask_columns(a.view())), 0.1);
}

TEST(OrthogonalMask, IsOneOrthogonalMatrixOfEqualBlocks) {
    struct Case {
        Index size;
        Index largest;
        std::vector<Index> blocks;
    };
    for (const auto& [size, largest, blocks] :
         std::vector<Case>{{8, 8, {8}}, {9, 8, {4, 5}}, {11, 4, {3, 4, 4}}, {12, 5, {4, 4, 4}}, {1, 3, {1}}}) {
        const OrthogonalMask mask(size, largest, 3, 1);
        const auto identity = Matrix<double>::identity(size);
        const auto q = mask.mask_columns(identity.view());
        EXPECT_EQ(mask.size(), size);
        EXPECT_EQ(distance(mask.mask_rows(identity.view()), q), 0);
        EXPECT_EQ(distance(mask.unmask_columns(identity.view()), transpose(q.view())), 0);
        EXPECT_LT(distance(gram<double>(q.view(), Side::right), identity), 1e-12);
        Index first = 0;
        for (const Index block : blocks) {
            for (Index i = first; i < first + block; ++i) {
                for (Index j = 0; j < size; ++j) {
                    const bool inside = j >= first && j < first + block;
                    EXPECT_EQ(q(i, j) != 0, inside) << size << " " << i << " " << j;
                }
            }
            first += block;
        }
        EXPECT_EQ(first, size);
    }
    // Blocks are drawn one after another: no two are alike.
    const auto q = OrthogonalMask(8, 4, 3, 1).mask_columns(Matrix<double>::identity(8).view());
    EXPECT_NE(q(0, 0), q(4, 4));
}

}  // namespace
}  // namespace couplet
