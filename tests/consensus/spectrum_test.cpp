#include "couplet/consensus/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support.hpp"

namespace couplet {
namespace {

void expect_values(const Graph& graph, std::vector<double> expected) {
    std::sort(expected.begin(), expected.end());
    const std::vector<double> actual = distinct_laplacian_eigenvalues(graph);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-11);
}

TEST(SpectrumTest, KnownEigenvalues) {
    expect_values(Graph(), {});
    expect_values(path_graph(2), {2});
    for (const Index nodes : {3, 8, 33, 100}) {
        const auto k = static_cast<double>(nodes);
        expect_values(complete_graph(nodes), {k});
        expect_values(star_graph(nodes), {1, k});
        std::vector<double> path;
        std::vector<double> ring;
        for (Index i = 1; i < nodes; ++i) {
            path.push_back(2 - 2 * std::cos(std::numbers::pi * static_cast<double>(i) / k));
            if (i <= nodes / 2) ring.push_back(2 - 2 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / k));
        }
        expect_values(path_graph(nodes), path);
        expect_values(ring_graph(nodes), ring);
    }
    EXPECT_EQ(distinct_laplacian_eigenvalues(paper8_graph()).size(), 7U);
    EXPECT_THROW(distinct_laplacian_eigenvalues(Graph(2, {})), InputError);
}

TEST(SpectrumTest, LejaOrderMaximisesTheProductOfDistances) {
    EXPECT_EQ(leja_order({1, 2, 3, 4}), (std::vector<double>{4, 1, 2, 3}));
    EXPECT_EQ(leja_order({1, 2, 3 + 1e-13, 4}).back(), 3 + 1e-13);
    EXPECT_EQ(leja_order({5}), std::vector<double>{5});
    EXPECT_TRUE(leja_order({}).empty());
    const std::vector<double> order = leja_order(distinct_laplacian_eigenvalues(path_graph(20)));
    for (std::size_t t = 1; t < order.size(); ++t) {
        const auto product = [&](std::size_t i) {
            double result = 1;
            for (std::size_t s = 0; s < t; ++s) result *= std::abs(order[i] - order[s]);
            return result;
        };
        for (std::size_t i = t + 1; i < order.size(); ++i) EXPECT_GE(product(t), product(i) * (1 - 1e-8));
    }
}

}  // namespace
}  // namespace couplet
