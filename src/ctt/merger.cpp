#include "couplet/ctt/merger.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "code_rows.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"

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

// Of what the coordinator may lose, the merge's cuts take this part at most; the message gets the rest. Feature bonds
// share this part of it.
constexpr double cut_share = 0.2;
constexpr double bond_share = 0.05;
// Half of eps2^2 is for the message, as half of eps1^2 is for each client's: together they stay below either.
constexpr double message_share = 0.5;
// Rows up to this many numbers are multiplied out to be coded.
constexpr double dense_limit = 1 << 26;

/// diag(sigma) V^T.
TensorTrain<double> weighted_train(const Features& features) {
    std::vector<Tensor<double>> cores;
    for (Index n = 0; n < features.train.order(); ++n) cores.push_back(Tensor<double>::copy(features.train.core(n)));
    const Index width = cores[0].size() / cores[0].shape()[0];
    for (Index i = 0; i < cores[0].shape()[0]; ++i) {
        for (Index j = 0; j < width; ++j) cores[0].data()[i * width + j] *= features.sigma[static_cast<std::size_t>(i)];
    }
    return TensorTrain<double>(std::move(cores));
}

bool can_expand(const TensorTrain<double>& train) {
    return static_cast<double>(train.left_rank()) * static_cast<double>(train.shape().size()) <= dense_limit;
}

Matrix<double> expanded(const TensorTrain<double>& train) {
    return Matrix<double>::adopt(train.full().release(), train.left_rank(), train.shape().size());
}

/// Rows that are orthogonal and fall in norm: the same rows, turned by their left singular vectors.
Matrix<double> singular_rows(const FeatureBlock& block) {
    Matrix<double> rows(block.rows(), block.features().size());
    block.expand(rows.view());
    if (rows.rows() > rows.cols()) {
        const auto svd = truncated_svd<double>(rows.view(), {});
        auto turned = transpose(svd.v.view());
        for (Index i = 0; i < turned.rows(); ++i) {
            for (Index j = 0; j < turned.cols(); ++j) turned(i, j) *= svd.sigma[static_cast<std::size_t>(i)];
        }
        return turned;
    }
    const auto basis = dominant_basis<double>(rows.view(), Side::left, {});
    return product<double>(basis.vectors.view(), rows.view(), Op::transpose);
}

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

namespace {

/// Takes over a coded state and what it lost.
void replace_by(MergeState& state, const CodedRows& coded) {
    const double lost = std::sqrt(state.ledger.tt_tail2) + std::sqrt(coded.dropped2 + coded.error2);
    state.ledger.tt_tail2 = lost * lost;
    state.block = decode_block(coded.code);
}

bool can_expand(const FeatureBlock& block) {
    return static_cast<double>(block.rows()) * static_cast<double>(block.features().size()) <= dense_limit;
}

[[noreturn]] void refuse_budget(Index bytes) {
    throw InputError(
        {"budget", std::to_string(bytes) + " bytes for a message", "enough for one number", "Allow more bytes."});
}

}  // namespace

void code_state(MergeState& state, double limit2) {
    if (!can_expand(state.block)) return;
    const auto coded = code_rows(singular_rows(state.block), state.block.features(), {limit2, limit2});
    if (coded) replace_by(state, *coded);
}

void code_state_within(MergeState& state, Index bytes) {
    if (state.block.squared_norm() == 0) return;
    const auto coded = code_rows_within(singular_rows(state.block), state.block.features(), bytes);
    if (!coded) refuse_budget(bytes);
    replace_by(state, *coded);
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
                        (order > 2 || job_.precision == Precision::automatic ? limits.tt_eps : 0);
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
        cuts.budget2 = final_budget2();
        cuts.bond_tail2 = cuts.budget2 / 2 / bonds;
    } else {
        cuts.bond_tail2 = final_budget2() / bonds;
    }
    return cuts;
}

double Merger::final_budget2() const {
    if (job_.eps) {
        const double room = std::sqrt(std::max(0.0, *job_.eps * *job_.eps * ledger_.norm2 - ledger_.svd_tail2)) -
                            std::sqrt(ledger_.tt_tail2);
        return std::max(0.0, std::max(0.0, room) * std::max(0.0, room) - ledger_.used2);
    }
    double norm2 = 0;
    for (const auto& block : blocks_) norm2 += block.squared_norm();
    return job_.eps2 * job_.eps2 * norm2;
}

Merger::Outcome Merger::finish(std::optional<Index> code_bytes) {
    if (blocks_.empty()) throw InputError({"merge", "no uploads", "at least one", ""});
    if (has_budget(job_)) {
        if (auto coded = finish_within(code_bytes.value_or(star_code_bytes(job_, total_.clients, features_.order()))))
            return std::move(*coded);
    } else if (job_.precision == Precision::automatic) {
        if (auto coded = finish_coded()) return std::move(*coded);
    }
    return finish_exact();
}

Merger::Outcome Merger::finish_exact() {
    auto merged = merge_blocks(pointers(blocks_), final_cuts());
    if (job_.precision == Precision::f32) {
        const auto coded = float_block(FeatureBlock(weighted_train(merged.features)));
        merged.features = decode_features(coded.code);
        merged.discarded2 += coded.error2;
    }
    return {std::move(merged.features), ledger_, ledger_.rel_error_bound(merged.discarded2)};
}

std::optional<Merger::Outcome> Merger::finish_coded() {
    const double budget2 = final_budget2() * (job_.eps ? 1 : message_share);
    if (!(budget2 > 0)) return std::nullopt;
    MergeCuts cuts;
    cuts.max_rank = job_.rank.value_or(unlimited_rank);
    cuts.bond_tail2 = bond_share * budget2 / static_cast<double>(std::max<Index>(1, features_.order() - 1));
    if (job_.eps) cuts.budget2 = cut_share * budget2;
    const auto merged = merge_blocks(pointers(blocks_), cuts);
    // With a rank alone what it cuts is not known beforehand and not part of the budget.
    const double message2 = job_.eps ? budget2 - merged.discarded2 : (1 - bond_share) * budget2;
    const auto weighted = weighted_train(merged.features);
    const CodeLimits limits{message2, message2};
    const auto coded =
        can_expand(weighted) ? code_rows(expanded(weighted), features_, limits) : code_train(weighted, limits);
    if (!coded) return std::nullopt;
    return coded_outcome(merged, *coded);
}

std::optional<Merger::Outcome> Merger::finish_within(Index bytes) {
    if (ledger_.norm2 == 0) return std::nullopt;
    MergeCuts cuts;
    cuts.max_rank = job_.rank.value_or(unlimited_rank);
    const auto merged = merge_blocks(pointers(blocks_), cuts);
    const auto weighted = weighted_train(merged.features);
    const auto coded = can_expand(weighted) ? code_rows_within(expanded(weighted), features_, bytes)
                                            : code_train_within(weighted, bytes);
    if (!coded) refuse_budget(bytes);
    return coded_outcome(merged, *coded);
}

Merger::Outcome Merger::coded_outcome(const Merged& merged, const CodedRows& coded) const {
    // Both are parts of the rows that lie outside what is decoded, at right angles to one another.
    const double lost2 = merged.discarded2 + coded.dropped2 + coded.error2;
    // A projection loses no more than everything.
    return {decode_features(coded.code), ledger_, std::min(1.0, ledger_.rel_error_bound(lost2))};
}

}  // namespace couplet
