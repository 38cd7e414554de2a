#include "couplet/explain/findings.hpp"

#include "couplet/core/error.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/io/model.hpp"
#include "explain_test_support.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

class FindingsTest : public ::testing::Test {
  protected:
    FindingsTest() {
        std::string pattern = ::testing::TempDir() + "couplet-findings-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~FindingsTest() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    static Tensor<double> random(Shape shape, std::uint64_t seed) {
        Tensor<double> core(std::move(shape));
        Random numbers(seed);
        for (Index i = 0; i < core.size(); ++i) core.data()[i] = numbers.normal();
        return core;
    }
    void write(nlohmann::json metadata) const {
        Model<double> features;
        features.first_mode = 2;
        features.labels = {{"a", {}, {}}, {"b", {}, {}}};
        features.metadata = std::move(metadata);
        features.cores.push_back(random(Shape{2, 4, 3}, 1));
        features.cores.push_back(random(Shape{3, 5, 1}, 2));
        save_model(folder_ / "features.npz", features, true);
        for (int k = 1; k <= 2; ++k) {
            Model<double> personal;
            personal.cores.push_back(random(Shape{1, 6, 2}, static_cast<std::uint64_t>(10 + k)));
            save_model(folder_ / ("personal_" + std::to_string(k) + ".npz"), personal, true);
        }
    }
    std::filesystem::path folder_;
};

TEST_F(FindingsTest, OrthonormalRowsGiveTheSameTensors) {
    write({{"rse", 0.1},
           {"rse_per_client", {0.2, 0.0}},
           {"client_names", {"north", "south"}},
           {"gain", {{{"client", "north"}, {"alone", 0.5}, {"together", 0.4}}}}});
    const Findings found = load_findings(folder_);
    ASSERT_EQ(found.sites.size(), 2U);
    EXPECT_EQ(found.sites[1].name, "south");
    EXPECT_TRUE(found.shares_of_data);
    EXPECT_EQ(found.rse, 0.1);
    EXPECT_EQ(found.gains, (std::vector<SiteGain>{{"north", 0.5, 0.4}}));
    const auto square = product<double>(found.rows.view(), found.rows.view(), Op::none, Op::transpose);
    EXPECT_NEAR(square(0, 0), 1, 1e-12);
    EXPECT_NEAR(square(0, 1), 0, 1e-12);
    EXPECT_NEAR(found.sites[0].norm2, squared_norm<double>(found.sites[0].scores.view()) / 0.8, 1e-9);
    // The product of the cores, entry by entry.
    const auto g1 = random(Shape{1, 6, 2}, 11);
    const auto g2 = random(Shape{2, 4, 3}, 1);
    const auto g3 = random(Shape{3, 5, 1}, 2);
    const auto now = product<double>(found.sites[0].scores.view(), found.rows.view());
    for (Index p = 0; p < 6; ++p) {
        for (Index i = 0; i < 4; ++i) {
            for (Index j = 0; j < 5; ++j) {
                double value = 0;
                for (Index r = 0; r < 2; ++r) {
                    for (Index s = 0; s < 3; ++s) {
                        value += g1.data()[p * 2 + r] * g2.data()[(r * 4 + i) * 3 + s] * g3.data()[s * 5 + j];
                    }
                }
                EXPECT_NEAR(now(p, i * 5 + j), value, 1e-10);
            }
        }
    }
}

TEST_F(FindingsTest, SharesAreOfWhatIsKnown) {
    write(nlohmann::json::object());
    const Findings found = load_findings(folder_ / "features.npz");
    EXPECT_FALSE(found.shares_of_data);
    EXPECT_EQ(found.sites[0].name, "site 1");
    EXPECT_TRUE(found.gains.empty());
    for (int k = 1; k <= 2; ++k) std::filesystem::remove(folder_ / ("personal_" + std::to_string(k) + ".npz"));
    EXPECT_TRUE(load_findings(folder_).sites.empty());
}

TEST_F(FindingsTest, SharesOfSomethingElseAreNotThoseOfTheData) {
    // One site does not tell its error: shares of the data here and of the fit there would not add up.
    write(nlohmann::json::object({{"rse_per_client", nlohmann::json::array({0.2})}}));
    const Findings half = load_findings(folder_);
    EXPECT_FALSE(half.shares_of_data);
    EXPECT_NEAR(half.sites[0].norm2, squared_norm<double>(half.sites[0].scores.view()), 1e-9);
    // The error of personal cores that are no projections says nothing of the norm.
    write({{"rse_per_client", {0.2, 0.1}}, {"aggregate", "average"}, {"refit", false}});
    const Findings printed = load_findings(folder_);
    EXPECT_FALSE(printed.shares_of_data);
    EXPECT_EQ(printed.fit.aggregate, Aggregate::average);
    for (int k = 1; k <= 2; ++k) std::filesystem::remove(folder_ / ("personal_" + std::to_string(k) + ".npz"));
    EXPECT_TRUE(std::isnan(explain(load_findings(folder_)).components[0].share));
}

