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

/// Gaussian differential privacy (Dong, Roth and Su 2022): mu = sensitivity / sigma. Telling two data sets apart that
/// differ by one person is then as hard as telling N(0, 1) from N(mu, 1). Releases and jobs compose in squares:
/// mu^2 = sum mu_i^2. It is the same mechanism as (epsilon, delta) with another spelling; rho = mu^2 / 2.
///
/// The largest mu that keeps the guarantee. Throws InputError as gaussian_sigma().
double mu_of_guarantee(PrivacyGuarantee wanted);
/// The smallest epsilon that mu gives at this delta, exact. Throws InputError unless mu >= 0 and 0 < delta < 1.
double epsilon_of_mu(double mu, double delta);
double rho_of_mu(double mu);
double mu_of_rho(double rho);

/// Probability with which rounded_sensitivity() does not hold: far below any delta that is asked for.
inline constexpr double rounding_failure = 1e-12;

/// By how much, in steps, one person changes `numbers` integers that a site rounds at random (floor(x + u), u uniform
/// on [0, 1)), when it changes the numbers before rounding by at most `change` steps (Euclidean): the smaller of change
/// + sqrt(n), which always holds, and sqrt(change^2 + n/4 + sqrt(2 ln(1/b)) (change + sqrt(n)/2)), which holds but for
/// a probability of b = rounding_failure (Kairouz, Liu and Steinke 2021, for the pair with the same u).
double rounded_sensitivity(double change, std::int64_t numbers);

}  // namespace couplet
