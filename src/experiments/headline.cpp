#include "couplet/experiments/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "couplet/experiments/method_bench.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"

namespace couplet {
namespace {

/// The rows of one line, in the order of x.
std::vector<Row> line(const ExperimentResult& result, const std::string& figure, const std::string& method,
                      const std::string& variant = "") {
    std::vector<Row> rows;
    for (const Row& row : result.rows) {
        if (row.figure == figure && row.method == method && row.variant == variant) rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.x < b.x; });
    return rows;
}

std::string first_drawn(const ExperimentResult& result, std::initializer_list<const char*> preferred) {
    for (const char* id : preferred) {
        if (!rows_of(result, id).empty()) return id;
    }
    for (const Figure& figure : result.figures) {
        if (!rows_of(result, figure.id).empty()) return figure.id;
    }
    return "";
}

std::string title_of(const ExperimentResult& result, const std::string& id) {
    for (const Figure& figure : result.figures) {
        if (figure.id == id) return figure.title.substr(0, figure.title.find(':'));
    }
    return id;
}

std::vector<std::string> categories(const ExperimentResult& result, const std::string& figure) {
    std::vector<std::string> names;
    for (const Row& row : result.rows) {
        if (row.figure == figure && std::find(names.begin(), names.end(), row.category) == names.end()) {
            names.push_back(row.category);
        }
    }
    return names;
}

/// "within 3%" or "within 2.1 times".
std::string within(double ratio) {
    return ratio < 2 ? fmt::format("within {:.0f}%", std::ceil(100 * (ratio - 1)))
                     : fmt::format("within {:.3g} times", ratio);
}

/// How near Couplet comes to all data in one place, where it leaves more than the cuts of its defaults allow: below
/// that it is as precise as it was asked to be, and against an exact fit no ratio means anything.
struct Nearness {
    bool below = false;                                          ///< below what the cuts allow somewhere
    bool far = false;                                            ///< not so, where all data in one place is exact
    double ratio = 0;                                            ///< the worst of the others; 0 without
    double over_ours = std::numeric_limits<double>::infinity();  ///< the paper's error over Couplet's, the least
};

Nearness nearness(const ExperimentResult& result, const std::string& figure) {
    constexpr double allowed = 1e-4;  // eps1 = eps2 = 0.01, squared
    Nearness near;
    for (const std::string& name : categories(result, figure)) {
        const Row* ours = find_category(result, figure, "ctt-star", name);
        const Row* all = find_category(result, figure, "centralized", name);
        const Row* papers = find_category(result, figure, "printed-star", name);
        if (!ours || !all || !papers) continue;
        if (ours->y.mean > rounding_rse) near.over_ours = std::min(near.over_ours, papers->y.mean / ours->y.mean);
        if (ours->y.mean < allowed) {
            near.below = true;
        } else if (all->y.mean > rounding_rse) {
            near.ratio = std::max(near.ratio, ours->y.mean / all->y.mean);
        } else {
            near.far = true;
        }
    }
    return near;
}

std::string compared(const ExperimentResult& result, const std::string& figure) {
    const Nearness near = nearness(result, figure);
    if (!std::isfinite(near.over_ours)) return "";
    if (near.far)
        return fmt::format("Everywhere {} leaves at least {:.2g} times Couplet's error", papers_ctt, near.over_ours);
    const std::string how = near.ratio == 0 ? "leaves less than 0.0001"
                                            : fmt::format("comes {} of all data in one place{}", within(near.ratio),
                                                          near.below ? ", or below 0.0001" : "");
    return fmt::format("Couplet {}; {} leaves at least {:.2g} times its error", how, papers_ctt, near.over_ours);
}

/// Whether a method that trains is ahead of Couplet's star somewhere, with as many bytes.
std::string at_equal_bytes(const ExperimentResult& result) {
    std::vector<std::string> behind;
    std::size_t figures = 0;
    for (const Figure& figure : result.figures) {
        const auto rows = rows_of(result, figure.id);
        if (rows.empty()) continue;
        ++figures;
        const bool ahead = std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
            const auto ours = least_within(rows, "ctt-star", row.x);
            return MethodBench::trains(row.method) && ours && *ours > row.y.mean;
        });
        if (ahead) behind.push_back(figure.title);
    }
    if (figures == 0) return "";
    if (behind.empty()) return "At no number of bytes is a method that trains ahead of Couplet";
    return fmt::format("With the same bytes a method that trains is ahead of Couplet on {} of {} data sets",
                       behind.size(), figures);
}

