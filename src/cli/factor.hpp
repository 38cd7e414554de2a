#pragma once

#include <filesystem>
#include <string>

#include "session.hpp"

namespace couplet::cli {

/// What `couplet factor RESULT --model M --components R -o FOLDER` does, without resamples, and without a word on
/// stdout.
void factor_into(const std::string& result, const std::string& model, const std::string& components,
                 const std::filesystem::path& folder, const Session& session);

}  // namespace couplet::cli
