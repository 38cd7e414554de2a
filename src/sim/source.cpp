#include "couplet/sim/source.hpp"

#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {

MemorySource::MemorySource(std::vector<Tensor<double>> tensors) {
    for (auto& tensor : tensors) tensors_.push_back(std::make_shared<const Tensor<double>>(std::move(tensor)));
}

LazySource::LazySource(Index clients, std::function<Tensor<double>(Index)> make)
    : clients_(clients), make_(std::move(make)) {}

std::shared_ptr<const Tensor<double>> LazySource::client(Index k) const {
    return std::make_shared<const Tensor<double>>(make_(k));
}

std::vector<Tensor<double>> split_rows(TensorView<const double> x, Index clients) {
    const Index rows = x.shape().order() > 0 ? x.shape()[0] : 0;
    if (clients < 1 || clients > rows) {
        throw InputError({"--split", std::to_string(clients) + " clients",
                          "1 to " + std::to_string(rows) + ", the size of the first mode", ""});
    }
    std::vector<Tensor<double>> parts;
    Index first = 0;
    for (Index k = 0; k < clients; ++k) {
        const Index count = rows / clients + (k < rows % clients ? 1 : 0);
        parts.push_back(Tensor<double>::copy(x.rows(first, count)));
        first += count;
    }
    return parts;
}

}  // namespace couplet
