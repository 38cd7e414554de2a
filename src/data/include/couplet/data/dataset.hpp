#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// A tensor with one person (or heart beat) per index of mode 1, and what is known beside it.
/// The labels of mode 1 never name anybody: labels travel with models.
struct Dataset {
    Tensor<double> tensor = {};
    std::vector<std::int64_t> labels = {};  ///< class of each index of mode 1; empty when there are none
    std::string source = {};                ///< the file it was made from; empty when generated
    Index available = 0;                    ///< people or beats in the source, of which the tensor holds some
    Index records = 0;                      ///< lines of data read
};

}  // namespace couplet
