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

TEST(DataPrint, OfFeaturesIsThatOfAllTheirCores) {
    std::vector<Tensor<double>> cores;
    cores.push_back(counted({2, 3, 2}));
    cores.push_back(counted({2, 4, 1}));
    const std::string print = features_print(cores);
    EXPECT_EQ(print.size(), 16u);
    std::set<std::string> prints{print, data_print(cores.front().view())};
    cores.back().data()[7] = 8;
    prints.insert(features_print(cores));
    std::swap(cores.front(), cores.back());
    prints.insert(features_print(cores));
    std::swap(cores.front(), cores.back());
    cores.back().data()[7] = 7;
    EXPECT_EQ(features_print(TensorTrain<double>(std::move(cores))), print);
    EXPECT_EQ(prints.size(), 4u);
}

}  // namespace
}  // namespace couplet
