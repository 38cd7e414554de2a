#include "fibers.hpp"

#include <algorithm>

namespace couplet {

Index fiber_count(const Shape& shape, Index mode) {
    return shape.product(0, mode) * shape.product(mode + 1, shape.order());
}

Fibers sample_fibers(const Shape& shape, Index mode, Index count, Random& random) {
    Fibers fibers;
    fibers.mode = mode;
    fibers.stride = shape.product(mode + 1, shape.order());
    const Index outer = fibers.stride * shape[mode];
    const Index available = fiber_count(shape, mode);
    fibers.starts.reserve(static_cast<std::size_t>(count));
    for (Index s = 0; s < count; ++s) {
        const auto drawn = static_cast<Index>(random.below(static_cast<std::uint64_t>(available)));
        fibers.starts.push_back(drawn / fibers.stride * outer + drawn % fibers.stride);
    }
    std::sort(fibers.starts.begin(), fibers.starts.end());  // gathering then walks through memory in one direction
    const auto order = static_cast<std::size_t>(shape.order());
    fibers.indices.resize(static_cast<std::size_t>(count) * order);
    for (std::size_t s = 0; s < fibers.starts.size(); ++s) {
        Index rest = fibers.starts[s];
        for (std::size_t n = order; n-- > 0;) {
            fibers.indices[s * order + n] = rest % shape[static_cast<Index>(n)];
            rest /= shape[static_cast<Index>(n)];
        }
    }
    return fibers;
}

Matrix<double> gather(TensorView<const double> x, const Fibers& fibers) {
    const Index size = x.shape()[fibers.mode];
    const auto count = static_cast<Index>(fibers.starts.size());
    Matrix<double> result(size, count);
    for (Index i = 0; i < size; ++i) {
        const double* from = x.data() + i * fibers.stride;
        double* to = result.view().row(i);
        for (Index s = 0; s < count; ++s) to[s] = from[fibers.starts[static_cast<std::size_t>(s)]];
    }
    return result;
}

Matrix<double> sampled_khatri_rao(const Factors& factors, const Fibers& fibers) {
    const auto order = factors.size();
    const Index rank = factors.back().cols();
    Matrix<double> result(static_cast<Index>(fibers.starts.size()), rank);
    for (Index s = 0; s < result.rows(); ++s) {
        double* to = result.view().row(s);
        std::fill_n(to, rank, 1.0);
        for (std::size_t n = 0; n < order; ++n) {
            if (static_cast<Index>(n) == fibers.mode) continue;
            const double* row = factors[n].view().row(fibers.indices[static_cast<std::size_t>(s) * order + n]);
            for (Index r = 0; r < rank; ++r) to[r] *= row[r];
        }
    }
    return result;
}

}  // namespace couplet
