#include "couplet/linalg/engine.hpp"

#include <gtest/gtest.h>

#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::matrix_with_spectrum;

/// Data that counts what it is asked for.
class Counted final : public Source {
  public:
    explicit Counted(const Matrix<double>& a) : end_(a.view(), Side::right) {}
    Index order() const override { return end_.order(); }
    Index terms() const override { return end_.terms(); }
    bool is_float() const override { return false; }
    Summary summarise(Summary::Kind kind) const override {
        ++(kind == Summary::Kind::gram ? grams : triangles);
        return end_.summarise(kind);
    }
    double squared_norm() const override {
        ++norms;
        return end_.squared_norm();
    }
    Matrix<double> apply_gram(MatrixView<const double> q) const override {
        ++applied;
        return end_.apply_gram(q);
    }
    Summary summarise_image(Summary::Kind kind, const Matrix<double>& v) const override {
        return end_.summarise_image(kind, v);
    }
    double residual_norm2(const Matrix<double>& v) const override {
        ++residuals;
        return end_.residual_norm2(v);
    }
    mutable int grams = 0;
    mutable int triangles = 0;
    mutable int norms = 0;
    mutable int applied = 0;
    mutable int residuals = 0;

  private:
    DenseEnd<double> end_;
};

/// One cut of eps ||A|| and a rank; refuses the norm where it is told to.
class OneCut {
  public:
    using Result = Basis;
    explicit OneCut(CutLimit limit, bool accepts = true) : limit_(limit), accepts_(accepts) {}
    std::vector<CutLimit> limits() const { return {limit_}; }
    bool knows_norm() const { return norm2_ > 0; }
    bool accept_norm(double norm2) {
        if (accepts_) norm2_ = norm2;
        return accepts_;
    }
    double norm2() const { return norm2_; }
    SvdOptions first_cut() const { return {.max_tail = limit_.eps * std::sqrt(norm2_), .max_rank = limit_.max_rank}; }
    Basis from_gram(const Summary& summary) {
        auto basis = basis_from_gram(summary.matrix().view(), first_cut(), summary.terms());
        trusted_ = gram_suffices(basis, norm2_, first_cut().max_tail, gram_floor(summary.order(), summary.terms()));
        return basis;
    }
    Basis from_factor(const Matrix<double>& factor) { return basis_from_factor(factor.view(), first_cut()); }
    Basis from_basis(Basis basis) { return basis; }
    bool trusts(const Basis&) const { return trusted_; }
    const Matrix<double>* map_of(const Basis& basis) const { return &basis.vectors; }
    void add_residual(Basis& basis, double residual2) { basis.tail2 += residual2; }

  private:
    CutLimit limit_;
    bool accepts_;
    bool trusted_ = false;
    double norm2_ = 0;
};

TEST(CutEnd, AGramMatrixIsEnoughWhereItShowsTheCut) {
    const auto a = matrix_with_spectrum(60, 20, geometric(20, 0.6));
    const Counted source(a);
    OneCut cutter({.eps = 0.01});
    const auto basis = cut_end(source, SvdMethod::automatic, cutter);
    ASSERT_TRUE(basis);
    EXPECT_EQ(source.grams, 1);
    EXPECT_EQ(source.triangles + source.norms + source.applied + source.residuals, 0) << "one read";
    EXPECT_LE(support::projection_error(a.view(), basis->vectors), 0.01 * std::sqrt(cutter.norm2()));
}

TEST(CutEnd, ATinyEpsGoesStraightToATriangle) {
    const auto a = matrix_with_spectrum(60, 20, geometric(20, 0.3));
    const Counted source(a);
    OneCut cutter({.eps = 1e-9});
    const auto basis = cut_end(source, SvdMethod::automatic, cutter);
    ASSERT_TRUE(basis);
    EXPECT_EQ(source.grams, 0);
    EXPECT_EQ(source.triangles, 1);
    EXPECT_LE(support::projection_error(a.view(), basis->vectors), 1e-9 * std::sqrt(cutter.norm2()));
}

/// A rank that leaves nothing behind: the Gram matrix cannot show that, one step on the data can.
TEST(CutEnd, ExactRankIsPolished) {
    const auto a = matrix_with_spectrum(200, 30, geometric(6, 0.7));
    const Counted source(a);
    OneCut cutter({.max_rank = 6});
    const auto basis = cut_end(source, SvdMethod::automatic, cutter);
    ASSERT_TRUE(basis);
    EXPECT_EQ(source.residuals, 1);
    EXPECT_EQ(source.triangles, 0);
    EXPECT_LE(basis->tail2, 1e-24);
}

/// Kept values below what a Gram matrix sees are not repaired by polishing: a triangle finds them.
TEST(CutEnd, WhatPolishingDoesNotRepairGetsATriangle) {
    const auto a = matrix_with_spectrum(60, 20, {1, 1e-3, 1e-9, 1e-10, 1e-11});
    const Counted source(a);
    OneCut cutter({.max_rank = 4});
    const auto basis = cut_end(source, SvdMethod::automatic, cutter);
    ASSERT_TRUE(basis);
    EXPECT_EQ(source.triangles, 1);
    EXPECT_NEAR(basis->sigma[3], 1e-10, 1e-15);
}

TEST(CutEnd, MethodsAreObeyed) {
    const auto a = matrix_with_spectrum(300, 120, geometric(120, 0.8));
    for (const auto method : {SvdMethod::gram, SvdMethod::qr, SvdMethod::random}) {
        const Counted source(a);
        OneCut cutter({.max_rank = 10});
        const auto basis = cut_end(source, method, cutter);
        ASSERT_TRUE(basis);
        EXPECT_EQ(basis->method, method);
        EXPECT_EQ(source.grams > 0, method == SvdMethod::gram);
        EXPECT_EQ(source.triangles > 0, method == SvdMethod::qr);
        EXPECT_EQ(source.applied > 0, method == SvdMethod::random);
    }
}

TEST(CutEnd, ANormThatIsNotAcceptedEndsTheAttempt) {
    const auto a = matrix_with_spectrum(60, 20, geometric(20, 0.6));
    for (const auto method : {SvdMethod::automatic, SvdMethod::qr, SvdMethod::random}) {
        const Counted source(a);
        OneCut cutter({.eps = 0.1}, false);
        EXPECT_FALSE(cut_end(source, method, cutter));
        EXPECT_EQ(source.triangles + source.applied, 0);
    }
}

TEST(CutEnd, RandomIsForFewOfMany) {
    EXPECT_TRUE(random_pays({.max_rank = 10}, 4000));
    EXPECT_FALSE(random_pays({.max_rank = 100}, 4000));
    EXPECT_FALSE(random_pays({.max_rank = 10}, 1000));
    EXPECT_FALSE(random_pays({.eps = 0.1}, 4000));
}

TEST(CutEnd, GramLimitsAreThoseOfItsRounding) {
    EXPECT_TRUE(gram_can_show({.eps = 1e-3}, 100, 1000));
    EXPECT_FALSE(gram_can_show({.eps = 1e-8}, 100, 1000));
    EXPECT_TRUE(gram_can_show({.eps = 1e-8, .max_rank = 5}, 100, 1000)) << "the rank may cut first";
    EXPECT_TRUE(gram_can_show({.max_rank = 5}, 100, 1000));
    EXPECT_FALSE(gram_can_show({.eps = 1.2e-6}, 100, 100'000'000)) << "long sums round more";
}

}  // namespace
}  // namespace couplet
