#pragma once

#include <utility>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/tensor/sparse.hpp"

namespace couplet::support {

/// `count` entries at random places, some of them the same.
inline SparseTensor random_sparse(const Shape& shape, Index count, std::uint64_t seed) {
    Random random(seed);
    std::vector<Index> indices;
    std::vector<double> values;
    for (Index e = 0; e < count; ++e) {
        for (const Index size : shape.sizes()) {
            indices.push_back(static_cast<Index>(random.uniform() * static_cast<double>(size)));
        }
        values.push_back(random.normal());
    }
    return SparseTensor(shape, indices, std::move(values));
}

}  // namespace couplet::support
