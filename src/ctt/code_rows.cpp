#include "code_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <sstream>
#include <utility>

#include "core_layout.hpp"
#include "couplet/coding/quantise.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/arithmetic.hpp"

namespace couplet {
namespace {

// Part of the squared error that the bonds of a train may cut before it is quantised; small: the step cuts better.
constexpr double bond_share = 0.09;
// A train is worth a try when it has fewer numbers than this part of the dense rows: most of them are small.
constexpr double worth_trying = 1.5;
// The search ends when this part of the allowed error is used.
constexpr double close_enough = 0.975;
constexpr int most_probes = 16;
// Of two forms whose weights differ by this factor the heavier one takes more bytes.
constexpr double clearly_more = 1.5;
constexpr Index any_bytes = std::numeric_limits<Index>::max();

struct Loss {
    double dropped2 = 0;
    double error2 = 0;
};

/// How far beyond the limits, as a ratio of errors; at most 1: within.
double excess(const Loss& loss, const CodeLimits& limits) {
    return std::sqrt(std::max((loss.dropped2 + loss.error2) / limits.total2, loss.error2 / limits.error2));
}

/// The largest step found whose loss is within the limits; `probe` is called last with that step. The error grows about
/// as the step does, so that a few probes suffice.
template <class F>
std::optional<Loss> search_step(const CodeLimits& limits, double start, double least, double most, F probe) {
    double low = 0;
    double high = std::numeric_limits<double>::infinity();
    double step = std::clamp(start, least, most);
    Loss best;
    bool last_is_best = false;
    for (int i = 0; i < most_probes; ++i) {
        const Loss loss = probe(step);
        const double ratio = excess(loss, limits);
        last_is_best = ratio <= 1;
        if (last_is_best) {
            low = step;
            best = loss;
            if (ratio >= close_enough || step >= most) break;
        } else {
            high = step;
            if (step <= least) return std::nullopt;
        }
        step *= std::clamp(0.995 / std::max(ratio, 1e-3), 0.05, 20.0);
        if (low > 0 && std::isfinite(high) && (step <= low || step >= high)) step = std::sqrt(low * high);
        step = std::clamp(step, least, most);
    }
    if (low == 0) return std::nullopt;
    if (!last_is_best) best = probe(low);
    return best;
}

/// The step near `step`, within the bounds, at which the integers have this weight.
template <class Coder>
double step_of_weight(Coder& coder, double weight, double step, double low, double high) {
    constexpr int most_guesses = 8;
    constexpr double near_enough = 0.01;
    for (int i = 0; i < most_guesses; ++i) {
        step = std::clamp(step, low, high);
        coder.set_step(step);
        const double ratio = coder.weight() / weight;
        if (std::abs(ratio - 1) < near_enough) break;
        (ratio > 1 ? low : high) = step;
        const double guess = step * std::clamp(std::pow(ratio, 1.3), 0.05, 20.0);
        step = guess > low && guess < high ? guess : std::sqrt(low * high);
    }
    return step;
}

/// The smallest step found whose code has at most so many bytes; nothing when there is none. Integers are weighed to
/// find it, and coded a few times to learn what their weight means.
template <class Coder>
std::optional<CodedRows> search_bytes(Coder& coder, Index bytes, double start, double least, double most) {
    constexpr int most_codes = 8;
    const auto room = static_cast<double>(bytes);
    double per_weight = 0.125;
    double step = start;
    double low = least;
    std::optional<CodedRows> best;
    for (int i = 0; i < most_codes; ++i) {
        step = step_of_weight(coder, 0.985 * room / per_weight, step, low, most);
        coder.set_step(step);
        if (!coder.possible()) return best;
        auto coded = coder.coded();
        const auto used = static_cast<double>(coded.code->bytes.size());
        per_weight = used / coder.weight();
        if (used > room) {
            low = step;
            if (step >= most) return best;
            continue;
        }
        const bool finest = step <= least;
        best = std::move(coded);
        if (used >= close_enough * room || finest) break;
    }
    return best;
}

double max_number(std::span<const double> numbers) {
    double largest = 0;
    for (const double number : numbers) largest = std::max(largest, std::abs(number));
    return largest;
}

double squared_distance(const double* x, const double* y, Index count) {
    constexpr Index lanes = 8;  // side by side: a sum alone would wait for itself at every number
    double sums[lanes] = {};
    Index j = 0;
    for (; j + lanes <= count; j += lanes) {
        for (Index l = 0; l < lanes; ++l) sums[l] += (x[j + l] - y[j + l]) * (x[j + l] - y[j + l]);
    }
    for (; j < count; ++j) sums[0] += (x[j] - y[j]) * (x[j] - y[j]);
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

/// Below it an integer would need more than 30 bits; from the norm, so that it holds for every core.
double least_step_of(double norm) { return norm * 0x1p-30; }
/// With a larger step nothing would be left.
double most_step_of(double largest) { return 0.99 * largest / (1 - rounding_offset); }

double start_step(const CodeLimits& limits, Index numbers) {
    return std::sqrt(12 * std::min(limits.error2, limits.total2) / static_cast<double>(numbers));
}

class DenseCoder {
  public:
    DenseCoder(const Matrix<double>& rows, const Shape& features)
        : rows_(rows), features_(features), q_(static_cast<std::size_t>(rows.size())) {}

    Loss probe(double step) {
        set_step(step);
        return loss_;
    }
    double weight() const {
        double sum = 0;
        const auto cols = static_cast<std::size_t>(rows_.cols());
        for (const Index i : kept_)
            sum += integer_weight(std::span(q_).subspan(static_cast<std::size_t>(i) * cols, cols));
        return sum;
    }

    void set_step(double step) {
        step_ = step;
        kept_.clear();
        loss_ = {};
        Loss& loss = loss_;
        const Index cols = rows_.cols();
        for (Index i = 0; i < rows_.rows(); ++i) {
            const std::span<const double> row(rows_.view().row(i), static_cast<std::size_t>(cols));
            const auto q = std::span(q_).subspan(static_cast<std::size_t>(i * cols), row.size());
            const auto [error2, zero] = quantise_measured(row, step, q);
            (zero ? loss.dropped2 : loss.error2) += error2;
            if (!zero) kept_.push_back(i);
        }
    }

    bool possible() const { return !kept_.empty(); }

    CodedRows coded() const { return *coded_within(any_bytes); }
    std::optional<CodedRows> coded_within(Index bytes) const {
        BlockCode code{BlockCode::Kind::integers, static_cast<Index>(kept_.size()), features_, {}, step_, {}};
        std::vector<std::int32_t> q;
        q.reserve(kept_.size() * static_cast<std::size_t>(rows_.cols()));
        const auto cols = static_cast<std::ptrdiff_t>(rows_.cols());
        for (const Index i : kept_) q.insert(q.end(), q_.begin() + i * cols, q_.begin() + (i + 1) * cols);
        const IntegerMatrix<const std::int32_t> matrix{{q.data(), code.rows, rows_.cols()}, code_inner(code)};
        auto encoded = encode_integers_within(std::span(&matrix, 1), bytes);
        if (!encoded) return std::nullopt;
        code.bytes = std::move(*encoded);
        std::vector<Tensor<double>> decoded;
        decoded.emplace_back(Shape{code.rows, rows_.cols(), 1});
        dequantise(q, step_, decoded.front().elements());
        return CodedRows{std::make_shared<const BlockCode>(std::move(code)), kept_, loss_.dropped2, loss_.error2,
                         std::move(decoded)};
    }

  private:
    const Matrix<double>& rows_;
    const Shape& features_;
    std::vector<std::int32_t> q_;
    std::vector<Index> kept_;
    Loss loss_;
    double step_ = 0;
};

/// Which of `count` slices have a number that is not zero.
template <class Nonzero>
std::vector<Index> slices_left(Index count, Nonzero nonzero) {
    std::vector<Index> left;
    for (Index k = 0; k < count; ++k) {
        if (nonzero(k)) left.push_back(k);
    }
    return left;
}

/// Integers of a core, in its own order.
struct IntegerCore {
    Shape shape;
    std::vector<std::int32_t> q;

    bool row_is_zero(Index l) const {
        const auto width = static_cast<std::ptrdiff_t>(shape[1] * shape[2]);
        return std::all_of(q.begin() + l * width, q.begin() + (l + 1) * width, [](std::int32_t v) { return v == 0; });
    }
    bool column_is_zero(Index r) const {
        for (auto at = static_cast<std::size_t>(r); at < q.size(); at += static_cast<std::size_t>(shape[2])) {
            if (q[at] != 0) return false;
        }
        return true;
    }
    /// Only these rows and columns.
    IntegerCore with(const std::vector<Index>& rows, const std::vector<Index>& columns) && {
        if (static_cast<Index>(rows.size()) == shape[0] && static_cast<Index>(columns.size()) == shape[2]) {
            return std::move(*this);
        }
        IntegerCore result{Shape{static_cast<Index>(rows.size()), shape[1], static_cast<Index>(columns.size())}, {}};
        for (const Index l : rows) {
            for (Index i = 0; i < shape[1]; ++i) {
                for (const Index r : columns) {
                    result.q.push_back(q[static_cast<std::size_t>((l * shape[1] + i) * shape[2] + r)]);
                }
            }
        }
        return result;
    }
};

std::vector<Index> everything(Index count) {
    return slices_left(count, [](Index) { return true; });
}

class TrainCoder {
  public:
    /// `rows` is the train multiplied out, or what it approximates: what the error is measured against. None: the
    /// train.
    TrainCoder(const TensorTrain<double>& train, const Matrix<double>* rows) : train_(train), rows_(rows) {}

    Loss probe(double step) {
        set_step(step);
        loss_ = loss();
        return *loss_;
    }
    double weight() const {
        double sum = 0;
        for (const IntegerCore& core : cores_) sum += integer_weight(core.q);
        return sum;
    }

    void set_step(double step) {
        step_ = step;
        loss_.reset();
        cores_.clear();
        decoded_.clear();
        std::vector<Tensor<double>>& decoded = decoded_;
        SliceSteps steps(step);
        std::vector<Index> left = everything(train_.left_rank());
        for (Index n = 0; n < train_.order(); ++n) {
            IntegerCore core = quantised(n, left, steps);
            const auto rows = n == 0 ? slices_left(core.shape[0], [&](Index l) { return !core.row_is_zero(l); })
                                     : everything(core.shape[0]);
            auto columns = slices_left(core.shape[2], [&](Index r) { return !core.column_is_zero(r); });
            if (rows.empty() || columns.empty()) {
                // Everything became zero.
                kept_.clear();
                cores_.clear();
                return;
            }
            if (n == 0) kept_ = rows;
            cores_.push_back(std::move(core).with(rows, columns));
            decoded.push_back(dequantised(cores_.back(), steps));
            steps.pass(decoded.back().view());
            left = std::move(columns);
        }
    }

    /// Whether what is left is a train that a receiver accepts: ranks that bound their neighbours. Rows that vanish may
    /// leave a bond larger than it can be; dense rows are smaller then.
    bool possible() const {
        if (static_cast<Index>(cores_.size()) != train_.order()) return false;
        return std::ranges::all_of(cores_, [](const IntegerCore& core) {
            return core.shape[2] <= core.shape[0] * core.shape[1] && core.shape[0] <= core.shape[1] * core.shape[2];
        });
    }

    CodedRows coded() const { return *coded_within(any_bytes); }
    std::optional<CodedRows> coded_within(Index bytes) const {
        BlockCode code{BlockCode::Kind::integers, cores_.front().shape[0], train_.shape(), {}, step_, {}};
        std::vector<std::vector<std::int32_t>> laid_out;
        std::vector<IntegerMatrix<const std::int32_t>> matrices;
        for (const IntegerCore& core : cores_) {
            code.ranks.push_back(core.shape[0]);
            const CoreLayout layout(core.shape, 0);
            std::vector<std::int32_t> q(core.q.size());
            auto from = core.q.begin();
            for (Index l = 0; l < core.shape[0]; ++l) {
                for (Index i = 0; i < core.shape[1]; ++i) {
                    for (Index r = 0; r < core.shape[2]; ++r) q[static_cast<std::size_t>(layout.at(l, i, r))] = *from++;
                }
            }
            laid_out.push_back(std::move(q));
            matrices.push_back(layout.matrix<const std::int32_t>(laid_out.back().data()));
        }
        code.ranks.push_back(1);
        auto encoded = encode_integers_within(matrices, bytes);
        if (!encoded) return std::nullopt;
        code.bytes = std::move(*encoded);
        const Loss lost = loss_ ? *loss_ : loss();
        return CodedRows{std::make_shared<const BlockCode>(std::move(code)), kept_, lost.dropped2, lost.error2,
                         decoded_cores()};
    }

  private:
    /// Core n, only the slices `left` of it, at their steps.
    IntegerCore quantised(Index n, const std::vector<Index>& left, const SliceSteps& steps) const {
        const auto core = train_.core(n);
        const auto width = static_cast<std::size_t>(core.shape()[1] * core.shape()[2]);
        IntegerCore result{Shape{static_cast<Index>(left.size()), core.shape()[1], core.shape()[2]}, {}};
        result.q.resize(left.size() * width);
        for (std::size_t k = 0; k < left.size(); ++k) {
            const std::span<const double> slice(core.data() + left[k] * static_cast<Index>(width), width);
            const double step = steps.of(static_cast<Index>(k));
            if (step > 0) quantise(slice, step, std::span(result.q).subspan(k * width, width));
        }
        return result;
    }
    static Tensor<double> dequantised(const IntegerCore& core, const SliceSteps& steps) {
        Tensor<double> result(core.shape);
        const auto width = static_cast<std::size_t>(core.shape[1] * core.shape[2]);
        for (Index l = 0; l < core.shape[0]; ++l) {
            const auto at = static_cast<std::size_t>(l) * width;
            const double step = steps.of(l);
            if (step == 0) {
                std::fill_n(result.data() + at, width, 0.0);
            } else {
                dequantise(std::span(core.q).subspan(at, width), step, result.elements().subspan(at, width));
            }
        }
        return result;
    }
    std::vector<Tensor<double>> decoded_cores() const {
        std::vector<Tensor<double>> cores;
        for (const auto& core : decoded_) cores.push_back(Tensor<double>::copy(core.view()));
        return cores;
    }
    Loss loss() const {
        if (static_cast<Index>(cores_.size()) == train_.order()) {
            return measured(TensorTrain<double>(decoded_cores()));
        }
        Loss all;
        for (Index i = 0; i < train_.left_rank(); ++i) all.error2 += row2(i);
        return all;
    }
    /// Squared norm of a row: the other cores are orthonormal.
    double row2(Index i) const { return squared_norm<double>(train_.right_unfolding(0).rows_from(i, 1)); }

    Loss measured(const TensorTrain<double>& decoded) const {
        Loss loss;
        const auto dropped = [&](Index i) { return !std::ranges::binary_search(kept_, i); };
        if (rows_ == nullptr) {
            for (Index i = 0; i < train_.left_rank(); ++i) {
                if (dropped(i)) loss.dropped2 += row2(i);
            }
            const double distance = norm(add(kept_rows(), scale(decoded, -1.0)));
            loss.error2 = distance * distance;
            return loss;
        }
        const auto full = decoded.full();
        const Index cols = rows_->cols();
        for (Index i = 0, k = 0; i < rows_->rows(); ++i) {
            const double* row = rows_->view().row(i);
            if (dropped(i)) {
                loss.dropped2 += squared_norm<double>(rows_->view().rows_from(i, 1));
            } else {
                loss.error2 += squared_distance(row, full.data() + k++ * cols, cols);
            }
        }
        return loss;
    }
    TensorTrain<double> kept_rows() const {
        std::vector<Tensor<double>> cores;
        const auto first = train_.right_unfolding(0);
        Tensor<double> rows(Shape{static_cast<Index>(kept_.size()), train_.shape()[0], train_.ranks()[1]});
        for (std::size_t k = 0; k < kept_.size(); ++k) {
            std::copy_n(first.row(kept_[k]), first.cols, rows.data() + static_cast<Index>(k) * first.cols);
        }
        cores.push_back(std::move(rows));
        for (Index n = 1; n < train_.order(); ++n) cores.push_back(Tensor<double>::copy(train_.core(n)));
        return TensorTrain<double>(std::move(cores));
    }

    const TensorTrain<double>& train_;
    const Matrix<double>* rows_;
    std::vector<IntegerCore> cores_;
    std::vector<Tensor<double>> decoded_;
    std::vector<Index> kept_;
    std::optional<Loss> loss_;  ///< where it was measured at this step
    double step_ = 0;
};

/// Rows as a train whose first core carries the norm, by an SVD at every bond from the last, each of which may cut so
/// much. Bases by falling weight, which is what the coder likes.
TensorTrain<double> decompose(const Matrix<double>& rows, const Shape& features, double bond_tail2) {
    auto rest = Matrix<double>::copy(rows.view());
    std::vector<Tensor<double>> cores;
    Index right = 1;
    for (Index n = features.order(); n-- > 1;) {
        const Index cols = features[n] * right;
        rest.reshape(rest.size() / cols, cols);
        const auto basis = dominant_basis<double>(rest.view(), Side::right, {.max_tail = std::sqrt(bond_tail2)});
        rest = product<double>(rest.view(), basis.vectors.view());
        const Index rank = basis.vectors.cols();
        cores.emplace_back(Shape{rank, features[n], right}, transpose(basis.vectors.view()).release());
        right = rank;
    }
    cores.emplace_back(Shape{rows.rows(), features[0], right}, std::move(rest).release());
    std::ranges::reverse(cores);
    return TensorTrain<double>(std::move(cores));
}

/// Leaves the coder at the largest step within the limits; false: there is none.
template <class Coder>
bool settle(Coder& coder, const CodeLimits& limits, Index numbers, double norm, double largest) {
    const double least = least_step_of(norm);
    const double most = most_step_of(largest);
    if (!(most > least)) return false;
    const auto loss =
        search_step(limits, start_step(limits, numbers), least, most, [&](double step) { return coder.probe(step); });
    return loss && coder.possible();
}

/// Steps for a few bits a number where there is room for them.
double start_for_bytes(double norm, Index numbers, Index bytes) {
    const double bits = 8 * static_cast<double>(bytes) / static_cast<double>(numbers);
    return norm / std::sqrt(static_cast<double>(numbers)) * std::exp2(std::clamp(2 - bits, -20.0, 8.0));
}

template <class Coder>
std::optional<CodedRows> search_within(Coder coder, Index bytes, Index numbers, double norm, double largest) {
    const double least = least_step_of(norm);
    const double most = most_step_of(largest);
    if (!(most > least)) return std::nullopt;
    return search_bytes(coder, bytes, start_for_bytes(norm, numbers, bytes), least, most);
}

bool settle_train(TrainCoder& coder, const TensorTrain<double>& train, const CodeLimits& limits, double norm) {
    const auto first = train.core(0);
    const double largest = max_number({first.data(), static_cast<std::size_t>(first.size())});
    return settle(coder, limits, train.parameters(), norm, largest);
}

std::optional<CodedRows> train_within(const TensorTrain<double>& train, const Matrix<double>* rows, Index bytes,
                                      double norm) {
    const auto first = train.core(0);
    const double largest = max_number({first.data(), static_cast<std::size_t>(first.size())});
    return search_within(TrainCoder(train, rows), bytes, train.parameters(), norm, largest);
}

/// What takes fewer bytes; the first is coded to the end.
template <class First, class Second>
CodedRows smaller_code(const First& first, const Second& second) {
    auto best = first.coded();
    auto other = second.coded_within(static_cast<Index>(best.code->bytes.size()) - 1);
    return other ? std::move(*other) : std::move(best);
}

double lost2(const CodedRows& coded) { return coded.dropped2 + coded.error2; }

bool possible(const CodeLimits& limits) { return limits.total2 > 0 && limits.error2 > 0; }

}  // namespace

std::optional<CodedRows> code_rows(const Matrix<double>& rows, const Shape& features, const CodeLimits& limits) {
    const double norm = std::sqrt(squared_norm<double>(rows.view()));
    if (!possible(limits) || norm == 0) return std::nullopt;
    const double largest = max_number({rows.data(), static_cast<std::size_t>(rows.size())});
    DenseCoder dense(rows, features);
    const bool dense_fits = settle(dense, limits, rows.size(), norm, largest);
    const auto only_dense = [&] { return dense_fits ? std::optional(dense.coded()) : std::nullopt; };
    if (features.order() < 2) return only_dense();
    const double allowed2 = std::min(limits.total2, limits.error2);
    const auto train = decompose(rows, features, bond_share * allowed2 / static_cast<double>(features.order() - 1));
    if (static_cast<double>(train.parameters()) > worth_trying * static_cast<double>(rows.size())) return only_dense();
    TrainCoder cores(train, &rows);
    if (!settle_train(cores, train, limits, norm)) return only_dense();
    // Coding takes the time; what is clearly the larger is not coded.
    if (!dense_fits || dense.weight() > clearly_more * cores.weight()) return cores.coded();
    if (cores.weight() > clearly_more * dense.weight()) return dense.coded();
    return cores.weight() < dense.weight() ? smaller_code(cores, dense) : smaller_code(dense, cores);
}

std::optional<CodedRows> code_train(const TensorTrain<double>& train, const CodeLimits& limits) {
    const double norm = std::sqrt(squared_norm<double>(train.right_unfolding(0)));
    if (!possible(limits) || norm == 0) return std::nullopt;
    TrainCoder cores(train, nullptr);
    return settle_train(cores, train, limits, norm) ? std::optional(cores.coded()) : std::nullopt;
}

std::optional<CodedRows> code_rows_within(const Matrix<double>& rows, const Shape& features, Index bytes) {
    const double norm = std::sqrt(squared_norm<double>(rows.view()));
    if (norm == 0 || bytes < 1) return std::nullopt;
    const double largest = max_number({rows.data(), static_cast<std::size_t>(rows.size())});
    auto dense = search_within(DenseCoder(rows, features), bytes, rows.size(), norm, largest);
    if (features.order() < 2) return dense;
    const double allowed2 = dense ? lost2(*dense) : norm * norm / 4;
    const auto train = decompose(rows, features, bond_share * allowed2 / static_cast<double>(features.order() - 1));
    if (static_cast<double>(train.parameters()) > worth_trying * static_cast<double>(rows.size())) return dense;
    auto cores = train_within(train, &rows, bytes, norm);
    // With steps as large as its numbers a train may be worse than nothing; rows never are.
    const double most = dense ? lost2(*dense) : norm * norm;
    return cores && lost2(*cores) < most ? std::move(cores) : std::move(dense);
}

std::optional<CodedRows> code_train_within(const TensorTrain<double>& train, Index bytes) {
    const double norm = std::sqrt(squared_norm<double>(train.right_unfolding(0)));
    if (norm == 0 || bytes < 1) return std::nullopt;
    auto cores = train_within(train, nullptr, bytes, norm);
    return cores && lost2(*cores) < norm * norm ? std::move(cores) : std::nullopt;
}

namespace {

/// A single row whose first number is this many steps, the others 0.
std::shared_ptr<const BlockCode> single_row(const Shape& features, std::int32_t first, double step) {
    std::vector<std::int32_t> q(static_cast<std::size_t>(features.size()), 0);
    q.front() = first;
    BlockCode code{BlockCode::Kind::integers, 1, features, {}, step, {}};
    code.bytes = encode_integers({q.data(), 1, features.size()}, code_inner(code));
    return std::make_shared<const BlockCode>(std::move(code));
}

}  // namespace

std::shared_ptr<const BlockCode> zero_code(const Shape& features) { return single_row(features, 0, 1); }

std::shared_ptr<const BlockCode> idle_code(const Shape& features) {
    constexpr double next_to_nothing = 0x1p-400;  // and its square is still a number
    return single_row(features, 1, next_to_nothing);
}

namespace {

void require_floats(double largest) {
    constexpr double least_largest = 1e-30;  // numbers of a part of 1e-8 of it are still normal
    constexpr double most_largest = 3e38;
    if (largest == 0 || (largest >= least_largest && largest <= most_largest)) return;
    std::ostringstream found;
    found << "f32 for numbers of up to " << largest;
    throw InputError({"`precision`", found.str(), "a largest number between 1e-30 and 3e38",
                      "Use `precision` auto or f64, or `scale_clients` norm."});
}

}  // namespace

CodedRows float_block(const FeatureBlock& block) {
    BlockCode code{BlockCode::Kind::floats, block.rows(), block.features(), {}, 0, {}};
    double largest = 0;
    const auto append = [&](const double* values, Index count) {
        for (Index i = 0; i < count; ++i) {
            const auto number = static_cast<float>(values[i]);
            largest = std::max(largest, std::abs(values[i]));
            const auto* bytes = reinterpret_cast<const std::byte*>(&number);
            code.bytes.insert(code.bytes.end(), bytes, bytes + sizeof number);
        }
    };
    if (block.is_dense()) {
        append(block.dense().data(), block.dense().size());
    } else {
        code.ranks = block.train().ranks();
        for (Index n = 0; n < block.train().order(); ++n) {
            append(block.train().core(n).data(), block.train().core(n).size());
        }
    }
    require_floats(largest);
    CodedRows result{std::make_shared<const BlockCode>(std::move(code)), everything(block.rows()), 0, 0};
    result.cores = decode_cores(*result.code);
    if (block.is_dense()) {
        for (Index i = 0; i < block.dense().size(); ++i) {
            const double e = block.dense().data()[i] - result.cores.front().data()[i];
            result.error2 += e * e;
        }
    } else {
        std::vector<Tensor<double>> cores;
        for (const auto& core : result.cores) cores.push_back(Tensor<double>::copy(core.view()));
        const double distance = norm(add(block.train(), scale(TensorTrain<double>(std::move(cores)), -1.0)));
        result.error2 = distance * distance;
    }
    return result;
}

}  // namespace couplet
