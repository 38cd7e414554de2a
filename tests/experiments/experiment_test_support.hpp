#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/experiments/experiment.hpp"
#include "couplet/experiments/gain_section.hpp"
#include "couplet/sim/simulate.hpp"

namespace couplet::testing {

/// Text of the InputError that `call` throws; empty when it throws none.
template <class Call>
std::string refusal(Call call) {
    try {
        call();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

/// Markup with a line for each element, between empty lines.
inline std::string by_element(std::string markup) {
    for (std::size_t at = 0; (at = markup.find("><", at)) != std::string::npos;) markup.insert(++at, "\n");
    return "\n" + markup + "\n";
}

/// "rse dots y own": the figures of every experiment, which axes are logarithmic, and whether categories have their
/// own.
inline std::string figure_text(const Figure& figure) {
    return figure.id + (figure.chart == Chart::dots ? " dots" : " lines") + (figure.x.log ? " x" : "") +
           (figure.y.log ? " y" : "") + (figure.own_axes ? " own" : "");
}
inline const std::map<std::string, std::vector<std::string>>& figures_of_experiments() {
    static const std::vector<std::string> sweep{"rse lines y", "rse_table lines", "numbers lines y", "seconds lines y"};
    static const std::map<std::string, std::vector<std::string>> all{
        {"comparison", {"rse dots y own", "bytes dots y own", "rounds dots y", "settled dots y", "seconds dots y own"}},
        {"error_vs_bytes",
         {"rse_0 lines x y", "rse_1 lines x y", "rse_3 lines x y", "rse_2 lines x y", "rse_4 lines x y"}},
        {"nodes", {"rse_diabetes lines y", "seconds_diabetes lines y", "rse_ecg lines y", "seconds_ecg lines y"}},
        {"r1_ecg", sweep},
        {"r1_diabetes", sweep},
        {"r1_synthetic", sweep},
        {"eps_grid",
         {"rse_synthetic lines x y", "numbers_synthetic lines x y", "rse_diabetes lines x y",
          "numbers_diabetes lines x y"}},
        {"eps1", {"rse lines x y", "numbers lines x y"}},
        {"missing",
         {"zeroed_order3 lines", "zeroed_ours_order3 lines", "truth_order3 lines y", "hidden_order3 lines y",
          "federations_order3 lines y", "zeroed_order4 lines", "zeroed_ours_order4 lines", "truth_order4 lines y",
          "hidden_order4 lines y", "federations_order4 lines y"}},
        {"scalability",
         {"rse_2 lines y", "numbers_2 lines y", "seconds_2 lines y", "rse_3 lines y", "numbers_3 lines y",
          "seconds_3 lines y", "rse_0 lines y", "numbers_0 lines y", "seconds_0 lines y", "rse_1 lines y",
          "numbers_1 lines y", "seconds_1 lines y"}},
        {"topology",
         {"rse_table lines x", "rse lines x", "numbers_total lines x y", "graphs_rse dots y", "graphs_numbers dots y"}},
        {"variances", {"mode2 dots", "mode3 dots"}},
        {"classification", {"clients lines", "features lines", "personal dots"}},
        {"analysis",
         {"numbers_K lines y", "operations_K lines y", "seconds_K lines y", "numbers_R lines y", "operations_R lines y",
          "seconds_R lines y", "numbers_I lines y", "operations_I lines y", "seconds_I lines y", "numbers_L lines y",
          "operations_L lines y", "seconds_L lines y"}},
        {"heldout", {"heldout dots y own", "training dots y own"}},
        {"heterogeneous", {"rse dots y"}}};
    return all;
}

/// The methods as the paper and the product define them, spelled out.
inline JobOptions printed_star_job(Index rank, double eps1 = 0.1, double eps2 = 0.05) {
    return {.network = Network::star,
            .aggregate = Aggregate::average,
            .rank = rank,
            .eps1 = eps1,
            .eps2 = eps2,
            .refit = false};
}
inline JobOptions printed_peers_job(Index rank, Index iterations, const std::string& graph,
                                    const std::string& weights) {
    return {.network = Network::decentralized,
            .aggregate = Aggregate::average,
            .rank = rank,
            .eps2 = 0.05,
            .refit = false,
            .graph = graph,
            .weights = weights,
            .consensus = ConsensusEngine::plain,
            .iterations = iterations};
}
inline JobOptions couplet_star_job(Index rank) {
    return {.network = Network::star, .aggregate = Aggregate::stack, .rank = rank, .eps1 = 0.01, .eps2 = 0.01};
}
inline JobOptions couplet_peers_job(Index rank, const std::string& graph = "complete") {
    return {.network = Network::decentralized,
            .aggregate = Aggregate::stack,
            .rank = rank,
            .eps1 = 0.01,
            .eps2 = 0.01,
            .graph = graph};
}

/// A folder with data files in the form of the public ones, removed afterwards.
class LabTest : public ::testing::Test {
  protected:
    LabTest() {
        std::string pattern = ::testing::TempDir() + "couplet-lab-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~LabTest() override { std::filesystem::remove_all(folder_); }

    void put(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

    void put_ecg(Index beats) const {
        Random random(1);
        std::string text;
        for (Index i = 0; i < beats; ++i) {
            for (int t = 0; t < 140; ++t)
                text += std::to_string((i % 2 == 0 ? 1.0 : -0.5) + 0.2 * random.normal()) + ",";
            text += i % 2 == 0 ? "1.0\n" : "0.0\n";
        }
        put("ecg.csv", text);
    }
    void put_diabetes(Index people) const {
        // How many values each column has, from its smallest on: drawn one after the other, whatever the compiler.
        struct Column {
            const char* name;
            std::uint64_t values = 2;
            std::uint64_t smallest = 0;
        };
        const std::vector<Column> columns{
            {"Diabetes_012", 3}, {"HighBP"},      {"HighChol"},      {"CholCheck"},
            {"BMI", 40, 15},     {"Smoker"},      {"Stroke"},        {"HeartDiseaseorAttack"},
            {"PhysActivity"},    {"Fruits"},      {"Veggies"},       {"HvyAlcoholConsump"},
            {"AnyHealthcare"},   {"NoDocbcCost"}, {"GenHlth", 5, 1}, {"MentHlth", 31},
            {"PhysHlth", 31},    {"DiffWalk"},    {"Sex"},           {"Age", 13, 1},
            {"Education", 6, 1}, {"Income", 8, 1}};
        Random random(2);
        std::string text;
        for (const Column& column : columns) text += (text.empty() ? "" : ",") + std::string(column.name);
        for (Index i = 0; i < people; ++i) {
            const char* before = "\n";
            for (const Column& column : columns) {
                text += before + std::to_string(column.smallest + random.below(column.values));
                before = ",";
            }
        }
        put("diabetes_012_health_indicators_BRFSS2015.csv", text + "\n");
    }
    void put_cms() const {
        Random random(3);
        std::string text;
        for (int line = 0; line < 1500; ++line) {
            text += "1";
            for (const std::uint64_t codes : {60, 12, 5, 12}) text += "," + std::to_string(1 + random.below(codes));
            text += "\n";
        }
        put("cms1k_dense.csv", text);
    }
    void put_all() const {
        put_ecg(60);
        put_diabetes(120);
        put_cms();
    }

    ExperimentSettings tiny(Index repeats = 1) const {
        return {.seed = 3, .repeats = repeats, .effort = Effort::tiny, .data = folder_};
    }

    /// Runs one experiment on the files of this folder and checks what holds for all of them.
    ExperimentResult run(const std::string& name, Index repeats = 1) {
        std::vector<std::pair<std::int64_t, std::int64_t>> told;
        ExperimentSettings settings = tiny(repeats);
        settings.progress = [&](const ProgressEvent& event) {
            if (event.phase == name) told.emplace_back(event.done, event.total);
        };
        Lab lab(settings);
        const std::vector<std::string> names{name};
        const ExperimentResult result = find_experiments(names).front()->run(lab);
        EXPECT_EQ(result.name, name);
        expect_figures(result);
        // Step by step, and with all data at hand to the end; records have no repeats.
        for (std::size_t i = 0; i < told.size(); ++i) {
            EXPECT_EQ(told[i].first, static_cast<std::int64_t>(i)) << name;
            EXPECT_EQ(told[i].second, told[0].second) << name;
        }
        if (!told.empty() && result.absent.empty() && repeats == 1) {
            EXPECT_EQ(told.back().first, told.back().second) << name;
        }
        EXPECT_EQ(told.empty(), name == "classification") << "it tells its splits";
        std::set<std::string> figures;
        for (const Figure& figure : result.figures) {
            EXPECT_TRUE(figures.insert(figure.id).second) << figure.id;
            EXPECT_FALSE(rows_of(result, figure.id).empty()) << figure.id;
            EXPECT_FALSE(figure.title.empty() || figure.y.label.empty()) << figure.id;
        }
        for (const Row& row : result.rows) {
            // What a site gains has a section of its own instead of a figure.
            EXPECT_TRUE(figures.contains(row.figure) || row.figure == gain_figure) << row.figure;
            EXPECT_TRUE(std::isfinite(row.y.mean) && std::isfinite(row.y.sd)) << row.figure << " " << row.method;
        }
        return result;
    }

    /// A data set as the experiments see it in repeat r, cut into clients.
    MemorySource clients(DataId id, Index count, Index repeat = 0) const {
        DataLibrary library(folder_, Effort::tiny);
        return library.open(id, static_cast<std::uint64_t>(3 + repeat))->split(count);
    }
    /// The mean of a row; a failed test where there is none.
    static double at(const ExperimentResult& result, const std::string& figure, const std::string& method,
                     const std::string& variant, double x) {
        const Row* row = find_row(result, figure, method, variant, x);
        EXPECT_NE(row, nullptr) << figure << " " << method << " " << variant << " " << x;
        return row == nullptr ? NAN : row->y.mean;
    }
    static double dot(const ExperimentResult& result, const std::string& figure, const std::string& method,
                      const std::string& category) {
        const Row* row = find_category(result, figure, method, category);
        EXPECT_NE(row, nullptr) << figure << " " << method << " " << category;
        return row == nullptr ? NAN : row->y.mean;
    }
    static void expect_said(const std::string& sentence, const std::string& part) {
        EXPECT_NE(sentence.find(part), std::string::npos) << sentence << "\nshould say: " << part;
    }

    static void expect_figures(const ExperimentResult& result) {
        const auto& known = figures_of_experiments().at(result.name);
        std::vector<std::string> found;
        for (const Figure& figure : result.figures) found.push_back(figure_text(figure));
        if (result.absent.empty()) {
            EXPECT_EQ(found, known) << result.name;
        }
        for (const std::string& figure : found) {
            EXPECT_NE(std::find(known.begin(), known.end(), figure), known.end()) << result.name << ": " << figure;
        }
    }

    /// Without its file in the folder, an experiment says what is missing and where to get it.
    void expect_absent(const std::string& name) const {
        Lab lab(tiny());
        const std::vector<std::string> names{name};
        const ExperimentResult result = find_experiments(names).front()->run(lab);
        EXPECT_TRUE(result.rows.empty());
        ASSERT_EQ(result.absent.size(), 1U);
        EXPECT_NE(result.absent.front().find("Kaggle"), std::string::npos);
    }

    std::filesystem::path folder_;
};

}  // namespace couplet::testing
