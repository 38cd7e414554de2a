#include "couplet/ctt/merger.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "code_rows.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/numerical_rank.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/rounding.hpp"
#include "weighted_train.hpp"

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

// Of what the coordinator may lose, the merge's cut of rows takes this part at most; the message gets the rest. Where
// the rows are too many to be multiplied out the feature bonds share this part: the code cuts them better, but later.
constexpr double cut_share = 0.2;
constexpr double bond_share = 0.01;
// Half of eps2^2 is for the message, as half of eps1^2 is for each client's: together they stay below either.
constexpr double message_share = 0.5;

/// Rows that are orthogonal and fall in norm: the same rows, turned by their left singular vectors.
Matrix<double> turned_rows(const Matrix<double>& rows) {
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

Matrix<double> singular_rows(const FeatureBlock& block) {
    Matrix<double> rows(block.rows(), block.features().size());
    block.expand(rows.view());
    return turned_rows(rows);
}

/// The same for a block of too many numbers to be multiplied out: cores 2..N are right-orthonormal.
TensorTrain<double> singular_train(const FeatureBlock& block) {
    auto cores = right_orthonormalise(block_train(block)).train.release();
    const Shape shape = cores[0].shape();
    auto rows = turned_rows(Matrix<double>::adopt(std::move(cores[0]).release(), shape[0], shape[1] * shape[2]));
    const Index left = rows.rows();
    cores[0] = Tensor<double>({left, shape[1], shape[2]}, std::move(rows).release());
    return TensorTrain<double>(std::move(cores));
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

bool is_consistent(const FeatureBlock& block, const Ledger& ledger) {
    constexpr double rounding = 1e-6;    // of a norm
    constexpr double rounding2 = 1e-11;  // of squares: larger than gram_rounding() of any data
    const double slack2 = rounding2 * ledger.norm2;
    const double kept2 = ledger.norm2 - ledger.svd_tail2;
    const double sent = std::sqrt(block.squared_norm() + ledger.used2);
    const double lost = std::sqrt(ledger.tt_tail2) + rounding * std::sqrt(ledger.norm2);
    const double least = std::sqrt(std::max(0.0, kept2 - slack2));
    const double most = std::sqrt(std::max(0.0, kept2 + slack2));
    return block.rows() <= ledger.rows && ledger.svd_tail2 <= (1 + rounding) * ledger.norm2 && sent >= least - lost &&
           sent <= most + lost;
}

namespace {

/// Takes over a coded state and what it lost.
void replace_by(MergeState& state, CodedRows coded) {
    const double lost = std::sqrt(state.ledger.tt_tail2) + std::sqrt(coded.dropped2 + coded.error2);
    state.ledger.tt_tail2 = lost * lost;
    state.block = decoded_block(std::move(coded.code), std::move(coded.cores));
}

[[noreturn]] void refuse_budget(Index bytes) {
    throw InputError(
        {"budget", std::to_string(bytes) + " bytes for a message", "enough for one number", "Allow more bytes."});
}

void require_bytes(const BlockCode& code, Index bytes) {
    if (static_cast<Index>(code.bytes.size()) > bytes) refuse_budget(bytes);
}

std::shared_ptr<const BlockCode> zero_code_within(const Shape& features, Index bytes) {
    auto code = zero_code(features);
    require_bytes(*code, bytes);
    return code;
}

}  // namespace

void code_state(MergeState& state, double limit2) {
    const FeatureBlock& block = state.block;
    if (block.squared_norm() == 0) {
        state.block = decode_block(zero_code(block.features()));
        return;
    }
    auto coded = can_expand(block.rows(), block.features())
                     ? code_rows(singular_rows(block), block.features(), {limit2, limit2})
                     : code_train(singular_train(block), {limit2, limit2});
    if (coded) replace_by(state, std::move(*coded));
}

void code_state_within(MergeState& state, Index bytes) {
    const FeatureBlock& block = state.block;
    if (block.squared_norm() == 0) {
        state.block = decode_block(zero_code_within(block.features(), bytes));
        return;
    }
    auto coded = can_expand(block.rows(), block.features())
                     ? code_rows_within(singular_rows(block), block.features(), bytes)
                     : code_train_within(singular_train(block), bytes);
    if (!coded) refuse_budget(bytes);
    replace_by(state, std::move(*coded));
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

MergeCuts Merger::rank_cuts() const {
    MergeCuts cuts;
    cuts.max_rank = job_.rank.value_or(unlimited_rank);
    // A certified error decides by itself.
    if (job_.eps) return cuts;
    Index rows = 0;
    for (const auto& block : blocks_) rows += block.rows();
    cuts.noise = spread_noise(rows, features_.size(), std::sqrt(ledger_.tt_tail2));
    return cuts;
}

MergeCuts Merger::final_cuts() const {
    MergeCuts cuts = rank_cuts();
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
    const std::optional<Index> bytes =
        has_budget(job_) && !code_bytes ? star_code_bytes(job_, total_.clients, features_.order()) : code_bytes;
    const bool nothing =
        std::ranges::all_of(blocks_, [](const FeatureBlock& block) { return block.squared_norm() == 0; });
    if (nothing && job_.precision != Precision::f64) {
        const auto code = idle_code(features_);
        if (bytes) require_bytes(*code, *bytes);
        return {decode_features(code), ledger_, ledger_.rel_error_bound(0)};
    }
    if (has_budget(job_)) {
        if (auto coded = finish_within(*bytes)) return std::move(*coded);
    } else if (job_.precision == Precision::automatic) {
        if (auto coded = finish_coded()) return std::move(*coded);
    }
    return finish_exact();
}

namespace {

/// In 32-bit numbers; returns what they lose, as a square. Rounding knows nothing of right angles.
double round_to_floats(Merged& merged) {
    auto coded = float_block(FeatureBlock(weighted_train(merged.features)));
    merged.features = decoded_features(std::move(coded.code), std::move(coded.cores));
    const double lost = std::sqrt(merged.discarded2) + std::sqrt(coded.error2);
    merged.discarded2 = lost * lost;
    return coded.error2;
}

}  // namespace

Merger::Outcome Merger::finish_exact() {
    MergeCuts cuts = final_cuts();
    auto merged = merge_blocks(pointers(blocks_), cuts);
    if (job_.precision == Precision::f32) {
        const double rounding2 = round_to_floats(merged);
        if (job_.eps && ledger_.rel_error_bound(merged.discarded2) > *job_.eps) {
            // Once more, with room for the rounding.
            const double room = std::max(0.0, std::sqrt(cuts.budget2) - 2 * std::sqrt(rounding2));
            cuts.bond_tail2 *= cuts.budget2 > 0 ? room * room / cuts.budget2 : 0;
            cuts.budget2 = room * room;
            merged = merge_blocks(pointers(blocks_), cuts);
            round_to_floats(merged);
        }
    }
    return {std::move(merged.features), ledger_, ledger_.rel_error_bound(merged.discarded2)};
}

std::optional<Merger::Outcome> Merger::finish_coded() {
    const double budget2 = final_budget2() * (job_.eps ? 1 : message_share);
    if (!(budget2 > 0)) return std::nullopt;
    MergeCuts cuts = rank_cuts();
    Index rows = 0;
    for (const auto& block : blocks_) rows += block.rows();
    const double bonds2 = can_expand(std::min(rows, cuts.max_rank), features_) ? 0 : bond_share * budget2;
    cuts.bond_tail2 = bonds2 / static_cast<double>(std::max<Index>(1, features_.order() - 1));
    if (job_.eps) cuts.budget2 = cut_share * budget2;
    const auto merged = merge_blocks(pointers(blocks_), cuts);
    // With a rank alone what it cuts is not known beforehand and not part of the budget.
    const double cut2 = job_.eps ? std::max(0.0, merged.discarded2 - bonds2) : 0;
    const double message = std::sqrt(std::max(0.0, budget2 - cut2)) - std::sqrt(bonds2);
    const auto weighted = weighted_train(merged.features);
    const CodeLimits limits{message * message, message * message};
    auto coded = can_expand(weighted.left_rank(), features_) ? code_rows(expanded(weighted), features_, limits)
                                                             : code_train(weighted, limits);
    if (!coded) return std::nullopt;
    // What the feature bonds cut may point the same way as the error of the code.
    coded->error2 += 2 * std::sqrt(std::min(bonds2, merged.discarded2) * (coded->dropped2 + coded->error2));
    return coded_outcome(merged, std::move(*coded));
}

std::optional<Merger::Outcome> Merger::finish_within(Index bytes) {
    const auto merged = merge_blocks(pointers(blocks_), rank_cuts());
    const auto weighted = weighted_train(merged.features);
    auto coded = can_expand(weighted.left_rank(), features_) ? code_rows_within(expanded(weighted), features_, bytes)
                                                             : code_train_within(weighted, bytes);
    if (!coded) refuse_budget(bytes);
    return coded_outcome(merged, std::move(*coded));
}

Merger::Outcome Merger::coded_outcome(const Merged& merged, CodedRows coded) const {
    // S - U What = (S - U W) + U (W - What), at right angles where W = U^T S.
    const double lost2 = merged.discarded2 + coded.dropped2 + coded.error2;
    // A projection loses no more than everything.
    return {decoded_features(std::move(coded.code), std::move(coded.cores)), ledger_,
            std::min(1.0, ledger_.rel_error_bound(lost2))};
}

}  // namespace couplet
