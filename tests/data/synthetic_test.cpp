#include "couplet/data/synthetic.hpp"

#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::refusal;
using testing::values_of;

/// sum over r of A_1[i,r] A_2[j,r] ..., the definition.
double cp_entry(const SyntheticClients& clients, const Matrix<double>& personal, const std::vector<Index>& at) {
    double sum = 0;
    for (Index r = 0; r < personal.cols(); ++r) {
        double term = personal(at[0], r);
        for (std::size_t n = 1; n < at.size(); ++n) term *= clients.feature_factor(static_cast<Index>(n))(at[n], r);
        sum += term;
    }
    return sum;
}

double norm2(const Tensor<double>& x) { return squared_norm<double>(x.view().unfold(1)); }

TEST(Synthetic, IsTheCpTensorOfItsFactors) {
    for (const char* text :
         {"7x3:rank=2", "7x3x5:rank=4", "5x2x3x4:rank=3,density=0.9,personal=gaussian", "4x1x1:rank=1"}) {
        const SyntheticClients clients(parse_synthetic(text, 11), 3);
        for (Index k = 0; k < 3; ++k) {
            const Tensor<double> x = clients.client(k);
            const Matrix<double> personal = clients.personal_factor(k);
            for (Index i = 0; i < x.size(); ++i)
                ASSERT_NEAR(x.data()[i], cp_entry(clients, personal, x.shape().indices(i)), 1e-13) << text;
        }
    }
}

TEST(Synthetic, DealsPatientsEvenly) {
    const SyntheticClients total(parse_synthetic("10x3x2"), 4);
    EXPECT_EQ(total.client(0).shape(), (Shape{3, 3, 2}));
    EXPECT_EQ(total.client(3).shape(), (Shape{2, 3, 2}));
    EXPECT_EQ(total.total_patients(), 10);
    const SyntheticClients each(parse_synthetic("10x3x2:patients=each"), 4);
    EXPECT_EQ(each.client(3).shape(), (Shape{10, 3, 2}));
    EXPECT_EQ(each.total_patients(), 40);
}

TEST(Synthetic, PatientsDoNotDependOnWhoHoldsThem) {
    for (const char* text : {"12x4x3", "12x4x3:noise=0.1,personal=gaussian"}) {
        const Tensor<double> whole = SyntheticClients(parse_synthetic(text, 5), 1).client(0);
        const SyntheticClients clients(parse_synthetic(text, 5), 5);
        Index done = 0;
        for (Index k = 0; k < 5; ++k) {
            const Tensor<double> part = clients.client(k);
            for (Index i = 0; i < part.size(); ++i) ASSERT_NEAR(part.data()[i], whole.data()[done + i], 1e-13);
            done += part.size();
        }
        EXPECT_EQ(done, whole.size());
    }
}

TEST(Synthetic, DependsOnTheSeedNotOnOrderOrThreads) {
    const SyntheticSpec spec = parse_synthetic("40x9x8:noise=0.1", 3);
    const SyntheticClients a(spec, 4);
    const SyntheticClients b(spec, 4);
    const std::vector<double> last = values_of(a.client(3));
    const int threads = thread_count();
    set_thread_count(1);
    for (Index k = 0; k < 3; ++k) b.client(k);
    EXPECT_EQ(values_of(b.client(3)), last);
    set_thread_count(threads);
    EXPECT_NE(values_of(a.client(2)), last);
    EXPECT_NE(values_of(SyntheticClients(parse_synthetic("40x9x8:noise=0.1", 4), 4).client(3)), last);
}

TEST(Synthetic, FeaturesAreSparseAndStandardNormal) {
    const SyntheticClients clients(parse_synthetic("5x2000x300:density=0.4", 1), 1);
    double nonzero = 0;
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    const Matrix<double>& a = clients.feature_factor(1);
    for (Index i = 0; i < a.size(); ++i) {
        const double x = a.data()[i];
        nonzero += x != 0;
        sum += x;
        squares += x * x;
        fourths += x * x * x * x;
    }
    // 40,000 entries, about 16,000 of them not zero: five standard deviations.
    EXPECT_NEAR(nonzero / static_cast<double>(a.size()), 0.4, 0.0125);
    EXPECT_NEAR(sum / nonzero, 0, 0.04);
    EXPECT_NEAR(squares / nonzero, 1, 0.06);
    EXPECT_NEAR(fourths / nonzero, 3, 0.4);
    EXPECT_NE(a(0, 0), clients.feature_factor(2)(0, 0));
}

