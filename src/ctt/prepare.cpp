#include "couplet/ctt/prepare.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// Rows of x with these numbers, in order.
Tensor<double> take_rows(const TensorView<const double>& x, const std::vector<Index>& rows) {
    std::vector<Index> sizes(x.shape().sizes().begin(), x.shape().sizes().end());
    const Index width = x.size() / sizes[0];
    sizes[0] = static_cast<Index>(rows.size());
    Tensor<double> result{Shape(std::move(sizes))};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(x.data() + rows[i] * width, width, result.data() + static_cast<Index>(i) * width);
    }
    return result;
}

}  // namespace

HeldOut hold_out(const TensorView<const double>& x, double fraction, std::uint64_t seed, Index client) {
    const Index rows = x.shape()[0];
    // At least one patient must take part.
    const auto count = std::min(rows - 1, static_cast<Index>(std::llround(fraction * static_cast<double>(rows))));
    std::vector<Index> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), Index{0});
    Random random(seed, 0x68656c64 + static_cast<std::uint64_t>(client));
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    const auto middle = order.begin() + count;
    std::sort(order.begin(), middle);
    std::sort(middle, order.end());
    return {take_rows(x, {middle, order.end()}), take_rows(x, {order.begin(), middle})};
}

PreparedClient prepare_client(std::shared_ptr<const Tensor<double>> x, const Preparation& how, std::uint64_t seed,
                              Index client) {
    PreparedClient result{std::move(x), nullptr, 1};
    // Only a norm that is not finite is worth a look for NaN and infinity.
    if (!std::isfinite(squared_norm(result.training->view().unfold(1)))) {
        require_finite(result.training->view(), "client " + std::to_string(client + 1));
    }
    if (how.heldout > 0) {
        auto parts = hold_out(result.training->view(), how.heldout, seed, client);
        result.training = std::make_shared<const Tensor<double>>(std::move(parts.training));
        result.heldout = std::make_shared<const Tensor<double>>(std::move(parts.heldout));
    }
    if (!how.scale_clients) return result;
    const double norm = std::sqrt(squared_norm(result.training->view().unfold(1)));
    if (norm == 0) return result;
    result.scale = norm;
    auto scaled = Tensor<double>::copy(result.training->view());
    for (double& value : scaled.elements()) value /= norm;
    result.training = std::make_shared<const Tensor<double>>(std::move(scaled));
    return result;
}

HeldOutError heldout_error(const PreparedClient& client, const Features& features) {
    if (!client.heldout || client.heldout->size() == 0) return {};
    const auto projected = refit(client.heldout->view(), features);
    const double scale2 = client.scale * client.scale;
    return {projected.error2 / scale2, projected.norm2 / scale2};
}

Matrix<double> scaled_back(const Matrix<double>& personal, double scale) {
    auto result = Matrix<double>::copy(personal.view());
    for (Index i = 0; i < result.size(); ++i) result.data()[i] *= scale;
    return result;
}

}  // namespace couplet
