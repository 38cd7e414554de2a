#include "couplet/ctt/block_code.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "core_layout.hpp"
#include "couplet/core/error.hpp"
#include "couplet/tt/rounding.hpp"
#include "plain_rows.hpp"

namespace couplet {
namespace {

// Squares of decoded numbers and their sums stay far from overflow.
constexpr double largest_step = 1e130;

[[noreturn]] void refuse(const std::string& found, const std::string& expected) {
    throw InputError({"coded block", found, expected, ""});
}

std::vector<Shape> core_shapes(const BlockCode& code) {
    if (code.ranks.empty()) return {Shape{code.rows, code.features.size(), 1}};
    std::vector<Shape> shapes;
    for (Index n = 0; n < code.features.order(); ++n) {
        const auto at = static_cast<std::size_t>(n);
        shapes.push_back(Shape{code.ranks[at], code.features[n], code.ranks[at + 1]});
    }
    return shapes;
}

std::vector<Tensor<double>> decode_floats(const BlockCode& code, const std::vector<Shape>& shapes) {
    static_assert(std::endian::native == std::endian::little);
    std::vector<Tensor<double>> cores;
    const std::byte* from = code.bytes.data();
    for (const Shape& shape : shapes) {
        Tensor<double> core(shape);
        for (double& value : core.elements()) {
            float number = 0;
            std::memcpy(&number, from, sizeof number);
            from += sizeof number;
            value = static_cast<double>(number);
        }
        cores.push_back(std::move(core));
    }
    return cores;
}

std::vector<Tensor<double>> decode_quantised(const BlockCode& code, const std::vector<Shape>& shapes) {
    std::vector<CoreLayout> layouts;
    std::vector<std::vector<std::int32_t>> integers;
    std::vector<IntegerMatrix<std::int32_t>> matrices;
    for (const Shape& shape : shapes) {
        layouts.emplace_back(shape, code_inner(code));
        integers.emplace_back(static_cast<std::size_t>(shape.size()));
        matrices.push_back(layouts.back().matrix(integers.back().data()));
    }
    decode_integers(code.bytes, matrices);
    std::vector<Tensor<double>> cores;
    SliceSteps steps(code.step);
    for (std::size_t n = 0; n < shapes.size(); ++n) {
        cores.push_back(dequantised_core(shapes[n], layouts[n], integers[n], steps));
        steps.pass(cores.back().view());
    }
    return cores;
}

/// Multiplies the last mode of a core by a matrix.
Tensor<double> times(const Tensor<double>& core, const Matrix<double>& m) {
    auto product = plain_product(core.view().unfold(2), m.view());
    return Tensor<double>({core.shape()[0], core.shape()[1], m.cols()}, std::move(product).release());
}

/// The columns of a matrix with `cols` columns that have a number other than zero; the first where there is none.
std::vector<Index> columns_left(const Matrix<double>& numbers, Index cols) {
    std::vector<char> found(static_cast<std::size_t>(cols), 0);
    const double* value = numbers.data();
    for (Index row = 0; row < numbers.size() / cols; ++row) {
        for (char& any : found) any = static_cast<char>(any | (*value++ != 0 ? 1 : 0));
    }
    std::vector<Index> left;
    for (Index j = 0; j < cols; ++j) {
        if (found[static_cast<std::size_t>(j)] != 0) left.push_back(j);
    }
    if (left.empty()) left.push_back(0);
    return left;
}

Matrix<double> with_columns(const Matrix<double>& numbers, Index cols, const std::vector<Index>& columns) {
    const Index rows = numbers.size() / cols;
    Matrix<double> result(rows, static_cast<Index>(columns.size()));
    for (Index i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns.size(); ++j) {
            result(i, static_cast<Index>(j)) = numbers.data()[i * cols + columns[j]];
        }
    }
    return result;
}

/// Dense rows as a first core and right-orthonormal others, exactly. A bond whose left side has at least as many rows
/// as its right side has columns gets rows of the identity: those of the columns that are not zero.
std::vector<Tensor<double>> split_rows(Tensor<double> dense, const Shape& features) {
    std::vector<Tensor<double>> cores;
    Index right = 1;
    Index rows = dense.size();
    auto rest = Matrix<double>::adopt(std::move(dense).release(), 1, rows);
    for (Index n = features.order(); n-- > 1;) {
        const Index cols = features[n] * right;
        rows = rest.size() / cols;
        const auto columns = columns_left(rest, cols);
        const auto count = static_cast<Index>(columns.size());
        if (rows >= count) {
            auto core = Matrix<double>::zeros(count, cols);
            for (Index k = 0; k < count; ++k) core(k, columns[static_cast<std::size_t>(k)]) = 1;
            cores.emplace_back(Shape{count, features[n], right}, std::move(core).release());
            rest = with_columns(rest, cols, columns);
            right = count;
            continue;
        }
        rest.reshape(rows, cols);
        auto factors = factor_rows(rest.view());
        const Index rank = factors.q.rows();
        cores.emplace_back(Shape{rank, features[n], right}, std::move(factors.q).release());
        rest = std::move(factors.l);
        right = rank;
    }
    rows = rest.size() / (features[0] * right);
    cores.emplace_back(Shape{rows, features[0], right}, std::move(rest).release());
    std::ranges::reverse(cores);
    return cores;
}

/// All cores but the first made right-orthonormal, what is left of them moved into the first.
void orthonormalise(std::vector<Tensor<double>>& cores) {
    for (std::size_t n = cores.size(); n-- > 1;) {
        const Shape shape = cores[n].shape();
        auto factors = factor_rows(cores[n].view().unfold(1));
        const Index rank = factors.q.rows();
        if (rank == 0) refuse("cores that are zero", "at least one direction");
        cores[n] = Tensor<double>({rank, shape[1], shape[2]}, std::move(factors.q).release());
        cores[n - 1] = times(cores[n - 1], factors.l);
    }
}

/// The rows of a matrix by falling norm, the first one on a tie.
std::vector<Index> by_norm(const std::vector<double>& norms) {
    std::vector<Index> order(norms.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, [&](Index a, Index b) {
        return norms[static_cast<std::size_t>(a)] > norms[static_cast<std::size_t>(b)];
    });
    return order;
}

}  // namespace

