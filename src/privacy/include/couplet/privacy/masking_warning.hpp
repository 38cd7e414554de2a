#pragma once

#include <optional>
#include <string>

#include "couplet/privacy/gaussian.hpp"

namespace couplet {

/// What whoever starts or joins a masked job has to know: masks hide who contributed what, and the sums show records.
/// "" under a guarantee, whose noise protects records.
std::string masking_warning(const std::optional<PrivacyGuarantee>& guarantee);

}  // namespace couplet