/// How the errors of both go along a line, from its first place to its last.
std::string along(const ExperimentResult& result, const std::string& figure, const char* what) {
    const auto ours = line(result, figure, "ctt-star");
    const auto papers = line(result, figure, "printed-star");
    if (ours.size() < 2 || papers.size() < 2) return "";
    const auto course = [](const std::vector<Row>& rows) {
        const std::string first = rse_text(rows.front().y.mean);
        const std::string last = rse_text(rows.back().y.mean);
        return first == last ? "stays at " + first : fmt::format("goes from {} to {}", first, last);
    };
    return fmt::format("From {} to {} {} Couplet's error {}, that of {} {}", short_number(ours.front().x),
                       short_number(ours.back().x), what, course(ours), papers_ctt, course(papers));
}

std::string at_last_rank(const ExperimentResult& result) {
    const auto ours = line(result, "rse", "ctt-star");
    const auto papers = line(result, "rse", "printed-star");
    const auto all = line(result, "rse", "centralized");
    if (ours.empty() || papers.empty() || all.empty()) return "";
    return fmt::format("At R1 = {} Couplet leaves {}, all data in one place {}, {} {}", short_number(ours.back().x),
                       rse_text(ours.back().y.mean), rse_text(all.back().y.mean), papers_ctt,
                       rse_text(papers.back().y.mean));
}

/// The least error of a method over a figure.
std::optional<double> least(const ExperimentResult& result, const std::string& figure, const std::string& method) {
    std::optional<double> best;
    for (const Row& row : result.rows) {
        if (row.figure == figure && row.method == method) best = std::min(best.value_or(row.y.mean), row.y.mean);
    }
    return best;
}

std::string finest(const ExperimentResult& result, const std::string& figure, const std::string& how) {
    const auto ours = least(result, figure, "ctt-star");
    const auto papers = least(result, figure, "printed-star");
    if (!ours || !papers) return "";
    return fmt::format("{} Couplet down to {}; {} stays at {}", how, rse_text(*ours), papers_ctt, rse_text(*papers));
}

std::string imputed(const ExperimentResult& result, const std::string& figure) {
    const auto filled = line(result, figure, "ctt-star", "imputed");
    const auto zeros = line(result, figure, "ctt-star", "zeros");
    if (filled.empty() || zeros.empty()) return "";
    const auto same =
        std::find_if(zeros.begin(), zeros.end(), [&](const Row& row) { return row.x == filled.front().x; });
    if (same == zeros.end()) return "";
    return fmt::format(
        "With {}% of the entries missing (order 3), imputing leaves an error of {} on them, taking them as zeros {}",
        short_number(filled.front().x), rse_text(filled.front().y.mean), rse_text(same->y.mean));
}

std::string graphs(const ExperimentResult& result) {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    double papers = 0;
    for (const Row& row : result.rows) {
        if (row.figure != "graphs_rse") continue;
        if (row.method == "printed-dec") papers = std::max(papers, row.y.mean);
        if (row.method != "ctt-dec") continue;
        low = std::min(low, row.y.mean);
        high = std::max(high, row.y.mean);
    }
    if (high == 0 || papers == 0) return "";
    return fmt::format("Couplet's error on any graph is {}{}; that of {} reaches {}", rse_text(low),
                       rse_text(low) == rse_text(high) ? "" : " to " + rse_text(high), papers_ctt, rse_text(papers));
}

