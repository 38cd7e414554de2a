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
    std::optional<double> mu = {};    ///< Gaussian differential privacy of a patient, as --mu says it
    bool mu_off = false;              ///< --mu off
    bool plain = false;               ///< --plain
    std::optional<double> clip = {};  ///< norm of a patient's record, at most

    /// Nothing without --dp-epsilon.
    std::optional<PrivacyGuarantee> guarantee() const;
    bool policy_on() const noexcept { return policy.value_or(secure && !mu); }
    /// Whether anything of this was asked for.
    bool any() const noexcept { return secure || policy_on() || epsilon || mu || clip; }
    /// Of one patient in a simulated job: what --mu or --dp-epsilon says, and 4 with --secure; nothing where it has
    /// none.
    std::optional<double> budget() const;
};

/// With --secure, where nothing else is said.
inline constexpr double usual_mu = 4;

/// --dp-epsilon, --dp-delta, --clip. `flags` must outlive the parsing.
void add_noise_flags(Command& app, PrivacyFlags& flags);
/// --mu, for jobs over a network.
void add_mu_flag(Command& app, PrivacyFlags& flags);
/// Throws InputError for what does not go with --mu.
void check_mu(const Command& app, const PrivacyFlags& flags);
/// The same, --secure, --policy and --dp-noise.
void add_privacy_flags(Command& app, PrivacyFlags& flags);
/// Those of a simulation: --secure, --plain, --mu, --policy, --dp-epsilon, --dp-delta, --dp-noise and --clip.
void add_budget_flags(Command& app, PrivacyFlags& flags);
/// A line before a masked job without noise: what masks do not hide.
void warn_of_masking(const PrivacyFlags& flags, const Session& session);
/// All of them.
inline constexpr const char* privacy_flag_names[] = {"--secure",   "--policy",     "--mu",       "--plain",
                                                     "--dp-noise", "--dp-epsilon", "--dp-delta", "--clip"};

}  // namespace couplet::cli
