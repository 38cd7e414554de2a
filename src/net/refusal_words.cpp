#include "refusal_words.hpp"

#include <fmt/format.h>

namespace couplet::net {
namespace {

// Keys of the policy that are held against numbers of patients.
constexpr const char* telling_keys[] = {"(min_patients)", "(max_rank_share)", "(max_directions_share)", "(any_cohort)"};

}  // namespace

std::string words_for_coordinator(const InputError& refusal, bool masked) {
    const ErrorParts& parts = refusal.parts();
    if (!masked || parts.where == "coordinator") return refusal.what();
    const std::string elsewhere = "; the client's own log says why";
    if (parts.where != policy_name) return parts.where + ": refused" + elsewhere;
    for (const char* key : telling_keys) {
        if (parts.expected.find(key) != std::string::npos) {
            return fmt::format("{}: refused {}{}", policy_name, key, elsewhere);
        }
    }
    return refusal.what();
}

}  // namespace couplet::net
