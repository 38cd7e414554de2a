#include "couplet/io/data_print.hpp"

#include <gtest/gtest.h>

#include <set>

namespace couplet {
namespace {

Tensor<double> counted(const Shape& shape) {
    Tensor<double> x(shape);
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i);
    return x;
}

TEST(DataPrint, IsThatOfTheNumbersAndTheShape) {
    const auto x = counted({3, 4, 2});
    EXPECT_EQ(data_print(x.view()), data_print(counted({3, 4, 2}).view()));
    EXPECT_EQ(data_print(x.view()).size(), 16u);
    std::set<std::string> prints{data_print(x.view()), data_print(counted({4, 3, 2}).view()),
                                 data_print(counted({24}).view()), data_print(counted({3, 4}).view())};
    for (Index i = 0; i < x.size(); ++i) {
        auto changed = counted({3, 4, 2});
        changed.data()[i] += 1e-13;
        prints.insert(data_print(changed.view()));
    }
    auto swapped = counted({3, 4, 2});
    std::swap(swapped.data()[0], swapped.data()[8]);
    prints.insert(data_print(swapped.view()));
    EXPECT_EQ(prints.size(), 4u + 24u + 1u);
}

}  // namespace
}  // namespace couplet
