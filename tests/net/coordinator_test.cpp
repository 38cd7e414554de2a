#include "couplet/net/coordinator.hpp"

#include <fmt/format.h>

#include "couplet/core/random.hpp"
#include "couplet/ctt/budget.hpp"
#include "couplet/sim/complete.hpp"
#include "job_file.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class CoordinatorTest : public NetTest {
  protected:
    struct Run {
        CoordinatorResult result;
        std::vector<ClientResult> clients;
        std::optional<FeaturesMessage> features;
        std::optional<SavedMerge> state;
        Centring centring;
    };
    /// A whole job with these clients in this process, over real sockets and mutual TLS.
    static Run run(const TestFederation& federation, CoordinatorOptions options,
                   const std::vector<std::size_t>& members) {
        Run out;
        options.on_features = [&](const CoordinatorOptions::Delivery& delivery) {
            const FeaturesMessage& message = delivery.features;
            out.features.emplace(FeaturesMessage{message.features.clone(), message.rel_error_bound});
            out.centring = delivery.centring;
        };
        options.on_state = [&](const SavedMerge& merge) { out.state = merge.clone(); };
        Log log({}, {});
        Coordinator coordinator(federation.coordinator(), std::move(options), log);
        std::vector<std::future<ClientResult>> visits;
        for (const std::size_t k : members) {
            visits.push_back(std::async(std::launch::async, [&federation, k] { return attend(federation, k); }));
        }
        out.result = coordinator.run();
        for (auto& visit : visits) out.clients.push_back(visit.get());
        return out;
    }
    /// What the clients count themselves is what the coordinator and a simulation count, when nothing was sent twice.
    static void expect_accounts(const Run& run, const SimulationResult& expected) {
        ClientResult sum;
        double slowest = 0;
        for (const ClientResult& client : run.clients) {
            sum.numbers_up += client.numbers_up;
            sum.numbers_down += client.numbers_down;
            sum.bytes_up += client.bytes_up;
            sum.bytes_down += client.bytes_down;
            sum.seconds_client += client.seconds_client;
            slowest = std::max(slowest, client.seconds_client);
        }
        const auto clients = static_cast<double>(run.clients.size());
        EXPECT_EQ(sum.numbers_up, clients * expected.numbers_up_per_client);
        EXPECT_EQ(sum.numbers_down, clients * expected.numbers_down_per_client);
        EXPECT_EQ(sum.bytes_up, expected.bytes_up);
        EXPECT_EQ(sum.bytes_down, expected.bytes_down);
        EXPECT_EQ(run.result.numbers_down_per_client, expected.numbers_down_per_client);
        EXPECT_EQ(run.result.seconds_clients_sum, sum.seconds_client);
        EXPECT_EQ(run.result.seconds_clients_max, slowest);
        EXPECT_GT(run.result.seconds_server, 0);
        EXPECT_GT(run.result.seconds_total, run.result.seconds_server);
    }
    static void expect_same(const Run& run, const Expected& expected) {
        EXPECT_TRUE(same_bits(run.features->features, *expected.result.features));
        for (std::size_t k = 0; k < run.clients.size(); ++k) {
            EXPECT_TRUE(same_bits(run.clients[k].features, *expected.result.features)) << k;
            EXPECT_TRUE(same_numbers(run.clients[k].personal, expected.personal[k])) << k;
            EXPECT_EQ(run.clients[k].rse, expected.result.rse_per_client[k]);
            EXPECT_EQ(run.clients[k].rel_error_bound, expected.result.rel_error_bound);
            EXPECT_EQ(run.clients[k].personal_rank, expected.result.personal_ranks[k]);
            EXPECT_EQ(run.clients[k].rounds, expected.result.rounds);
            EXPECT_EQ(run.clients[k].job, run.result.job);
            EXPECT_GE(run.clients[k].seconds_total, run.clients[k].seconds_client);
        }
        EXPECT_EQ(run.result.rse, expected.result.rse);
        EXPECT_EQ(run.result.rse_per_client, expected.result.rse_per_client);
        EXPECT_EQ(run.result.rel_error_bound, expected.result.rel_error_bound);
        EXPECT_EQ(run.result.ranks, expected.result.ranks);
        EXPECT_EQ(run.result.personal_ranks, expected.result.personal_ranks);
        EXPECT_EQ(run.result.rounds, expected.result.rounds);
        EXPECT_EQ(run.result.numbers_up_per_client, expected.result.numbers_up_per_client);
        EXPECT_EQ(run.result.numbers_total, expected.result.numbers_total);
        EXPECT_EQ(run.result.bytes_up, expected.result.bytes_up);
        EXPECT_EQ(run.result.bytes_down, expected.result.bytes_down);
    }
    Clients people(Index count) const { return population(count, {12, 5, 4}, 4, 0.7, 0.05); }
};

