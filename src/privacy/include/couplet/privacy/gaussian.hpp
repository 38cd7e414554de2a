#pragma once

#include <cstdint>
#include <string>

namespace couplet {

/// (epsilon, delta): whatever one person's record is, no outcome becomes more than e^epsilon times likelier, but for a
/// probability of delta.
struct PrivacyGuarantee {
    double epsilon = 0;
    double delta = 0;
};

/// Why a guarantee is too weak to be called one to somebody who did not choose it, in words; "" when it is not: epsilon
/// above 10 (an outcome may become 20,000 times likelier), or a delta that allows for one of so many patients to be
/// shown as they are.
std::string weakness(PrivacyGuarantee guarantee, std::int64_t patients);

/// The smallest delta for which noise of standard deviation `sigma` makes a release of this sensitivity (Euclidean, one
/// person more or less) epsilon-private: Phi(c/(2s) - eps s/c) - e^eps Phi(-c/(2s) - eps s/c) (Balle and Wang 2018).
double gaussian_delta(double epsilon, double sigma, double sensitivity);

/// The smallest standard deviation that gives the guarantee: the analytic Gaussian mechanism. `releases` that are
/// noised alike are one release of sensitivity x sqrt(releases). Throws InputError unless epsilon > 0, 0 < delta < 1,
/// sensitivity > 0 and releases >= 1.
double gaussian_sigma(PrivacyGuarantee wanted, double sensitivity, int releases = 1);

/// Zero-concentrated privacy of such a release: rho = c^2 / (2 s^2). Rhos of several jobs add up.
double gaussian_rho(double sigma, double sensitivity, int releases = 1);
/// What a sum of rhos means: epsilon = rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke 2016).
double epsilon_of_rho(double rho, double delta);
/// The same for rhos of Gaussian releases alone, which together are one Gaussian release: exact, and never more. Throws
/// InputError for a rho that is no number or negative: nothing spent and nothing known are not the same.
double epsilon_of_gaussian_rho(double rho, double delta);
/// The largest rho that keeps the guarantee.
double rho_of_epsilon(PrivacyGuarantee wanted);

}  // namespace couplet