/// Two features and a personal core that could be of either.
struct Files {
    Model<double> features{.first_mode = 2, .cores = {}, .labels = {}};
    Model<double> other{.first_mode = 2, .cores = {}, .labels = {}};
    Model<double> personal;
    Files() {
        features.cores.push_back(spread(2, 5));
        other.cores.push_back(spread(2, 5));
        other.cores.front().data()[9] += 1e-12;
        personal.cores.push_back(Tensor<double>::zeros({1, 2, 2}));
        personal.cores.front().data()[0] = personal.cores.front().data()[3] = 1;
    }
    static Tensor<double> spread(Index rank, Index size) {
        Tensor<double> core(Shape{rank, size, 1});
        for (Index i = 0; i < core.size(); ++i) core.data()[i] = static_cast<double>(i);
        return core;
    }
    bool same(const Model<double>& with) const { return require_same_run(with, "f", personal, "p"); }
};

TEST_F(FindingsTest, ACoreOfOtherFeaturesIsRefusedByBothNames) {
    Files files;
    EXPECT_FALSE(files.same(files.features));
    files.personal.metadata = {{"features_print", features_print(files.features.cores)}, {"features", "old/f.npz"}};
    EXPECT_TRUE(files.same(files.features));
    try {
        files.same(files.other);
        FAIL() << "a core of other features was taken";
    } catch (const InputError& error) {
        EXPECT_EQ(error.parts().where, "p");
        EXPECT_NE(error.parts().found.find(features_print(files.features.cores) + " (old/f.npz)"), std::string::npos);
        EXPECT_NE(error.parts().expected.find(features_print(files.other.cores) + ", as f"), std::string::npos);
    }
    files.other.metadata["rounded_of"] = features_print(files.features.cores);
    EXPECT_TRUE(files.same(files.other));
}

TEST_F(FindingsTest, CoresOfAnotherRunAreRefused) {
    Files files;
    files.personal.metadata = {{"client", 2}, {"job", "a"}};
    files.features.metadata["personal_norm2"] = std::vector<double>{9, 2};
    EXPECT_TRUE(files.same(files.features));
    files.features.metadata["personal_norm2"] = std::vector<double>{2, 9};
    EXPECT_THROW(files.same(files.features), InputError);
    files.features.metadata["personal_norm2"] = std::vector<double>{2};
    EXPECT_THROW(files.same(files.features), InputError);
    files.features.metadata = {{"job", "a"}};
    EXPECT_TRUE(files.same(files.features));
    files.features.metadata = {{"job", "b"}};
    EXPECT_THROW(files.same(files.features), InputError);
}

TEST_F(FindingsTest, CoresWithoutAMarkAreNamed) {
    write(nlohmann::json::object());
    EXPECT_EQ(load_findings(folder_).unmarked,
              (std::vector<std::string>{folder_ / "personal_1.npz", folder_ / "personal_2.npz"}));
    auto personal = to_double(load_model(folder_ / "personal_1.npz"));
    personal.metadata["features_print"] = features_print(to_double(load_model(folder_ / "features.npz")).cores);
    save_model(folder_ / "personal_1.npz", personal, true);
    EXPECT_EQ(load_findings(folder_).unmarked, std::vector<std::string>{folder_ / "personal_2.npz"});
    personal.metadata["features_print"] = "0123456789abcdef";
    save_model(folder_ / "personal_1.npz", personal, true);
    EXPECT_THROW(load_findings(folder_), InputError);
}

TEST_F(FindingsTest, SharesDoNotDependOnTheMagnitude) {
    const auto scaled = [&](int site, double factor) {
        const std::filesystem::path file = folder_ / ("personal_" + std::to_string(site) + ".npz");
        auto personal = to_double(load_model(file));
        for (double& value : personal.cores.front().elements()) value *= factor;
        save_model(file, personal, true);
    };
    write({{"rse_per_client", {0.2, 0.1}}});
    const auto plain = explain(load_findings(folder_)).components;
    for (const double factor : {0x1p-700, 0x1p600, 0x1p1000}) {
        write({{"rse_per_client", {0.2, 0.1}}});
        for (const int site : {1, 2}) scaled(site, factor);
        const Explanation now = explain(load_findings(folder_));
        EXPECT_NE(now.findings.exponent, 0);
        for (std::size_t r = 0; r < plain.size(); ++r) {
            EXPECT_NEAR(now.components[r].share, plain[r].share, 1e-12) << factor;
            EXPECT_NEAR(now.components[r].site_shares[1], plain[r].site_shares[1], 1e-12) << factor;
        }
    }
    // One share of all is of the sum of their squares.
    write({{"rse_per_client", {0.2, 0.1}}});
    scaled(2, 0x1p-700);
    EXPECT_THROW(load_findings(folder_), InputError);
    scaled(2, 0);
    EXPECT_EQ(load_findings(folder_).sites[1].norm2, 0);
}