TEST_F(CoordinatorTest, GivesTheBitsOfASimulation) {
    const TestFederation federation(path("kits"), people(3));
    for (const JobOptions& job :
         {JobOptions{.rank = 3, .seed = 5}, JobOptions{.eps = 0.2}, JobOptions{.bytes = 3000},
          JobOptions{.rank = 3, .bytes_total = 6000}, JobOptions{.rank = 3, .precision = Precision::f32},
          JobOptions{.aggregate = Aggregate::average, .rank = 3},
          JobOptions{.aggregate = Aggregate::average, .rank = 3, .refit = true},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random, .seed = 7},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::gram}}) {
        const Run done = run(federation, job_options(job), federation.everybody());
        const Expected expected = simulated(federation, federation.everybody(), job);
        expect_same(done, expected);
        expect_accounts(done, expected.result);
        federation.expect_one_count(done.result, done.clients);
        EXPECT_EQ(done.result.members, federation.names);
        EXPECT_EQ(done.clients[1].members, federation.names);
        EXPECT_TRUE(done.result.missing.empty());
    }
}

/// Entries hidden at random, the same ones every time.
Clients with_holes(Clients clients, double fraction) {
    Index first = 0;
    for (auto& x : clients) {
        Random random(77, static_cast<std::uint64_t>(first++));
        for (double& e : x.elements()) {
            if (random.uniform() < fraction) e = std::numeric_limits<double>::quiet_NaN();
        }
    }
    return clients;
}

TEST_F(CoordinatorTest, MissingEntriesAreFilledWithTheBitsOfASimulation) {
    Clients data = with_holes(people(3), 0.3);
    for (double& e : data[1].elements()) e = std::numeric_limits<double>::quiet_NaN();  // it knows nothing
    for (auto& x : data) {
        for (Index i = 0; i < 12; ++i) x.data()[i * 20 + 7] = std::numeric_limits<double>::quiet_NaN();  // nobody knows
    }
    const TestFederation federation(path("kits"), std::move(data));
    for (const JobOptions& job :
         {JobOptions{.rank = 2, .seed = 5}, JobOptions{.aggregate = Aggregate::average, .rank = 2, .refit = true},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 2, .sketch = Sketch::random, .seed = 7}}) {
        CoordinatorOptions options = job_options(job);
        options.spec.missing = CompletionLimits{.max_iterations = 9};
        const Run done = run(federation, std::move(options), federation.everybody());
        Expected expected;
        CompletionOptions how{.limits = {.max_iterations = 9}};
        how.simulation.job = job;
        how.simulation.on_personal = [&](Index, const Matrix<double>& core) {
            expected.personal.push_back(Matrix<double>::copy(core.view()));
        };
        expected.result = simulate_missing(federation.source(federation.everybody()), std::move(how));
        expect_same(done, expected);
        ASSERT_TRUE(done.result.imputed);
        const MissingReport& theirs = *done.result.imputed;
        const MissingReport& ours = *expected.result.missing;
        EXPECT_GT(theirs.iterations, 2);
        EXPECT_EQ(theirs.iterations, ours.iterations);
        EXPECT_EQ(theirs.change, ours.change);
        EXPECT_EQ(theirs.settled, ours.settled);
        EXPECT_EQ(theirs.means_weight, ours.means_weight);
        EXPECT_EQ(theirs.rse_validation, ours.rse_validation);
        EXPECT_EQ(theirs.rse_means, ours.rse_means);
        for (const ClientResult& client : done.clients) EXPECT_EQ(client.settled, ours.settled);
    }
}

/// What simulate --centre does: sums over the patients who take part, client by client.
Centring centring_of_all(const TestFederation& federation, const wire::JobSpec& spec) {
    FeatureSums sums;
    const MemorySource all = federation.source(federation.everybody());
    for (Index k = 0; k < all.clients(); ++k) {
        const Preparation training{.scale_clients = false, .heldout = spec.preparation.heldout};
        sums.add(
            feature_sums(prepare_client(all.client(k), training, spec.job.seed, k).training->view(), spec.centring));
    }
    return centring_of(sums, spec.centring);
}

Expected simulated_centred(const TestFederation& federation, const Centring& centring, const wire::JobSpec& spec,
                           const JobOptions& job) {
    std::vector<Tensor<double>> moved;
    const MemorySource all = federation.source(federation.everybody());
    for (Index k = 0; k < all.clients(); ++k) moved.push_back(centred(all.client(k)->view(), centring, "x"));
    Expected expected;
    SimulationOptions how{
        .job = job, .scale_clients = spec.preparation.scale_clients, .heldout = spec.preparation.heldout};
    how.on_personal = [&](Index, const Matrix<double>& core) {
        expected.personal.push_back(Matrix<double>::copy(core.view()));
    };
    expected.result = simulate(MemorySource(std::move(moved)), std::move(how));
    return expected;
}

