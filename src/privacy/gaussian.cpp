#include "couplet/privacy/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

double normal_cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

/// log Phi(x), also where Phi underflows: the tail's asymptotic series, whose error there is below 1e-6.
double log_normal_cdf(double x) {
    if (x > -30) return std::log(normal_cdf(x));
    const double x2 = x * x;
    return -0.5 * x2 - std::log(-x) - 0.5 * std::log(2 * M_PI) + std::log1p(-1 / x2 + 3 / (x2 * x2));
}

void require(bool good, const std::string& what, double found, const std::string& expected) {
    if (!good) throw InputError({what, std::to_string(found), expected, ""});
}

}  // namespace

std::string weakness(PrivacyGuarantee guarantee, std::int64_t patients) {
    constexpr double most = 10;
    const auto short_number = [](double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.3g", value);
        return std::string(text);
    };
    if (guarantee.epsilon > most) {
        return "epsilon " + short_number(guarantee.epsilon) + " is more than " + short_number(most) +
               ": next to nothing is promised";
    }
    if (guarantee.delta * static_cast<double>(patients) < 1) return "";
    return "delta " + short_number(guarantee.delta) + " is at least one in " + std::to_string(patients) +
           " patients: the promise may leave out one of them";
}

double gaussian_delta(double epsilon, double sigma, double sensitivity) {
    const double ratio = sensitivity / sigma;
    const double first = normal_cdf(ratio / 2 - epsilon / ratio);
    return first - std::exp(epsilon + log_normal_cdf(-ratio / 2 - epsilon / ratio));
}

double gaussian_sigma(PrivacyGuarantee wanted, double sensitivity, int releases) {
    require(wanted.epsilon > 0 && std::isfinite(wanted.epsilon), "`dp_epsilon`", wanted.epsilon, "a positive number");
    require(wanted.delta > 0 && wanted.delta < 1, "`dp_delta`", wanted.delta, "a probability with 0 < delta < 1");
    require(sensitivity > 0 && std::isfinite(sensitivity), "sensitivity", sensitivity, "a positive number");
    require(releases >= 1, "releases", releases, "at least one");
    const double c = sensitivity * std::sqrt(static_cast<double>(releases));
    double low = 0;
    double high = c;
    while (gaussian_delta(wanted.epsilon, high, c) > wanted.delta) {
        low = high;
        high *= 2;
    }
    // delta falls with sigma, so bisection keeps the promise at `high`.
    for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
        const double middle = (low + high) / 2;
        (gaussian_delta(wanted.epsilon, middle, c) > wanted.delta ? low : high) = middle;
    }
    return high;
}

double gaussian_rho(double sigma, double sensitivity, int releases) {
    const double ratio = sensitivity / sigma;  // squares of either may be too large or too small for a double
    return releases * ratio * ratio / 2;
}

double epsilon_of_rho(double rho, double delta) { return rho + 2 * std::sqrt(rho * std::log(1 / delta)); }

double epsilon_of_gaussian_rho(double rho, double delta) {
    require(rho >= 0, "rho", rho, "what was spent, a number that is not negative");
    require(delta > 0 && delta < 1, "delta", delta, "a probability with 0 < delta < 1");
    if (rho == 0) return 0;
    const double sensitivity = std::sqrt(2 * rho);  // at a standard deviation of 1
    double low = 0;
    double high = epsilon_of_rho(rho, delta);
    if (gaussian_delta(0, 1, sensitivity) <= delta) return 0;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
        const double middle = (low + high) / 2;
        (gaussian_delta(middle, 1, sensitivity) > delta ? low : high) = middle;
    }
    return high;
}

double rho_of_epsilon(PrivacyGuarantee wanted) {
    // The root of rho + 2 sqrt(rho L) = epsilon.
    const double log_delta = std::log(1 / wanted.delta);
    const double root = std::sqrt(log_delta + wanted.epsilon) - std::sqrt(log_delta);
    return root * root;
}

double mu_of_guarantee(PrivacyGuarantee wanted) { return 1 / gaussian_sigma(wanted, 1); }

double rho_of_mu(double mu) { return mu * mu / 2; }
double mu_of_rho(double rho) { return std::sqrt(2 * rho); }

double epsilon_of_mu(double mu, double delta) {
    require(mu >= 0 && std::isfinite(mu), "`mu`", mu, "a number that is not negative");
    return epsilon_of_gaussian_rho(rho_of_mu(mu), delta);
}

double rounded_sensitivity(double change, std::int64_t numbers) {
    const auto n = static_cast<double>(numbers);
    const double root = std::sqrt(n);
    const double spread = std::sqrt(-2 * std::log(rounding_failure));
    return std::min(change + root, std::sqrt(change * change + n / 4 + spread * (change + root / 2)));
}

}  // namespace couplet
