#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/tensor/matrix.hpp"

/// Matrices with known properties and naive measures of them, for the numerical tests.
namespace couplet::support {

template <Real T>
Matrix<T> random_matrix(Index rows, Index cols, std::uint64_t seed = 1) {
    Random random(seed, 77);
    Matrix<T> a(rows, cols);
    for (Index i = 0; i < a.size(); ++i) a.data()[i] = static_cast<T>(random.normal());
    return a;
}

inline Matrix<double> orthonormal_columns(Index rows, Index cols, std::uint64_t seed) {
    auto q = random_matrix<double>(rows, cols, seed);
    orthonormalise_columns(q.view());
    return q;
}

/// U diag(sigma) V^T with random orthonormal U and V; sigma.size() <= min(rows, cols).
inline Matrix<double> matrix_with_spectrum(Index rows, Index cols, const std::vector<double>& sigma,
                                           std::uint64_t seed = 1) {
    const auto k = static_cast<Index>(sigma.size());
    auto u = orthonormal_columns(rows, k, seed);
    const auto v = orthonormal_columns(cols, k, seed + 1000);
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < k; ++j) u(i, j) *= sigma[static_cast<std::size_t>(j)];
    }
    return product<double>(u.view(), v.view(), Op::none, Op::transpose);
}

/// first, first * ratio, first * ratio^2, ...
inline std::vector<double> geometric(Index count, double ratio, double first = 1) {
    std::vector<double> values;
    for (Index i = 0; i < count; ++i) values.push_back(first * std::pow(ratio, static_cast<double>(i)));
    return values;
}

/// sqrt(sum of squares), by one loop in long double.
template <class T>
double naive_norm(MatrixView<T> a) {
    long double sum = 0;
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < a.cols; ++j) {
            const long double x = static_cast<long double>(a(i, j));
            sum += x * x;
        }
    }
    return static_cast<double>(std::sqrt(sum));
}

/// ||A - B||.
template <class A, class B>
double naive_distance(MatrixView<A> a, MatrixView<B> b) {
    long double sum = 0;
    for (Index i = 0; i < a.rows; ++i) {
        for (Index j = 0; j < a.cols; ++j) {
            const long double x = static_cast<long double>(a(i, j)) - static_cast<long double>(b(i, j));
            sum += x * x;
        }
    }
    return static_cast<double>(std::sqrt(sum));
}

/// op(A) op(B) by three loops in double.
template <class A, class B>
Matrix<double> naive_product(MatrixView<A> a, MatrixView<B> b, Op op_a = Op::none, Op op_b = Op::none) {
    const bool ta = op_a == Op::transpose;
    const bool tb = op_b == Op::transpose;
    const Index inner = ta ? a.rows : a.cols;
    auto c = Matrix<double>::zeros(ta ? a.cols : a.rows, tb ? b.rows : b.cols);
    for (Index i = 0; i < c.rows(); ++i) {
        for (Index k = 0; k < inner; ++k) {
            const double x = static_cast<double>(ta ? a(k, i) : a(i, k));
            for (Index j = 0; j < c.cols(); ++j) c(i, j) += x * static_cast<double>(tb ? b(j, k) : b(k, j));
        }
    }
    return c;
}

/// Positive semidefinite of order n, with eigenvalues sigma^2.
inline Matrix<double> gram_with_spectrum(const std::vector<double>& sigma, Index n) {
    const auto a = matrix_with_spectrum(n, n, sigma);
    return naive_product(a.view(), a.view(), Op::transpose, Op::none);
}

/// max |Q^T Q - I| / (max(rows, cols) u), u the unit roundoff of the elements: a small number for columns
/// that are orthonormal to rounding.
template <class E>
double orthonormality_residual(MatrixView<E> q) {
    const auto g = naive_product(q, q, Op::transpose, Op::none);
    double worst = 0;
    for (Index i = 0; i < g.rows(); ++i) {
        for (Index j = 0; j < g.cols(); ++j) {
            const double off = std::abs(g(i, j) - (i == j ? 1 : 0));
            if (!(off <= worst)) worst = off;
            if (std::isnan(off)) return off;
        }
    }
    constexpr double u = std::numeric_limits<std::remove_const_t<E>>::epsilon() / 2;
    return worst / (static_cast<double>(std::max(q.rows, q.cols)) * u);
}

/// ||A - A V V^T|| for an orthonormal basis V of the row space.
template <class E>
double projection_error(MatrixView<E> a, const Matrix<double>& v) {
    const auto wide = convert<double>(a);
    const auto coefficients = product<double>(wide.view(), v.view());
    return naive_distance(product<double>(coefficients.view(), v.view(), Op::none, Op::transpose).view(), a);
}

/// Whether the largest magnitude of every column is positive, the first one on a tie.
template <class E>
bool obeys_sign_rule(MatrixView<E> columns) {
    for (Index j = 0; j < columns.cols; ++j) {
        Index at = 0;
        for (Index i = 1; i < columns.rows; ++i) {
            if (std::abs(columns(i, j)) > std::abs(columns(at, j))) at = i;
        }
        if (columns(at, j) < 0) return false;
    }
    return true;
}

template <class T>
bool same_bits(MatrixView<const T> a, MatrixView<const T> b) {
    if (a.rows != b.rows || a.cols != b.cols) return false;
    for (Index i = 0; i < a.rows; ++i) {
        if (!std::equal(a.row(i), a.row(i) + a.cols, b.row(i))) return false;
    }
    return true;
}

/// Puts the thread count back at the end of the scope.
class ThreadCountGuard {
  public:
    ThreadCountGuard() : before_(thread_count()) {}
    ~ThreadCountGuard() { set_thread_count(before_); }
    ThreadCountGuard(const ThreadCountGuard&) = delete;
    ThreadCountGuard& operator=(const ThreadCountGuard&) = delete;

  private:
    int before_;
};

/// Text of the library error that `call` throws; "" when it throws none.
template <class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace couplet::support