/// What simulate --centre adds to the accounts.
void count_centring(SimulationResult& result, Index features, double clients, const CentringOptions& centring) {
    const CentringTraffic each = centring_traffic(features, centring);
    result.numbers_up_per_client += each.numbers_up;
    result.numbers_down_per_client += each.numbers_down;
    result.numbers_total += clients * (each.numbers_up + each.numbers_down);
    result.bytes_up += clients * each.bytes_up;
    result.bytes_down += clients * each.bytes_down;
    result.rounds += centring_rounds;
}

Clients far_from_zero(Clients clients) {
    for (auto& x : clients) {
        for (Index i = 0; i < x.size(); ++i) x.data()[i] += static_cast<double>(i % 20);
    }
    return clients;
}

TEST_F(CoordinatorTest, CentredFeaturesHaveTheBitsOfASimulation) {
    const TestFederation federation(path("kits"), far_from_zero(people(3)));
    const JobOptions stack{.rank = 3, .seed = 5};
    const JobOptions average{.aggregate = Aggregate::average, .rank = 3};
    const JobOptions sums{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random, .seed = 7};
    struct Case {
        JobOptions job;
        CentringOptions centring;
        Preparation preparation;
    };
    for (const Case& one : {Case{stack, {true, true}, {}}, Case{stack, {true, false}, {.heldout = 0.25}},
                            Case{stack, {true, true}, {.scale_clients = true}}, Case{average, {true, true}, {}},
                            Case{sums, {false, true}, {.heldout = 0.25}}, Case{{.eps = 0.3}, {true, false}, {}},
                            Case{{.bytes = 3000}, {true, true}, {}}, Case{{.bytes_total = 9000}, {true, true}, {}}}) {
        CoordinatorOptions options = job_options(one.job);
        options.spec.preparation = one.preparation;
        options.spec.centring = one.centring;
        const wire::JobSpec spec = options.spec;
        const Run done = run(federation, std::move(options), federation.everybody());
        const Centring centring = centring_of_all(federation, spec);
        JobOptions paid = one.job;
        pay_for_centring(paid.bytes, paid.bytes_total, 20, one.centring, {3, 1});
        Expected expected = simulated_centred(federation, centring, spec, paid);
        count_centring(expected.result, 20, 3, one.centring);
        if (paid.bytes || paid.bytes_total) EXPECT_LE(done.result.bytes_up + done.result.bytes_down, 9000);
        expect_same(done, expected);
        expect_accounts(done, expected.result);
        EXPECT_EQ(done.result.rse_heldout, expected.result.rse_heldout);
        EXPECT_EQ(done.centring, centring);
        for (const ClientResult& client : done.clients) EXPECT_EQ(client.centring, centring);
    }
}

TEST_F(CoordinatorTest, CentringIsOfMembersWhoAreAllThere) {
    const TestFederation federation(path("kits"), people(2));
    const auto refused = [&](auto change) {
        Log log({}, {});
        CoordinatorOptions options = job_options({.rank = 2});
        options.spec.centring.scale = true;
        change(options);
        return complaint([&] { Coordinator(federation.coordinator(), std::move(options), log); });
    };
    EXPECT_NE(refused([](auto& options) { options.late_merge = true; }).find("`scale`"), std::string::npos);
    EXPECT_NE(refused([](auto& options) { options.spec.missing.emplace(); }).find("`scale`"), std::string::npos);
}

/// As a simulation does, and before anybody's sums are asked for.
TEST_F(CoordinatorTest, ABudgetThatCentringExceedsIsRefused) {
    const TestFederation federation(path("kits"), people(2));
    CoordinatorOptions options = job_options({.bytes = 800});
    options.spec.centring = {true, true};
    Log log({}, {});
    Coordinator coordinator(federation.coordinator(), std::move(options), log);
    auto done = std::async(std::launch::async, [&] { return complaint([&] { coordinator.run(); }); });
    std::vector<std::future<std::string>> told;
    for (std::size_t k = 0; k < 2; ++k) {
        told.push_back(std::async(std::launch::async, [&, k] { return complaint([&] { attend(federation, k); }); }));
    }
    for (auto& one : told) EXPECT_NE(one.get(), "") << "clients hear it";
    const std::string why = done.get();
    EXPECT_NE(why.find("`bytes`: 800 bytes; expected more than the"), std::string::npos) << why;
}

