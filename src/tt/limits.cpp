#include "limits.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

void check_eps(double eps) {
    if (eps >= 0 && eps < 1) return;
    throw InputError({"eps", (std::ostringstream() << eps).str(), "a number with 0 <= eps < 1",
                      "It is the relative error allowed, for example 0.01."});
}

void check_rank(Index max_rank) {
    if (max_rank < 1) throw InputError({"max_rank", std::to_string(max_rank), "at least 1", ""});
}

/// eps / sqrt(N - 1), N the number of modes that can have a bond to cut: those of size above 1.
double eps_per_bond(double eps, const Shape& shape) {
    const auto modes = std::ranges::count_if(shape.sizes(), [](Index size) { return size > 1; });
    return eps / std::sqrt(std::max<double>(1, static_cast<double>(modes - 1)));
}

double smallest_eps(const TtSvdOptions& options, const Shape& shape) {
    double least = 1;
    for (const auto& bond : bond_limits(options, shape)) {
        if (bond.eps > 0) least = std::min(least, bond.eps);
    }
    return least;
}

}  // namespace

std::vector<BondLimit> bond_limits(const TtSvdOptions& options, const Shape& shape) {
    check_eps(options.eps);
    check_rank(options.max_rank);
    const auto bonds = static_cast<std::size_t>(shape.order() - 1);
    if (options.bonds.empty()) {
        return std::vector<BondLimit>(bonds, {eps_per_bond(options.eps, shape), options.max_rank});
    }
    if (options.bonds.size() != bonds) {
        throw InputError({"bonds", std::to_string(options.bonds.size()) + " limits", std::to_string(bonds), ""});
    }
    for (const auto& bond : options.bonds) {
        check_eps(bond.eps);
        check_rank(bond.max_rank);
    }
    return options.bonds;
}

std::vector<BondLimit> squeezed_limits(const Shape& shape, const std::vector<BondLimit>& all) {
    std::vector<BondLimit> result;
    bool started = false;
    BondLimit pending;
    for (Index n = 0; n < shape.order(); ++n) {
        if (shape[n] > 1) {
            if (started) result.push_back(pending);
            started = true;
            if (n + 1 < shape.order()) pending = all[static_cast<std::size_t>(n)];
        } else if (started && n + 1 < shape.order()) {
            const auto& bond = all[static_cast<std::size_t>(n)];
            pending = {std::min(pending.eps, bond.eps), std::min(pending.max_rank, bond.max_rank)};
        }
    }
    return result;
}

void check_tensor(const Shape& shape) {
    if (shape.order() < 1) throw InputError({"tensor", "order 0", "at least one mode", ""});
    for (Index n = 0; n < shape.order(); ++n) {
        if (shape[n] == 0) {
            throw InputError({"tensor", "mode " + std::to_string(n + 1) + " of " + shape.to_string() + " has size 0",
                              "at least one entry in every mode", ""});
        }
    }
}

bool needs_double(const TtSvdOptions& options, const Shape& shape) { return smallest_eps(options, shape) < 1e-5; }

void check_method(const TtSvdOptions& options, const Shape& shape) {
    if (options.method != SvdMethod::gram || smallest_eps(options, shape) >= gram_limit) return;
    throw InputError({"method", "gram with eps " + (std::ostringstream() << options.eps).str(),
                      "an eps of at least 1e-6 sqrt(order - 1): a Gram matrix cannot show smaller tails",
                      "Use method auto or qr."});
}

}  // namespace couplet
