#include "couplet/data/split.hpp"

#include <numeric>

#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::refusal;
using testing::values_of;

/// `rows` x 2: row p holds p and -p, and its label is 10 p.
Dataset numbered(Index rows) {
    Dataset data{.tensor = Tensor<double>(Shape{rows, 2}), .source = "x.csv", .available = 99, .records = 7};
    for (Index p = 0; p < rows; ++p) {
        data.tensor.data()[2 * p] = static_cast<double>(p);
        data.tensor.data()[2 * p + 1] = -static_cast<double>(p);
        data.labels.push_back(10 * p);
    }
    data.tensor.set_labels({{"person", {}}, {"feature", {"plus", "minus"}}});
    return data;
}

TEST(Split, PartsDifferByAtMostOne) {
    EXPECT_EQ(even_parts(10, 4), (std::vector<Index>{3, 3, 2, 2}));
    EXPECT_EQ(even_parts(3, 3), (std::vector<Index>{1, 1, 1}));
    EXPECT_EQ(even_parts(5, 1), (std::vector<Index>{5}));
    for (const Index rows : {7, 64, 101}) {
        for (Index clients = 1; clients <= rows; ++clients) {
            const std::vector<Index> parts = even_parts(rows, clients);
            EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), Index{0}), rows);
            EXPECT_LE(parts.front() - parts.back(), 1);
            EXPECT_TRUE(std::is_sorted(parts.rbegin(), parts.rend()));
            EXPECT_EQ(part_begin(rows, clients, clients), rows);
        }
    }
}

TEST(Split, RefusesEmptyClients) {
    EXPECT_EQ(refusal([] { even_parts(3, 4); }),
              "clients: 4; expected a number from 1 to 3, the size of mode 1. Every client needs at least one index of "
              "mode 1.");
    EXPECT_NE(refusal([] { even_parts(3, 0); }), "nothing thrown");
    EXPECT_NE(refusal([] { split_dataset(numbered(3), 4); }), "nothing thrown");
    EXPECT_NE(refusal([] { split_view(numbered(3).tensor.view(), 4); }), "nothing thrown");
}

TEST(Split, ViewsCopyNothing) {
    const Tensor<double> x = std::move(numbered(5).tensor);
    const auto parts = split_view(x.view(), 2);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].shape(), (Shape{3, 2}));
    EXPECT_EQ(parts[1].shape(), (Shape{2, 2}));
    EXPECT_EQ(parts[0].data(), x.data());
    EXPECT_EQ(parts[1].data(), x.data() + 6);
}

TEST(Split, DealsRowsAndLabelsInOrder) {
    const std::vector<Dataset> parts = split_dataset(numbered(5), 2);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(values_of(parts[0].tensor), (std::vector<double>{0, 0, 1, -1, 2, -2}));
    EXPECT_EQ(values_of(parts[1].tensor), (std::vector<double>{3, -3, 4, -4}));
    EXPECT_EQ(parts[0].labels, (std::vector<std::int64_t>{0, 10, 20}));
    EXPECT_EQ(parts[1].labels, (std::vector<std::int64_t>{30, 40}));
    EXPECT_EQ(parts[1].tensor.labels()[1].entries, (std::vector<std::string>{"plus", "minus"}));
    EXPECT_EQ(parts[1].source, "x.csv");
    EXPECT_EQ(parts[1].available, 99);
}

TEST(Split, ShufflesRowsTogetherWithTheirLabels) {
    const std::vector<Dataset> parts = split_dataset(numbered(40), 3, 8);
    std::vector<std::int64_t> seen;
    for (const Dataset& part : parts) {
        for (std::size_t p = 0; p < part.labels.size(); ++p) {
            EXPECT_EQ(part.tensor.data()[2 * p] * 10, static_cast<double>(part.labels[p]));
            seen.push_back(part.labels[p] / 10);
        }
    }
    EXPECT_FALSE(std::is_sorted(seen.begin(), seen.end()));
    std::sort(seen.begin(), seen.end());
    for (std::size_t p = 0; p < 40; ++p) EXPECT_EQ(seen[p], static_cast<std::int64_t>(p));
    EXPECT_EQ(split_dataset(numbered(40), 3, 8)[1].labels, parts[1].labels);
    EXPECT_NE(split_dataset(numbered(40), 3, 9)[1].labels, parts[1].labels);
}

TEST(Split, DealsNamesOfRowsToo) {
    Dataset data = numbered(3);
    data.tensor.set_labels({{"person", {"a", "b", "c"}}, {}});
    EXPECT_EQ(split_dataset(data, 2)[1].tensor.labels()[0].entries, (std::vector<std::string>{"c"}));
}

TEST(Split, RefusesLabelsThatDoNotFit) {
    Dataset data = numbered(3);
    data.labels.pop_back();
    EXPECT_EQ(refusal([&] { split_dataset(data, 2); }), "labels: 2 labels; expected 3, one per index");
}

}  // namespace
}  // namespace couplet