Index BlockCode::numbers() const {
    Index count = 0;
    for (const Shape& shape : core_shapes(*this)) count += shape.size();
    return count;
}

Index code_inner(const BlockCode& code) {
    return code.ranks.empty() && code.features.order() > 1 ? code.features[code.features.order() - 1] : 0;
}

void check_code(const BlockCode& code) {
    if (code.features.order() < 1 || code.features.size() < 1) refuse("no features", "at least one");
    if (code.rows < 1) refuse(std::to_string(code.rows) + " rows", "at least one");
    if (!code.ranks.empty()) {
        const bool fits = static_cast<Index>(code.ranks.size()) == code.features.order() + 1 &&
                          code.ranks.front() == code.rows && code.ranks.back() == 1 &&
                          std::ranges::all_of(code.ranks, [](Index rank) { return rank >= 1; });
        if (!fits) refuse("ranks that do not fit its modes", "the rows first, 1 last, one more than modes");
    }
    const Index numbers = code.numbers();
    if (code.kind == BlockCode::Kind::floats) {
        if (static_cast<Index>(code.bytes.size()) == checked_product(4, numbers)) return;
        refuse(std::to_string(code.bytes.size()) + " bytes", "4 for each of " + std::to_string(numbers) + " numbers");
    }
    if (!(code.step > 0 && code.step < largest_step)) {
        refuse("a step of " + std::to_string(code.step), "a positive number below 1e130");
    }
}

std::vector<Tensor<double>> decode_cores(const BlockCode& code) {
    check_code(code);
    const auto shapes = core_shapes(code);
    if (code.kind == BlockCode::Kind::integers) return decode_quantised(code, shapes);
    auto cores = decode_floats(code, shapes);
    for (const auto& core : cores) require_finite(core.view(), "coded block");
    return cores;
}

FeatureBlock decode_block(std::shared_ptr<const BlockCode> code) {
    auto cores = decode_cores(*code);
    return decoded_block(std::move(code), std::move(cores));
}

FeatureBlock decoded_block(std::shared_ptr<const BlockCode> code, std::vector<Tensor<double>> cores) {
    if (code->ranks.empty()) {
        auto rows = Matrix<double>::adopt(std::move(cores.front()).release(), code->rows, code->features.size());
        FeatureBlock block(std::move(rows), code->features);
        block.set_code(std::move(code));
        return block;
    }
    FeatureBlock block(left_orthonormalise(TensorTrain<double>(std::move(cores))).train);
    block.set_code(std::move(code));
    return block;
}

Features decode_features(std::shared_ptr<const BlockCode> code) {
    auto cores = decode_cores(*code);
    return decoded_features(std::move(code), std::move(cores));
}

Features decoded_features(std::shared_ptr<const BlockCode> code, std::vector<Tensor<double>> cores) {
    if (code->ranks.empty()) {
        cores = split_rows(std::move(cores.front()), code->features);
    } else {
        orthonormalise(cores);
    }
    const auto first = cores.front().view().unfold(1);
    std::vector<double> norms;
    for (Index i = 0; i < first.rows; ++i) norms.push_back(plain_norm(first.row(i), first.cols));
    // Sorting needs an order, and NaN has none.
    if (find_non_finite<double>(norms)) refuse("rows that are not finite", "finite numbers");
    const auto order = by_norm(norms);
    Matrix<double> sorted(first.rows, first.cols);
    for (Index i = 0; i < first.rows; ++i) {
        std::copy_n(first.row(order[static_cast<std::size_t>(i)]), first.cols, sorted.view().row(i));
    }
    auto factors = factor_rows(sorted.view());
    const Index rank = factors.q.rows();
    if (rank == 0) refuse("rows without a direction", "at least one that is not zero");
    Features features;
    // A row that added no direction has no weight of its own.
    for (Index i = 0; static_cast<Index>(features.sigma.size()) < rank; ++i) {
        const auto found = static_cast<Index>(features.sigma.size());
        if (factors.l(i, found) != 0) {
            features.sigma.push_back(norms[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
        }
    }
    cores.front() =
        Tensor<double>({rank, cores.front().shape()[1], cores.front().shape()[2]}, std::move(factors.q).release());
    std::vector<Orthogonality> kinds(cores.size(), Orthogonality::right);
    features.train = TensorTrain<double>(std::move(cores), std::move(kinds));
    features.code = std::move(code);
    return features;
}

}  // namespace couplet