/// Who is lost is not in the means.
TEST_F(CoordinatorTest, CentringBeginsAgainWithoutAClientThatIsLost) {
    const TestFederation two(path("two"), far_from_zero(people(2)));
    Clients clients = far_from_zero(people(2));
    clients.push_back(Tensor<double>::copy(clients.front().view()));
    for (double& e : clients.back().elements()) e *= 3;
    const TestFederation federation(path("kits"), std::move(clients));
    CoordinatorOptions options = job_options({.rank = 3, .seed = 5});
    options.spec.centring = {true, true};
    options.min_clients = 2;
    options.deadline = at_ease(3s);
    const wire::JobSpec spec = options.spec;
    Centring told;
    options.on_features = [&](const CoordinatorOptions::Delivery& delivery) { told = delivery.centring; };
    Log log({}, {});
    Coordinator coordinator(federation.coordinator(), std::move(options), log);
    std::vector<std::future<ClientResult>> visits;
    for (const std::size_t k : {0U, 1U}) {
        visits.push_back(std::async(std::launch::async, [&, k] { return attend(federation, k); }));
    }
    // The third leaves when it is asked for its sums.
    auto leaver = std::async(std::launch::async, [&] {
        Log own({}, {});
        ClientOptions how{.deadline = 600s};
        how.vet = [](const wire::Message& message) {
            if (std::holds_alternative<wire::CentringRequest>(message.body)) {
                throw InputError({"site", "sums", "none", ""});
            }
        };
        Client client(federation.kit("c"), federation.tensor(2), std::move(how), own);
        return complaint([&] { client.run(); });
    });
    const CoordinatorResult result = coordinator.run();
    EXPECT_NE(leaver.get(), "");
    for (auto& visit : visits) EXPECT_EQ(visit.get().centring, told);
    EXPECT_EQ(result.missing, (std::vector<std::string>{"c"}));
    EXPECT_EQ(told, centring_of_all(two, spec));
    const Expected expected = simulated_centred(two, told, spec, {.rank = 3, .seed = 5});
    EXPECT_EQ(result.rse, expected.result.rse);
}

TEST_F(CoordinatorTest, NaNWithoutMissingNamesTheFlag) {
    const TestFederation federation(path("kits"), with_holes(people(1), 0.3));
    Log log({}, {});
    CoordinatorOptions options = job_options({.rank = 2});
    options.deadline = at_ease(1000ms);
    Coordinator coordinator(federation.coordinator(), std::move(options), log);
    auto visit = std::async(std::launch::async, [&] { return complaint([&] { attend(federation, 0); }); });
    EXPECT_NE(complaint([&] { coordinator.run(); }), "");
    const std::string reason = visit.get();
    EXPECT_NE(reason.find("NaN at index"), std::string::npos) << reason;
    EXPECT_NE(reason.find("`missing` impute"), std::string::npos) << reason;
}

TEST_F(CoordinatorTest, HeldOutAndScaledClientsAreThoseOfASimulation) {
    const TestFederation federation(path("kits"), people(3));
    CoordinatorOptions options = job_options({.rank = 3});
    options.spec.preparation = {.scale_clients = true, .heldout = 0.25};
    const Run done = run(federation, std::move(options), federation.everybody());
    const auto expected = simulate(federation.source(federation.everybody()),
                                   {.job = {.rank = 3}, .scale_clients = true, .heldout = 0.25});
    EXPECT_EQ(done.result.rse, expected.rse);
    EXPECT_EQ(done.result.rse_heldout, expected.rse_heldout);
    ASSERT_TRUE(expected.rse_heldout);
    // Of equal norms after scaling, the error of all is not that of any one client.
    double least = 1;
    double most = 0;
    for (const ClientResult& client : done.clients) {
        ASSERT_TRUE(client.rse_heldout);
        least = std::min(least, *client.rse_heldout);
        most = std::max(most, *client.rse_heldout);
    }
    EXPECT_LT(least, *expected.rse_heldout);
    EXPECT_GT(most, *expected.rse_heldout);
    EXPECT_TRUE(same_bits(done.features->features, *expected.features));
}

TEST_F(CoordinatorTest, GoesOnWithThreeOfFourAtTheDeadline) {
    const TestFederation federation(path("kits"), people(4));
    CoordinatorOptions options = job_options({.rank = 3});
    options.min_clients = 3;
    options.deadline = at_ease(1500ms);
    const Run done = run(federation, std::move(options), {0, 1, 3});
    expect_same(done, simulated(federation, {0, 1, 3}, {.rank = 3}));
    EXPECT_EQ(done.result.members, (std::vector<std::string>{"a", "b", "d"}));
    EXPECT_EQ(done.result.missing, (std::vector<std::string>{"c"}));
    EXPECT_EQ(done.clients[0].missing, (std::vector<std::string>{"c"}));
}

