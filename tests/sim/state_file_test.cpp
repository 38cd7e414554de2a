#include "couplet/sim/state_file.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "couplet/core/error.hpp"
#include "couplet/io/model.hpp"
#include "couplet/io/npz.hpp"
#include "couplet/sim/simulate.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class StateFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::path(::testing::TempDir()) / ("couplet_state_" + std::string(test->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    fs::path path(const char* name) const { return folder_ / name; }
    static SavedMerge sample(const JobOptions& job) {
        auto clients = population(5, {9, 5, 6}, 4, 0.7, 0.1, 2);
        for (auto& x : clients) {
            x.set_labels({{}, {"lab", {"a", "b", "c", "d", "e"}, {"kg", "", "", "", "s"}}, {"time", {}, {}}});
        }
        auto result = simulate(MemorySource(std::move(clients)), {.job = job, .save_state = true});
        return std::move(*result.state);
    }
    /// The file again with other metadata.
    void rewrite(const Json& metadata) const {
        const NpzReader good(path("good.npz"));
        std::vector<Tensor<double>> arrays;
        std::vector<std::string> names;
        for (const auto& name : good.names()) {
            if (name == "meta_json") continue;
            arrays.push_back(good.tensor<double>(name));
            names.push_back(name);
        }
        NpzWriter bad(path("bad.npz"), true);
        for (std::size_t i = 0; i < names.size(); ++i) bad.add(names[i], arrays[i].view());
        bad.add_text("meta_json", metadata.dump());
        bad.commit();
    }
    Json metadata() const { return Json::parse(NpzReader(path("good.npz")).texts("meta_json").at(0)); }

    fs::path folder_;
};

TEST_F(StateFileTest, RoundTripKeepsTheWholeJobToTheBit) {
    for (const JobOptions& job :
         {JobOptions{.eps = 0.2}, JobOptions{.rank = 3, .eps1 = 0.02, .unnamed = Unnamed::allow},
          JobOptions{.eps = 1e-6}}) {
        const auto merge = sample(job);
        save_state(path("s.npz"), merge, true);
        const auto loaded = load_state(path("s.npz"));
        EXPECT_EQ(loaded.job.rank, merge.job.rank);
        EXPECT_EQ(loaded.job.eps, merge.job.eps);
        if (!job.eps) {
            EXPECT_EQ(loaded.job.eps1, merge.job.eps1);
            EXPECT_EQ(loaded.job.eps2, merge.job.eps2);
        }
        EXPECT_EQ(loaded.job.unnamed, merge.job.unnamed);
        EXPECT_EQ(loaded.scale_clients, merge.scale_clients);
        EXPECT_EQ(loaded.schema, merge.schema);
        ASSERT_EQ(loaded.contributions.size(), 5U);
        for (std::size_t k = 0; k < 5; ++k) {
            const auto& a = merge.contributions[k];
            const auto& b = loaded.contributions[k];
            EXPECT_EQ(a.client, b.client);
            EXPECT_EQ(a.state.ledger.rows, b.state.ledger.rows);
            EXPECT_EQ(a.state.ledger.norm2, b.state.ledger.norm2);
            EXPECT_EQ(a.state.ledger.svd_tail2, b.state.ledger.svd_tail2);
            EXPECT_EQ(a.state.ledger.tt_tail2, b.state.ledger.tt_tail2);
            ASSERT_EQ(a.state.block.is_dense(), b.state.block.is_dense());
            if (a.state.block.is_dense()) {
                EXPECT_TRUE(same_bits<double>(a.state.block.dense().view(), b.state.block.dense().view()));
            } else {
                EXPECT_TRUE(same_bits(a.state.block.train(), b.state.block.train()));
            }
        }
    }
    EXPECT_THROW(save_state(path("s.npz"), sample({.rank = 3}), false), InputError);
}

TEST_F(StateFileTest, IsForItsOwnerAlone) {
    save_state(path("merge.npz"), sample({.rank = 3}), false);
    const auto others = fs::perms::group_all | fs::perms::others_all;
    EXPECT_EQ(fs::status(path("merge.npz")).permissions() & others, fs::perms::none);
}

