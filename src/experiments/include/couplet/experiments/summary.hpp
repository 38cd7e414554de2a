#pragma once

#include <string>
#include <vector>

#include "couplet/experiments/result.hpp"

namespace couplet {

/// One data set in the summary: who wins, by how much. Numbers that were not measured are 0.
struct SummaryLine {
    std::string data = {};
    double ours = 0;         ///< RSE of Couplet in a star
    double centralized = 0;  ///< RSE
    double peers = 0;        ///< RSE of Couplet among peers
    double printed = 0;      ///< RSE of the printed star
    double masked = 0;       ///< RSE of FedSVD
    double other = 0;        ///< RSE of the best of the methods that train
    std::string other_method = {};
    double ours_bytes = 0;
    double centralized_bytes = 0;  ///< all data sent to one place
    double peers_bytes = 0;
    double printed_bytes = 0;
    double masked_bytes = 0;
    double other_bytes = 0;
};

struct ReportSummary {
    std::vector<SummaryLine> lines = {};
    std::vector<std::string> sentences = {};
};

/// Who wins, computed from the rows of the experiment "comparison"; without it the summary is empty.
ReportSummary summarise_results(const std::vector<ExperimentResult>& results);

}  // namespace couplet
