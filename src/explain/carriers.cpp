#include "couplet/explain/carriers.hpp"

#include <algorithm>

namespace couplet {
namespace {

Index count_at(const Tensor<double>& x, const std::vector<Index>& offsets, Index width) {
    Index count = 0;
    for (Index p = 0; p < x.shape()[0]; ++p) {
        const double* record = x.data() + p * width;
        const bool has = std::any_of(offsets.begin(), offsets.end(), [&](Index at) { return record[at] > 0; });
        count += has ? 1 : 0;
    }
    return count;
}

}  // namespace

void count_carriers(Explanation& explanation, std::span<const Tensor<double>> clients) {
    const Shape& features = explanation.findings.schema.features;
    for (Component& component : explanation.components) {
        if (component.named.empty()) continue;
        std::vector<Index> offsets;
        for (const auto& cell : named_cells(component.named)) {
            Index offset = 0;
            for (std::size_t n = 0; n < cell.size(); ++n) offset = offset * features[static_cast<Index>(n)] + cell[n];
            offsets.push_back(offset);
        }
        Carriers carriers;
        Index all = 0;
        Index withheld = 0;
        for (const Tensor<double>& x : clients) {
            const Index count = count_at(x, offsets, features.size());
            all += count;
            const bool few = count > 0 && count < least_cell;
            withheld += few ? 1 : 0;
            carriers.sites.push_back(few ? std::nullopt : std::optional<Index>(count));
        }
        if (withheld != 1 && all >= least_cell) carriers.all = all;
        component.carriers = std::move(carriers);
    }
}

}  // namespace couplet