std::string variances(const ExperimentResult& result) {
    const auto worst = [&](const std::string& method) {
        double off = 0;
        for (const Row& row : result.rows) {
            const Row* all = find_category(result, row.figure, "centralized", row.category);
            if (row.method == method && all != nullptr) off = std::max(off, std::abs(row.y.mean - all->y.mean));
        }
        return off;
    };
    if (!(worst("printed-star") > 0)) return "";
    return fmt::format("Couplet finds the features that matter, off by at most {:.2f}% of the variance; {} by {:.1f}%",
                       100 * worst("ctt-star"), papers_ctt, 100 * worst("printed-star"));
}

std::string classified(const ExperimentResult& result) {
    double best = 0;
    std::optional<double> guess;
    for (const Row& row : result.rows) {
        if (row.figure != "personal") continue;
        if (row.method == "majority") guess = row.y.mean;
        if (row.method == "ctt-star") best = std::max(best, row.y.mean);
    }
    if (!guess || best == 0) return "";
    return fmt::format("Couplet's features classify {:.1f}% right; always guessing the most frequent class {:.1f}%",
                       100 * best, 100 * *guess);
}

/// Alone and together, over the data sets on which not both are exact.
std::string new_people(const ExperimentResult& result) {
    std::size_t better = 0;
    std::size_t all = 0;
    for (const std::string& name : categories(result, "heldout")) {
        const Row* ours = find_category(result, "heldout", "ctt-star", name);
        const Row* alone = find_category(result, "heldout", "local", name);
        if (!ours || !alone || std::max(alone->y.mean, ours->y.mean) < rounding_rse) continue;
        ++all;
        if (ours->y.mean < alone->y.mean) ++better;
    }
    if (all == 0) return "";
    return fmt::format("Together, clients describe new people better than alone on {} of {} data sets", better, all);
}

std::string formulas(const ExperimentResult& result) {
    for (const std::string& sentence : result.findings) {
        if (sentence.starts_with("Numbers sent follow the formulas"))
            return "What is sent follows the paper's formulas";
    }
    return "";
}

}  // namespace

Headline headline(const ExperimentResult& result) {
    const std::string& name = result.name;
    const auto told = [&](std::string sentence, std::initializer_list<const char*> figures) {
        return Headline{std::move(sentence), first_drawn(result, figures)};
    };
    if (name == "comparison") return told(compared(result, "rse"), {"rse"});
    if (name == "heterogeneous") return told(compared(result, "rse"), {"rse"});
    if (name == "error_vs_bytes") return told(at_equal_bytes(result), {"rse_3", "rse_2"});
    if (name.starts_with("r1_")) return told(at_last_rank(result), {"rse"});
    if (name == "eps_grid") return told(finest(result, "rse_diabetes", "Finer cuts bring"), {"rse_diabetes"});
    if (name == "eps1") return told(finest(result, "rse", "Precision brings"), {"rse"});
    if (name == "missing") return told(imputed(result, "hidden_order3"), {"hidden_order3"});
    if (name == "topology") return told(graphs(result), {"graphs_rse"});
    if (name == "variances") return told(variances(result), {"mode2"});
    if (name == "classification") return told(classified(result), {"personal"});
    if (name == "analysis") return told(formulas(result), {"numbers_R"});
    if (name == "heldout") return told(new_people(result), {"heldout"});
    if (name == "nodes" || name == "scalability") {
        const std::string figure = first_drawn(result, {"rse_diabetes", "rse_3", "rse_0"});
        const std::string sentence = along(result, figure, "clients");
        return {sentence.empty() ? "" : sentence + fmt::format(" ({})", title_of(result, figure)), figure};
    }
    return told("", {});
}

}  // namespace couplet
