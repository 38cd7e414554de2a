#include "privacy_options.hpp"

#include <cmath>
#include <string>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/number.hpp"
#include "couplet/privacy/masking_warning.hpp"
#include "job_options.hpp"
#include "options.hpp"
#include "session.hpp"

namespace couplet::cli {
namespace {

double parse_positive(const std::string& option, const std::string& text, double below) {
    double value = 0;
    if (parse_number(text, value) == NumberText::number && value > 0 && value < below) return value;
    throw InputError({option, "'" + text + "'",
                      std::isfinite(below) ? "a number greater than 0 and below 1" : "a number greater than 0", ""});
}

void add_noise_place(Command& app, PrivacyFlags& flags) {
    add_text(
        app, "--dp-noise", "local|central|distributed", "distributed with --secure, otherwise local",
        "Who adds the noise: every client all of it, the coordinator once (which is trusted then), or every client a "
        "part under --secure",
        [&flags](const auto& text) {
            const auto word = parse_choice("--dp-noise", {"local", "central", "distributed"}, text);
            flags.noise = word == "local"     ? NoisePlace::local
                          : word == "central" ? NoisePlace::central
                                              : NoisePlace::distributed;
        });
}

}  // namespace

std::optional<PrivacyGuarantee> PrivacyFlags::guarantee() const {
    if (!epsilon) return std::nullopt;
    return PrivacyGuarantee{*epsilon, delta};
}

std::optional<double> PrivacyFlags::budget() const {
    if (epsilon) return mu_of_guarantee(*guarantee());
    if (mu) return mu;
    if (secure && policy.value_or(true) && !mu_off) return usual_mu;
    return std::nullopt;
}

void add_noise_flags(Command& app, PrivacyFlags& flags) {
    add_text(
        app, "--dp-epsilon", "E", "no noise",
        "Differential privacy for a patient: Gaussian noise in every sum, so that no outcome becomes more than e^E "
        "times likelier by one patient's record",
        [&flags](const auto& text) { flags.epsilon = parse_positive("--dp-epsilon", text, HUGE_VAL); });
    add_text(app, "--dp-delta", "D", "1e-5", "...but for this probability",
             [&flags](const auto& text) { flags.delta = parse_positive("--dp-delta", text, 1); });
    add_text(
        app, "--clip", "NORM", "",
        "Records longer than this are shortened to it: what one patient can change; implies --aggregate subspace, as "
        "--dp-epsilon does",
        [&flags](const auto& text) { flags.clip = parse_positive("--clip", text, HUGE_VAL); });
}

void add_mu_flag(Command& app, PrivacyFlags& flags) {
    add_text(app, "--mu", "MU|off", "off",
             "With --secure: a budget for every patient. The sites add up how often labels occur together in each mode "
             "instead of a subspace, in four small sums at most, with noise of their own, so that nobody can tell from "
             "all that is shown whether a patient was there better than N(0, 1) from N(MU, 1). 4 protects against the "
             "attacks of couplet audit, 1 against who knows all other records",
             [&flags](const auto& text) {
                 flags.mu.reset();
                 if (text != "off") flags.mu = parse_positive("--mu", text, HUGE_VAL);
             });
}

void check_mu(const Command& app, const PrivacyFlags& flags) {
    if (!flags.mu) return;
    refuse_given(app, {"--policy", "--dp-epsilon", "--dp-delta", "--dp-noise", "--sketch", "--passes", "--heldout"},
                 "--mu", "one or the other");
}

void add_privacy_flags(Command& app, PrivacyFlags& flags) {
    app.add_flag(
        "--secure", flags.secure,
        "Secure aggregation: clients mask what they send, and only the sums over all clients can be read. That hides "
        "who "
        "contributed what, not the records: from exact sums most sparse records can be rebuilt, and noise (--mu or "
        "--dp-epsilon) is what protects them. Implies --aggregate subspace. At least three clients");
    add_text(app, "--policy", "on|off", "on with --secure",
             "Limits how many directions masked sums show, which does not stop records from being rebuilt: one "
             "direction for ten honest patients at most, of those who remain when "
             "as many clients are lost as may be (fewer passes, then less oversampling, then a smaller rank), records "
             "clipped at the 90th percentile of their norms. Empty records and copies within a client are no patients. "
             "Not with --dp-epsilon, which limits what is shown by itself",
             [&flags](const auto& text) {
                 flags.policy = parse_choice("--policy", {"on", "off"}, text) == "on";
             });
    add_noise_flags(app, flags);
    add_noise_place(app, flags);
}

void warn_of_masking(const PrivacyFlags& flags, const Session& session) {
    if (!flags.secure || flags.mu) return;
    const std::string warning = masking_warning(flags.guarantee());
    if (!warning.empty()) session.note("warning: " + spelled(warning, session.spelling()));
}

void add_budget_flags(Command& app, PrivacyFlags& flags) {
    app.add_flag(
        "--secure", flags.secure,
        "Clients mask what they send, and only the sums over all of them can be read, with noise that protects "
        "every patient (--mu). Implies --aggregate subspace. At least three clients");
    app.add_flag("--plain", flags.plain, "Say nothing of what the masked job (--secure) would give on these data");
    add_text(
        app, "--mu", "M|off", "4 with --secure",
        "Budget of a patient: who sees everything that the job shows can tell whether the patient took part no "
        "better than a draw of N(0, 1) from one of N(M, 1). Sums of the modes' products are noised within it. off: "
        "masks alone, which do not protect records",
        [&flags](const auto& text) {
            flags.mu_off = text == "off";
            if (!flags.mu_off) flags.mu = parse_positive("--mu", text, HUGE_VAL);
        });
    add_text(app, "--policy", "on|off", "on with --secure", "off: as --mu off", [&flags](const auto& text) {
        flags.policy = parse_choice("--policy", {"on", "off"}, text) == "on";
    });
    add_text(app, "--dp-epsilon", "E", "no noise",
             "The budget by another name: the M at which no outcome becomes more than e^E times likelier by one "
             "patient's record, but for a probability of --dp-delta",
             [&flags](const auto& text) { flags.epsilon = parse_positive("--dp-epsilon", text, HUGE_VAL); });
    add_text(app, "--dp-delta", "D", "1e-5", "Probability at which epsilon is taken or stated",
             [&flags](const auto& text) { flags.delta = parse_positive("--dp-delta", text, 1); });
    add_noise_place(app, flags);
    add_text(app, "--clip", "NORM", "with a budget a noised quantile of the norms, 80%",
             "Records longer than this are shortened to it: what one patient can change. Implies --aggregate subspace",
             [&flags](const auto& text) { flags.clip = parse_positive("--clip", text, HUGE_VAL); });
}

}  // namespace couplet::cli
