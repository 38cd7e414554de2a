#include "masks.hpp"

#include "couplet/core/random.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/tensor/partition.hpp"

namespace couplet {
namespace {

Matrix<double> random_orthogonal(Index size, Random& random) {
    Matrix<double> q(size, size);
    for (Index i = 0; i < q.size(); ++i) q.data()[i] = random.normal();
    orthonormalise_columns(q.view());
    return q;
}

}  // namespace

OrthogonalMask::OrthogonalMask(Index size, Index largest, std::uint64_t seed, std::uint64_t stream) : size_(size) {
    Random random(seed, stream);
    const auto parts = Partition::even(size, Partition::blocks(size, largest).count());
    for (Index b = 0; b < parts.count(); ++b) blocks_.push_back(random_orthogonal(parts.length(b), random));
}

Matrix<double> OrthogonalMask::mask_columns(MatrixView<const double> a) const {
    Matrix<double> result(a.rows, a.cols);
    Index first = 0;
    for (const auto& block : blocks_) {
        multiply<double>(a.cols_from(first, block.rows()), Op::none, block.view(), Op::none,
                         result.view().cols_from(first, block.rows()));
        first += block.rows();
    }
    return result;
}

Matrix<double> OrthogonalMask::unmask_columns(MatrixView<const double> a) const {
    Matrix<double> result(a.rows, a.cols);
    Index first = 0;
    for (const auto& block : blocks_) {
        multiply<double>(a.cols_from(first, block.rows()), Op::none, block.view(), Op::transpose,
                         result.view().cols_from(first, block.rows()));
        first += block.rows();
    }
    return result;
}

Matrix<double> OrthogonalMask::mask_rows(MatrixView<const double> a) const {
    Matrix<double> result(a.rows, a.cols);
    Index first = 0;
    for (const auto& block : blocks_) {
        multiply<double>(block.view(), Op::none, a.rows_from(first, block.rows()), Op::none,
                         result.view().rows_from(first, block.rows()));
        first += block.rows();
    }
    return result;
}

}  // namespace couplet
