#include "couplet/ctt/merger.hpp"

#include <array>

#include "couplet/core/error.hpp"
#include "couplet/ctt/block_code.hpp"
#include "couplet/ctt/centring.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

Upload copy_of(const Tensor<double>& x, const Job& job, const Start& start) {
    return compress_client(x.view(), client_limits(job, hello_of(x), start));
}

/// Clients of different sizes, ranks and scales: rank 1, one patient, zero, 1e6 apart.
Clients random_federation(Random& random) {
    const auto order = 2 + static_cast<Index>(random.below(3));
    std::vector<Index> sizes{0};
    for (Index n = 1; n < order; ++n) sizes.push_back(1 + static_cast<Index>(random.below(order == 2 ? 12 : 5)));
    if (random.below(6) == 0) sizes.back() += 14;
    const std::uint64_t model = 1 + random.below(1000);
    const double spread = random.below(3) == 0 ? 6 : 0;
    Clients clients;
    const auto count = 1 + random.below(random.below(8) == 0 ? 24 : 6);
    for (std::uint64_t k = 0; k < count; ++k) {
        sizes[0] = random.below(4) == 0 ? 1 : 1 + static_cast<Index>(random.below(9));
        const Shape shape{std::vector<Index>(sizes)};
        const auto kind = random.below(8);
        if (kind == 0) {
            clients.push_back(Tensor<double>::zeros(shape));
            continue;
        }
        const Index rank = kind == 1 ? 1 : 1 + static_cast<Index>(random.below(6));
        const double noise = kind <= 2 ? 0 : std::pow(10.0, -4 * random.uniform());
        auto x = population_client(shape, rank, 0.3 + 0.6 * random.uniform(), noise, kind == 3 ? model + k : model, k);
        const double scale = std::pow(10.0, spread * random.uniform());
        for (double& e : x.elements()) e *= scale;
        clients.push_back(std::move(x));
    }
    return clients;
}

TEST(MergerTest, NeitherRoundingNorTheErrorOfMessagesIsAFeature) {
    for (const auto precision : {Precision::automatic, Precision::f32, Precision::f64}) {
        for (const double mean : {0.0, 40.0}) {
            for (const double unit : {1.0, 3.0, 7.0}) {
                // Fewer patients at a client than features, of which three directions are left.
                auto clients = population(3, {15, 6, 7}, 3, 0.8, 0);
                FeatureSums sums;
                for (auto& x : clients) {
                    for (double& value : x.elements()) value = unit * (value + mean);
                    sums.add(feature_sums(x.view(), {.centre = true}));
                }
                const Centring moved = centring_of(sums, {.centre = true});
                for (auto& x : clients) x = centred(x.view(), moved, "x");
                const auto outcome = drive_star(resolve_job({.rank = 6, .precision = precision}), clients);
                EXPECT_EQ(outcome.message->features.train.left_rank(), 3) << to_string(precision) << mean << unit;
                EXPECT_LE(std::sqrt(outcome.rse), *outcome.message->rel_error_bound);
            }
        }
    }
}

