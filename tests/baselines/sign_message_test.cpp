#include "sign_message.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(SignMessage, KeepsSignsAndTheMeanMagnitude) {
    for (const Index cols : {1, 3, 8, 9}) {
        const auto p = normal_matrix(5, cols, 3);
        double mean = 0;
        for (Index i = 0; i < p.size(); ++i) mean += std::abs(p.data()[i]) / static_cast<double>(p.size());
        const auto message = compress_signs(p.view());
        const auto back = expand_signs(message);
        for (Index i = 0; i < p.size(); ++i) {
            EXPECT_NEAR(std::abs(back.data()[i]), mean, 1e-15);
            EXPECT_EQ(back.data()[i] < 0, p.data()[i] < 0);
        }
        EXPECT_EQ(message.bytes(), 8 + std::ceil(static_cast<double>(p.size()) / 8));
    }
}

TEST(SignMessage, NothingIsSentOfZero) {
    const auto back = expand_signs(compress_signs(Matrix<double>::zeros(2, 3).view()));
    for (Index i = 0; i < back.size(); ++i) EXPECT_EQ(back.data()[i], 0);
}

TEST(SignMessage, CompressionShortensTheRest) {
    // ||P - C(P)||^2 = ||P||^2 - ||P||_1^2 / numel: a contraction for any P.
    const auto p = normal_matrix(7, 6, 4);
    double l1 = 0;
    for (Index i = 0; i < p.size(); ++i) l1 += std::abs(p.data()[i]);
    const double rest = distance(p, expand_signs(compress_signs(p.view())));
    EXPECT_NEAR(rest * rest, inner_product(p, p) - l1 * l1 / 42, 1e-12);
}

TEST(ErrorFeedback, WhatWasSentAndWhatIsKeptAddUp) {
    ErrorFeedback feedback;
    auto wanted = Matrix<double>::zeros(4, 5);
    auto sent = Matrix<double>::zeros(4, 5);
    for (std::uint64_t t = 0; t < 40; ++t) {
        const auto p = normal_matrix(4, 5, t);
        add_scaled(wanted, 1, p);
        add_scaled(sent, 1, expand_signs(feedback.send(Matrix<double>::copy(p.view()))));
        auto total = Matrix<double>::copy(sent.view());
        add_scaled(total, 1, feedback.rest());
        EXPECT_LT(distance(total, wanted), 1e-12);
    }
}

TEST(ErrorFeedback, AConstantMessageArrivesInTheMean) {
    // Without feedback the small entry would always arrive as large as the big one.
    ErrorFeedback feedback;
    Matrix<double> p(1, 2);
    p(0, 0) = 1;
    p(0, 1) = 0.1;
    auto sent = Matrix<double>::zeros(1, 2);
    constexpr int times = 1000;
    for (int t = 0; t < times; ++t)
        add_scaled(sent, 1.0 / times, expand_signs(feedback.send(Matrix<double>::copy(p.view()))));
    EXPECT_LT(distance(sent, p), 0.01);
}

TEST(SignMessage, OneBitAnEntryTheLowestFirst) {
    Matrix<double> p(2, 5);
    for (Index i = 0; i < 10; ++i) p.data()[i] = i == 1 || i == 4 || i == 9 ? -2 : 1;
    p.data()[0] = 0;  // counts as positive
    const auto message = compress_signs(p.view());
    EXPECT_EQ(message.rows, 2);
    EXPECT_EQ(message.cols, 5);
    EXPECT_EQ(message.bits, (std::vector<std::uint8_t>{0b00010010, 0b00000010}));
    EXPECT_DOUBLE_EQ(message.scale, (3 * 2 + 6) / 10.0);
    EXPECT_EQ(message.bytes(), 2 + 8);
    const auto back = expand_signs(message);
    EXPECT_EQ(back(0, 0), message.scale);
    EXPECT_EQ(back(1, 4), -message.scale);
    EXPECT_EQ(compress_signs(Matrix<double>(0, 3).view()).bytes(), 8);
}

TEST(ErrorFeedback, TheFirstMessageHasNoRest) {
    ErrorFeedback feedback;
    const auto p = normal_matrix(3, 2, 5);
    const auto message = feedback.send(Matrix<double>::copy(p.view()));
    EXPECT_LT(distance(expand_signs(message), naive_signs(p)), 1e-15);
    EXPECT_LT(distance(feedback.rest(), plus(p, -1, naive_signs(p))), 1e-15);
    const auto next = normal_matrix(3, 2, 6);
    const auto wanted = plus(next, 1, feedback.rest());
    EXPECT_LT(distance(expand_signs(feedback.send(Matrix<double>::copy(next.view()))), naive_signs(wanted)), 1e-15);
}

TEST(SignMessage, OneEntryIsItself) {
    Matrix<double> p(1, 1);
    p(0, 0) = -3;
    EXPECT_EQ(expand_signs(compress_signs(p.view()))(0, 0), -3);
}

}  // namespace
}  // namespace couplet
