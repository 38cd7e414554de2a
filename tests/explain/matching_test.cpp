#include "couplet/explain/matching.hpp"

#include "couplet/sim/simulate.hpp"
#include "explain_test_support.hpp"

namespace couplet {
namespace {

TEST(MatchingTest, FindsPartnersWhateverTheOrderAndSign) {
    const auto a = Matrix<double>::identity(4);
    auto b = Matrix<double>::zeros(4, 4);
    b(0, 2) = -1;
    b(1, 0) = 1;
    b(2, 3) = 1;
    b(3, 1) = 1;
    const Matching matching = match_rows(a, b);
    EXPECT_EQ(matching.partner, (std::vector<Index>{1, 3, 0, 2}));
    EXPECT_EQ(matching.cosine, (std::vector<double>{1, 1, -1, 1}));
}

TEST(MatchingTest, TheSumCountsNotTheFirstBest) {
    // Greedy would take (0, 0) and leave nothing for row 1.
    auto a = Matrix<double>::identity(2);
    auto b = Matrix<double>::zeros(2, 2);
    b(0, 0) = 0.8;
    b(0, 1) = 0.6;
    b(1, 0) = 0.6;
    b(1, 1) = -0.8;
    const Matching matching = match_rows(a, b);
    EXPECT_EQ(matching.partner, (std::vector<Index>{0, 1}));
    const auto fewer = match_rows(a, Matrix<double>::copy(MatrixView<const double>(b.data(), 1, 2)));
    EXPECT_EQ(fewer.partner, (std::vector<Index>{0, -1}));
    EXPECT_EQ(fewer.cosine[1], 0);
}

TEST(CompareTest, SaysWhatIsKeptNewAndGone) {
    Findings later = testing::mixed_findings();
    Explanation before = explain(testing::mixed_findings());
    Explanation after = explain(std::move(later));
    const Drift same = compare_results(before, after);
    EXPECT_NEAR(same.overlap, 1, 1e-9);
    ASSERT_EQ(same.changes.size(), 3U);
    for (const Change& change : same.changes) {
        EXPECT_EQ(change.before, change.after);
        EXPECT_NEAR(change.agreement, 1, 1e-6);
        EXPECT_TRUE(change.gained.empty());
    }
    // The third pattern becomes gout with amoxicillin.
    for (Index i = 0; i < 12; ++i) after.findings.rows(2, i) = i == 11 ? 1 : 0;
    after.components[2].title = "gout with amoxicillin";
    const Drift drift = compare_results(before, after);
    EXPECT_NEAR(drift.overlap, 2.0 / 3, 1e-6);
    ASSERT_EQ(drift.changes.size(), 4U);
    EXPECT_EQ(drift.changes[2].after, 2);
    EXPECT_EQ(drift.changes[2].before, -1);
    EXPECT_EQ(drift.changes[3].before, 2);
    EXPECT_EQ(drift.changes[3].after, -1);
}

TEST(CompareTest, NamesEntriesThatGrewAndShrank) {
    const Explanation before = explain(testing::mixed_findings());
    Explanation after = explain(testing::mixed_findings());
    for (Index i = 0; i < 12; ++i) after.findings.rows(0, i) *= 0.8;
    after.findings.rows(0, 10) = 0.6;  // gout, metformin
    const Drift drift = compare_results(before, after);
    const Change& change = drift.changes[0];
    EXPECT_NEAR(change.agreement, 0.8, 1e-6);
    ASSERT_EQ(change.gained.size(), 1U);
    EXPECT_EQ(change.gained[0].labels, (std::vector<std::string>{"gout", "metformin"}));
    ASSERT_EQ(change.lost.size(), 1U);
    EXPECT_EQ(change.lost[0].labels, (std::vector<std::string>{"asthma", "inhaler"}));
}

TEST(CompareTest, AnotherOrderOfTheLabelsIsTheSame) {
    const Explanation before = explain(testing::mixed_findings());
    Findings turned = testing::mixed_findings();
    auto& labels = turned.schema.modes[1].entries;
    std::swap(labels[0], labels[2]);
    for (Index r = 0; r < 3; ++r) {
        for (Index i = 0; i < 4; ++i) std::swap(turned.rows(r, 3 * i), turned.rows(r, 3 * i + 2));
    }
    EXPECT_NEAR(compare_results(before, explain(std::move(turned))).overlap, 1, 1e-9);
    Findings other = testing::mixed_findings();
    other.schema.modes[1].entries[0] = "cortisone";
    EXPECT_THROW(compare_results(before, explain(std::move(other))), InputError);
}

TEST(CompareTest, CentredAndRawResultsAreNotCompared) {
    const Explanation before = explain(testing::mixed_findings());
    Findings centred = testing::mixed_findings();
    centred.centred = true;
    EXPECT_THROW(compare_results(before, explain(std::move(centred))), InputError);
}

/// Far from zero the means would be the first component of every resample.
TEST(StabilityTest, ResamplesAreCentredAsTheResultWas) {
    Random random(12);
    std::vector<Tensor<double>> sites;
    for (int k = 0; k < 2; ++k) {
        Tensor<double> x(Shape{150, 4, 3});
        for (Index p = 0; p < 150; ++p) {
            for (Index i = 0; i < 12; ++i) x.data()[p * 12 + i] = 50 + 0.2 * random.normal();
            x.data()[p * 12 + 4] += 3 * random.normal();
        }
        sites.push_back(std::move(x));
    }
    const MemorySource source(std::move(sites));
    const auto stability = [&](bool centred) {
        Findings findings{.source = "made", .centred = centred};
        findings.schema = make_schema(Shape{4, 3}, {}, "made");
        findings.rows = Matrix<double>::zeros(1, 12);
        findings.rows(0, 4) = 1;
        Explanation told = explain(std::move(findings));
        add_stability(told, source, {.resamples = 3, .seed = 1});
        return *told.components[0].stability;
    };
    EXPECT_GT(stability(true), 0.99);
    EXPECT_LT(stability(false), 0.5);
}

/// Two sites of one pattern each, one a thousand times larger: only with clients of norm 1 both come back. The noise
/// differs, so that the two are not equally strong then.
TEST(StabilityTest, TheJobIsThatOfTheResult) {
    Random random(13);
    std::vector<Tensor<double>> sites;
    for (int k = 0; k < 2; ++k) {
        Tensor<double> x(Shape{100, 12});
        const double size = k == 0 ? 1000 : 1;
        const double noise = k == 0 ? 0.2 : 1;
        for (Index p = 0; p < 100; ++p) {
            for (Index i = 0; i < 12; ++i) x.data()[p * 12 + i] = noise * size * random.normal();
            x.data()[p * 12 + 4 * k] += 3 * size;
        }
        sites.push_back(std::move(x));
    }
    const MemorySource source(std::move(sites));
    const auto stability = [&](bool scale_clients) {
        Findings findings{.source = "made"};
        findings.fit.scale_clients = scale_clients;
        findings.schema = make_schema(Shape{12}, {}, "made");
        findings.rows = Matrix<double>::zeros(2, 12);
        findings.rows(0, 0) = 1;
        findings.rows(1, 4) = 1;
        Explanation told = explain(std::move(findings), {.rotation = Rotation::none});
        add_stability(told, source, {.resamples = 3, .seed = 1});
        return *told.components[1].stability;
    };
    EXPECT_GT(stability(true), 0.96);
    EXPECT_LT(stability(false), 0.9);
}

TEST(StabilityTest, OnePatientIsNoSample) {
    Findings findings{.source = "made"};
    findings.schema = make_schema(Shape{3}, {}, "made");
    findings.rows = Matrix<double>::zeros(1, 3);
    findings.rows(0, 0) = 1;
    Explanation told = explain(std::move(findings));
    std::vector<Tensor<double>> one;
    one.emplace_back(Shape{1, 3});
    one[0].data()[0] = 1;
    const MemorySource source(std::move(one));
    EXPECT_THROW(add_stability(told, source, {.resamples = 2}), InputError);
    told.findings.fit.method = "fedpq";
    EXPECT_THROW(add_stability(told, source, {.resamples = 2}), InputError);
}

TEST(StabilityTest, ManyComponentsOfFewFeaturesAgreeByChance) {
    Random random(17);
    std::vector<Tensor<double>> sites;
    for (int k = 0; k < 3; ++k) {
        Tensor<double> x(Shape{60, 10});
        for (double& value : x.elements()) value = random.normal();
        sites.push_back(std::move(x));
    }
    const MemorySource source(std::move(sites));
    for (const Index rank : {8, 10}) {
        const SimulationResult result = simulate(source, {.job = {.rank = rank}});
        Findings findings{.source = "made"};
        findings.schema = make_schema(Shape{10}, {}, "made");
        findings.rows = orthonormal_rows(result.features->train, "made").rows;
        Explanation told = explain(std::move(findings), {.rotation = Rotation::varimax});
        add_stability(told, source, {.resamples = 20, .seed = 1});
        double mean = 0;
        for (const Component& component : told.components) {
            EXPECT_LT(*component.stability, 0.7) << rank;
            mean += *component.stability / static_cast<double>(rank);
        }
        EXPECT_LT(mean, 0.5) << rank;
    }
}

TEST(StabilityTest, ClearPatternsComeBackAndNoiseDoesNot) {
    // Two sites, patients with one of two patterns, and noise.
    Random random(11);
    std::vector<Tensor<double>> sites;
    for (int k = 0; k < 2; ++k) {
        Tensor<double> x(Shape{150, 4, 3});
        for (Index p = 0; p < 150; ++p) {
            for (Index i = 0; i < 12; ++i) x.data()[p * 12 + i] = 0.2 * random.normal();
            x.data()[p * 12 + (p % 2 == 0 ? 0 : 4)] += 3;
        }
        sites.push_back(std::move(x));
    }
    Findings findings{.source = "made"};
    findings.schema = make_schema(Shape{4, 3}, {}, "made");
    findings.rows = Matrix<double>::zeros(3, 12);
    findings.rows(0, 0) = 1;
    findings.rows(1, 4) = 1;
    findings.rows(2, 11) = 1;  // not in the data
    Explanation told = explain(std::move(findings), {.rotation = Rotation::varimax});
    add_stability(told, MemorySource(std::move(sites)), {.resamples = 5, .seed = 1});
    EXPECT_GT(*told.components[0].stability, 0.98);
    EXPECT_GT(*told.components[1].stability, 0.98);
    EXPECT_LT(*told.components[2].stability, 0.9);
    EXPECT_LE(*told.components[2].least_stability, *told.components[2].stability);
}

}  // namespace
}  // namespace couplet
