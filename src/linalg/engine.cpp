#include "couplet/linalg/engine.hpp"

#include "couplet/linalg/eigen.hpp"
#include "krylov.hpp"
#include "rank_cut.hpp"

namespace couplet {

double allowed_residual(const std::vector<CutLimit>& limits) noexcept {
    double allowed = 1e-12;
    for (const CutLimit& cut : limits) {
        if (cut.eps > 0) allowed = std::min(allowed, 0.01 * cut.eps);
    }
    return allowed;
}

bool gram_can_show(const CutLimit& cut, Index order, Index terms) noexcept {
    // A cut by rank may leave a tail that can be shown; whether it does, only the Gram matrix tells.
    return cut.eps == 0 || cut.max_rank < order || cut.eps >= gram_floor(order, terms);
}

bool random_pays(const CutLimit& cut, Index order) noexcept {
    // 3 passes of 4 |A| l flops and the projection, against |A| n for the Gram matrix and 4/3 n^3 for its eigenvectors.
    return cut.max_rank < order && order >= 2000 && cut.max_rank + 10 < order / 40;
}

std::optional<Basis> random_basis(const Source& source, double norm2, const SvdOptions& options) {
    constexpr Index oversampling = 10;
    const Index n = source.order();
    const double limit = source.is_float() ? 1e-3 : gram_limit;
    if (options.max_tail > 0 && options.max_tail * options.max_tail < limit * limit * norm2) return std::nullopt;
    // Without a rank the first guess is a sixteenth of the side; each retry doubles it.
    Index guess = std::min(options.max_rank, options.max_tail > 0 ? std::max<Index>(8, n / 16) : n);
    const auto apply = [&](MatrixView<const double> q) { return source.apply_gram(q); };
    while (guess + oversampling < n / 2) {
        const auto space = krylov_space(apply, n, {.block = guess + oversampling, .passes = 3, .seed = options.seed});
        const auto image = source.summarise_image(Summary::Kind::gram, space);
        const auto ritz = symmetric_eigen(image.matrix().view());
        std::vector<double> squares = ritz.values;
        double captured = 0;
        for (double& value : squares) captured += value = std::max(value, 0.0);
        squares.push_back(std::max(0.0, norm2 - captured));  // what no vector of the space explains
        // Products of float data round at about 1e-7 of the norm, squared or not.
        const double rounding =
            source.is_float() ? 4e-7
                              : gram_rounding(space.cols(), source.terms()) + gram_rounding(1, source.terms() * n);
        const auto wanted = choose_rank(squares, options, rounding * norm2);
        // max_rank is to blame only when the space was made for that rank and still misses by far.
        const bool missed = wanted.limited && options.max_tail > 0 &&
                            (guess < options.max_rank || wanted.tail2 < 1.2 * options.max_tail * options.max_tail);
        if (wanted.rank < static_cast<Index>(squares.size()) && !missed) {
            const auto kept = leading_columns(ritz.vectors.view(), wanted.rank);
            Basis basis{product<double>(space.view(), kept.view()), roots(squares, wanted.rank), wanted.tail2,
                        wanted.limited, SvdMethod::random};
            apply_sign_rule(basis.vectors.view());
            return basis;
        }
        if (guess >= options.max_rank) return std::nullopt;
        guess = std::min(2 * guess, options.max_rank);
    }
    return std::nullopt;
}

}  // namespace couplet
