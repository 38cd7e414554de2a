#include "couplet/linalg/polish.hpp"

#include <algorithm>
#include <vector>

#include "couplet/core/threads.hpp"
#include "couplet/linalg/qr.hpp"

namespace couplet {

Matrix<double> polished_factor(MatrixView<const double> a, Side side, const Matrix<double>& basis) {
    const Op towards = side == Side::right ? Op::none : Op::transpose;
    const Op back = side == Side::right ? Op::transpose : Op::none;
    auto image = product<double>(a, basis.view(), towards);
    auto v = product<double>(a, image.view(), back);
    orthonormalise_columns(v.view());
    multiply<double>(a, towards, v.view(), Op::none, image.view());
    return product<double>(triangular_factor<double>(image.view(), Side::right).view(), v.view(), Op::none,
                           Op::transpose);
}

double residual_norm2(MatrixView<const double> a, Side side, const Matrix<double>& v) {
    constexpr Index block = 512;
    const bool right = side == Side::right;
    const Index other = right ? a.rows : a.cols;
    const Index blocks = (other + block - 1) / block;
    std::vector<double> sums(static_cast<std::size_t>(blocks));
    parallel_for(blocks, [&](Index b) {
        const Index first = b * block;
        const Index count = std::min(block, other - first);
        const auto part = right ? a.rows_from(first, count) : a.cols_from(first, count);
        auto rest = Matrix<double>::copy(part);
        if (right) {
            const auto image = product<double>(part, v.view());
            multiply<double>(image.view(), Op::none, v.view(), Op::transpose, rest.view(), -1.0, 1.0);
        } else {
            const auto image = product<double>(v.view(), part, Op::transpose);
            multiply<double>(v.view(), Op::none, image.view(), Op::none, rest.view(), -1.0, 1.0);
        }
        sums[static_cast<std::size_t>(b)] = squared_norm<double>(rest.view());
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace couplet