TEST_F(StateFileTest, ResumingFromTheFileIsResumingFromMemory) {
    save_state(path("s.npz"), sample({.eps = 0.2}), false);
    const auto more = [] {
        std::vector<Tensor<double>> clients;
        clients.push_back(population_client({9, 5, 6}, 4, 0.7, 0.1, 2, 77));
        return MemorySource(std::move(clients));
    };
    SimulationOptions memory{.job = {.eps = 0.2, .unnamed = Unnamed::allow}};
    memory.resume = sample({.eps = 0.2});
    SimulationOptions file{.job = {.eps = 0.2, .unnamed = Unnamed::allow}};
    file.resume = load_state(path("s.npz"));
    const auto a = simulate(more(), std::move(memory));
    const auto b = simulate(more(), std::move(file));
    EXPECT_EQ(a.rse, b.rse);
    EXPECT_EQ(*a.rel_error_bound, *b.rel_error_bound);
    EXPECT_TRUE(same_bits(*a.features, *b.features));
    EXPECT_LE(*b.rel_error_bound, 0.2 * (1 + 1e-9));
    // Another federation's state is refused, and one with names for clients without.
    SimulationOptions other{.job = {.eps = 0.2}};
    other.resume = load_state(path("s.npz"));
    EXPECT_THROW(simulate(MemorySource(population(2, {9, 6, 5}, 4)), std::move(other)), InputError);
    SimulationOptions unnamed{.job = {.eps = 0.2}};
    unnamed.resume = load_state(path("s.npz"));
    EXPECT_NE(message_of([&] { simulate(more(), std::move(unnamed)); }).find("'a', 'b'"), std::string::npos);
}

TEST_F(StateFileTest, RefusesFiguresThatDoNotFitWhatWasSent) {
    // A bound made of them would be that of other data.
    save_state(path("good.npz"), sample({.eps = 0.2}), false);
    const Json good = metadata();
    const double norm2 = good["clients"][2]["norm2"];
    const double tail2 = good["clients"][2]["svd_tail2"];
    const std::vector<std::pair<const char*, double>> edits{
        {"norm2", 2 * norm2}, {"norm2", norm2 / 2},          {"norm2", tail2 / 2}, {"svd_tail2", norm2 * 0.9},
        {"rows", 1},          {"svd_tail2", norm2 * 1.0001}, {"norm2", 0}};
    for (const auto& [key, value] : edits) {
        Json bad = good;
        bad["clients"][2][key] = value;
        rewrite(bad);
        const std::string said = message_of([&] { load_state(path("bad.npz")); });
        EXPECT_NE(said.find("that do not fit what it sent"), std::string::npos) << key << " " << value << ": " << said;
        EXPECT_NE(said.find(good["clients"][2]["name"].get<std::string>()), std::string::npos) << said;
    }
    Json modest = good;
    modest["clients"][2]["tt_tail2"] = norm2;  // promises less, which is true
    rewrite(modest);
    EXPECT_EQ(load_state(path("bad.npz")).contributions.size(), 5U);
}

TEST_F(StateFileTest, RefusesWhatIsNoState) {
    EXPECT_THROW(load_state(path("missing.npz")), Error);
    std::ofstream(path("text.npz")) << "not a zip";
    EXPECT_THROW(load_state(path("text.npz")), InputError);
    save_model(path("features.npz"), to_model(random_train<double>({5, 6}, {3, 2, 1}), 2), false);
    EXPECT_NE(message_of([&] { load_state(path("features.npz")); }).find("`save_state`"), std::string::npos);
    save_state(path("good.npz"), sample({.eps = 0.2}), false);
    const Json good = metadata();
    rewrite(good);
    EXPECT_EQ(load_state(path("bad.npz")).contributions.size(), 5U);
    const auto refused = [&](const Json& bad, const std::string& word) {
        rewrite(bad);
        EXPECT_NE(message_of([&] { load_state(path("bad.npz")); }).find(word), std::string::npos)
            << word << ": " << message_of([&] { load_state(path("bad.npz")); });
    };
    for (const char* key : {"rows", "norm2", "svd_tail2", "tt_tail2"}) {
        for (const Json& value : {Json(-1), Json("1"), Json(nullptr)}) {
            Json bad = good;
            bad["clients"][1][key] = value;
            refused(bad, key);
        }
        Json bad = good;
        bad["clients"][1].erase(key);
        refused(bad, key);
    }
    for (const double value : {0.0, 0.5, 1e300}) {
        Json bad = good;
        bad["clients"][0]["rows"] = value;
        refused(bad, "rows");
    }
    for (const char* key : {"job", "schema", "clients", "kind"}) {
        Json bad = good;
        bad.erase(key);
        refused(bad, "bad.npz");
        bad[key] = 7;
        refused(bad, "bad.npz");
    }
    Json bad = good;
    bad["clients"][1]["name"] = bad["clients"][0]["name"];
    refused(bad, "twice");
    bad = good;
    bad["job"]["eps"] = 1.5;
    refused(bad, "eps");
    bad = good;
    bad["job"].erase("scale_clients");
    refused(bad, "no job");
    bad = good;
    bad["schema"]["modes"][0]["labels"] = {"a"};
    refused(bad, "labels");
    bad = good;
    bad["clients"].push_back(bad["clients"][0]);
    bad["clients"][5]["name"] = "f";
    refused(bad, "no array upload_6");
}

}  // namespace
}  // namespace couplet