TEST(Synthetic, PersonalFactorsAreUniformOrNormal) {
    const auto moments = [](const char* text) {
        const Matrix<double> a = SyntheticClients(parse_synthetic(text, 2), 1).personal_factor(0);
        double mean = 0;
        double square = 0;
        for (Index i = 0; i < a.size(); ++i) {
            mean += a.data()[i] / static_cast<double>(a.size());
            square += a.data()[i] * a.data()[i] / static_cast<double>(a.size());
        }
        return std::pair(mean, square);
    };
    const auto [uniform_mean, uniform_square] = moments("2000x2");
    EXPECT_NEAR(uniform_mean, 0.5, 0.01);
    EXPECT_NEAR(uniform_square, 1.0 / 3, 0.01);
    const auto [normal_mean, normal_square] = moments("2000x2:personal=gaussian");
    EXPECT_NEAR(normal_mean, 0, 0.03);
    EXPECT_NEAR(normal_square, 1, 0.04);
}

TEST(Synthetic, UnfoldingsHaveAtMostTheCpRank) {
    for (const char* text : {"60x25x25:rank=6", "40x12x11x10:rank=6,personal=gaussian,density=0.5"}) {
        const Tensor<double> x = SyntheticClients(parse_synthetic(text, 9), 1).client(0);
        for (Index n = 1; n < x.shape().order(); ++n) {
            const Basis basis = dominant_basis<double>(
                x.view().unfold(n), Side::left, {.max_tail = 1e-10 * std::sqrt(norm2(x)), .method = SvdMethod::qr});
            EXPECT_LE(basis.sigma.size(), 6u);
            EXPECT_GE(basis.sigma.size(), 4u);
        }
    }
}

TEST(Synthetic, NoiseIsRelativeToTheData) {
    for (const char* text : {"300x20x20", "300x20x20:personal=gaussian"}) {
        SyntheticSpec spec = parse_synthetic(text, 4);
        const Tensor<double> clean = SyntheticClients(spec, 1).client(0);
        spec.noise = 0.05;
        const Tensor<double> noisy = SyntheticClients(spec, 1).client(0);
        double difference = 0;
        for (Index i = 0; i < clean.size(); ++i) difference += std::pow(noisy.data()[i] - clean.data()[i], 2);
        EXPECT_NEAR(std::sqrt(difference / norm2(clean)), 0.05, 0.005) << text;
    }
}

TEST(Synthetic, HasThePapersSpectrum) {
    // Error of the best rank R1 of 200x30x30, mean of 200 seeds of a NumPy version, and five standard errors of a mean
    // of 20 seeds.
    struct Figure {
        std::size_t rank;
        double error;
        double tolerance;
    };
    const std::vector<Figure> expected{{5, 0.127, 0.013}, {10, 0.0585, 0.009}, {15, 0.019, 0.004}};
    std::vector<double> found(expected.size(), 0);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Tensor<double> x = SyntheticClients(parse_synthetic("200x30x30", seed), 1).client(0);
        const auto unfolding = x.view().unfold(1);
        const Basis basis = dominant_basis<double>(unfolding, Side::left, {.max_rank = 20, .method = SvdMethod::qr});
        for (std::size_t e = 0; e < expected.size(); ++e) {
            for (std::size_t r = expected[e].rank; r < basis.sigma.size(); ++r)
                found[e] += basis.sigma[r] * basis.sigma[r] / norm2(x) / 20;
        }
    }
    for (std::size_t e = 0; e < expected.size(); ++e)
        EXPECT_NEAR(found[e], expected[e].error, expected[e].tolerance) << "R1 = " << expected[e].rank;
}

TEST(Synthetic, RefusesImpossibleFederations) {
    const SyntheticSpec spec = parse_synthetic("4x3");
    EXPECT_EQ(refusal([&] { SyntheticClients(spec, 5); }),
              "clients: 5; expected a number from 1 to 4, the patients in total. Write patients=each to give every "
              "client 4 patients.");
    EXPECT_NE(refusal([&] { SyntheticClients(spec, 0); }), "nothing thrown");
    EXPECT_NE(refusal([] { SyntheticClients(parse_synthetic("4x3:patients=each"), 0); }), "nothing thrown");
    const SyntheticClients clients(spec, 2);
    EXPECT_EQ(refusal([&] { clients.client(2); }), "client: 2; expected a number from 0 to 1");
    EXPECT_EQ(refusal([&] { clients.feature_factor(0); }), "mode: 0; expected a number from 1 to 1");
}

}  // namespace
}  // namespace couplet