TEST(MergerTest, CertifiedBoundIsNeverViolated) {
    Random random(2024);
    double tightest = 0;
    for (int trial = 0; trial < 1500; ++trial) {
        const auto clients = random_federation(random);
        const double eps = trial % 7 == 0 ? 1e-3 : 0.5 * std::pow(500.0, -random.uniform());
        const bool capped = trial % 3 == 2;
        Job job;
        if (trial % 4 == 3) {
            job = resolve_job({.rank = 1 + static_cast<Index>(random.below(5)), .eps1 = eps, .eps2 = eps});
        } else {
            JobOptions options{.eps = eps};
            if (capped) options.rank = 1 + static_cast<Index>(random.below(4));
            job = resolve_job(options);
        }
        const auto start = start_job(job, hellos_of(clients));
        Merger merger(job, feature_modes(clients.front().shape()), start);
        // Merges in between, which the flush limits would hardly ever make at this size: a chain of states.
        const bool chain = trial % 2 == 1;
        std::optional<MergeState> state;
        for (const auto& x : clients) {
            if (!chain) {
                merger.add(copy_of(x, job, start));
                continue;
            }
            Merger step(job, feature_modes(x.shape()), start);
            if (state) step.add(std::move(*state));
            step.add(copy_of(x, job, start));
            state = step.state();
        }
        if (chain) merger.add(std::move(*state));
        const auto outcome = merger.finish();
        const double rse = rse_with(clients, outcome.features);
        ASSERT_LE(std::sqrt(rse), outcome.rel_error_bound + 1e-12) << "trial " << trial;
        if (job.eps && !job.rank) {
            ASSERT_LE(outcome.rel_error_bound, eps * (1 + 1e-9)) << "trial " << trial;
            tightest = std::max(tightest, std::sqrt(rse) / eps);
        }
        if (job.rank) {
            ASSERT_LE(outcome.features.train.left_rank(), *job.rank);
        }
        EXPECT_EQ(outcome.ledger.clients, static_cast<Index>(clients.size()));
        EXPECT_NEAR(outcome.ledger.norm2, start.norm2, 1e-9 * start.norm2);
    }
    // The budget is used, not merely kept.
    EXPECT_GT(tightest, 0.9);
}

/// Whatever steps the parties choose, and however often rows are coded on their way: what was decoded is what the
/// ledger counts.
TEST(MergerTest, RandomStepsAreCertified) {
    Random random(77);
    int coded = 0;
    for (int trial = 0; trial < 1000; ++trial) {
        const auto clients = random_federation(random);
        const auto eps = [&] { return 0.9 * std::pow(1000.0, -random.uniform()); };
        JobOptions options{.eps1 = eps(), .eps2 = eps()};
        if (trial % 2 == 0) options.rank = 1 + static_cast<Index>(random.below(5));
        const Job job = resolve_job(options);
        const Shape features = feature_modes(clients.front().shape());
        const auto start = start_job(job, hellos_of(clients));
        Merger merger(job, features, start);
        std::optional<MergeState> state;
        for (const auto& x : clients) {
            const double svd = eps();
            const double message = eps();
            const ClientLimits limits{svd,
                                      message,
                                      1 + static_cast<Index>(random.below(9)),
                                      {},
                                      Precision::automatic,
                                      std::hypot(svd, message)};
            Upload upload = compress_client(x.view(), limits);
            coded += upload.block->code() ? 1 : 0;
            if (trial % 3 != 0) {
                merger.add(std::move(upload));
                continue;
            }
            // Along a path: every node adds its rows and codes the sum of what it has.
            Merger node(job, features, start);
            if (state) node.add(std::move(*state));
            node.add(std::move(upload));
            state = node.state();
            const double limit = eps();
            code_state(*state, limit * limit * state->ledger.norm2);
        }
        if (state) merger.add(std::move(*state));
        const auto outcome = merger.finish();
        ASSERT_LE(std::sqrt(rse_with(clients, outcome.features)), outcome.rel_error_bound + 1e-12) << "trial " << trial;
    }
    EXPECT_GT(coded, 2000);
}