TEST_F(CoordinatorTest, FailsClearlyWithTooFew) {
    const TestFederation federation(path("kits"), people(3));
    CoordinatorOptions options = job_options({.rank = 3});
    options.deadline = at_ease(700ms);
    Log log({}, {});
    Coordinator coordinator(federation.coordinator(), std::move(options), log);
    auto visit = std::async(std::launch::async, [&] { return complaint([&] { attend(federation, 0); }); });
    const std::string reason = complaint([&] { coordinator.run(); });
    EXPECT_NE(reason.find("1 of 3 clients came before the deadline: a; at least 3 must"), std::string::npos) << reason;
    EXPECT_NE(visit.get().find("1 of 3 clients came"), std::string::npos) << "the client is told why";
}

/// A client that is lost between its greeting and its answer: the job begins again with the others.
/// When it is done computing nobody is there to tell it, and it would wait for its whole deadline.
TEST_F(CoordinatorTest, AClientThatComputesHearsWhyTheJobHasFailed) {
    const TestFederation federation(path("kits"), population(2, {12, 5, 4}, 4, 0.7, 0.05));
    CoordinatorOptions how = job_options({.rank = 3});
    how.deadline = at_ease(2s);
    Log log({}, {});
    auto coordinator = std::make_unique<Coordinator>(federation.coordinator(), std::move(how), log);
    std::promise<void> gone;
    const std::shared_future<void> over = gone.get_future().share();
    ClientOptions slow{.deadline = 600s};
    slow.vet = [over](const wire::Message& message) {
        if (std::holds_alternative<wire::StartNotice>(message.body)) over.wait();
    };
    const auto told = [&](std::size_t k, ClientOptions options) {
        return std::async(std::launch::async, [&federation, k, options = std::move(options)] {
            return complaint([&] { attend(federation, k, options); });
        });
    };
    auto a = told(0, {});
    auto b = told(1, std::move(slow));
    const std::string reason = complaint([&] { coordinator->run(); });
    EXPECT_NE(reason.find("1 of 2 clients answered before the deadline: a"), std::string::npos) << reason;
    coordinator.reset();
    gone.set_value();
    for (auto* client : {&a, &b}) {
        const std::string said = client->get();
        EXPECT_NE(said.find("refused: job: 1 of 2 clients answered before the deadline"), std::string::npos) << said;
    }
}

TEST_F(CoordinatorTest, LosingAClientOnTheWayLeavesItOut) {
    const TestFederation federation(path("kits"), people(3));
    CoordinatorOptions options = job_options({.eps = 0.2});
    options.min_clients = 2;
    options.deadline = at_ease(1500ms);
    // Answers nobody: killed once the question is there.
    Process lost = start_client(federation, 1, {"COUPLET_CRASH_AT=question-received"});
    const Run done = run(federation, std::move(options), {0, 2});
    EXPECT_EQ(lost.wait(), 128 + SIGKILL);
    const Expected expected = simulated(federation, {0, 2}, {.eps = 0.2});
    expect_same(done, expected);
    expect_accounts(done, expected.result);  // what was sent for nothing is in nobody's account
    EXPECT_EQ(done.result.missing, (std::vector<std::string>{"b"}));
}

TEST_F(CoordinatorTest, ALatecomerIsOneMergeAndNobodyElseIsNeeded) {
    TestFederation federation(path("kits"), people(4));
    const auto first = simulated(federation, {0, 1, 2}, {.rank = 3});
    CoordinatorOptions options = job_options({.rank = 3});
    options.min_clients = 3;
    options.deadline = at_ease(1500ms);
    run(federation, std::move(options), {0, 1, 2});
    // Another coordinator, later, with only the latecomer online.
    options = job_options({.rank = 3});
    options.late_merge = true;
    const Run late = run(federation, std::move(options), {3});
    const auto expected = simulated(federation, {3}, {.rank = 3}, first.result.state->clone());
    EXPECT_TRUE(same_bits(late.features->features, *expected.result.features));
    EXPECT_TRUE(same_numbers(late.clients[0].personal, expected.personal[0]));
    EXPECT_EQ(late.result.late, (std::vector<std::string>{"d"}));
    EXPECT_TRUE(late.result.missing.empty());
    ASSERT_TRUE(late.state);
    EXPECT_EQ(late.state->ledger().clients, 4);
    // One more, provisioned afterwards.
    provision_client(federation.kits, "e", 30);
    federation.names.push_back("e");
    federation.data.push_back(population_client({12, 5, 4}, 4, 0.7, 0.05, 1, 9));
    options = job_options({.rank = 3});
    options.late_merge = true;
    const Run more = run(federation, std::move(options), {4});
    EXPECT_EQ(more.result.late, (std::vector<std::string>{"d", "e"}));
    EXPECT_EQ(more.state->ledger().clients, 5);
    // Every error is one of the features that its client got: they have no common one.
    EXPECT_FALSE(more.result.rse);
    ASSERT_EQ(more.result.rse_per_client.size(), 5U);
    EXPECT_EQ(more.result.rse_per_client[0], first.result.rse_per_client[0]);
    EXPECT_EQ(more.result.rse_per_client[3], expected.result.rse_per_client[0]);
    EXPECT_EQ(more.result.rse_late_merges, (std::vector<Index>{0, 0, 0, 1, 2}));
}

