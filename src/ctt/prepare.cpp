#include "couplet/ctt/prepare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/magnitude.hpp"

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

/// x / (root 2^exponent), without the power leaving the range of numbers on the way.
std::shared_ptr<const Tensor<double>> divided(const Tensor<double>& x, double root, int exponent) {
    Tensor<double> result(x.shape());
    scale_by_power(x.data(), x.size(), -exponent, result.data());
    for (double& value : result.elements()) value /= root;
    return std::make_shared<const Tensor<double>>(std::move(result));
}

/// Divides both parts by the norm of the training rows, of whatever magnitude it is; zeros stay.
void scale_to_norm_one(PreparedClient& client, const ScaledNorm& size, const std::string& who) {
    if (size.squares == 0) return;
    client.scale = size.norm(who);
    // Personal cores are scaled back by it: a denormal scale would round them away.
    if (client.scale < std::numeric_limits<double>::min()) {
        std::ostringstream found;
        found << "a norm of " << client.scale;
        throw InputError({who, found.str(), "0, or a norm of at least 2.2e-308", "Scale the data first."});
    }
    const double root = std::sqrt(size.squares);
    client.training = divided(*client.training, root, size.exponent);
    if (client.heldout) client.heldout = divided(*client.heldout, root, size.exponent);
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

namespace {

/// The norm of x as a job takes it, or a refusal.
double accepted_norm2(const TensorView<const double>& x, const ScaledNorm& size, const std::string& who) {
    if (std::isnan(size.squares)) require_finite(x, who);
    if (size.exponent == 0) return size.squares;
    std::ostringstream found;
    found << "a norm of about 1e" << std::lround(std::log10(size.squares) / 2 + size.exponent * std::log10(2.0));
    throw InputError(
        {who, found.str(), "0, or a norm between 1e-75 and 1e75", "Scale the data, or use `scale_clients` norm."});
}

}  // namespace

double job_norm2(const TensorView<const double>& x, const std::string& who) {
    return accepted_norm2(x, scaled_norm(x.unfold(1)), who);
}

PreparedClient prepare_client(std::shared_ptr<const Tensor<double>> x, const Preparation& how, std::uint64_t seed,
                              Index client) {
    const std::string who = "client " + std::to_string(client + 1);
    PreparedClient result{feature_schema(*x, who), std::move(x), nullptr, 1};
    const auto measure = [&] { return scaled_norm(result.training->view().unfold(1)); };
    ScaledNorm size = measure();
    if (std::isnan(size.squares)) require_finite(result.training->view(), who);
    if (how.heldout > 0) {
        auto parts = hold_out(result.training->view(), how.heldout, seed, client);
        result.training = std::make_shared<const Tensor<double>>(std::move(parts.training));
        result.heldout = std::make_shared<const Tensor<double>>(std::move(parts.heldout));
        size = measure();
    }
    if (how.scale_clients) {
        scale_to_norm_one(result, size, who);
        size = measure();
    }
    result.norm2 = accepted_norm2(result.training->view(), size, who);
    if (result.heldout && result.heldout->size() > 0) job_norm2(result.heldout->view(), who + ", held-out patients");
    return result;
}

std::string follow_schema(PreparedClient& client, const Schema& job, Unnamed unnamed, const std::string& who) {
    const Alignment alignment = align(job, client.schema, unnamed, who, "the job");
    if (alignment.empty()) return {};
    const auto moved = [&](std::shared_ptr<const Tensor<double>>& x) {
        if (x) x = std::make_shared<const Tensor<double>>(reordered(x->view(), alignment));
    };
    moved(client.training);
    moved(client.heldout);
    client.schema = job;
    return describe(alignment, job);
}

HeldOutError heldout_error(const PreparedClient& client, const Features& features) {
    if (!client.heldout || client.heldout->size() == 0) return {};
    const auto projected = refit(client.heldout->view(), features);
    return {projected.error2, projected.norm2};
}

Matrix<double> scaled_back(const Matrix<double>& personal, double scale) {
    auto result = Matrix<double>::copy(personal.view());
    for (Index i = 0; i < result.size(); ++i) result.data()[i] *= scale;
    return result;
}

}  // namespace couplet
