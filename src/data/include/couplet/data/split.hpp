#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "couplet/data/dataset.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Sizes of `clients` parts of `rows` that differ by at most one, the larger ones first. Throws InputError unless
/// 1 <= clients <= rows.
std::vector<Index> even_parts(Index rows, Index clients);

/// First index of part k (from 0) of even_parts(rows, clients), computed without the list; k = clients gives rows.
Index part_begin(Index rows, Index clients, Index k);

/// Consecutive parts of mode 1 as views: nothing is copied. Throws InputError as even_parts() does.
template <class T>
std::vector<TensorView<T>> split_view(TensorView<T> tensor, Index clients);

/// Deals the indices of mode 1, with their labels, to clients: in order, or shuffled by a seed. Mode labels and the
/// source go to every client. Throws InputError as even_parts() does, and when there are labels but not one per index.
std::vector<Dataset> split_dataset(const Dataset& data, Index clients, std::optional<std::uint64_t> shuffle_seed = {});

}  // namespace couplet
