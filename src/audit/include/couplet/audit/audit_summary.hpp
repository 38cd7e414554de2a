#pragma once

#include <string>
#include <vector>

#include "couplet/audit/audit.hpp"

namespace couplet {

/// What a mode comes to: the worst of all views of it.
struct RankedMode {
    std::string mode;
    Verdict verdict = Verdict::differentially_private;
    Recovery recovered = {};  ///< of the view in which the largest share of patients was found
    Auc membership = {};      ///< of the view that tells best who took part
};

/// The modes that were tried, the one that shows least first: by verdict, then by the share of patients that were
/// found, then by how well one can tell who took part.
std::vector<RankedMode> rank_modes(const AuditReport& report);

/// "masked sums", "plain messages", ...: what a mode is, for people; an unknown mode by its own name.
std::string mode_in_words(const std::string& mode);

/// The answer for a data protection officer, in a sentence or two.
std::string summary_of(const AuditReport& report);

}  // namespace couplet
