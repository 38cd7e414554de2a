#include "contractions.hpp"

#include <utility>

#include "matrices.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

TensorTrain<double> random_train(const std::vector<Index>& ranks, const std::vector<Index>& sizes, std::uint64_t seed) {
    Random random(seed);
    std::vector<Tensor<double>> cores;
    for (std::size_t n = 0; n < sizes.size(); ++n) {
        Tensor<double> core({ranks[n], sizes[n], ranks[n + 1]});
        for (double& value : core.elements()) value = random.normal();
        cores.push_back(std::move(core));
    }
    return TensorTrain<double>(std::move(cores));
}

TEST(ContractionsTest, ProductsAreThoseOfTheWholeTensor) {
    const auto train = random_train({1, 3, 4, 2, 1}, {5, 3, 4, 2}, 1);
    const auto x = train.full();
    std::vector<Matrix<double>> factors;
    for (Index n = 0; n < 4; ++n) factors.push_back(support::random_matrix<double>(train.shape()[n], 3, 10 + n));
    std::vector<Tensor<double>> cores;
    for (Index n = 0; n < 4; ++n) cores.push_back(Tensor<double>::copy(train.core(n)));
    Contractions contractions(cores);
    contractions.backward(factors);
    for (std::size_t n = 0; n < 4; ++n) {
        auto expected = Matrix<double>::zeros(factors[n].rows(), 3);
        for (Index at = 0; at < x.size(); ++at) {
            const auto index = x.shape().indices(at);
            for (Index r = 0; r < 3; ++r) {
                double value = x.data()[at];
                for (std::size_t m = 0; m < 4; ++m) value *= m == n ? 1 : factors[m](index[m], r);
                expected(index[n], r) += value;
            }
        }
        EXPECT_LT(support::naive_distance(contractions.product(n).view(), expected.view()), 1e-10) << n;
        if (n == 1) factors[1](0, 0) += 1;  // what was updated counts for the modes behind
        if (n + 1 < 4) contractions.forward(n, factors[n]);
    }
}

TEST(ContractionsTest, InnerProductsOfRowsOfTrains) {
    const auto a = random_train({3, 2, 4, 1}, {3, 4, 2}, 5);
    const auto b = random_train({2, 5, 2, 1}, {3, 4, 2}, 6);
    const auto found = inner_products(a, b);
    const auto wide_a = a.full();
    const auto wide_b = b.full();
    const auto expected =
        support::naive_product(MatrixView<const double>(wide_a.data(), 3, 24),
                               MatrixView<const double>(wide_b.data(), 2, 24), Op::none, Op::transpose);
    EXPECT_LT(support::naive_distance(found.view(), expected.view()), 1e-10);
}

TEST(ContractionsTest, GramsMultiply) {
    const auto a = support::random_matrix<double>(4, 2, 7);
    const auto b = support::random_matrix<double>(3, 2, 8);
    std::vector<Matrix<double>> factors;
    factors.push_back(Matrix<double>::copy(a.view()));
    factors.push_back(Matrix<double>::copy(b.view()));
    const auto own = support::naive_product(b.view(), b.view(), Op::transpose);
    EXPECT_LT(support::naive_distance(gram_product(factors, 0).view(), own.view()), 1e-14);
    EXPECT_NEAR(gram_product(factors, -1)(0, 1),
                own(0, 1) * support::naive_product(a.view(), a.view(), Op::transpose)(0, 1), 1e-13);
}

}  // namespace
}  // namespace couplet::testing
