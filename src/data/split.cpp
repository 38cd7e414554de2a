#include "couplet/data/split.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/data/sample.hpp"

namespace couplet {
namespace {

void check_parts(Index rows, Index clients) {
    if (clients >= 1 && clients <= rows) return;
    throw InputError({"clients", std::to_string(clients),
                      "a number from 1 to " + std::to_string(rows) + ", the size of mode 1",
                      "Every client needs at least one index of mode 1."});
}

Dataset part_of(const Dataset& data, std::span<const Index> rows) {
    const auto sizes = data.tensor.shape().sizes();
    std::vector<Index> part_sizes(sizes.begin(), sizes.end());
    part_sizes[0] = static_cast<Index>(rows.size());
    Dataset part{.tensor = Tensor<double>(Shape(std::move(part_sizes))),
                 .source = data.source,
                 .available = data.available,
                 .records = data.records};
    const MatrixView<const double> from = data.tensor.view().unfold(1);
    double* to = part.tensor.data();
    for (const Index row : rows) {
        to = std::copy_n(from.row(row), from.cols, to);
        if (!data.labels.empty()) part.labels.push_back(data.labels[static_cast<std::size_t>(row)]);
    }
    return part;
}

/// Labels of the modes, with the entries of mode 1 dealt like its indices.
Labels part_labels(const Labels& labels, std::span<const Index> rows) {
    Labels part = labels;
    if (part.empty() || part[0].entries.empty()) return part;
    part[0].entries.clear();
    for (const Index row : rows) part[0].entries.push_back(labels[0].entries[static_cast<std::size_t>(row)]);
    return part;
}

}  // namespace

Index part_begin(Index rows, Index clients, Index k) { return k * (rows / clients) + std::min(k, rows % clients); }

std::vector<Index> even_parts(Index rows, Index clients) {
    check_parts(rows, clients);
    std::vector<Index> sizes;
    for (Index k = 0; k < clients; ++k)
        sizes.push_back(part_begin(rows, clients, k + 1) - part_begin(rows, clients, k));
    return sizes;
}

template <class T>
std::vector<TensorView<T>> split_view(TensorView<T> tensor, Index clients) {
    const Index rows = tensor.shape().order() == 0 ? 0 : tensor.shape()[0];
    std::vector<TensorView<T>> parts;
    Index begin = 0;
    for (const Index size : even_parts(rows, clients)) {
        parts.push_back(tensor.rows(begin, size));
        begin += size;
    }
    return parts;
}

std::vector<Dataset> split_dataset(const Dataset& data, Index clients, std::optional<std::uint64_t> shuffle_seed) {
    const Index rows = data.tensor.shape().order() == 0 ? 0 : data.tensor.shape()[0];
    check_parts(rows, clients);
    if (!data.labels.empty() && static_cast<Index>(data.labels.size()) != rows) {
        throw InputError(
            {"labels", std::to_string(data.labels.size()) + " labels", std::to_string(rows) + ", one per index", ""});
    }
    std::vector<Index> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), Index{0});
    if (shuffle_seed) order = sample_without_replacement(rows, rows, *shuffle_seed);
    std::vector<Dataset> parts;
    std::span<const Index> left = order;
    for (const Index size : even_parts(rows, clients)) {
        const auto mine = left.first(static_cast<std::size_t>(size));
        parts.push_back(part_of(data, mine));
        parts.back().tensor.set_labels(part_labels(data.tensor.labels(), mine));
        left = left.subspan(static_cast<std::size_t>(size));
    }
    return parts;
}

template std::vector<TensorView<float>> split_view(TensorView<float>, Index);
template std::vector<TensorView<double>> split_view(TensorView<double>, Index);
template std::vector<TensorView<const float>> split_view(TensorView<const float>, Index);
template std::vector<TensorView<const double>> split_view(TensorView<const double>, Index);

}  // namespace couplet
