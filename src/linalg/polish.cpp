#include "couplet/linalg/polish.hpp"

#include "couplet/linalg/qr.hpp"

namespace couplet {

Matrix<double> polished_factor(const Source& source, const Matrix<double>& basis) {
    auto v = source.apply_gram(basis.view());
    orthonormalise_columns(v.view());
    const auto triangle = source.summarise_image(Summary::Kind::triangle, v);
    return product<double>(triangle.matrix().view(), v.view(), Op::none, Op::transpose);
}

}  // namespace couplet
