#include "couplet/sim/state_file.hpp"

#include <filesystem>
#include <fstream>

#include "couplet/core/error.hpp"
#include "couplet/io/model.hpp"
#include "couplet/sim/simulate.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;
namespace fs = std::filesystem;

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
    static MergeState sample(const JobOptions& job) {
        auto result =
            simulate(MemorySource(population(5, {9, 5, 6}, 4, 0.7, 0.1, 2)), {.job = job, .save_state = true});
        return std::move(*result.state);
    }

    fs::path folder_;
};

TEST_F(StateFileTest, RoundTripKeepsRowsAndLedger) {
    for (const JobOptions& job : {JobOptions{.eps = 0.2}, JobOptions{.rank = 3}}) {
        const auto state = sample(job);
        save_state(path("s.npz"), state, true);
        const auto loaded = load_state(path("s.npz"));
        EXPECT_EQ(loaded.ledger.clients, state.ledger.clients);
        EXPECT_EQ(loaded.ledger.rows, state.ledger.rows);
        EXPECT_EQ(loaded.ledger.norm2, state.ledger.norm2);
        EXPECT_EQ(loaded.ledger.svd_tail2, state.ledger.svd_tail2);
        EXPECT_EQ(loaded.ledger.tt_tail2, state.ledger.tt_tail2);
        EXPECT_EQ(loaded.ledger.used2, state.ledger.used2);
        ASSERT_EQ(loaded.block.rows(), state.block.rows());
        Matrix<double> a(state.block.rows(), 30), b(state.block.rows(), 30);
        state.block.expand(a.view());
        loaded.block.expand(b.view());
        EXPECT_LT(naive_distance(a.view(), b.view()), 1e-12 * naive_norm(a.view()));
    }
    EXPECT_THROW(save_state(path("s.npz"), sample({.rank = 3}), false), InputError);
}

TEST_F(StateFileTest, ResumingFromTheFileIsResumingFromMemory) {
    save_state(path("s.npz"), sample({.eps = 0.2}), false);
    const auto more = [] {
        std::vector<Tensor<double>> clients;
        clients.push_back(population_client({9, 5, 6}, 4, 0.7, 0.1, 2, 77));
        return MemorySource(std::move(clients));
    };
    SimulationOptions memory{.job = {.eps = 0.2}};
    memory.resume = sample({.eps = 0.2});
    SimulationOptions file{.job = {.eps = 0.2}};
    file.resume = load_state(path("s.npz"));
    const auto a = simulate(more(), std::move(memory));
    const auto b = simulate(more(), std::move(file));
    EXPECT_NEAR(a.rse, b.rse, 1e-10);
    EXPECT_NEAR(*a.rel_error_bound, *b.rel_error_bound, 1e-10);
    EXPECT_LE(*b.rel_error_bound, 0.2 * (1 + 1e-9));
    // Another federation's state is refused.
    SimulationOptions other{.job = {.eps = 0.2}};
    other.resume = load_state(path("s.npz"));
    EXPECT_THROW(simulate(MemorySource(population(2, {9, 6, 5}, 4)), std::move(other)), InputError);
}

TEST_F(StateFileTest, RefusesWhatIsNoState) {
    EXPECT_THROW(load_state(path("missing.npz")), Error);
    std::ofstream(path("text.npz")) << "not a zip";
    EXPECT_THROW(load_state(path("text.npz")), InputError);
    auto model = to_model(random_train<double>({5, 6}, {3, 2, 1}), 2);
    save_model(path("features.npz"), model, false);
    EXPECT_NE(message_of([&] { load_state(path("features.npz")); }).find("--save-state"), std::string::npos);
    const nlohmann::json good = {{"clients", 5},     {"rows", 45},      {"norm2", 10.0},
                                 {"svd_tail2", 0.1}, {"tt_tail2", 0.1}, {"used2", 0.0}};
    model.metadata["kind"] = "couplet merge state";
    model.metadata["ledger"] = good;
    save_model(path("good.npz"), model, false);
    EXPECT_EQ(load_state(path("good.npz")).ledger.clients, 5);
    for (const char* key : {"clients", "rows", "norm2", "svd_tail2", "tt_tail2", "used2"}) {
        for (const nlohmann::json& bad : {nlohmann::json(-1), nlohmann::json("1"), nlohmann::json(nullptr)}) {
            model.metadata["ledger"] = good;
            model.metadata["ledger"][key] = bad;
            save_model(path("bad.npz"), model, true);
            EXPECT_NE(message_of([&] { load_state(path("bad.npz")); }).find(key), std::string::npos) << bad.dump();
        }
        model.metadata["ledger"].erase(key);
        save_model(path("bad.npz"), model, true);
        EXPECT_THROW(load_state(path("bad.npz")), InputError);
    }
    // Counts are whole numbers of a size that exists, and a merge holds somebody.
    for (const char* key : {"clients", "rows"}) {
        for (const double bad : {0.0, 0.5, 1e300}) {
            model.metadata["ledger"] = good;
            model.metadata["ledger"][key] = bad;
            save_model(path("bad.npz"), model, true);
            EXPECT_THROW(load_state(path("bad.npz")), InputError) << key << " " << bad;
        }
    }
    model.metadata["ledger"] = 7;
    save_model(path("bad.npz"), model, true);
    EXPECT_THROW(load_state(path("bad.npz")), InputError);
    model.metadata["kind"] = 3;
    save_model(path("bad.npz"), model, true);
    EXPECT_THROW(load_state(path("bad.npz")), InputError);
}

}  // namespace
}  // namespace couplet
