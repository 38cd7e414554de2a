#include "couplet/consensus/magic_square.hpp"

#include <string>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

// Rows and columns are i and j from 1, as in the formulas.

Matrix<double> odd_square(Index n) {
    Matrix<double> m(n, n);
    for (Index i = 1; i <= n; ++i) {
        for (Index j = 1; j <= n; ++j) {
            const Index a = (i + j - (n + 3) / 2 + n) % n;
            const Index b = (i + 2 * j - 2) % n;
            m(i - 1, j - 1) = static_cast<double>(n * a + b + 1);
        }
    }
    return m;
}

Matrix<double> doubly_even_square(Index n) {
    Matrix<double> m(n, n);
    for (Index i = 1; i <= n; ++i) {
        for (Index j = 1; j <= n; ++j) {
            const Index x = (i - 1) * n + j;
            const bool complemented = (i % 4) / 2 == (j % 4) / 2;
            m(i - 1, j - 1) = static_cast<double>(complemented ? n * n + 1 - x : x);
        }
    }
    return m;
}

Matrix<double> singly_even_square(Index n) {
    const Index p = n / 2;
    const Matrix<double> a = odd_square(p);
    const auto quarter = static_cast<double>(p * p);
    Matrix<double> m(n, n);
    for (Index i = 0; i < p; ++i) {
        for (Index j = 0; j < p; ++j) {
            m(i, j) = a(i, j);
            m(i, j + p) = a(i, j) + 2 * quarter;
            m(i + p, j) = a(i, j) + 3 * quarter;
            m(i + p, j + p) = a(i, j) + quarter;
        }
    }
    const Index k = (n - 2) / 4;
    const auto swap_halves = [&](Index row, Index column) {
        std::swap(m(row - 1, column - 1), m(row - 1 + p, column - 1));
    };
    for (Index i = 1; i <= p; ++i) {
        for (Index j = 1; j <= k; ++j) swap_halves(i, j);
        for (Index j = n - k + 2; j <= n; ++j) swap_halves(i, j);
    }
    swap_halves(k + 1, 1);
    swap_halves(k + 1, k + 1);
    return m;
}

}  // namespace

Matrix<double> magic_square(Index n) {
    if (n < 1 || n == 2) {
        throw InputError({"magic square", "size " + std::to_string(n), "1 or at least 3",
                          n == 2 ? "There is no magic square of size 2: use the paper weights for two nodes." : ""});
    }
    if (n % 2 == 1) return odd_square(n);
    return n % 4 == 0 ? doubly_even_square(n) : singly_even_square(n);
}

}  // namespace couplet
