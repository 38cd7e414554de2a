#include "couplet/experiments/gain_section.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/sim/reference.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class HeldoutTest : public testing::LabTest {};

TEST_F(HeldoutTest, EveryMethodIsScoredOnNewPeople) {
    put_all();
    const auto result = run("heldout");
    for (const char* data : {"Diabetes", "ECG", "Synthetic, order 3", "CMS records"}) {
        for (const char* method : {"ctt-star", "ctt-dec", "printed-star", "centralized", "local", "trip"}) {
            EXPECT_NE(find_category(result, "heldout", method, data), nullptr) << data << method;
            EXPECT_NE(find_category(result, "training", method, data), nullptr) << data << method;
        }
    }
    EXPECT_EQ(result.findings.size(), 4U);
    const auto gains = site_gains({result});
    ASSERT_EQ(gains.size(), 16U);
    for (const HeldoutGain& gain : gains) {
        EXPECT_GE(gain.alone, 0);
        EXPECT_LE(gain.together, 1.5);
    }
}

TEST_F(HeldoutTest, RowsAreTheRunsTheyName) {
    put_all();
    const auto result = run("heldout");
    struct Case {
        DataId id;
        const char* title;
        Index rank;
    };
    for (const auto& [id, title, rank] :
         {Case{DataId::diabetes, "Diabetes", 6}, Case{DataId::synthetic3, "Synthetic, order 3", 4}}) {
        const auto source = clients(id, 4);
        const auto expect = [&, name = std::string(title)](const char* method, const SimulationResult& one) {
            EXPECT_EQ(dot(result, "training", method, name), one.rse) << method;
            EXPECT_EQ(dot(result, "heldout", method, name), *one.rse_heldout) << method;
        };
        const auto with = [](JobOptions job) {
            job.seed = 3;
            return SimulationOptions{.job = std::move(job), .heldout = 0.2};
        };
        expect("ctt-star", simulate(source, with(testing::couplet_star_job(rank))));
        expect("ctt-dec", simulate(source, with(testing::couplet_peers_job(rank))));
        JobOptions printed = testing::printed_star_job(rank);
        printed.refit = true;
        expect("printed-star", simulate(source, with(printed)));
        expect("centralized", reference_centralized(source, with({.rank = rank})));
        expect("local", reference_local(source, with({.rank = rank})));
        expect("trip", run_method(Method::trip, source, with({.rank = rank}), {.rounds = 5}).simulation);
    }
    const auto text = [&](const char* figure, const char* method) {
        return rse_text(dot(result, figure, method, "Diabetes"));
    };
    expect_said(result.findings[0], "Diabetes: a client alone fits its own people to " + text("training", "local") +
                                        " but new ones only to " + text("heldout", "local") +
                                        "; with the federation's features it is " + text("heldout", "ctt-star"));
}

}  // namespace
}  // namespace couplet
