#include "weight_option.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/tensor/any_label.hpp"
#include "couplet/tensor/schema.hpp"
#include "options.hpp"

namespace couplet::cli {

void add_weight_flag(Command& app, std::string& weight) {
    add_choice(
        app, "--weight", {"auto", "none", "sqrt", "pearson"}, weight,
        "Form features from what deviates from the labels' prevalences over the whole federation, each label "
        "divided by the root of its prevalence (pearson) or by the root of that (sqrt), and not from the records "
        "as they are (none). auto: sqrt where couplet table has written a label (any) in every mode. Kept in "
        "features.npz, done by project, undone by reconstruct");
}

void take_weight(const std::string& weight, CentringOptions& centring) {
    centring.weight = weight == "auto" ? Weight::none : parse_weight(weight);
}

void choose_weight(const std::string& weight, const std::string& obstacle, const Federation& federation,
                   const Session& session, CentringOptions& centring) {
    if (weight == "none" || federation.clients() == 0) return;
    const bool named = weight != "auto";
    // Clients whose labels differ are refused later; what they agree on, the first one has.
    const bool has_any = !find_any(feature_schema(*federation.source->client(0), federation.name(0))).empty();
    if (named && !has_any) {
        throw InputError({"--weight", fmt::format("{} for data without a label {} in every mode", weight, any_label),
                          "tables with that label", "Build them with couplet table --any on, or use --weight none."});
    }
    if (named || !has_any) return;
    if (obstacle.empty()) {
        centring.weight = Weight::sqrt;
        return;
    }
    session.note(
        fmt::format("note: {}: features are formed from the records as they are, not from what deviates from "
                    "the labels' prevalences",
                    obstacle));
}

}  // namespace couplet::cli
