#pragma once

#include <cstdint>
#include <optional>

#include "couplet/privacy/noise.hpp"

namespace couplet::cli {

class Command;
class Session;

/// What shall not be seen, as the user says it.
struct PrivacyFlags {
    bool secure = false;
    std::optional<bool> policy = {};  ///< nothing: on with --secure
    std::optional<NoisePlace> noise = {};
    std::optional<double> epsilon = {};
    double delta = 1e-5;
    std::optional<double> clip = {};            ///< norm of a patient's record, at most
    std::optional<std::int64_t> patients = {};  ///< that there are, as everybody may know

    /// Nothing without --dp-epsilon.
    std::optional<PrivacyGuarantee> guarantee() const;
    bool policy_on() const noexcept { return policy.value_or(secure); }
    /// Whether anything of this was asked for.
    bool any() const noexcept { return secure || policy_on() || epsilon || clip; }
};

/// --dp-epsilon, --dp-delta, --clip. `flags` must outlive the parsing.
void add_noise_flags(Command& app, PrivacyFlags& flags);
/// The same, --secure, --policy and --dp-noise.
void add_privacy_flags(Command& app, PrivacyFlags& flags);
/// --dp-patients, for who tells beforehand what noise may cost.
void add_patients_flag(Command& app, PrivacyFlags& flags);
/// A line before a masked job without noise: what masks do not hide.
void warn_of_masking(const PrivacyFlags& flags, const Session& session);
/// All of them.
inline constexpr const char* privacy_flag_names[] = {"--secure",   "--policy", "--dp-noise",   "--dp-epsilon",
                                                     "--dp-delta", "--clip",   "--dp-patients"};

}  // namespace couplet::cli