TEST(MergerTest, ChainTreeAndOneGoAgreeExactlyWhenNothingIsCut) {
    const auto clients = population(9, {4, 5, 6}, 3, 0.7, 0);
    const Job job = resolve_job({.eps = 0});
    const auto start = start_job(job, hellos_of(clients));
    const Shape features{5, 6};
    Merger once(job, features, start);
    for (const auto& x : clients) once.add(copy_of(x, job, start));
    const auto reference = once.finish();
    EXPECT_LT(rse_with(clients, reference.features), 1e-24);
    EXPECT_LT(reference.rel_error_bound, 1e-12);

    std::vector<MergeState> level;
    for (const auto& x : clients) {
        Merger leaf(job, features, start);
        leaf.add(copy_of(x, job, start));
        level.push_back(leaf.state());
    }
    while (level.size() > 1) {
        std::vector<MergeState> up;
        for (std::size_t i = 0; i < level.size(); i += 2) {
            Merger node(job, features, start);
            node.add(std::move(level[i]));
            if (i + 1 < level.size()) node.add(std::move(level[i + 1]));
            up.push_back(node.state());
        }
        level = std::move(up);
    }
    Merger root(job, features, start);
    root.add(std::move(level.front()));
    const auto tree = root.finish();
    EXPECT_LT(rse_with(clients, tree.features), 1e-24);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(tree.features.sigma[i], reference.features.sigma[i], 1e-11 * reference.features.sigma[0]);
    }
    // The directions beyond the true rank are rounding; those of the data agree.
    const auto three = [](const Features& f) {
        Matrix<double> rows(f.train.left_rank(), f.train.shape().size());
        FeatureBlock(f.train.clone()).expand(rows.view());
        for (Index i = 0; i < rows.size(); ++i) rows.data()[i] *= f.sigma[static_cast<std::size_t>(i / rows.cols())];
        const FeatureBlock block(std::move(rows), f.train.shape());
        const FeatureBlock* one[] = {&block};
        return merge_dense(one, {.max_rank = 3}).features;
    };
    EXPECT_LT(row_space_distance(three(tree.features), three(reference.features)), 1e-10);
}

