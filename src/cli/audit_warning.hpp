#pragma once

#include <string>

#include "couplet/tensor/tensor.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::cli {

/// What attacks on the message that this job asks of a client find on its own data, in words, when that is worse than
/// `worst` (a verdict of couplet audit: "patients", "membership", "second-moments", "features-only"); empty: no worse.
/// Says so where the data is too large, or too little, to be tried at the start of a job. Not of secure sums, which are
/// not the client's to see: their plan is held against the policy.
std::string audit_warning(const wire::JobSpec& spec, const Tensor<double>& x, const std::string& worst);

}  // namespace couplet::cli
