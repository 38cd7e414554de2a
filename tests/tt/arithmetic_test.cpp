#include "couplet/tt/arithmetic.hpp"

#include <gtest/gtest.h>

#include "couplet/tt/rounding.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using support::inner_ranks;
using support::message_of;
using support::naive_full;
using support::random_train;

long double naive_dot(const std::vector<long double>& a, const std::vector<long double>& b) {
    long double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

const std::vector<Index> sizes{3, 1, 4, 5};

template <Real T>
struct Pair {
    TensorTrain<T> a = random_train<T>(sizes, {1, 2, 3, 4, 1}, 1);
    TensorTrain<T> b = random_train<T>(sizes, {1, 3, 1, 2, 1}, 50);
};

/// Entries within 1e-13 (float 1e-5) of alpha A + beta B.
template <Real T>
void check_combination(const TensorTrain<T>& result, const TensorTrain<T>& a, double alpha, const TensorTrain<T>& b,
                       double beta) {
    const auto fa = naive_full(a);
    const auto fb = naive_full(b);
    const auto fr = naive_full(result);
    ASSERT_EQ(fr.size(), fa.size());
    constexpr double tolerance = std::same_as<T, float> ? 1e-4 : 1e-12;
    for (std::size_t i = 0; i < fr.size(); ++i) {
        const auto expected = static_cast<double>(alpha * fa[i] + beta * fb[i]);
        ASSERT_NEAR(static_cast<double>(fr[i]), expected, tolerance);
    }
}

template <Real T>
void check_add_and_scale() {
    const Pair<T> p;
    const auto sum = add(p.a, p.b);
    EXPECT_EQ(sum.ranks(), (std::vector<Index>{1, 5, 4, 6, 1}));
    check_combination(sum, p.a, 1, p.b, 1);
    check_combination(scale(p.a, T(-2.5)), p.a, -2.5, p.b, 0);
    EXPECT_EQ(scale(p.a, T(0)).ranks(), p.a.ranks());
}

TEST(Arithmetic, AddAndScaleAgreeWithDense) {
    check_add_and_scale<double>();
    check_add_and_scale<float>();
    const auto one = random_train<double>({6}, {1, 1}, 1);
    const auto two = random_train<double>({6}, {1, 1}, 2);
    check_combination(add(one, two), one, 1, two, 1);
    const auto open = random_train<double>({3, 4}, {2, 3, 1}, 1);
    const auto open_too = random_train<double>({3, 4}, {2, 2, 1}, 7);
    check_combination(add(open, open_too), open, 1, open_too, 1);
    EXPECT_EQ(add(open, open_too).ranks(), (std::vector<Index>{2, 5, 1}));
}

TEST(Arithmetic, ScaleKeepsWhatItDoesNotTouch) {
    auto train = left_orthonormalise(Pair<double>().a).train;
    const auto scaled = scale(train, 3.0);
    EXPECT_EQ(scaled.orthogonality(0), Orthogonality::left);
    EXPECT_EQ(scaled.orthogonality(3), Orthogonality::none);
    const auto right = right_orthonormalise(Pair<double>().a).train;
    ASSERT_EQ(right.orthogonality(3), Orthogonality::right);
    EXPECT_EQ(scale(right, 3.0).orthogonality(2), Orthogonality::right);
    EXPECT_EQ(scale(right, 3.0).orthogonality(3), Orthogonality::none) << "its rows have length 3 now";
    EXPECT_TRUE(support::same_bits<double>(scaled.left_unfolding(1), train.left_unfolding(1)));
}

TEST(Arithmetic, LabelsAreKept) {
    Pair<double> p;
    const Labels labels{{"patient", {"x", "y", "z"}}, {"a", {}}, {"b", {}}, {"c", {}}};
    p.a.set_labels(labels);
    EXPECT_EQ(add(p.a, p.b).labels(), labels);
    EXPECT_EQ(scale(p.a, 2.0).labels(), labels);
    EXPECT_EQ(left_orthonormalise(p.a).train.labels(), labels);
    EXPECT_EQ(right_orthonormalise(p.a).train.labels(), labels);
    EXPECT_EQ(round(p.a, {.eps = 0.1}).train.labels(), labels);
}

template <Real T>
void check_dot_and_norm(const TensorTrain<T>& a, const TensorTrain<T>& b) {
    const auto fa = naive_full(a);
    const auto fb = naive_full(b);
    const double na = static_cast<double>(support::naive_norm_of(fa.data(), fa.size()));
    const double nb = static_cast<double>(support::naive_norm_of(fb.data(), fb.size()));
    EXPECT_NEAR(dot(a, b), static_cast<double>(naive_dot(fa, fb)), 1e-13 * na * nb);
    EXPECT_EQ(dot(a, b), dot(a, b));
    EXPECT_NEAR(norm(a), na, 1e-13 * na);
    EXPECT_NEAR(dot(a, a), na * na, 1e-12 * na * na);
}

TEST(Arithmetic, DotAndNormAgreeWithDense) {
    const Pair<double> p;
    check_dot_and_norm(p.a, p.b);
    const Pair<float> f;
    check_dot_and_norm(f.a, f.b);
    check_dot_and_norm(random_train<double>({6}, {1, 1}, 1), random_train<double>({6}, {1, 1}, 2));
    check_dot_and_norm(random_train<double>({3, 4}, {2, 3, 1}, 1), random_train<double>({3, 4}, {2, 2, 1}, 7));
}

TEST(Arithmetic, DotAndNormOfExtremeCores) {
    // Cores of 1e200 and 1e-200 in one train: every partial product overflows, the result does not.
    std::vector<Tensor<double>> cores;
    const double scales[] = {1e200, 1e200, 1e-200, 1e-200};
    for (std::size_t n = 0; n < 4; ++n) {
        cores.push_back(support::random_tensor<double>({n == 0 ? 1 : 3, 4, n == 3 ? 1 : 3}, n, scales[n]));
    }
    const TensorTrain<double> mixed(std::move(cores));
    check_dot_and_norm(mixed, mixed);
    for (const double s : {1e-200, 1e200}) {
        const auto huge = random_train<double>({4, 5}, {1, 3, 1}, 1, std::sqrt(s));
        const auto full = naive_full(huge);
        const long double expected = support::naive_norm_of(full.data(), full.size());
        EXPECT_NEAR(norm(huge) / s, static_cast<double>(expected / s), 1e-12 * static_cast<double>(expected / s));
    }
    const auto large = random_train<double>({4, 5}, {1, 3, 1}, 1, 1e150);
    EXPECT_TRUE(std::isfinite(norm(large)));
    const auto tiny = random_train<double>({4, 5}, {1, 3, 1}, 1, 1e-75);
    EXPECT_GT(norm(tiny), 1e-151);
}

TEST(Arithmetic, NormOfLongTrains) {
    // All-ones cores of rank 2: partial products reach 2^1299, the halves in between bring the whole back to 1.
    const Index order = 1300;
    std::vector<Tensor<double>> cores;
    for (Index n = 0; n < order; ++n) {
        auto core = Tensor<double>::zeros({n == 0 ? 1 : 2, 1, n == order - 1 ? 1 : 2});
        for (double& x : core.elements()) x = n == 0 ? 1 : 0.5;
        cores.push_back(std::move(core));
    }
    const TensorTrain<double> train(std::move(cores));
    EXPECT_NEAR(norm(train), 1, 1e-9);
    EXPECT_NEAR(dot(train, train), 1, 1e-9);
    const auto rounded = round(train, {.eps = 1e-6});
    EXPECT_EQ(rounded.train.ranks(), std::vector<Index>(1301, 1));
    EXPECT_NEAR(rounded.norm, 1, 1e-9);
    EXPECT_NEAR(right_orthonormalise(train).norm, 1, 1e-9);
}

TEST(Arithmetic, DotOfZeroAndOfNonFiniteTrains) {
    const auto zero = scale(Pair<double>().a, 0.0);
    EXPECT_EQ(dot(zero, Pair<double>().b), 0);
    EXPECT_EQ(norm(zero), 0);
    const auto nan = scale(Pair<double>().a, std::nan(""));
    EXPECT_TRUE(std::isnan(dot(nan, nan)));
}

TEST(Arithmetic, ResultsThatAreNoNumbersAreRefused) {
    const auto huge = random_train<double>({4, 5}, {1, 3, 1}, 1, 1e100);
    const auto tiny = random_train<double>({4, 5}, {1, 3, 1}, 1, 1e-100);
    const std::string rest = "; expected a number between 4.9e-324 and 1.8e308. Scale the values first.";
    EXPECT_EQ(message_of([&] { dot(huge, huge); }), "dot: an inner product of about 1e402" + rest);
    EXPECT_EQ(message_of([&] { dot(tiny, tiny); }), "dot: an inner product of about 1e-398" + rest);
    EXPECT_GT(std::abs(dot(huge, tiny)), 1e-3);
    const auto beyond = random_train<double>({4, 5}, {1, 3, 1}, 1, 1e160);
    EXPECT_EQ(message_of([&] { norm(beyond); }), "norm: a norm of about 1e321" + rest);
    const auto below = random_train<double>({4, 5}, {1, 3, 1}, 1, 1e-170);
    EXPECT_EQ(message_of([&] { norm(below); }), "norm: a norm of about 1e-339" + rest);
    // A float train may have a norm that no float is.
    const auto single = random_train<float>({4, 5}, {1, 3, 1}, 1, 1e20);
    EXPECT_NEAR(norm(single) / 1e40, norm(random_train<float>({4, 5}, {1, 3, 1}, 1)), 1e-4);
    EXPECT_THROW(left_orthonormalise(single), InputError);
    EXPECT_THROW(round(single, {.eps = 0.1}), InputError);
    EXPECT_EQ(
        message_of([&] { scale(huge, 1e300); }),
        "scale: an entry beyond the largest number; expected entries up to 1.79769e+308. Scale the models first.");
    const auto vector = random_train<double>({3}, {1, 1}, 1, 1.7e308);
    EXPECT_EQ(message_of([&] { add(vector, vector); }),
              "add: an entry beyond the largest number; expected entries up to 1.79769e+308. Scale the models first.");
}

TEST(Arithmetic, ADotThatIsLostAmongProductsTooLargeIsRefused) {
    const auto train = [](double first, double second) {
        std::vector<Tensor<double>> cores;
        cores.push_back(Tensor<double>::zeros({1, 2, 1}));
        cores.front().data()[0] = first;
        cores.front().data()[1] = second;
        return TensorTrain<double>(std::move(cores));
    };
    // 1 + 1, from products that a scaled sum cannot hold beside 1e400.
    EXPECT_EQ(message_of([&] { dot(train(1e200, 1e-200), train(1e-200, 1e200)); }),
              "dot: products of which the largest is beyond 1.8e308 and that seem to cancel; expected an inner product "
              "that can be told from rounding. Scale a model first.");
    EXPECT_EQ(dot(train(1e200, 0), train(0, 1e100)), 0);
    EXPECT_EQ(dot(train(1e200, 1e200), train(0, 0)), 0);
    EXPECT_EQ(dot(train(0, 2), train(1, 3)), 6);
}

TEST(Arithmetic, ConcatenateStacksTheFirstMode) {
    std::vector<TensorTrain<double>> trains;
    trains.push_back(random_train<double>({3, 4, 5}, {1, 2, 3, 1}, 1));
    trains.push_back(random_train<double>({1, 4, 5}, {1, 1, 2, 1}, 20));
    trains.push_back(random_train<double>({6, 4, 5}, {1, 4, 4, 1}, 30));
    const auto all = concatenate<double>(trains);
    EXPECT_EQ(all.shape(), (Shape{10, 4, 5}));
    EXPECT_EQ(all.ranks(), (std::vector<Index>{1, 7, 9, 1}));
    const auto full = naive_full(all);
    std::size_t at = 0;
    for (const auto& train : trains) {
        for (const long double value : naive_full(train)) {
            ASSERT_NEAR(static_cast<double>(full[at++]), static_cast<double>(value), 1e-13);
        }
    }
    std::vector<TensorTrain<float>> vectors;
    vectors.push_back(random_train<float>({2}, {1, 1}, 1));
    vectors.push_back(random_train<float>({3}, {1, 1}, 2));
    const auto longer = concatenate<float>(vectors);
    EXPECT_EQ(longer.shape(), Shape{5});
    EXPECT_EQ(longer.full().data()[3], vectors[1].full().data()[1]);
}

TEST(Arithmetic, RefusesShapesThatDisagree) {
    const auto a = random_train<double>({3, 4}, {1, 2, 1});
    const auto b = random_train<double>({3, 5}, {1, 2, 1});
    const auto open = random_train<double>({3, 4}, {2, 2, 1});
    EXPECT_EQ(message_of([&] { add(a, b); }), "add: 3x4 and 3x5; expected equal shapes");
    EXPECT_EQ(message_of([&] { dot(a, b); }), "dot: 3x4 and 3x5; expected equal shapes");
    EXPECT_EQ(message_of([&] { add(a, open); }), "add: 3x4 and 3x4 with different first ranks; expected equal shapes");
    const std::vector<TensorTrain<double>> none;
    EXPECT_EQ(message_of([&] { concatenate<double>(none); }), "concatenate: no trains; expected at least one");
    std::vector<TensorTrain<double>> mixed;
    mixed.push_back(random_train<double>({3, 4}, {1, 2, 1}));
    mixed.push_back(random_train<double>({3, 5}, {1, 2, 1}));
    EXPECT_EQ(message_of([&] { concatenate<double>(mixed); }),
              "concatenate: 3x4 and 3x5; expected shapes that differ in the first mode only");
    std::vector<TensorTrain<double>> opened;
    opened.push_back(random_train<double>({3, 4}, {2, 2, 1}));
    EXPECT_EQ(message_of([&] { concatenate<double>(opened); }), "concatenate: a first rank of 2; expected 1");
}

}  // namespace
}  // namespace couplet
