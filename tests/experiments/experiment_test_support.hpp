#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/experiments/experiment.hpp"
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
    return {.network = Network::decentralized, .aggregate = Aggregate::subspace, .rank = rank, .graph = graph};
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
        Random random(2);
        const auto bit = [&] { return std::to_string(random.below(2)); };
        std::string text =
            "Diabetes_012,HighBP,HighChol,CholCheck,BMI,Smoker,Stroke,HeartDiseaseorAttack,PhysActivity,Fruits,Veggies,"
            "HvyAlcoholConsump,AnyHealthcare,NoDocbcCost,GenHlth,MentHlth,PhysHlth,DiffWalk,Sex,Age,Education,Income\n";
        for (Index i = 0; i < people; ++i) {
            text += std::to_string(random.below(3)) + "," + bit() + "," + bit() + "," + bit() + "," +
                    std::to_string(15 + random.below(40));
            for (int column = 0; column < 9; ++column) text += "," + bit();
            text += "," + std::to_string(1 + random.below(5)) + "," + std::to_string(random.below(31)) + "," +
                    std::to_string(random.below(31)) + "," + bit() + "," + bit() + "," +
                    std::to_string(1 + random.below(13)) + "," + std::to_string(1 + random.below(6)) + "," +
                    std::to_string(1 + random.below(8)) + "\n";
        }
        put("diabetes_012_health_indicators_BRFSS2015.csv", text);
    }
    void put_cms() const {
        Random random(3);
        std::string text;
        for (int line = 0; line < 1500; ++line) {
            const auto code = [&](std::uint64_t codes) { return std::to_string(1 + random.below(codes)); };
            text += "1," + code(60) + "," + code(12) + "," + code(5) + "," + code(12) + "\n";
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
        Lab lab(tiny(repeats));
        const std::vector<std::string> names{name};
        const ExperimentResult result = find_experiments(names).front()->run(lab);
        EXPECT_EQ(result.name, name);
        std::set<std::string> figures;
        for (const Figure& figure : result.figures) {
            EXPECT_TRUE(figures.insert(figure.id).second) << figure.id;
            EXPECT_FALSE(rows_of(result, figure.id).empty()) << figure.id;
            EXPECT_FALSE(figure.title.empty() || figure.y.label.empty()) << figure.id;
        }
        for (const Row& row : result.rows) {
            EXPECT_TRUE(figures.contains(row.figure)) << row.figure;
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