/// What a small client loses is measured by all norms together, and it is told those: also when its features come from
/// a coordinator that was started again.
TEST_F(CoordinatorTest, ASmallLatecomerKeepsTheCertificateOfAll) {
    TestFederation federation(path("kits"), people(3));
    auto small = random_tensor<double>({12, 5, 4}, 8);
    for (double& e : small.elements()) e *= 0.01;
    federation.data[2] = std::move(small);
    CoordinatorOptions options = job_options({.eps = 0.2});
    options.min_clients = 2;
    options.deadline = at_ease(1500ms);
    const Run first = run(federation, std::move(options), {0, 1});
    options = job_options({.eps = 0.2});
    options.late_merge = true;
    options.deadline = at_ease(2500ms);
    Process lost = start_client(federation, 2, {"COUPLET_CRASH_AT=features-received"});
    const Run late = run(federation, std::move(options), {});
    EXPECT_EQ(lost.wait(), 128 + SIGKILL);
    ASSERT_EQ(late.result.late, (std::vector<std::string>{"c"}));
    const Run again = run(federation, job_options({.eps = 0.2}), {2});
    EXPECT_GT(again.clients[0].rse, 0.04) << "more than the bound, of its own norm";
    EXPECT_EQ(again.clients[0].doubt, "");
    ASSERT_TRUE(again.clients[0].rel_error_bound);
    EXPECT_EQ(again.clients[0].rel_error_bound, again.result.rel_error_bound);
    EXPECT_TRUE(again.result.doubts.empty());
    // And of a saved merge.
    std::filesystem::remove_all(federation.kits / "coordinator" / "job");
    options = job_options({.eps = 0.2});
    options.resume = first.state->clone();
    options.min_clients = 1;
    options.deadline = at_ease(1500ms);
    const Run resumed = run(federation, std::move(options), {2});
    EXPECT_EQ(resumed.clients[0].doubt, "");
    EXPECT_TRUE(resumed.clients[0].rel_error_bound);
    EXPECT_EQ(resumed.result.rel_error_bound, resumed.clients[0].rel_error_bound);
}

/// A norm that hides everybody's is as wrong when it was merged yesterday, or comes tomorrow: nobody gets a
/// certificate.
TEST_F(CoordinatorTest, ADoubtedClientStaysDoubted) {
    TestFederation federation(path("kits"), people(3));
    for (double& e : federation.data[2].elements()) e *= 1e8;
    CoordinatorOptions options = job_options({.eps = 0.2});
    options.min_clients = 2;
    options.deadline = at_ease(1500ms);
    run(federation, std::move(options), {0, 1});
    options = job_options({.eps = 0.2});
    options.late_merge = true;
    const Run late = run(federation, std::move(options), {2});
    ASSERT_EQ(late.result.doubts.size(), 1U);
    EXPECT_EQ(late.result.doubts[0].client, "c");
    EXPECT_FALSE(late.clients[0].rel_error_bound) << "it got none to begin with";
    std::filesystem::remove_all(federation.kits / "coordinator" / "job");
    options = job_options({.eps = 0.2});
    options.resume = late.state->clone();
    options.min_clients = 2;
    options.deadline = at_ease(1500ms);
    const Run resumed = run(federation, std::move(options), {0, 1});
    EXPECT_EQ(resumed.result.resumed_clients, 1);
    ASSERT_EQ(resumed.result.doubts.size(), 1U);
    EXPECT_EQ(resumed.result.doubts[0].client, "c");
    EXPECT_FALSE(resumed.result.rel_error_bound);
    for (const ClientResult& client : resumed.clients) EXPECT_FALSE(client.rel_error_bound);
}

TEST_F(CoordinatorTest, CentringHidesNoNorm) {
    TestFederation federation(path("kits"), people(3));
    for (double& e : federation.data[2].elements()) e = 1e8 * (1 + e);
    CoordinatorOptions options = job_options({.eps = 0.2});
    options.spec.centring.centre = true;
    const Run done = run(federation, std::move(options), {0, 1, 2});
    ASSERT_EQ(done.result.doubts.size(), 1U);
    EXPECT_EQ(done.result.doubts[0].client, "c");
    EXPECT_NE(done.result.doubts[0].reason.find("before centring"), std::string::npos);
    for (const ClientResult& client : done.clients) EXPECT_FALSE(client.rel_error_bound);
}

