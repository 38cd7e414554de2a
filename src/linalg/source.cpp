#include "couplet/linalg/source.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/tensor/partition.hpp"

namespace couplet {
namespace {

const char* name_of(Summary::Kind kind) { return kind == Summary::Kind::gram ? "Gram matrix" : "triangle"; }

void require_order(const char* what, Index found, Index expected) {
    if (found == expected) return;
    throw InputError(
        {what, "rows of " + std::to_string(found) + " numbers", "rows of " + std::to_string(expected), ""});
}

/// Rows under a triangle, folded into one.
template <Real T>
Matrix<double> folded(const Matrix<double>& upper, MatrixView<const T> lower) {
    Matrix<double> stack(upper.rows() + lower.rows, upper.cols());
    convert_into(upper.view(), stack.view().rows_from(0, upper.rows()));
    convert_into(lower, stack.view().rows_from(upper.rows(), lower.rows));
    return triangular_factor<double>(stack.view(), Side::right);
}

}  // namespace

Summary::Summary(Kind kind, Index order)
    : kind_(kind), matrix_(kind == Kind::gram ? Matrix<double>::zeros(order, order) : Matrix<double>(0, order)) {}

Summary Summary::of(Kind kind, Matrix<double> matrix, Index terms) { return {kind, std::move(matrix), terms}; }

template <Real T>
void Summary::add(MatrixView<const T> rows) {
    require_order("summary", rows.cols, order());
    if (rows.rows == 0) return;
    if (kind_ == Kind::triangle) {
        matrix_ = folded(matrix_, rows);
    } else {
        const auto more = gram(rows, Side::right);
        for (Index i = 0; i < matrix_.size(); ++i) matrix_.data()[i] += more.data()[i];
    }
    terms_ += rows.rows;
}

void Summary::merge(const Summary& other) {
    require_order("summary", other.order(), order());
    if (other.kind_ != kind_) {
        throw InputError({"summary", std::string("a ") + name_of(other.kind_), std::string("a ") + name_of(kind_), ""});
    }
    if (kind_ == Kind::triangle) {
        matrix_ = folded<double>(matrix_, other.matrix_.view());
    } else {
        for (Index i = 0; i < matrix_.size(); ++i) matrix_.data()[i] += other.matrix_.data()[i];
    }
    terms_ += other.terms_;
}

double Summary::norm2() const {
    if (kind_ == Kind::triangle) return squared_norm<double>(matrix_.view());
    return trace(matrix_.view());
}

template <Real T>
Summary DenseEnd<T>::summarise(Summary::Kind kind) const {
    return Summary::of(kind, kind == Summary::Kind::gram ? gram(a_, side_) : triangular_factor(a_, side_), terms());
}

template <Real T>
double DenseEnd<T>::squared_norm() const {
    return couplet::squared_norm(a_);
}

template <Real T>
Matrix<T> DenseEnd<T>::image(MatrixView<const double> v) const {
    const Op op = side_ == Side::right ? Op::none : Op::transpose;
    if constexpr (std::same_as<T, double>) {
        return product<double>(a_, v, op);
    } else {
        const auto converted = convert<T>(v);
        return product<T>(a_, converted.view(), op);
    }
}

template <Real T>
Matrix<double> DenseEnd<T>::apply_gram(MatrixView<const double> q) const {
    auto first = image(q);
    const Op back = side_ == Side::right ? Op::transpose : Op::none;
    if constexpr (std::same_as<T, double>) {
        return product<double>(a_, first.view(), back);
    } else {
        // The factor is free, and A^T A of float data may leave the range of float.
        const int exponent = magnitude_exponent(max_magnitude<T>(first.view()));
        scale_by_power(first.data(), first.size(), std::clamp(-exponent, -120, 120), first.data());
        return convert<double>(product<T>(a_, first.view(), back).view());
    }
}

template <Real T>
Summary DenseEnd<T>::summarise_image(Summary::Kind kind, const Matrix<double>& v) const {
    const auto rows = image(v.view());
    return DenseEnd<T>(rows.view(), Side::right).summarise(kind);
}

template <Real T>
double DenseEnd<T>::residual_norm2(const Matrix<double>& v) const {
    return sum_over_terms([&](Index first, Index count) {
        auto rest = slice(first, count);
        if (side_ == Side::right) {
            const auto coefficients = product<double>(rest.view(), v.view());
            multiply<double>(coefficients.view(), Op::none, v.view(), Op::transpose, rest.view(), -1.0, 1.0);
        } else {
            const auto coefficients = product<double>(v.view(), rest.view(), Op::transpose);
            multiply<double>(v.view(), Op::none, coefficients.view(), Op::none, rest.view(), -1.0, 1.0);
        }
        return couplet::squared_norm<double>(rest.view());
    });
}

template <Real T>
double DenseEnd<T>::sum_over_terms(const std::function<double(Index, Index)>& part) const {
    constexpr Index block = 512;
    const auto blocks = Partition::blocks(terms(), block);
    std::vector<double> sums(static_cast<std::size_t>(blocks.count()));
    parallel_for(blocks.count(),
                 [&](Index b) { sums[static_cast<std::size_t>(b)] = part(blocks.begin(b), blocks.length(b)); });
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

template <Real T>
Matrix<double> DenseEnd<T>::slice(Index first, Index count) const {
    return convert<double>(side_ == Side::right ? a_.rows_from(first, count) : a_.cols_from(first, count));
}

template <Real T>
Polished DenseEnd<T>::polish(const Matrix<double>& v) const {
    if constexpr (std::same_as<T, float>) {
        return Source::polish(v);
    } else {
        if (terms() < v.cols()) return Source::polish(v);
        auto q = image(v.view());
        orthonormalise_columns(q.view());
        const bool right = side_ == Side::right;
        auto factor = right ? product<double>(q.view(), a_, Op::transpose)
                            : product<double>(q.view(), a_, Op::transpose, Op::transpose);
        const double residual2 = sum_over_terms([&](Index first, Index count) {
            auto rest = slice(first, count);
            const auto own = q.view().rows_from(first, count);
            if (right) {
                multiply<double>(own, Op::none, factor.view(), Op::none, rest.view(), -1.0, 1.0);
            } else {
                multiply<double>(factor.view(), Op::transpose, own, Op::transpose, rest.view(), -1.0, 1.0);
            }
            return couplet::squared_norm<double>(rest.view());
        });
        return {std::move(factor), residual2};
    }
}

Polished Source::polish(const Matrix<double>& v) const {
    auto better = apply_gram(v.view());
    orthonormalise_columns(better.view());
    const auto triangle = summarise_image(Summary::Kind::triangle, better);
    const double residual2 = residual_norm2(better);
    return {product<double>(triangle.matrix().view(), better.view(), Op::none, Op::transpose), residual2};
}

template void Summary::add(MatrixView<const float>);
template void Summary::add(MatrixView<const double>);
template class DenseEnd<float>;
template class DenseEnd<double>;

}  // namespace couplet
