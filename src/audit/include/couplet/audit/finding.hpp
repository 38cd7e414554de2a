#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/audit/membership.hpp"
#include "couplet/audit/recovery.hpp"
#include "couplet/audit/second_moment.hpp"
#include "couplet/privacy/gaussian.hpp"
#include "couplet/privacy/leakage.hpp"

namespace couplet {

/// What a view reveals, worst first.
enum class Verdict { patients, membership, second_moments, untested, features_only, differentially_private };

/// "patients", "membership", "second-moments", "untested", "features-only", "differentially-private".
std::string_view to_string(Verdict verdict) noexcept;

struct Finding {
    std::string mode = {};
    std::string seen_by = {};
    std::string what = {};
    Index directions = 0;  ///< of the row space that is seen
    Recovery direct = {};  ///< the rows as they are, and their singular vectors
    Recovery ica = {};
    Recovery rank_one = {};   ///< no patients where features have a single mode: the attack means nothing there
    Recovery rare_rows = {};  ///< no patients where what is seen is no sum over records
    Recovery lattice = {};    ///< whole records; no patients where what is seen is no sum over records
    Auc membership = {};
    SecondMoment moment = {};
    Verdict verdict = Verdict::features_only;
    bool counts = false;  ///< not of rows: of how many records have which norm
    std::optional<PrivacyGuarantee> guarantee = {};
    std::string weakness = {};             ///< why the guarantee counts for nothing, in words; empty: it counts
    std::vector<std::string> policy = {};  ///< what the leakage policy changed in the job, in words

    struct Attack {
        std::string_view name;  ///< of the field, which JSON uses too
        std::string_view how;   ///< for people: "as it is", "by a lattice"
        const Recovery& recovery;
    };
    /// Those that were tried.
    std::vector<Attack> attacks() const;
    /// The one that tells more: evidence before none, then the one that finds more. Without any, nobody was looked for.
    Attack best() const;
    /// Patients that the best of these attacks finds.
    Index recovered() const { return best().recovery.recovered; }
    /// Whether an attack found more patients than chance would.
    bool shows_patients() const;
};

/// What the attacks amount to. `controlled`: there were people who took part nowhere.
Verdict judge(const Finding& finding, const LeakageLimits& limits, bool controlled);

/// The verdict as a sentence for a data-protection officer.
std::string verdict_sentence(const Finding& finding);

}  // namespace couplet