TEST_F(CoordinatorTest, AStragglerOfARunningJobIsRefusedOrMergedAsAsked) {
    const TestFederation federation(path("kits"), people(3));
    for (const bool merge : {false, true}) {
        CoordinatorOptions options = job_options({.rank = 3});
        options.min_clients = 2;
        options.deadline = at_ease(1000ms);
        options.late_merge = merge;
        std::future<std::string> straggler;
        Coordinator* running = nullptr;
        options.on_features = [&](const CoordinatorOptions::Delivery&) {
            if (straggler.valid()) return;
            straggler = std::async(std::launch::async, [&] { return complaint([&] { attend(federation, 2); }); });
            // It is told at once that the job goes on, or has greeted.
            EXPECT_TRUE(eventually([&] {
                return straggler.wait_for(0s) == std::future_status::ready || running->status().clients[2].rows > 0;
            }));
        };
        Log log({}, {});
        Coordinator coordinator(federation.coordinator(), std::move(options), log);
        running = &coordinator;
        auto a = std::async(std::launch::async, [&] { return attend(federation, 0); });
        auto b = std::async(std::launch::async, [&] { return attend(federation, 1); });
        const CoordinatorResult result = coordinator.run();
        a.get();
        b.get();
        const std::string reason = straggler.get();
        if (merge) {
            EXPECT_EQ(reason, "");
            EXPECT_EQ(result.late, (std::vector<std::string>{"c"}));
        } else {
            EXPECT_NE(reason.find("the job goes on without it"), std::string::npos) << reason;
            EXPECT_EQ(result.missing, (std::vector<std::string>{"c"}));
        }
        std::filesystem::remove_all(federation.kits / "coordinator" / "job");
    }
}

TEST_F(CoordinatorTest, RefusesOptionsThatDoNotFit) {
    const TestFederation federation(path("kits"), people(2));
    Log log({}, {});
    CoordinatorOptions options = job_options({.rank = 3});
    options.min_clients = 3;
    EXPECT_NE(complaint([&] { Coordinator(federation.coordinator(), std::move(options), log); }).find("`min_clients`"),
              std::string::npos);
    { const Coordinator begun(federation.coordinator(), job_options({.rank = 3}), log); }
    const std::string other = complaint([&] { Coordinator(federation.coordinator(), job_options({.rank = 4}), log); });
    EXPECT_NE(other.find("rank 4 instead of 3"), std::string::npos) << other;
    Kit open = federation.coordinator();
    open.listen = "0.0.0.0:1";
    options = job_options({.rank = 3});
    options.insecure = true;
    EXPECT_NE(complaint([&] { Coordinator(open, std::move(options), log); }).find("loopback"), std::string::npos);
    const Coordinator first(federation.coordinator(), job_options({.rank = 3}), log);
    EXPECT_NE(complaint([&] {
                  Coordinator(federation.coordinator(), job_options({.rank = 3}), log);
              }).find("another coordinator runs on this kit"),
              std::string::npos);
    std::filesystem::copy(federation.kits / "coordinator", path("copy"), std::filesystem::copy_options::recursive);
    EXPECT_NE(complaint([&] {
                  Coordinator(load_kit(path("copy")), job_options({.rank = 3}), log);
              }).find("the address cannot be used"),
              std::string::npos);
}

/// Nothing is changed in a kit before its owner has agreed, and the job before the last is never far.
TEST_F(CoordinatorTest, ANewJobPutsTheOneBeforeAside) {
    const TestFederation federation(path("kits"), people(3));
    const auto job_file = [&](const char* folder) {
        return read_text(federation.kits / "coordinator" / folder / "job.json");
    };
    CoordinatorOptions options = job_options({.rank = 3});
    options.min_clients = 2;
    options.deadline = at_ease(700ms);
    run(federation, std::move(options), {0, 1});
    const std::string before = job_file("job");
    Log log({}, {});
    options = job_options({.rank = 3});
    options.on_job = [](const std::string&) { throw InputError({"features.npz", "in the way", "", ""}); };
    EXPECT_NE(complaint([&] { Coordinator(federation.coordinator(), std::move(options), log); }), "");
    EXPECT_EQ(job_file("job"), before);
    { const Coordinator next(federation.coordinator(), job_options({.rank = 3}), log); }
    EXPECT_EQ(job_file("job.old"), before);
    EXPECT_NE(job_file("job"), before);
}

