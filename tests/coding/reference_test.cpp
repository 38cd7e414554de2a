#include "couplet/coding/reference.hpp"

#include <gtest/gtest.h>

#include "coding_test_support.hpp"
#include "couplet/coding/integers.hpp"

namespace couplet {
namespace {

TEST(CodingReference, GivesTheSameBytes) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {1, 67}, {67, 1}, {2, 33}, {7, 41}, {17, 32}}) {
        for (const Index inner : {0, 1, 4, 40}) {
            for (const double largest : {0.5, 30.0, 1e6}) {
                const auto block = support::decaying_block(rows, cols, largest, 11);
                EXPECT_EQ(reference::encode_integers(block.view(), inner), encode_integers(block.view(), inner))
                    << rows << "x" << cols << " inner " << inner << " scale " << largest;
            }
        }
    }
    EXPECT_EQ(reference::encode_integers(support::zeros(9, 9).view(), 3),
              encode_integers(support::zeros(9, 9).view(), 3));
}

}  // namespace
}  // namespace couplet
