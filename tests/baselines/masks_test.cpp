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

}  // namespace
}  // namespace couplet
