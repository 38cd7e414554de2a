#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "couplet/audit/audit.hpp"
#include "couplet/core/random.hpp"

namespace couplet::testing {

struct People {
    std::vector<Tensor<double>> clients;
    Tensor<double> controls;
    Clients views() const {
        Clients all;
        for (const auto& x : clients) all.push_back(x.view());
        return all;
    }
};

/// Clients of `size` patients each, chosen by the seed, and up to 200 others as controls.
inline People choose(const Tensor<double>& all, Index clients, Index size, std::uint64_t seed) {
    Random random(seed, 7);
    std::vector<Index> order(static_cast<std::size_t>(all.shape()[0]));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    const auto rows = all.view().unfold(1);
    std::size_t next = 0;
    const auto take = [&](Index count) {
        std::vector<Index> sizes(all.shape().sizes().begin(), all.shape().sizes().end());
        sizes[0] = count;
        Tensor<double> part{Shape(sizes)};
        for (Index i = 0; i < count; ++i) std::copy_n(rows.row(order[next++]), rows.cols, part.view().unfold(1).row(i));
        return part;
    };
    People people;
    for (Index k = 0; k < clients; ++k) people.clients.push_back(take(size));
    people.controls = take(std::min<Index>(200, all.shape()[0] - clients * size));
    return people;
}

/// Patients of whom each has a few of m x n features.
inline Tensor<double> sparse_patients(Index patients, Index m, Index n, std::uint64_t seed) {
    Random random(seed, 9);
    auto x = Tensor<double>::zeros({patients, m, n});
    for (Index i = 0; i < patients; ++i) {
        for (int k = 0; k < 8; ++k)
            x.view().unfold(1)(i, static_cast<Index>(random.below(static_cast<std::uint64_t>(m * n)))) = 1;
    }
    return x;
}

inline Job ranked_job(Index rank, std::uint64_t seed = 0) {
    JobOptions options;
    options.rank = rank;
    options.seed = seed;
    return resolve_job(options);
}

}  // namespace couplet::testing
