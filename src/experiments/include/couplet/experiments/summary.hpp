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
    double printed = 0;      ///< RSE of the printed star
    double other = 0;        ///< RSE of the best method of another paper
    std::string other_method = {};
    double ours_bytes = 0;
    double other_bytes = 0;
    double printed_bytes = 0;
};

struct ReportSummary {
    std::vector<SummaryLine> lines = {};
    std::vector<std::string> sentences = {};
};

/// Who wins, computed from the rows of the experiment "comparison"; without it the summary is empty.
ReportSummary summarise_results(const std::vector<ExperimentResult>& results);

}  // namespace couplet
