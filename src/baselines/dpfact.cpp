#include <algorithm>
#include <cmath>
#include <utility>

#include "clipping.hpp"
#include "cp_run.hpp"

namespace couplet {
namespace {

constexpr double privacy_delta = 1e-5;

/// Proximal step of sum_r ||a_r||: every column is shortened by `amount`, down to zero.
void shrink_columns(Matrix<double>& a, double part) {
    std::vector<double> norms(static_cast<std::size_t>(a.cols()), 0);
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index r = 0; r < a.cols(); ++r) norms[static_cast<std::size_t>(r)] += a(i, r) * a(i, r);
    }
    for (double& norm : norms) norm = std::sqrt(norm);
    const double amount = part * *std::max_element(norms.begin(), norms.end());
    for (double& norm : norms) norm = norm > amount ? 1 - amount / norm : 0;
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index r = 0; r < a.cols(); ++r) a(i, r) *= norms[static_cast<std::size_t>(r)];
    }
}

/// A step on a shared factor whose gradient is a sum over patients, each clipped, plus noise. Its length looks at
/// nothing private: if all contributions were at the clip and pointed the same way, the factor would move by `step` of
/// the norm it started with.
Matrix<double> private_descent(CpClient& client, Index mode, double step, double clip, double noise) {
    auto sum = clipped_gradient(client.objective->tensor(), client.factors, mode, clip);
    for (Index i = 0; i < sum.size() && noise > 0; ++i) sum.data()[i] += noise * clip * client.random.normal();
    const double patients = static_cast<double>(client.objective->shape()[0]);
    const double length = step * std::sqrt(static_cast<double>(sum.cols())) / (patients * clip);
    for (Index i = 0; i < sum.size(); ++i) sum.data()[i] *= length;
    return sum;
}

}  // namespace

void train_dpfact(CpRun& run) {
    const Tuning& tuning = run.tuning();
    const auto clients = static_cast<double>(run.clients());
    const double pull = *tuning.rho / clients;
    double patients = 0;
    for (Index k = 0; k < run.clients(); ++k) patients += static_cast<double>(run.client(k).objective->shape()[0]);
    // A gradient grows with the square of the data: a patient's tensor times its row of A_1.
    const double clip = *tuning.clip * run.norm2() / patients;
    Factors shared = clone(run.client(0).factors);
    // What clients work on between rounds; client.factors holds what all agree on.
    std::vector<Factors> elastic(static_cast<std::size_t>(run.clients()));
    for (Index k = 0; k < run.clients(); ++k) elastic[static_cast<std::size_t>(k)] = clone(run.client(k).factors);
    Index rounds = 0;
    run.train([&](Index round) {
        ++rounds;
        const double step = run.step(round);
        run.each([&](Index k) {
            CpClient& client = run.client(k);
            std::swap(client.factors, elastic[static_cast<std::size_t>(k)]);
            for (Index local = 0; local < *tuning.tau; ++local) {
                client.descend(0, step, *tuning.fibers);
                if (*tuning.prox > 0) shrink_columns(client.factors[0], step * *tuning.prox);
                for (std::size_t n = 1; n < client.factors.size(); ++n) {
                    const auto mode = static_cast<Index>(n);
                    const auto descent = clip > 0 ? private_descent(client, mode, step, clip, *tuning.noise)
                                                  : client.descent(mode, step, *tuning.fibers);
                    auto away = Matrix<double>::copy(client.factors[n].view());
                    add_scaled(away, -1, shared[n]);
                    add_scaled(client.factors[n], -1, descent);
                    add_scaled(client.factors[n], -pull, away);
                }
            }
            std::swap(client.factors, elastic[static_cast<std::size_t>(k)]);
        });
        for (Index k = 0; k < run.clients(); ++k) run.traffic().up(run.shared_numbers());
        run.serve([&] {
            for (std::size_t n = 1; n < shared.size(); ++n) {
                auto move = Matrix<double>::zeros(shared[n].rows(), shared[n].cols());
                for (Index k = 0; k < run.clients(); ++k) {
                    add_scaled(move, pull, elastic[static_cast<std::size_t>(k)][n]);
                    add_scaled(move, -pull, shared[n]);
                }
                add_scaled(shared[n], 1, move);
            }
        });
        run.traffic().down(run.shared_numbers(), run.clients());
        run.each([&](Index k) { run.client(k).adopt(elastic[static_cast<std::size_t>(k)][0], shared); });
    });
    if (*tuning.noise > 0) run.privacy = gaussian_composition(*tuning.noise, 2 * *tuning.tau * rounds, privacy_delta);
}

}  // namespace couplet