/// A member that was gone when the features came gets them from a later coordinator, whatever the aggregate.
TEST_F(CoordinatorTest, AMemberThatMissedTheDeliveryGetsItLater) {
    const TestFederation federation(path("kits"), people(2));
    const JobOptions job{.aggregate = Aggregate::subspace, .rank = 3};
    CoordinatorOptions options = job_options(job);
    options.deadline = at_ease(2500ms);
    Process lost = start_client(federation, 1, {"COUPLET_CRASH_AT=features-received"});
    const Run first = run(federation, std::move(options), {0});
    EXPECT_EQ(lost.wait(), 128 + SIGKILL);
    EXPECT_FALSE(first.result.rse) << "b has not reported";
    options = job_options(job);
    options.deadline = 200ms;
    const std::string reason = complaint([&] { run(federation, std::move(options), {}); });
    EXPECT_NE(reason.find("nobody came before the deadline; expected one of b"), std::string::npos) << reason;
    const Run second = run(federation, job_options(job), {1});
    const auto expected = simulated(federation, {0, 1}, job);
    EXPECT_EQ(second.result.rse, expected.result.rse);
    EXPECT_TRUE(same_bits(second.clients[0].features, *expected.result.features));
    EXPECT_TRUE(same_numbers(second.clients[0].personal, expected.personal[1]));
}

/// The same for one that was merged late; and the result that is handed over is the newest, not the members'.
TEST_F(CoordinatorTest, ALatecomerThatMissedTheDeliveryGetsItLater) {
    TestFederation federation(path("kits"), people(2));
    const auto first = run(federation, job_options({.rank = 3}), {0, 1});
    provision_client(federation.kits, "c", 30);
    federation.names.push_back("c");
    federation.data.push_back(population_client({12, 5, 4}, 4, 0.7, 0.05, 1, 9));
    CoordinatorOptions options = job_options({.rank = 3});
    options.late_merge = true;
    options.deadline = at_ease(2500ms);
    Process lost = start_client(federation, 2, {"COUPLET_CRASH_AT=features-received"});
    const Run late = run(federation, std::move(options), {});
    EXPECT_EQ(lost.wait(), 128 + SIGKILL);
    EXPECT_EQ(late.result.late, (std::vector<std::string>{"c"}));
    EXPECT_FALSE(same_bits(late.features->features, first.features->features));
    options = job_options({.rank = 3});
    options.late_merge = true;
    options.deadline = 200ms;
    EXPECT_NE(complaint([&] { run(federation, std::move(options), {}); }).find("one of c"), std::string::npos);
    // Nobody is to be merged any more: the flag is not needed.
    const Run again = run(federation, job_options({.rank = 3}), {2});
    EXPECT_TRUE(same_bits(again.features->features, late.features->features)) << "the newest";
    EXPECT_TRUE(same_bits(again.clients[0].features, late.features->features));
    EXPECT_EQ(again.result.rse_late_merges, (std::vector<Index>{0, 0, 1})) << "all have reported";
    EXPECT_EQ(again.state->ledger().clients, 3);
}

/// The roster may have 10,000 names: the last word and the job's file hold them all.
TEST_F(CoordinatorTest, ALongRosterIsToldAndReadBack) {
    const TestFederation federation(path("kits"), people(1));
    Kit kit = federation.coordinator();
    for (int i = 0; i < 9'999; ++i) kit.roster.push_back(fmt::format("{:040}-absent-{}", i, i));
    CoordinatorOptions options = job_options({.rank = 3});
    options.min_clients = 1;
    options.deadline = at_ease(1500ms);
    Log log({}, {});
    {
        Coordinator coordinator(kit, std::move(options), log);
        auto visit = std::async(std::launch::async, [&] { return attend(federation, 0); });
        coordinator.run();
        EXPECT_EQ(visit.get().missing.size(), 9'999U);
    }
    JobFile job;
    job.version = version();
    job.roster = kit.roster;
    for (Index k = 0; k < 10'000; ++k) job.reports[k] = {3, 0.1234567890123, 1e10 / 3, 0, 0, 1.5};
    const std::filesystem::path folder = kit.file("job");
    write_text(folder / "job.json", job_file_text(job), 0600);
    EXPECT_GT(std::filesystem::file_size(folder / "job.json"), std::size_t{1} << 20);
    options = job_options(JobOptions{.rank = 3});
    options.spec = job.spec;
    EXPECT_EQ(complaint([&] { Coordinator(kit, std::move(options), log); }), "") << "it is there already";
}

TEST_F(CoordinatorTest, SixtyFourClientsOfOneMebibyte) {
    Clients data;
    for (std::uint64_t k = 0; k < 64; ++k) data.push_back(random_tensor<double>({16, 8192}, k + 1));
    const TestFederation federation(path("kits"), std::move(data));
    const Run done = run(federation, job_options({.rank = 16, .eps1 = 0}), federation.everybody());
    EXPECT_EQ(done.result.members.size(), 64U);
    EXPECT_EQ(done.result.numbers_up_per_client, 16 * 8192);
    EXPECT_GE(done.result.bytes_up, 64 * 1024.0 * 1024);
    EXPECT_EQ(done.result.rse_per_client.size(), 64U);
}

}  // namespace
}  // namespace couplet::net