TEST(MergerTest, AnyOrderOfAThousandClientsIsCertified) {
    // Drifting clients: the population changes slowly, so that early cuts hurt late clients.
    Clients clients;
    for (std::uint64_t k = 0; k < 1000; ++k) {
        auto x = population_client({2, 4, 5}, 3, 0.8, 0.02, 1, k);
        const auto drift = population_client({2, 4, 5}, 3, 0.8, 0, 2, k);
        const double share = static_cast<double>(k) / 1000;
        for (Index i = 0; i < x.size(); ++i) {
            x.data()[i] = (1 - share) * x.data()[i] + share * drift.data()[i];
        }
        clients.push_back(std::move(x));
    }
    const double eps = 0.1;
    const Job job = resolve_job({.eps = eps});
    const auto start = start_job(job, hellos_of(clients));
    const Shape features{4, 5};
    const auto check = [&](Merger& merger, const char* what) {
        const auto outcome = merger.finish();
        const double rse = rse_with(clients, outcome.features);
        EXPECT_LE(std::sqrt(rse), outcome.rel_error_bound + 1e-12) << what;
        EXPECT_LE(outcome.rel_error_bound, eps * (1 + 1e-9)) << what;
        EXPECT_EQ(outcome.ledger.clients, 1000) << what;
    };
    Random random(5);
    std::vector<std::size_t> order(clients.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (const char* what : {"in order", "shuffled"}) {
        Merger merger(job, features, start);
        for (const std::size_t k : order) merger.add(copy_of(clients[k], job, start));
        check(merger, what);
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    }
    // Chains of 10 with a state after every client, merged as they come: 1000 merges.
    Merger top(job, features, start);
    for (std::size_t first = 0; first < 1000; first += 10) {
        std::optional<MergeState> state;
        for (std::size_t k = first; k < first + 10; ++k) {
            Merger step(job, features, start);
            if (state) step.add(std::move(*state));
            step.add(copy_of(clients[k], job, start));
            state = step.state();
        }
        top.add(std::move(*state));
    }
    check(top, "tree of chains");
    std::optional<MergeState> state;
    for (const auto& x : clients) {
        Merger step(job, features, start);
        if (state) step.add(std::move(*state));
        step.add(copy_of(x, job, start));
        state = step.state();
    }
    Merger last(job, features, start);
    last.add(std::move(*state));
    check(last, "chain of 1000");
}

TEST(MergerTest, StateDoesNotGrowWithTheNumberOfClients) {
    const auto sizes = [](Index clients, const JobOptions& options) {
        const Job job = resolve_job(options);
        const Shape shape{3, 8, 9};
        const Start start{clients, 3 * clients, 1e4 * static_cast<double>(clients)};
        Merger merger(job, {8, 9}, start);
        for (Index k = 0; k < clients; ++k) {
            const auto x = population_client(shape, 6, 0.8, 0.1, 3, static_cast<std::uint64_t>(k));
            merger.add(copy_of(x, job, start));
        }
        return merger.state().block.numbers();
    };
    // With a rank: 2 R1 + 10 rows; with an eps: never more than P rows.
    const Index few = sizes(50, {.rank = 4});
    const Index many = sizes(2000, {.rank = 4});
    EXPECT_EQ(few, many);
    EXPECT_LE(many, (2 * 4 + 10) * 72);
    EXPECT_LE(sizes(2000, {.eps = 1e-3}), 72 * 72);
}

TEST(MergerTest, FixedRankLosesLittleOverAChain) {
    Clients clients;
    for (std::uint64_t k = 0; k < 400; ++k) clients.push_back(population_client({3, 6, 7}, 8, 0.85, 0.1, 4, k));
    const Job job = resolve_job({.rank = 5});
    const auto start = start_job(job, hellos_of(clients));
    std::optional<MergeState> state;
    for (const auto& x : clients) {
        Merger step(job, {6, 7}, start);
        if (state) step.add(std::move(*state));
        step.add(copy_of(x, job, start));
        state = step.state();
    }
    Merger last(job, {6, 7}, start);
    last.add(std::move(*state));
    const auto outcome = last.finish();
    const double rse = rse_with(clients, outcome.features);
    EXPECT_LE(rse, 1.02 * centralized_rse(gather_rows(clients), 5, 0.01) + 1e-4);
    EXPECT_LE(std::sqrt(rse), outcome.rel_error_bound + 1e-12);
}

TEST(MergerTest, RefusesOtherFeaturesAndChangesNothing) {
    const auto clients = population(2, {4, 5, 6}, 3);
    const Job job = resolve_job({});
    const auto start = start_job(job, hellos_of(clients));
    Merger merger(job, {5, 6}, start);
    EXPECT_EQ(message_of([&] { merger.finish(); }), "merge: no uploads; expected at least one");
    EXPECT_EQ(message_of([&] { merger.state(); }), "merge: no uploads; expected at least one");
    merger.add(copy_of(clients[0], job, start));
    const auto other = random_tensor<double>({4, 6, 5});
    const std::string refusal = "upload: feature modes 6x5; expected 5x6";
    EXPECT_EQ(message_of([&] { merger.add(copy_of(other, job, start)); }), refusal);
    EXPECT_EQ(message_of([&] {
                  merger.add(MergeState{FeatureBlock(Matrix<double>::zeros(1, 30), {6, 5}), {7, 7, 1, 0, 0, 0}});
              }),
              refusal);
    EXPECT_EQ(merger.ledger().clients, 1);
    EXPECT_EQ(merger.ledger().rows, 4);
}

/// The server's part: eps^2 is spent by the clients' tails first, in quadrature and by the triangle, then by earlier
/// merges, and what remains bounds the last cut.
TEST(MergerTest, TheLastCutSpendsExactlyWhatIsLeft) {
    for (const Shape& shape : {Shape{6, 40}, Shape{6, 8, 9}, Shape{6, 3, 4, 5}}) {
        const auto clients = population(5, shape, 8, 0.8, 0.3, 12);
        const double eps = 0.3;
        const Job job = resolve_job({.eps = eps, .precision = Precision::f64});
        const auto start = start_job(job, hellos_of(clients));
        Merger merger(job, feature_modes(shape), start);
        for (const auto& x : clients) merger.add(copy_of(x, job, start));
        const auto outcome = merger.finish();
        const Ledger& l = outcome.ledger;
        double norm2 = 0;
        for (const auto& x : clients) norm2 += squared_norm(x.view().unfold(1));
        EXPECT_NEAR(l.norm2, norm2, 1e-12 * norm2);
        EXPECT_EQ(l.rows, 30);
        EXPECT_EQ(l.used2, 0);
        EXPECT_GT(l.svd_tail2, 0);
        EXPECT_EQ(l.tt_tail2 > 0, shape.order() > 2);
        EXPECT_LE(outcome.rel_error_bound, eps * (1 + 1e-12));
        // One direction fewer would have been too many.
        std::vector<FeatureBlock> blocks;
        for (const auto& x : clients) blocks.push_back(copy_of(x, job, start).block.get().clone());
        std::vector<const FeatureBlock*> pointers;
        for (const auto& block : blocks) pointers.push_back(&block);
        const Index rank = outcome.features.train.left_rank();
        const auto fewer = merge_dense(pointers, {.max_rank = rank - 1});
        const double room = std::sqrt(eps * eps * norm2 - l.svd_tail2) - std::sqrt(l.tt_tail2);
        EXPECT_GT(fewer.discarded2, 0.45 * room * room) << "half of it may go to the feature bonds";
    }
}

TEST(MergerTest, UploadsAreFlushedAtTheirLimits) {
    const Job job = resolve_job({.rank = 3});
    const Start start{1000, 1000, 1000.0};
    const auto upload = [&](Index rows, std::uint64_t seed) {
        return compress_client(random_tensor<double>({rows, 40}, seed).view(), {0, 0, rows});
    };
    // 128 rows, and eight times the first block, before anything is merged: 2 R1 + 10 rows remain then.
    const auto numbers_after = [&](Index rows, int count) {
        Merger merger(job, {40}, start);
        for (int k = 0; k < count; ++k) merger.add(upload(rows, static_cast<std::uint64_t>(k) + 1));
        return std::pair{merger.ledger().used2 > 0, merger.ledger().clients};
    };
    EXPECT_FALSE(numbers_after(16, 7).first);
    EXPECT_TRUE(numbers_after(16, 8).first);
    EXPECT_FALSE(numbers_after(17, 7).first) << "119 rows";
    EXPECT_TRUE(numbers_after(17, 8).first) << "136 rows, eight times 17";
    EXPECT_FALSE(numbers_after(20, 7).first) << "140 rows, less than eight times 20";
    EXPECT_TRUE(numbers_after(20, 8).first);
    EXPECT_EQ(numbers_after(20, 8).second, 8);
    Merger merger(job, {40}, start);
    for (int k = 0; k < 8; ++k) merger.add(upload(20, static_cast<std::uint64_t>(k) + 1));
    EXPECT_EQ(merger.state().block.rows(), 16);
}

TEST(LedgerTest, AddsSquares) {
    Ledger a{1, 2, 4.0, 0.1, 0.2, 0.3};
    a.add({2, 3, 5.0, 0.3, 0.2, 0.1});
    EXPECT_EQ(a.clients, 3);
    EXPECT_EQ(a.rows, 5);
    EXPECT_EQ(a.norm2, 9);
    const double server = std::sqrt(0.4) + std::sqrt(0.4 + 0.6);
    const double bound = std::sqrt((0.4 + server * server) / 9);
    EXPECT_GT(a.rel_error_bound(0.6), bound);
    EXPECT_NEAR(a.rel_error_bound(0.6), bound, 1e-13);
    EXPECT_EQ(Ledger{}.rel_error_bound(0), 0);
    // Data of exactly the rank: nothing is cut, and rounding is still an error.
    EXPECT_GT((Ledger{1, 2, 4.0, 0, 0, 0}.rel_error_bound(0)), 0);
}

TEST(MergerTest, MergesInBetweenSpendTheirShareAndNoMore) {
    // Flat data, of which every direction is a small step: the budget is used nearly to its end.
    for (const Shape& shape : {Shape{4, 60}, Shape{4, 6, 10}}) {
        const double eps = 0.4;
        const Job job = resolve_job({.eps = eps});
        Clients clients;
        for (std::uint64_t k = 0; k < 40; ++k) clients.push_back(random_tensor<double>(shape, k + 1));
        const auto start = start_job(job, hellos_of(clients));
        const auto limits = client_limits(job, {feature_modes(shape), start.rows, start.norm2}, start);
        const double rest = std::sqrt(eps * eps - limits.svd_eps * limits.svd_eps) - limits.tt_eps;
        for (const std::size_t merged : {std::size_t{20}, std::size_t{40}}) {
            Merger merger(job, feature_modes(shape), start);
            for (std::size_t k = 0; k < merged; ++k) merger.add(copy_of(clients[k], job, start));
            const auto state = merger.state();
            // Half of the server's part, in proportion to the squares merged so far.
            const double share2 = rest * rest * state.ledger.norm2 / 2;
            EXPECT_LE(state.ledger.used2, share2 * (1 + 1e-9));
            EXPECT_GT(state.ledger.used2, 0.7 * share2) << shape.to_string() << " " << merged;
        }
    }
}

/// A state whose rows cannot be multiplied out is coded as a train, and its loss is counted.
TEST(MergerTest, HugeStatesAreCodedAsTrains) {
    const Shape features{500, 500, 400};  // 10^8 numbers a row
    std::vector<Tensor<double>> cores;
    cores.push_back(random_tensor<double>({3, 500, 2}, 1));
    cores.push_back(random_tensor<double>({2, 500, 2}, 2));
    cores.push_back(random_tensor<double>({2, 400, 1}, 3));
    const auto train = left_orthonormalise(TensorTrain<double>(std::move(cores))).train;
    const double norm2 = FeatureBlock(train.clone()).squared_norm();
    const auto gap = [&](const MergeState& state) {
        // The rows were turned: what is coded spans what there was, up to the loss.
        const auto sent = right_orthonormalise(state.block.train()).train;
        const auto given = right_orthonormalise(train.clone()).train;
        const double sent2 = squared_norm<double>(sent.right_unfolding(0));
        const double given2 = squared_norm<double>(given.right_unfolding(0));
        return std::abs(std::sqrt(sent2) - std::sqrt(given2));
    };
    const auto state = [&] { return MergeState{FeatureBlock(train.clone()), {1, 5, norm2, 0, 0, 0}}; };
    auto limited = state();
    code_state(limited, 1e-4 * norm2);
    ASSERT_TRUE(limited.block.code());
    EXPECT_LE(limited.ledger.tt_tail2, 1e-4 * norm2);
    EXPECT_GE(limited.ledger.tt_tail2, 0.3e-4 * norm2);
    EXPECT_LE(gap(limited), std::sqrt(limited.ledger.tt_tail2) * (1 + 1e-9));
    auto within = state();
    code_state_within(within, 1500);
    EXPECT_LE(within.block.code()->bytes.size(), 1500U);
    EXPECT_LE(gap(within), std::sqrt(within.ledger.tt_tail2) * (1 + 1e-9));
    EXPECT_LT(within.ledger.tt_tail2, norm2);
}

TEST(MergerTest, ZerosKeepTheBudget) {
    const Shape features{30, 40};
    MergeState zeros{FeatureBlock(Matrix<double>::zeros(3, 1200), features), {1, 3, 0, 0, 0, 0}};
    for (const bool budget : {false, true}) {
        MergeState state{zeros.block.clone(), zeros.ledger};
        budget ? code_state_within(state, 20) : code_state(state, 0);
        ASSERT_TRUE(state.block.code());
        EXPECT_LE(state.block.code()->bytes.size(), 20U);
        EXPECT_EQ(state.block.squared_norm(), 0);
        EXPECT_EQ(state.ledger.tt_tail2, 0);
    }
    EXPECT_THROW(code_state_within(zeros, 3), InputError);
    for (JobOptions options : {JobOptions{.eps = 0.1}, JobOptions{.rank = 2, .precision = Precision::f32},
                               JobOptions{.bytes = 500}, JobOptions{.eps = 0.0}}) {
        Merger merger(resolve_job(options), features, {1, 3, 0});
        merger.add(MergeState{zeros.block.clone(), zeros.ledger});
        const auto outcome = merger.finish();
        EXPECT_EQ(outcome.rel_error_bound, 0);
        EXPECT_EQ(outcome.features.train.left_rank(), 1);
        ASSERT_TRUE(outcome.features.code);
        EXPECT_LE(outcome.features.code->bytes.size(), 20U);
    }
}

/// A ledger that says nothing is there does not make a message larger.
TEST(MergerTest, ABudgetLooksAtTheRowsNotAtTheLedger) {
    const auto x = population_client({9, 12, 10}, 4, 0.6, 0.01, 1, 1);
    const Job job = resolve_job({.bytes = 700});
    Merger merger(job, {12, 10}, {1, 9, 0});
    auto upload = copy_of(x, job, {1, 9, 1});
    upload.norm2 = 0;
    merger.add(std::move(upload));
    const auto outcome = merger.finish();
    ASSERT_TRUE(outcome.features.code);
    EXPECT_LE(static_cast<Index>(outcome.features.code->bytes.size()), star_code_bytes(job, 1, 2));
}

/// Whatever is cut, coded and merged, by limits of every kind: an honest party is never told that its figures are not
/// those of its rows. Half of what it has sent is not taken for the whole.
TEST(MergerTest, WhatIsMadeHereIsConsistent) {
    Random random(31);
    int doubled = 0;
    for (int trial = 0; trial < 800; ++trial) {
        const auto clients = random_federation(random);
        const Shape features = feature_modes(clients.front().shape());
        const double eps = 0.9 * std::pow(1e-5, random.uniform());
        JobOptions options;
        if (trial % 4 == 0) {
            options.bytes = 2 * (164 + 64 + 16 * features.order() + static_cast<Index>(random.below(400)));
        } else if (trial % 4 == 1) {
            options.rank = 1 + static_cast<Index>(random.below(4));
        } else {
            options.eps = trial % 4 == 2 ? eps : 0.0;
        }
        if (!options.bytes) options.precision = std::array{Precision::automatic, Precision::f64}[random.below(2)];
        if (options.eps != 0.0 && !options.bytes && random.below(3) == 0) options.precision = Precision::f32;
        const Job job = resolve_job(options);
        const auto start = start_job(job, hellos_of(clients));
        std::optional<MergeState> state;
        for (const auto& x : clients) {
            Upload upload = copy_of(x, job, start);
            const Ledger own{1, upload.rows, upload.norm2, upload.svd_tail2, upload.tt_tail2, 0};
            ASSERT_TRUE(is_consistent(upload.block.get(), own)) << "trial " << trial;
            Ledger larger = own;
            larger.norm2 *= 2;
            // Where a message lost most of what it was, nearly anything fits.
            if (own.norm2 > 0 && own.tt_tail2 < 0.01 * own.norm2) {
                ASSERT_FALSE(is_consistent(upload.block.get(), larger)) << "trial " << trial;
                ++doubled;
            }
            Merger node(job, features, start);
            if (state) node.add(std::move(*state));
            node.add(std::move(upload));
            state = node.state();
            ASSERT_TRUE(is_consistent(state->block, state->ledger)) << "trial " << trial;
            if (options.bytes) code_state_within(*state, 64 + static_cast<Index>(random.below(400)));
            if (!options.bytes && trial % 3 != 0) code_state(*state, eps * eps * state->ledger.norm2);
            ASSERT_TRUE(is_consistent(state->block, state->ledger)) << "trial " << trial;
        }
    }
    EXPECT_GT(doubled, 1000);
}

/// 32-bit numbers lose something of their own; the certified error has room for it.
TEST(MergerTest, FloatsKeepTheCertifiedError) {
    Random random(9);
    for (int trial = 0; trial < 60; ++trial) {
        const auto clients = random_federation(random);
        const double eps = trial % 2 == 0 ? 1e-6 : 2e-6 * std::pow(1e5, random.uniform());
        const Job job = resolve_job({.eps = eps, .precision = Precision::f32});
        const auto start = start_job(job, hellos_of(clients));
        Merger merger(job, feature_modes(clients.front().shape()), start);
        for (const auto& x : clients) merger.add(copy_of(x, job, start));
        const auto outcome = merger.finish();
        EXPECT_LE(outcome.rel_error_bound, eps) << trial;
        EXPECT_LE(std::sqrt(rse_with(clients, outcome.features)), outcome.rel_error_bound + 1e-12) << trial;
    }
}

}  // namespace
}  // namespace couplet
