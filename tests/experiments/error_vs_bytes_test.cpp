#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class ErrorVsBytesTest : public testing::LabTest {};

TEST_F(ErrorVsBytesTest, EveryDataSetHasItsCurve) {
    put_all();
    const auto result = run("error_vs_bytes");
    EXPECT_EQ(result.figures.size(), 5U);
    double least = 1;
    for (const Row& row : rows_of(result, result.figures.front().id)) {
        EXPECT_GT(row.x, 0);
        if (row.method == "ctt-star") least = std::min(least, row.y.mean);
    }
    EXPECT_LT(least, 0.5);
    EXPECT_EQ(result.findings.size(), 5U);
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
    // A method that trains has a point for every evaluation after the start, at two ranks: the fifth round, and the
    // agreement of peers.
    ASSERT_EQ(by_method["trip"].size(), 2U);
    for (const Index rank : {2, 4}) {
        const auto trip = run_method(Method::trip, source, {.job = {.rank = rank, .seed = 3}}, {.rounds = 5});
        const Row& row = by_method["trip"][rank == 2 ? 0 : 1];
        EXPECT_EQ(row.x, trip.trace.back().bytes);
        EXPECT_EQ(row.y.mean, trip.trace.back().rse);
    }
    EXPECT_EQ(by_method["fedsvd"].size(), 3U);
}

/// Of the points of a method only those remain that no other of its points is ahead of.
TEST_F(ErrorVsBytesTest, AMethodsLineFallsOverItsRanks) {
    put_all();
    const auto result = run("error_vs_bytes");
    for (const Figure& figure : result.figures) {
        std::map<std::string, std::vector<Row>> by_method;
        for (const Row& row : rows_of(result, figure.id)) {
            if (MethodBench::trains(row.method)) by_method[row.method].push_back(row);
        }
        EXPECT_EQ(by_method.size(), figure.id == "rse_1" ? 5U : 6U) << figure.title;
        for (auto& [method, rows] : by_method) {
            std::ranges::sort(rows, {}, &Row::x);
            for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i].y.mean, rows[i - 1].y.mean) << method;
        }
    }
}

/// The short part of bench/frontier.py: no method that trains, at any rank, is ahead at any number of bytes.
TEST_F(ErrorVsBytesTest, NoMethodThatTrainsIsAhead) {
    DataLibrary library({}, Effort::quick);
    const auto data = library.open(DataId::synthetic3, 0);
    const MemorySource source = data->split(4);
    std::vector<std::pair<double, double>> ours;  // bytes and error
    for (const Method method : MethodBench::methods(3)) {
        if (!is_cp(method)) continue;
        std::vector<TracePoint> points;
        for (const Index rank : {10, 20}) {
            const auto trained = run_method(method, source, {.job = {.rank = rank}}, {.rounds = 15, .tolerance = 0});
            points.insert(points.end(), trained.trace.begin(), trained.trace.end());
        }
        std::ranges::sort(points, {}, &TracePoint::bytes);
        EXPECT_LT(points.back().rse, 1) << to_string(method);
        for (const TracePoint& point : points) {
            const bool behind = std::ranges::any_of(
                ours, [&](const auto& one) { return one.first <= point.bytes && one.second < point.rse; });
            if (point.bytes < 2000 || behind) continue;
            const auto now = simulate(source, {.job = {.bytes_total = static_cast<Index>(point.bytes)}});
            EXPECT_LE(now.bytes_up + now.bytes_down, point.bytes);
            EXPECT_LT(now.rse, point.rse) << to_string(method) << " with " << point.bytes << " bytes";
            EXPECT_LE(std::sqrt(now.rse), *now.rel_error_bound);
            ours.emplace_back(now.bytes_up + now.bytes_down, now.rse);
        }
    }
}

/// The sentence of every data set agrees with its points.
TEST_F(ErrorVsBytesTest, SaysWhoIsAheadWithFewBytes) {
    put_all();
    const auto result = run("error_vs_bytes");
    ASSERT_EQ(result.findings.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
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
            const Row* furthest = nullptr;
            double ahead = 1;
            for (const Row& row : points) {
                double ours_then = INFINITY;
                for (const Row& other : points) {
                    if (other.method == "ctt-star" && other.x <= row.x) ours_then = std::min(ours_then, other.y.mean);
                }
                if (row.method != style.id || row.x < 2000 || !(ours_then / row.y.mean > ahead)) continue;
                ahead = ours_then / row.y.mean;
                furthest = &row;
            }
            const std::string label = std::string(style.label) + " (";
            EXPECT_EQ(sentence.find(label) != std::string::npos, furthest != nullptr) << sentence << label;
            if (furthest != nullptr) expect_said(sentence, label + rse_text(furthest->y.mean) + " with ");
        }
    }
}

}  // namespace
}  // namespace couplet
