#include "couplet/sim/source.hpp"

#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {

MemorySource::MemorySource(std::vector<Tensor<double>> tensors) {
    for (auto& tensor : tensors) tensors_.push_back(std::make_shared<const Tensor<double>>(std::move(tensor)));
}

MemorySource MemorySource::sharing(std::vector<std::shared_ptr<const Tensor<double>>> tensors) {
    MemorySource source({});
    source.tensors_ = std::move(tensors);
    return source;
}

LazySource::LazySource(Index clients, std::function<Tensor<double>(Index)> make)
    : clients_(clients), make_(std::move(make)) {}

std::shared_ptr<const Tensor<double>> LazySource::client(Index k) const {
    return std::make_shared<const Tensor<double>>(make_(k));
}

AlignedSource align_source(const ClientSource& source, Unnamed unnamed, const std::optional<Schema>& given) {
    std::vector<std::shared_ptr<const Tensor<double>>> tensors;
    std::vector<SchemaParty> parties;
    for (Index k = 0; k < source.clients(); ++k) {
        const std::string who = "client " + std::to_string(k + 1);
        tensors.push_back(source.client(k));
        parties.push_back({who, feature_schema(*tensors.back(), who)});
    }
    SchemaAgreement agreement = given ? agree(parties, unnamed, *given) : agree(parties, unnamed);
    std::vector<std::string> moved;
    for (std::size_t k = 0; k < tensors.size(); ++k) {
        if (agreement.misfits[k]) throw InputError(std::move(*agreement.misfits[k]));
        const Alignment how = align(agreement.schema, parties[k].schema, unnamed, parties[k].name, "the job");
        moved.push_back(describe(how, agreement.schema));
        if (!how.empty()) tensors[k] = std::make_shared<const Tensor<double>>(reordered(tensors[k]->view(), how));
    }
    return {MemorySource::sharing(std::move(tensors)), std::move(agreement.schema), std::move(moved)};
}

std::vector<Tensor<double>> split_rows(TensorView<const double> x, Index clients) {
    const Index rows = x.shape().order() > 0 ? x.shape()[0] : 0;
    if (clients < 1 || clients > rows) {
        throw InputError({"`split`", std::to_string(clients) + " clients",
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
