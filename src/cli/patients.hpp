#pragma once

#include <string>

#include "couplet/ctt/centring.hpp"
#include "couplet/tensor/schema.hpp"
#include "couplet/tt/tensor_train.hpp"
#include "session.hpp"

namespace couplet::cli {

/// What patients are to be described by: features, or the rows of a model of them.
struct Describing {
    const TensorTrain<double>& rows;
    const Centring& centring;
    const std::string& file;
    Unnamed unnamed = Unnamed::refuse;
    bool incomplete = false;  ///< NaN stands for what nobody knows
};

struct Patients {
    Tensor<double> x;        ///< in the order of the features, centred as they are
    ModeLabels labels = {};  ///< of the patients
    std::string moved = {};  ///< what was put in another order, in words
};

/// Reads a tensor of patients. Throws InputError that names both files where its modes, labels or units are others.
Patients open_patients(const std::string& path, const Describing& by, const Session& session);

}  // namespace couplet::cli
