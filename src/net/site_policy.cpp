#include "couplet/net/site_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "couplet/net/kit.hpp"
#include "toml_keys.hpp"

namespace couplet::net {
namespace {

constexpr std::array every_aggregate{Aggregate::stack, Aggregate::average, Aggregate::subspace};

/// From the worst.
const std::vector<std::string> verdicts{"patients", "membership", "second-moments", "features-only"};

// ---- how a key is read

template <Index least>
void count(TomlKeys& keys, const char* name, Index& value) {
    keys.count(name, value, least);
}
void number(TomlKeys& keys, const char* name, double& value) { keys.number(name, value); }
void share(TomlKeys& keys, const char* name, double& value) { keys.share(name, value); }
void probability(TomlKeys& keys, const char* name, double& value) { keys.probability(name, value); }
void flag(TomlKeys& keys, const char* name, bool& value) { keys.flag(name, value); }
void verdict(TomlKeys& keys, const char* name, std::string& value) { keys.word(name, value, verdicts); }

std::vector<std::string> words_of(const auto& aggregates) {
    std::vector<std::string> words;
    for (const Aggregate one : aggregates) words.emplace_back(to_string(one));
    return words;
}

void aggregates(TomlKeys& keys, const char* name, std::vector<Aggregate>& value) {
    std::vector<std::string> words = words_of(value);
    keys.list(name, words, words_of(every_aggregate));
    value.clear();
    for (const std::string& word : words) {
        value.push_back(*std::find_if(every_aggregate.begin(), every_aggregate.end(),
                                      [&](Aggregate one) { return to_string(one) == word; }));
    }
}

// ---- which of two values refuses what either refuses

template <class T>
T larger(const T& a, const T& b) {
    return std::max(a, b);
}
template <class T>
T smaller(const T& a, const T& b) {
    return std::min(a, b);
}
/// Of limits that 0 switches off.
template <class T>
T lower_limit(const T& a, const T& b) {
    return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}
bool both(const bool& a, const bool& b) { return a && b; }
bool either(const bool& a, const bool& b) { return a || b; }
std::string better_verdict(const std::string& a, const std::string& b) {
    const auto place = [](const std::string& one) { return std::find(verdicts.begin(), verdicts.end(), one); };
    return place(a) < place(b) ? b : a;
}
std::vector<Aggregate> common(const std::vector<Aggregate>& a, const std::vector<Aggregate>& b) {
    std::vector<Aggregate> result = a;
    std::erase_if(result, [&](Aggregate one) { return std::find(b.begin(), b.end(), one) == b.end(); });
    return result;
}

// ---- how a value is written

std::string text(Index value) { return fmt::format("{}", value); }
std::string text(double value) { return fmt::format("{}", value); }
std::string text(bool value) { return value ? "true" : "false"; }
std::string text(const std::string& value) { return fmt::format("\"{}\"", value); }
std::string text(const std::vector<Aggregate>& value) {
    std::vector<std::string> quoted;
    for (const std::string& word : words_of(value)) quoted.push_back(text(word));
    return fmt::format("[{}]", fmt::join(quoted, ", "));
}

/// All that there is to say of a key.
template <class T>
struct Key {
    const char* name;
    T SitePolicy::*field;
    void (*read)(TomlKeys& keys, const char* name, T& value);
    T (*stricter)(const T& a, const T& b);
    const char* meaning = "";  ///< for whoever reads the file
    bool alone = true;         ///< false: without another key it refuses nothing
};

using P = SitePolicy;
const std::tuple policy_keys{
    Key<Index>{"min_patients", &P::min_patients, count<1>, larger, "who take part; held-out ones are not counted"},
    Key<double>{"max_rank_share", &P::max_rank_share, share, smaller,
                "directions that a job sees over patients who take part; 0: none"},
    Key<double>{"max_directions_share", &P::max_directions_share, number, smaller,
                "the same, of all jobs on the same patients together"},
    Key<bool>{"any_cohort", &P::any_cohort, flag, both,
              "jobs on nearly the patients of another job, whose difference is a few patients"},
    Key<std::vector<Aggregate>>{"aggregates", &P::aggregates, aggregates, common},
    Key<double>{"max_heldout", &P::max_heldout, share, smaller},
    Key<Index>{"max_sums", &P::max_sums, count<0>, smaller, "of one job with aggregate subspace"},
    Key<Index>{"max_sum_width", &P::max_sum_width, count<0>, smaller, "columns of one sum"},
    Key<Index>{"min_others", &P::min_others, count<0>, larger, "parties besides this one"},
    Key<bool>{"missing", &P::missing, flag, both,
              "jobs that fill missing entries, for who trusts the coordinator with them: what they ask for can be one "
              "patient's"},
    Key<bool>{"secure_only", &P::secure_only, flag, either, "refuse jobs whose sums are not masked"},
    Key<Index>{"min_cohort", &P::min_cohort, count<3>, larger, "clients whose numbers are in a masked sum"},
    Key<Index>{"colluders", &P::colluders, count<0>, larger, "of them, who may tell the coordinator what they know"},
    Key<double>{"patients_per_direction", &P::patients_per_direction, number, larger,
                "honest ones, for each direction that masked sums of all jobs show; 0: any"},
    Key<double>{"mu", &P::mu, number, smaller,
                "budget of a patient over all jobs with `mu`, which add up in squares. From what they show nobody can "
                "tell whether a patient was there better than N(0, 1) from N(mu, 1); 0: no such job"},
    Key<double>{"dp_epsilon", &P::dp_epsilon, number, lower_limit,
                "that all jobs on one data set may spend together; 0: no budget"},
    Key<double>{"dp_delta", &P::dp_delta, probability, smaller, "", false},
    Key<std::string>{"worst_verdict", &P::worst_verdict, verdict, better_verdict,
                     "of an audit of what this client sends; a worse one is warned of"},
    Key<Index>{"patience", &P::patience, count<0>, lower_limit,
               "seconds to wait for what brings a job forward; 0: as the deadline says"},
};

void for_each_key(const auto& use) {
    std::apply([&](const auto&... key) { (use(key), ...); }, policy_keys);
}

}  // namespace

SitePolicy parse_policy(const std::string& text, const std::string& where) {
    SitePolicy policy;
    TomlKeys keys(text, where, "a policy");
    for_each_key([&](const auto& key) { key.read(keys, key.name, policy.*key.field); });
    keys.require_all_known("A policy with a key that nobody reads would protect nobody.");
    return policy;
}

SitePolicy load_policy(const std::filesystem::path& file) {
    require_unshared(file);
    return parse_policy(read_text(file), file.string());
}

std::string policy_text(const SitePolicy& policy) {
    std::string lines =
        "# What this site answers. couplet client checks every request against it before anything is computed.\n";
    for_each_key([&](const auto& key) {
        const std::string meaning = *key.meaning == '\0' ? "" : fmt::format("  # {}", key.meaning);
        lines += fmt::format("{} = {}{}\n", key.name, text(policy.*key.field), meaning);
    });
    return lines;
}

SitePolicy stricter(const SitePolicy& a, const SitePolicy& b) {
    SitePolicy result;
    for_each_key([&](const auto& key) { result.*key.field = key.stricter(a.*key.field, b.*key.field); });
    return result;
}

std::vector<std::string> relaxed_keys(const SitePolicy& policy) {
    const SitePolicy usual;
    std::vector<std::string> names;
    for_each_key([&](const auto& key) {
        const auto& own = policy.*key.field;
        if (key.alone && own != key.stricter(own, usual.*key.field)) names.emplace_back(key.name);
    });
    return names;
}

SitePolicy no_policy() {
    constexpr double any = std::numeric_limits<double>::infinity();
    constexpr Index most = std::numeric_limits<Index>::max();
    SitePolicy policy;
    policy.min_patients = 0;
    policy.max_rank_share = any;
    policy.max_directions_share = any;
    policy.any_cohort = true;
    policy.max_heldout = 1;
    policy.missing = true;
    policy.max_sums = most;
    policy.max_sum_width = most;
    policy.colluders = 0;
    policy.patients_per_direction = 0;
    policy.mu = any;
    policy.worst_verdict = verdicts.front();
    return policy;
}

}  // namespace couplet::net
