#include "couplet/ctt/merger.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

// Uploads wait until merging them is worth a decomposition: this many rows and several times the state, so that few
// clients merge in one go, or this many numbers (32 MiB).
constexpr Index flush_rows = 128;
constexpr Index flush_factor = 8;
constexpr Index flush_numbers = Index{1} << 22;
constexpr Index least_rows = 32;
// Intermediate states of a fixed rank keep 2 R1 + 10 rows: keeping R1 alone cost up to 10%, this at most 1.2%.
constexpr Index extra_rows = 10;

std::vector<const FeatureBlock*> pointers(const std::vector<FeatureBlock>& blocks) {
    std::vector<const FeatureBlock*> result;
    result.reserve(blocks.size());
    for (const auto& block : blocks) result.push_back(&block);
    return result;
}

}  // namespace

void Ledger::add(const Ledger& other) {
    clients += other.clients;
    rows += other.rows;
    norm2 += other.norm2;
    svd_tail2 += other.svd_tail2;
    tt_tail2 += other.tt_tail2;
    used2 += other.used2;
}

double Ledger::rel_error_bound(double final_cut2) const {
    if (norm2 == 0) return 0;
    // Nothing is computed exactly: what was cut is known to a few roundings of the norm for every client merged.
    constexpr double rounding = 32 * std::numeric_limits<double>::epsilon();
    const double server = std::sqrt(tt_tail2) + std::sqrt(used2 + final_cut2);
    return std::sqrt((svd_tail2 + server * server) / norm2) + rounding * std::sqrt(static_cast<double>(clients));
}

Merger::Merger(const Job& job, Shape features, const Start& total)
    : job_(job), features_(std::move(features)), total_(total) {}

void Merger::require_features(const FeatureBlock& block) const {
    if (block.features() == features_) return;
    throw InputError({"upload", "feature modes " + block.features().to_string(), features_.to_string(), ""});
}

void Merger::add(Upload upload) {
    require_features(upload.block.get());
    ledger_.add({1, upload.rows, upload.norm2, upload.svd_tail2, upload.tt_tail2, 0});
    buffer(std::move(upload.block).take());
}

void Merger::add(MergeState state) {
    require_features(state.block);
    ledger_.add(state.ledger);
    buffer(state.block.is_dense() ? std::move(state.block) : FeatureBlock(block_train(state.block)));
}

void Merger::buffer(FeatureBlock block) {
    buffered_rows_ += block.rows();
    buffered_numbers_ += block.numbers();
    blocks_.push_back(std::move(block));
    const Index state_rows = blocks_.front().rows();
    const bool many = buffered_rows_ >= std::max(flush_rows, flush_factor * state_rows);
    const bool large = buffered_numbers_ >= flush_numbers && buffered_rows_ >= std::max(least_rows, 2 * state_rows);
    if (many || large) flush();
}

double Merger::planned_budget2() const {
    if (!job_.eps) return 0;
    // Clients stay within their limits, so the worst they can use of eps^2 is known beforehand; the difference to the
    // achieved tails is spent at the end.
    const Index order = features_.order() + 1;
    const Hello everybody{features_, std::max<Index>(1, total_.rows), std::max(total_.norm2, 1e-300)};
    const auto limits = client_limits(job_, everybody, {total_.clients, everybody.rows, everybody.norm2});
    const double rest = std::sqrt(std::max(0.0, *job_.eps * *job_.eps - limits.svd_eps * limits.svd_eps)) -
                        (order > 2 ? limits.tt_eps : 0);
    return std::max(0.0, rest) * std::max(0.0, rest) * total_.norm2;
}

void Merger::flush() {
    if (blocks_.size() < 2) return;
    MergeCuts cuts;
    if (job_.eps) {
        const double share = total_.norm2 > 0 ? std::min(1.0, ledger_.norm2 / total_.norm2) : 0;
        cuts.budget2 = std::max(0.0, planned_budget2() * share / 2 - ledger_.used2);
    } else if (job_.rank) {
        cuts.max_rank = 2 * *job_.rank + extra_rows;
    }
    auto compressed = compress_rows(pointers(blocks_), cuts);
    ledger_.used2 += compressed.discarded2;
    blocks_.clear();
    blocks_.push_back(std::move(compressed.block));
    buffered_rows_ = blocks_.front().rows();
    buffered_numbers_ = 0;
}

MergeState Merger::state() {
    if (blocks_.empty()) throw InputError({"merge", "no uploads", "at least one", ""});
    flush();
    return {blocks_.front().clone(), ledger_};
}

MergeCuts Merger::final_cuts() const {
    MergeCuts cuts;
    cuts.max_rank = job_.rank.value_or(unlimited_rank);
    const double bonds = static_cast<double>(std::max<Index>(1, features_.order() - 1));
    if (job_.eps) {
        const double room = std::sqrt(std::max(0.0, *job_.eps * *job_.eps * ledger_.norm2 - ledger_.svd_tail2)) -
                            std::sqrt(ledger_.tt_tail2);
        cuts.budget2 = std::max(0.0, std::max(0.0, room) * std::max(0.0, room) - ledger_.used2);
        cuts.bond_tail2 = cuts.budget2 / 2 / bonds;
        return cuts;
    }
    double norm2 = 0;
    for (const auto& block : blocks_) norm2 += block.squared_norm();
    cuts.bond_tail2 = job_.eps2 * job_.eps2 * norm2 / bonds;
    return cuts;
}

Merger::Outcome Merger::finish() {
    if (blocks_.empty()) throw InputError({"merge", "no uploads", "at least one", ""});
    auto merged = merge_blocks(pointers(blocks_), final_cuts());
    return {std::move(merged.features), ledger_, ledger_.rel_error_bound(merged.discarded2)};
}

}  // namespace couplet
