#pragma once

#include <optional>
#include <vector>

#include "couplet/explain/components.hpp"

namespace couplet {

/// Who carries each component that labels name: who has at least one of the named combinations. `clients` is the data
/// of the sites of the explanation, features in its order. Fills in `carriers` of the components. A number below
/// `least_cell` is withheld, and the sum too where it would tell the only one withheld.
void count_carriers(Explanation& explanation, std::span<const Tensor<double>> clients);

}  // namespace couplet
