#include "star_options.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "suggest.hpp"
#include "usage.hpp"

namespace couplet::cli {
namespace {

/// Missing entries are filled for features of a fixed rank, by everybody who is there from the beginning.
void check_missing(const Command& app, const StarExtras& extras, Job& job) {
    refuse_given(app,
                 {"--heldout", "--save-state", "--resume", "--no-refit", "--precision", "--bytes", "--bytes-total"},
                 "--missing impute", "one or the other");
    if (!job.rank || job.eps) {
        throw InputError({"--missing", "filled in without a rank alone", "--rank R, and no --eps",
                          "A certified error would be that of invented values."});
    }
    if (extras.late) throw InputError({"--late", "merge with --missing impute", "one or the other", "Leave it out."});
    // A personal core from before the exchange knows the entries that were invented.
    job.refit = true;
}

}  // namespace

std::optional<ShieldTerms> star_shield(const Command& app, JobOptions& job, const PrivacyFlags& privacy) {
    if (!privacy.secure) {
        // Sums that are not masked are the clients' own, and the coordinator sees them: there is nothing to limit or to
        // noise then.
        refuse_given(app, {"--mu", "--policy", "--dp-epsilon", "--dp-delta", "--clip", "--dp-noise"}, "no --secure",
                     "it with --secure");
        return std::nullopt;
    }
    refuse_given(app, {"--scale-clients", "--missing", "--centre", "--scale", "--weight"}, "--secure",
                 "one or the other");
    check_mu(app, privacy);
    // One patient more would deal all others anew: what is shown would change by more than the noise hides.
    if (privacy.epsilon) refuse_given(app, {"--heldout"}, "--dp-epsilon", "one or the other");
    if (privacy.noise == NoisePlace::central) {
        throw InputError({"--dp-noise", "central with --secure", "distributed or local", ""});
    }
    if (!privacy.epsilon) refuse_given(app, {"--dp-delta", "--dp-noise"}, "no --dp-epsilon", "it with --dp-epsilon");
    const ShieldTerms terms{.policy = privacy.policy_on(),
                            .guarantee = privacy.guarantee(),
                            .clip = privacy.clip,
                            .noise = privacy.noise.value_or(NoisePlace::distributed),
                            .mu = privacy.mu};
    require_possible(terms);
    if (job.aggregate.value_or(Aggregate::subspace) != Aggregate::subspace) {
        throw InputError({"--aggregate", std::string(to_string(*job.aggregate)), "subspace with --secure",
                          "Only sums can be masked; leave --aggregate out."});
    }
    job.aggregate = Aggregate::subspace;
    if (!job.rank) throw InputError({"--rank", "missing", "a rank: sums have no certified error", ""});
    return terms;
}

Job star_job(const Command& app, const JobFlags& flags, StarExtras extras) {
    Job job = resolve_job(flags.job);
    refuse_idle_flags(app, job);
    if (job.aggregate != Aggregate::stack) {
        refuse_given(app, {"--save-state", "--resume"}, fmt::format("--aggregate {}", to_string(job.aggregate)),
                     "it with --aggregate stack only");
        if (extras.late) {
            throw InputError({"--late", fmt::format("merge with --aggregate {}", to_string(job.aggregate)),
                              "merge with --aggregate stack only", "Leave it out."});
        }
    }
    if (flags.heldout > 0 && !job.refit) {
        throw InputError({"--heldout", "held-out patients without a refit", "--refit",
                          "Without it there is no personal core for new patients."});
    }
    if (extras.missing) check_missing(app, extras, job);
    return job;
}

namespace {

/// The command line has more options than a job that an engine carries: "see its help" would name them again.
void refuse_uncarried(const Command& app) {
    for (const std::string& word : app.remaining()) {
        if (word == "--") return;
        if (!word.starts_with("--")) continue;
        const std::string name = word.substr(0, word.find('='));
        std::vector<std::string> names;
        for (const CommandOption& option : app.options()) {
            for (const std::string& known : option.long_names()) names.push_back("--" + known);
        }
        const auto meant = nearest(name, names);
        throw InputError({shown(name), "no flag of a job on Flower or NVIDIA FLARE",
                          fmt::format("one of {}", fmt::join(names, ", ")),
                          meant ? fmt::format("Did you mean {}?", *meant)
                                : "Other options of couplet simulate are not carried by the engines."});
    }
}

}  // namespace

CarriedJob parse_carried_job(const std::vector<std::string>& arguments) {
    Command root("couplet");
    Command& app = root.add_subcommand("coordinator");
    JobFlags flags;
    PrivacyFlags privacy;
    std::string missing = "refuse";
    add_privacy_flags(app, privacy);
    add_mu_flag(app, privacy);
    add_job_flags(app, flags);
    add_preparation_flags(app, flags);
    add_schema_flags(app, flags);
    add_choice(app, "--missing", {"refuse", "impute"}, missing, "NaN in the data of clients");
    add_text(app, "--seed", "N", "0", "Of random numbers",
             [&flags](const std::string& text) { flags.job.seed = parse_seed(text); });
    std::vector<std::string> words = {"coordinator"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return naming_parameters(app, [&]() -> CarriedJob {
        read_words(root, std::move(words), [&app] { refuse_uncarried(app); });
        const bool impute = missing == "impute";
        const auto shield = star_shield(app, flags.job, privacy);
        return {star_job(app, flags, {.late = false, .missing = impute}), flags.preparation(), impute,
                given_schema(flags), shield};
    });
}

}  // namespace couplet::cli
