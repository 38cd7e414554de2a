#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ErrorVsBytesTest : public testing::LabTest {};

TEST_F(ErrorVsBytesTest, EveryDataSetHasItsCurve) {
    put_all();
    const auto result = run("error_vs_bytes");
    EXPECT_EQ(result.figures.size(), 3U);
    double least = 1;
    for (const Row& row : rows_of(result, result.figures.front().id)) {
        EXPECT_GT(row.x, 0);
        if (row.method == "ctt-star") least = std::min(least, row.y.mean);
    }
    EXPECT_LT(least, 0.5);
    EXPECT_EQ(result.findings.size(), 3U);
    EXPECT_TRUE(std::any_of(result.rows.begin(), result.rows.end(), [](const Row& r) { return r.method == "fedsvd"; }));
}

TEST_F(ErrorVsBytesTest, PointsAreBytesAndErrorsOfTheRuns) {
    put_all();
    const auto result = run("error_vs_bytes");
    const std::string figure = result.figures.front().id;  // synthetic, rank 4
    const auto source = clients(DataId::synthetic3, 4);
    const auto expect_point = [&](const char* method, const SimulationResult& one) {
        const auto points = rows_of(result, figure);
        const bool there = std::any_of(points.begin(), points.end(), [&](const Row& row) {
            return row.method == method && row.x == one.bytes_up + one.bytes_down && row.y.mean == one.rse;
        });
        EXPECT_TRUE(there) << method << " with " << one.bytes_up + one.bytes_down << " bytes and " << one.rse;
    };
    for (const Index budget : {2000, 4000, 8000, 16000}) {
        expect_point("ctt-star", simulate(source, {.job = {.bytes_total = budget}}));
        expect_point("ctt-dec", simulate(source, {.job = {.network = Network::decentralized, .bytes_total = budget}}));
    }
    for (const Index rank : {2, 4}) {
        expect_point("printed-star", simulate(source, {.job = testing::printed_star_job(rank)}));
        expect_point("printed-dec",
                     simulate(source, {.job = testing::printed_peers_job(rank, 3, "complete", "magic")}));
        expect_point("fedsvd", run_method(Method::fedsvd, source, {.job = {.rank = rank}}).simulation);
    }
    // Ranks 4/10, 4/6, 4/4 and 4/3 are all 1: one point of four samples.
    std::map<std::string, std::vector<Row>> by_method;
    for (const Row& row : rows_of(result, figure)) by_method[row.method].push_back(row);
    for (const char* method : {"ctt-star", "ctt-dec"}) EXPECT_EQ(by_method[method].size(), 4U) << method;
    for (const char* method : {"printed-star", "printed-dec", "fedsvd"}) {
        ASSERT_EQ(by_method[method].size(), 3U) << method;
        EXPECT_EQ(by_method[method][0].y.count, 4) << method;
    }
    // A method that trains has a point for every evaluation after the start: the fifth round, and the agreement of
    // peers.
    const auto trip = run_method(Method::trip, source, {.job = {.rank = 4, .seed = 3}}, {.rounds = 5});
    ASSERT_EQ(by_method["trip"].size(), 1U);
    EXPECT_EQ(by_method["trip"][0].x, trip.trace.back().bytes);
    EXPECT_EQ(by_method["trip"][0].y.mean, trip.trace.back().rse);
}

/// The sentence of every data set agrees with its points.
TEST_F(ErrorVsBytesTest, SaysWhoIsAheadWithFewBytes) {
    put_all();
    const auto result = run("error_vs_bytes");
    ASSERT_EQ(result.findings.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto points = rows_of(result, result.figures[i].id);
        const std::string& sentence = result.findings[i];
        EXPECT_TRUE(sentence.starts_with(result.figures[i].title + ":")) << sentence;
        double least = INFINITY;
        double ours = INFINITY;
        for (const Row& row : points) {
            least = std::min(least, row.y.mean);
            if (row.method == "ctt-star") ours = std::min(ours, row.y.mean);
        }
        if (rse_text(ours) == rse_text(least)) {
            expect_said(sentence, "nobody is below Couplet's " + rse_text(ours));
        } else {
            expect_said(sentence, "the least error, " + rse_text(least) + ", is that of ");
            expect_said(sentence, "Couplet's star reaches " + rse_text(ours));
        }
        for (const MethodStyle& style : method_styles()) {
            if (!MethodBench::trains(style.id)) continue;
            const Row* best = nullptr;
            for (const Row& row : points) {
                if (row.method == style.id && (best == nullptr || row.y.mean < best->y.mean)) best = &row;
            }
            if (best == nullptr) continue;
            double with_as_many = INFINITY;
            for (const Row& row : points) {
                if (row.method == "ctt-star" && row.x <= best->x) with_as_many = std::min(with_as_many, row.y.mean);
            }
            const std::string part = std::string(style.label) + " (" + rse_text(best->y.mean) + " with ";
            EXPECT_EQ(sentence.find(part) != std::string::npos, with_as_many > best->y.mean) << sentence << part;
        }
    }
}

}  // namespace
}  // namespace couplet
