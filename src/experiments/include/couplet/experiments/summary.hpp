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

/// A question that a reader comes with, and what the numbers answer.
struct Answer {
    std::string question = {};
    std::string verdict = {};  ///< a few words
    std::string detail = {};   ///< what they rest on
};

/// How many of the paper's numbers of one kind were measured again, and how many came out within 10%.
struct PaperCount {
    std::string what = {};  ///< "errors"
    Index within = 0;
    Index all = 0;
};

/// Why numbers differ from the paper's, and how many of them.
struct PaperReason {
    std::string sentence = {};
    Index numbers = 0;
};

struct ReportSummary {
    std::vector<Answer> answers = {};
    std::vector<PaperCount> paper = {};
    std::vector<PaperReason> reasons = {};  ///< the most frequent first; times are not counted
    std::vector<SummaryLine> lines = {};
    std::vector<std::string> sentences = {};
};

/// The answers, from whatever was run: a question is left out where nothing was. Lines and sentences say who wins,
/// from the rows of the experiment "comparison"; without it there are none.
ReportSummary summarise_results(const std::vector<ExperimentResult>& results);

}  // namespace couplet
