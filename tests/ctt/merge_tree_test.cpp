#include "couplet/ctt/merge_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "couplet/core/error.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

Clients many(Index count) { return population(count, {12, 6, 5}, 5, 0.8, 0.1); }

Merger::Outcome merge_in_tree(const Clients& clients, const Job& job, Index width, bool backwards = false) {
    const auto start = start_job(job, hellos_of(clients));
    const auto count = static_cast<Index>(clients.size());
    MergeTree tree(job, feature_modes(clients.front().shape()), start, count, width);
    for (Index i = 0; i < count; ++i) {
        const Index k = backwards ? count - 1 - i : i;
        const auto& x = clients[static_cast<std::size_t>(k)];
        tree.add(k, compress_client(x.view(), client_limits(job, hello_of(x), start)));
    }
    return tree.finish();
}

Merger::Outcome merge_in_one(const Clients& clients, const Job& job) {
    const auto start = start_job(job, hellos_of(clients));
    Merger merger(job, feature_modes(clients.front().shape()), start);
    for (const auto& x : clients) merger.add(compress_client(x.view(), client_limits(job, hello_of(x), start)));
    return merger.finish();
}

bool same_bits(const Features& a, const Features& b) {
    if (a.train.ranks() != b.train.ranks()) return false;
    for (Index n = 0; n < a.train.order(); ++n) {
        const auto x = a.train.core(n).unfold(0);
        const auto y = b.train.core(n).unfold(0);
        for (Index i = 0; i < x.rows; ++i) {
            for (Index j = 0; j < x.cols; ++j) {
                if (x(i, j) != y(i, j)) return false;
            }
        }
    }
    return true;
}

TEST(MergeTreeTest, BitsFollowFromTheOrderOfTheClientsNotOfTheirArrival) {
    const Clients clients = many(37);
    for (const JobOptions& how : {JobOptions{.rank = 4}, JobOptions{.eps = 0.2}}) {
        const Job job = resolve_job(how);
        const auto forwards = merge_in_tree(clients, job, 3);
        const auto backwards = merge_in_tree(clients, job, 3, true);
        EXPECT_TRUE(same_bits(forwards.features, backwards.features));
        EXPECT_EQ(forwards.rel_error_bound, backwards.rel_error_bound);
        EXPECT_EQ(forwards.ledger.clients, 37);
    }
}

TEST(MergeTreeTest, TheCertificateHoldsAndIsKept) {
    const Clients clients = many(29);
    for (const Index width : {2, 4, 28}) {
        for (const double eps : {0.4, 0.1, 0.01}) {
            const auto outcome = merge_in_tree(clients, resolve_job({.eps = eps}), width);
            EXPECT_LE(std::sqrt(rse_with(clients, outcome.features)), outcome.rel_error_bound + 1e-12);
            EXPECT_LE(outcome.rel_error_bound, eps * (1 + 1e-9));
        }
    }
}

TEST(MergeTreeTest, FeaturesOfARankFitAsThoseOfOneMerger) {
    const Clients clients = many(40);
    for (const Index rank : {2, 4}) {
        const Job job = resolve_job({.rank = rank});
        const double flat = rse_with(clients, merge_in_one(clients, job).features);
        const auto outcome = merge_in_tree(clients, job, 4);
        const double tree = rse_with(clients, outcome.features);
        EXPECT_LE(outcome.features.train.left_rank(), rank);
        // Cuts in between keep 2 R1 + 10 rows.
        EXPECT_LE(tree, 1.02 * flat);
        EXPECT_LE(std::sqrt(tree), outcome.rel_error_bound + 1e-12);
    }
}

TEST(MergeTreeTest, CountsItsMergers) {
    const Clients clients = many(1);
    const Job job = resolve_job({.rank = 2});
    const auto start = start_job(job, hellos_of(clients));
    const Shape features = feature_modes(clients.front().shape());
    EXPECT_EQ(MergeTree(job, features, start, 1000, 32).mergers(), 32 + 1);
    EXPECT_EQ(MergeTree(job, features, start, 1000, 10).mergers(), 100 + 10 + 1);
    EXPECT_EQ(MergeTree(job, features, start, 5, 4).mergers(), 2 + 1);
}

TEST(MergeTreeTest, RefusesToBeginWithOneAndToEndWithoutAll) {
    const Clients clients = many(3);
    const Job job = resolve_job({.rank = 2});
    const auto start = start_job(job, hellos_of(clients));
    const Shape features = feature_modes(clients.front().shape());
    EXPECT_THROW(MergeTree(job, features, start, 3, 1), InputError);
    MergeTree tree(job, features, start, 3, 2);
    EXPECT_THROW(tree.finish(), InputError);
    tree.add(1, compress_client(clients[1].view(), client_limits(job, hello_of(clients[1]), start)));
    tree.add(2, compress_client(clients[2].view(), client_limits(job, hello_of(clients[2]), start)));
    EXPECT_THROW(tree.finish(), InputError);
    tree.add(0, compress_client(clients[0].view(), client_limits(job, hello_of(clients[0]), start)));
    EXPECT_EQ(tree.finish().ledger.clients, 3);
}

}  // namespace
}  // namespace couplet
