#include "couplet/ctt/client.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "code_rows.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/rounding.hpp"
#include "couplet/tt/tt_svd.hpp"
#include "release_gate.hpp"

namespace couplet {
namespace {

// Largest relative error a cut may be given; at 1 nothing would need to be kept.
constexpr double most_eps = 1 - 1e-9;

/// Share of one eps for the clients' SVD and TT cuts; the server takes the rest (measured, section 3).
std::pair<double, double> certified_split(Index order, Index clients) {
    if (order == 2) return {0.8, 0.0};
    if (order == 3) return clients <= 8 ? std::pair{0.8, 0.1} : std::pair{0.65, 0.06};
    return {0.6, 0.3};
}

/// The same for coded messages, whose loss is the message's own: the server's message travels to everybody and has the
/// larger part (least bytes of all on diabetes, CMS and synthetic data, flat around it).
std::pair<double, double> coded_split() { return {0.7, 0.2}; }
// Singular values below this part of the norm are never worth their bytes.
constexpr double budget_eps = 1e-6;
// Of eps1 the SVD may take this part of the square where the rank does not cut, and the message's code the rest.
constexpr double svd_share = 0.5;

TensorView<const double> with_shape(const double* data, Shape shape) { return {data, std::move(shape)}; }

Shape feature_shape(const Shape& shape) {
    return Shape(std::vector<Index>(shape.sizes().begin() + 1, shape.sizes().end()));
}

/// Cores 2..N of a train whose first core is orthonormal.
TensorTrain<double> without_first(TensorTrain<double> train) {
    auto cores = std::move(train).release();
    cores.erase(cores.begin());
    std::vector<Orthogonality> kinds(cores.size(), Orthogonality::left);
    kinds.back() = Orthogonality::none;
    return TensorTrain<double>(std::move(cores), std::move(kinds));
}

/// Replaces an orthonormal square first core by the singular vectors of the data: otherwise D_k would be the rows
/// themselves where nothing is cut.
TensorTrain<double> rotated(const TensorTrain<double>& train) {
    const auto right = right_orthonormalise(train).train;
    const auto first = right.left_unfolding(0);  // I1 x R1, carries the norm
    const auto svd = truncated_svd<double>(first, {.max_rank = std::min(first.rows, first.cols)});
    const Index rank = svd.u.cols();
    std::vector<Tensor<double>> cores;
    auto u = Matrix<double>::copy(svd.u.view());
    cores.emplace_back(Shape{1, first.rows, rank}, std::move(u).release());
    for (Index n = 1; n < right.order(); ++n) cores.push_back(Tensor<double>::copy(right.core(n)));
    auto weighted = transpose(svd.v.view());
    for (Index i = 0; i < rank; ++i) {
        for (Index j = 0; j < weighted.cols(); ++j) weighted(i, j) *= svd.sigma[static_cast<std::size_t>(i)];
    }
    auto second = product<double>(weighted.view(), cores[1].view().unfold(1));
    const Shape shape = cores[1].shape();
    cores[1] = Tensor<double>({rank, shape[1], shape[2]}, std::move(second).release());
    return left_orthonormalise(TensorTrain<double>(std::move(cores))).train;
}

/// Orthonormal columns, as many as asked for: data of a smaller rank has fewer singular vectors.
Matrix<double> with_columns(Matrix<double> u, Index count) {
    if (u.cols() >= count) return u;
    auto wide = Matrix<double>::zeros(u.rows(), count);
    for (Index i = 0; i < u.rows(); ++i) std::copy_n(u.view().row(i), u.cols(), wide.view().row(i));
    const Index given = u.cols();
    orthonormalise_columns(wide.view());
    // Those given stay as they are, signs included.
    for (Index i = 0; i < u.rows(); ++i) std::copy_n(u.view().row(i), given, wide.view().row(i));
    return wide;
}

struct WeightedTrain {
    TensorTrain<double> train;
    double tail2 = 0;
};

/// The rest of the TT-SVD: D (R1 x P) as left-orthonormal cores, with a tail of at most `delta` cut at every bond.
WeightedTrain decompose_weighted(const Matrix<double>& weighted, const Shape& features, double delta) {
    const double norm2 = squared_norm<double>(weighted.view());
    std::vector<Index> sizes(features.sizes().begin(), features.sizes().end());
    sizes[0] *= weighted.rows();
    TtSvdOptions options;
    if (sizes.size() > 1 && norm2 > 0) {
        options.bonds.assign(sizes.size() - 1, {std::min(delta / std::sqrt(norm2), most_eps)});
    }
    auto result = tt_svd(with_shape(weighted.data(), Shape(std::move(sizes))), options);
    auto cores = left_orthonormalise(std::move(result.train)).train.release();
    const Index second = cores[0].shape()[2];
    cores[0] = Tensor<double>({weighted.rows(), features[0], second}, std::move(cores[0]).release());
    std::vector<Orthogonality> kinds(cores.size(), Orthogonality::left);
    kinds.back() = Orthogonality::none;
    return {TensorTrain<double>(std::move(cores), std::move(kinds)), result.rel_error * result.rel_error * norm2};
}

/// D = U^T X for the dominant left singular vectors, and the tail they leave.
std::pair<Matrix<double>, double> dominant_rows(MatrixView<const double> x, const SvdOptions& options) {
    if (x.rows <= x.cols) {
        const auto basis = dominant_basis<double>(x, Side::left, options);
        return {product<double>(basis.vectors.view(), x, Op::transpose), basis.tail2};
    }
    const auto svd = truncated_svd<double>(x, options);
    auto rows = transpose(svd.v.view());
    for (Index i = 0; i < rows.rows(); ++i) {
        for (Index j = 0; j < rows.cols(); ++j) rows(i, j) *= svd.sigma[static_cast<std::size_t>(i)];
    }
    return {std::move(rows), svd.tail2};
}

std::vector<double> upper_triangle(const Matrix<double>& g) {
    std::vector<double> result;
    result.reserve(static_cast<std::size_t>(g.rows() * (g.rows() + 1) / 2));
    for (Index i = 0; i < g.rows(); ++i) {
        result.insert(result.end(), g.view().row(i) + i, g.view().row(i) + g.cols());
    }
    return result;
}

}  // namespace

ClientLimits client_limits(const Job& job, const Hello& hello, const Start& start, Index hops) {
    const Index order = hello.features.order() + 1;
    const Index cap = std::min(job.rank.value_or(unlimited_rank), rank_cap(hello));
    const bool coded = job.precision == Precision::automatic;
    const auto parts = static_cast<double>(hops);
    if (has_budget(job) && job.network == Network::decentralized) {
        // The peer codes what it has merged.
        return {budget_eps, budget_eps, cap, hello.norm2, job.precision, 2 * budget_eps};
    }
    if (has_budget(job)) {
        // A row takes some bytes at least, so that more of them than this would never be sent.
        constexpr Index least_row_bytes = 4;
        const Index bytes = star_code_bytes(job, start.clients, hello.features.order());
        return {budget_eps,  budget_eps,    std::min(cap, std::max<Index>(1, bytes / least_row_bytes)),
                hello.norm2, job.precision, 2 * budget_eps,
                bytes};
    }
    if (!job.eps && coded) {
        return {job.eps1 * std::sqrt(svd_share),
                job.eps1 * std::sqrt((1 - svd_share) / parts),
                cap,
                hello.norm2,
                job.precision,
                job.eps1};
    }
    if (!job.eps) {
        const double share = job.eps1 / std::sqrt(static_cast<double>(std::max<Index>(1, order - 1)));
        return {share, share * std::sqrt(static_cast<double>(std::max<Index>(0, order - 2))), cap, hello.norm2,
                job.precision};
    }
    if (hello.norm2 == 0) return {most_eps, most_eps, cap, hello.norm2, job.precision, most_eps};
    auto [svd, tt] = coded ? coded_split() : certified_split(order, start.clients);
    // Errors of one row after the other add up, their squares do not.
    if (coded) tt /= parts;
    // z_k: half the client's own norm, half its share of patients; the squares of all z_k add up to ||X||^2.
    const double share = static_cast<double>(hello.rows) / static_cast<double>(start.rows);
    const double z = std::sqrt((hello.norm2 + start.norm2 * share) / 2 / hello.norm2);
    const auto part = [&](double of) { return std::min(of * *job.eps * z, most_eps); };
    return {part(svd), part(tt), cap, hello.norm2, job.precision, part(std::hypot(svd, tt))};
}

namespace {

struct Rows {
    Matrix<double> weighted;  ///< D_k
    double norm2 = 0;
    double tail2 = 0;
};

Rows weighted_rows(const TensorView<const double>& x, const ClientLimits& limits) {
    const auto rows = x.unfold(1);
    const double norm2 = limits.norm2 ? *limits.norm2 : squared_norm(rows);
    auto [weighted, tail2] = dominant_rows(
        rows, {.max_tail = limits.svd_eps * std::sqrt(norm2), .max_rank = limits.max_rank, .norm2 = limits.norm2});
    return {std::move(weighted), norm2, tail2};
}

[[noreturn]] void refuse_bytes(Index bytes) {
    throw InputError(
        {"budget", std::to_string(bytes) + " bytes for a client's rows", "enough for one number", "Allow more bytes."});
}

/// What a client sends who has nothing but zeros.
Upload zero_client(const TensorView<const double>& x, const ClientLimits& limits) {
    auto code = zero_code(feature_shape(x.shape()));
    const auto bytes = static_cast<Index>(code->bytes.size());
    if (limits.code_bytes && bytes > *limits.code_bytes) refuse_bytes(*limits.code_bytes);
    return {ReleaseGate::release(decode_block(std::move(code))), x.shape()[0], 0, 0, 0};
}

/// Nothing where the limits ask for more precision than integers have.
std::optional<Upload> coded_client(const TensorView<const double>& x, const ClientLimits& limits) {
    const double norm2 = limits.norm2 ? *limits.norm2 : squared_norm(x.unfold(1));
    if (norm2 == 0) return zero_client(x, limits);
    if (!(limits.total_eps > 0)) return std::nullopt;
    const Rows rows = weighted_rows(x, limits);
    const double message2 = limits.tt_eps * limits.tt_eps * rows.norm2;
    // Where the rank cuts first, the message's own part is all that coding may add.
    const bool by_rank = rows.tail2 > limits.svd_eps * limits.svd_eps * rows.norm2 * (1 + 1e-9);
    const double total2 = by_rank ? message2 : limits.total_eps * limits.total_eps * rows.norm2 - rows.tail2;
    const Shape features = feature_shape(x.shape());
    auto coded = limits.code_bytes ? code_rows_within(rows.weighted, features, *limits.code_bytes)
                                   : code_rows(rows.weighted, features, {total2, message2});
    if (!coded && limits.code_bytes) refuse_bytes(*limits.code_bytes);
    if (!coded) return std::nullopt;
    return Upload{ReleaseGate::release(decoded_block(std::move(coded->code), std::move(coded->cores))), x.shape()[0],
                  rows.norm2, rows.tail2 + coded->dropped2, coded->error2};
}

Upload exact_client(TensorView<const double> x, const ClientLimits& limits) {
    const Index order = x.shape().order();
    const double bond_eps = limits.tt_eps / std::sqrt(static_cast<double>(std::max<Index>(1, order - 2)));
    const auto rows = x.unfold(1);
    if (limits.max_rank < std::min(rows.rows, rows.cols)) {
        // The rank may cut far more than eps. What it cuts must not count in the ranks of the other bonds, so it comes
        // first; the order below would send larger cores than the printed method.
        const double norm2 = limits.norm2 ? *limits.norm2 : squared_norm(rows);
        const double norm = std::sqrt(norm2);
        const auto [weighted, tail2] = dominant_rows(
            rows, {.max_tail = limits.svd_eps * norm, .max_rank = limits.max_rank, .norm2 = limits.norm2});
        auto rest = decompose_weighted(weighted, feature_shape(x.shape()), bond_eps * norm);
        return {ReleaseGate::release(smaller_form(std::move(rest.train))), rows.rows, norm2, tail2, rest.tail2};
    }
    TtSvdOptions options;
    options.bonds.assign(static_cast<std::size_t>(order - 1), {bond_eps});
    options.bonds[0] = {limits.svd_eps, limits.max_rank};
    auto result = tt_svd(x, options);
    auto train = left_orthonormalise(std::move(result.train)).train;
    if (train.ranks()[1] == x.shape()[0] && x.shape()[0] > 1) train = rotated(train);
    const double norm2 = result.norm * result.norm;
    double tt_tail2 = 0;
    for (std::size_t n = 1; n < result.bond_errors2.size(); ++n) tt_tail2 += result.bond_errors2[n] * norm2;
    return {ReleaseGate::release(smaller_form(without_first(std::move(train)))), x.shape()[0], norm2,
            result.bond_errors2[0] * norm2, tt_tail2};
}

}  // namespace

Upload compress_client(TensorView<const double> x, const ClientLimits& limits) {
    if (limits.precision == Precision::automatic) {
        if (auto coded = coded_client(x, limits)) return std::move(*coded);
        ClientLimits exact = limits;
        const double rest2 = limits.total_eps * limits.total_eps - limits.svd_eps * limits.svd_eps;
        exact.tt_eps = std::sqrt(std::max(0.0, rest2));
        return exact_client(std::move(x), exact);
    }
    Upload upload = exact_client(std::move(x), limits);
    if (limits.precision == Precision::f64) return upload;
    auto coded = float_block(upload.block.get());
    upload.block = ReleaseGate::release(decoded_block(std::move(coded.code), std::move(coded.cores)));
    const double error = std::sqrt(upload.tt_tail2) + std::sqrt(coded.error2);
    upload.tt_tail2 = error * error;
    return upload;
}

Upload uncoded_client(TensorView<const double> x, const ClientLimits& limits) {
    Rows rows = weighted_rows(x, limits);
    return {ReleaseGate::release(FeatureBlock(std::move(rows.weighted), feature_shape(x.shape()))), x.shape()[0],
            rows.norm2, rows.tail2, 0};
}

PersonalSplit split_personal(TensorView<const double> x, Index rank) {
    auto personal = with_columns(truncated_svd<double>(x.unfold(1), {.max_rank = rank}).u, rank);
    auto weighted = product<double>(personal.view(), x.unfold(1), Op::transpose);
    return {std::move(personal), std::move(weighted)};
}

AverageStep average_client(TensorView<const double> x, Index rank, double eps1) {
    const Shape features = feature_shape(x.shape());
    PersonalSplit split = split_personal(x, rank);
    const double norm2 = squared_norm(x.unfold(1));
    const double weighted2 = squared_norm<double>(split.weighted.view());
    const double delta = eps1 / std::sqrt(static_cast<double>(features.order())) * std::sqrt(norm2);
    auto rest = decompose_weighted(split.weighted, features, delta);
    Upload upload{ReleaseGate::release(FeatureBlock(std::move(rest.train))), x.shape()[0], norm2,
                  std::max(0.0, norm2 - weighted2), rest.tail2};
    return {std::move(split), std::move(upload)};
}

Released<std::vector<double>> release_state(const PersonalSplit& split) {
    const auto& d = split.weighted;
    return ReleaseGate::release(std::vector<double>(d.data(), d.data() + d.size()));
}

Released<std::vector<double>> sketch_sum(TensorView<const double> x, MatrixView<const double> q) {
    if (q.size() == 0) return ReleaseGate::release(upper_triangle(gram(x.unfold(1), Side::right)));
    const auto image = product<double>(x.unfold(1), q);
    const auto sum = product<double>(x.unfold(1), image.view(), Op::transpose);
    return ReleaseGate::release(std::vector<double>(sum.data(), sum.data() + sum.size()));
}

Released<std::vector<double>> projected_gram(TensorView<const double> x, MatrixView<const double> f) {
    const auto image = product<double>(x.unfold(1), f);
    return ReleaseGate::release(upper_triangle(gram<double>(image.view(), Side::right)));
}

}  // namespace couplet
