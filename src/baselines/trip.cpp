#include "cp_run.hpp"

namespace couplet {
namespace {

/// Mean eigenvalue of the Gram matrix of each shared mode.
std::vector<double> mean_eigenvalues(const Factors& factors) {
    std::vector<double> means(factors.size(), 0);
    for (std::size_t n = 1; n < factors.size(); ++n) {
        const auto gamma = khatri_rao_gram(factors, static_cast<Index>(n));
        for (Index r = 0; r < gamma.rows(); ++r) means[n] += gamma(r, r) / static_cast<double>(gamma.rows());
    }
    return means;
}

/// The common penalties: clients send their mean eigenvalues once and get rho times the average back.
std::vector<double> agree_on_penalties(CpRun& run) {
    const auto order = static_cast<std::size_t>(run.order());
    std::vector<double> penalties(order, 0);
    for (Index k = 0; k < run.clients(); ++k) {
        const auto own = mean_eigenvalues(run.client(k).factors);
        for (std::size_t n = 1; n < order; ++n) {
            penalties[n] += *run.tuning().rho * own[n] / static_cast<double>(run.clients());
        }
        run.traffic().up(static_cast<double>(order - 1));
    }
    run.traffic().down(static_cast<double>(order - 1), run.clients());
    return penalties;
}

}  // namespace

// min sum_k 1/2 ||X_k - [[A_1^k, A_2^k, ...]]||^2  subject to  A_n^k = A_n, by ADMM with scaled duals U_n^k:
//   A_1^k <- least squares;  A_n^k <- (X_(n) H + rho_n (A_n - U_n^k)) (Gamma_n + rho_n I)^-1
//   A_n <- mean over k of A_n^k + U_n^k;  U_n^k <- U_n^k + A_n^k - A_n
void train_trip(CpRun& run) {
    const auto order = static_cast<std::size_t>(run.order());
    const std::vector<double> penalties = agree_on_penalties(run);
    Factors shared = clone(run.client(0).factors);
    std::vector<Factors> duals(static_cast<std::size_t>(run.clients()));
    for (auto& dual : duals) {
        dual.resize(order);
        for (std::size_t n = 1; n < order; ++n) dual[n] = Matrix<double>::zeros(shared[n].rows(), shared[n].cols());
    }
    std::vector<Factors> uploads(duals.size());
    run.train([&](Index) {
        run.each([&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            CpClient& client = run.client(k);
            uploads[at].resize(order);
            client.factors[0] = client.objective->best_personal(client.factors);
            for (std::size_t n = 1; n < order; ++n) {
                auto target = client.objective->mttkrp(client.factors, static_cast<Index>(n));
                add_scaled(target, penalties[n], shared[n]);
                add_scaled(target, -penalties[n], duals[at][n]);
                const auto gamma = khatri_rao_gram(client.factors, static_cast<Index>(n));
                client.factors[n] = solve_right(target, gamma, penalties[n]);
                uploads[at][n] = Matrix<double>::copy(client.factors[n].view());
                add_scaled(uploads[at][n], 1, duals[at][n]);
            }
        });
        run.serve([&] {
            for (std::size_t n = 1; n < order; ++n) {
                shared[n] = Matrix<double>::zeros(shared[n].rows(), shared[n].cols());
                for (const Factors& upload : uploads) {
                    add_scaled(shared[n], 1 / static_cast<double>(uploads.size()), upload[n]);
                }
            }
        });
        for (Index k = 0; k < run.clients(); ++k) run.traffic().up(run.shared_numbers());
        run.traffic().down(run.shared_numbers(), run.clients());
        run.each([&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            for (std::size_t n = 1; n < order; ++n) {
                // U + A^k is what was sent.
                duals[at][n] = Matrix<double>::copy(uploads[at][n].view());
                add_scaled(duals[at][n], -1, shared[n]);
            }
        });
    });
    // The result is what all agree on, not a client's last proposal.
    run.each([&](Index k) {
        Factors& factors = run.client(k).factors;
        for (std::size_t n = 1; n < order; ++n) factors[n] = Matrix<double>::copy(shared[n].view());
    });
}

}  // namespace couplet
