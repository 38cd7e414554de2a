#include "coordinates.hpp"

#include <algorithm>
#include <limits>

#include "couplet/core/error.hpp"

namespace couplet {

CoordinateList coordinates(TensorView<const double> x) {
    const Shape& shape = x.shape();
    for (const Index size : shape.sizes()) {
        if (size > std::numeric_limits<std::int32_t>::max()) {
            throw InputError({"coordinates", shape.to_string(), "modes of less than 2^31", ""});
        }
    }
    CoordinateList list{shape, {}, {}};
    std::vector<std::int32_t> at(static_cast<std::size_t>(shape.order()), 0);
    for (Index i = 0; i < x.size(); ++i) {
        if (x.data()[i] != 0) {
            list.indices.insert(list.indices.end(), at.begin(), at.end());
            list.values.push_back(x.data()[i]);
        }
        for (std::size_t n = at.size(); n-- > 0;) {
            if (++at[n] < shape[static_cast<Index>(n)]) break;
            at[n] = 0;
        }
    }
    return list;
}

std::optional<CoordinateList> sparse_form(TensorView<const double> x) {
    const Index filled = x.size() - std::count(x.data(), x.data() + x.size(), 0.0);
    const auto sizes = x.shape().sizes();
    const bool fits = std::ranges::all_of(sizes, [](Index n) { return n <= std::numeric_limits<std::int32_t>::max(); });
    if (!fits || filled >= x.size() / (8 * x.shape().order())) return std::nullopt;
    return coordinates(x);
}

Matrix<double> mttkrp(const CoordinateList& x, const Factors& factors, Index mode) {
    const auto order = factors.size();
    const Index rank = factors.back().cols();
    auto result = Matrix<double>::zeros(x.shape[mode], rank);
    std::vector<double> row(static_cast<std::size_t>(rank));
    const std::int32_t* at = x.indices.data();
    for (const double value : x.values) {
        std::fill(row.begin(), row.end(), value);
        for (std::size_t n = 0; n < order; ++n) {
            if (static_cast<Index>(n) == mode) continue;
            const double* factor = factors[n].view().row(at[n]);
            for (Index r = 0; r < rank; ++r) row[static_cast<std::size_t>(r)] *= factor[r];
        }
        double* to = result.view().row(at[static_cast<std::size_t>(mode)]);
        for (Index r = 0; r < rank; ++r) to[r] += row[static_cast<std::size_t>(r)];
        at += order;
    }
    return result;
}

}  // namespace couplet