/// personal_2.npz that is a copy of personal_1.npz, and one of a client that the features do not have.
TEST_F(FindingsTest, CoresUnderAnotherNumberAreRefused) {
    write({{"client_names", {"north", "south"}}});
    const auto expect_refusal = [&](const char* found) {
        try {
            load_findings(folder_);
            ADD_FAILURE() << "taken: " << found;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(found), std::string::npos) << error.what();
        }
    };
    const auto copy = [&](const char* from, const char* to) {
        std::filesystem::copy_file(folder_ / from, folder_ / to, std::filesystem::copy_options::overwrite_existing);
    };
    copy("personal_1.npz", "personal_3.npz");
    expect_refusal("personal_3.npz: a core of client 3; expected those of the 2 clients of the features");
    std::filesystem::remove(folder_ / "personal_3.npz");
    Model<double> personal;
    personal.cores.push_back(random(Shape{1, 6, 2}, 11));
    personal.metadata["client"] = 1;
    save_model(folder_ / "personal_1.npz", personal, true);
    EXPECT_EQ(load_findings(folder_).sites.size(), 2U);
    copy("personal_1.npz", "personal_2.npz");
    expect_refusal("personal_2.npz: the personal core of client 1; expected that of client 2");
}

/// What two of three sites describe is no share of all.
TEST_F(FindingsTest, ASiteWhoseCoreIsMissingIsNamed) {
    const auto expect_missing = [&](const char* found) {
        EXPECT_NE(support::message_of([&] { load_findings(folder_); }).find(found), std::string::npos)
            << support::message_of([&] { load_findings(folder_); });
    };
    write({{"client_names", {"north", "south", "west"}}});
    expect_missing("personal cores of 2 of 3 sites: no personal_3.npz");
    std::filesystem::rename(folder_ / "personal_2.npz", folder_ / "personal_3.npz");
    expect_missing("personal cores of 2 of 3 sites: no personal_2.npz");
    write({{"rse", 0.1}});
    std::filesystem::rename(folder_ / "personal_2.npz", folder_ / "personal_04.npz");
    std::filesystem::rename(folder_ / "personal_3.npz", folder_ / "personal_2.npz");
    EXPECT_EQ(load_findings(folder_).sites.size(), 2U) << "of other names they are somebody else's";
    std::filesystem::remove(folder_ / "personal_1.npz");
    expect_missing("personal cores of 1 of 2 sites: no personal_1.npz");
}

TEST_F(FindingsTest, WhatLeftTheSitesIsSaidOfTheMethodAlone) {
    const auto said = [&](const nlohmann::json& metadata) {
        write(metadata);
        return load_findings(folder_).left_sites;
    };
    EXPECT_NE(said({{"method", "centralized"}}).find("all records were brought to one place"), std::string::npos);
    for (const char* rows : {"stack", "average"}) {
        EXPECT_NE(said({{"method", "ctt"}, {"aggregate", rows}}).find("from which records may be rebuilt"),
                  std::string::npos);
    }
    EXPECT_NE(said({{"method", "ctt"}, {"aggregate", "subspace"}}).find("sums over their patients"), std::string::npos);
    EXPECT_EQ(said({{"method", "trip"}}), "");
    EXPECT_EQ(said(nlohmann::json::object()), "") << "nobody knows";
}

TEST_F(FindingsTest, RefusesWhatIsNoResult) {
    EXPECT_THROW(load_findings(folder_), InputError);
    EXPECT_THROW(load_findings(folder_ / "nowhere"), InputError);
    write(nlohmann::json::object());
    EXPECT_THROW(load_findings(folder_ / "personal_1.npz"), InputError);
    Model<double> other;
    other.cores.push_back(random(Shape{1, 6, 3}, 3));
    save_model(folder_ / "personal_1.npz", other, true);
    EXPECT_THROW(load_findings(folder_), InputError);
}

}  // namespace
}  // namespace couplet
