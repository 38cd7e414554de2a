#include <utility>

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

/// rho times the mean over the clients of their mean eigenvalues. They travel with the factors, N - 1 numbers up and
/// down.
std::vector<double> common_penalties(double rho, const std::vector<Factors>& proposals) {
    std::vector<double> penalties(proposals.front().size(), 0);
    for (const Factors& factors : proposals) {
        const auto own = mean_eigenvalues(factors);
        for (std::size_t n = 1; n < own.size(); ++n) {
            penalties[n] += rho * own[n] / static_cast<double>(proposals.size());
        }
    }
    return penalties;
}

void scale(Matrix<double>& a, double factor) {
    for (Index i = 0; i < a.size(); ++i) a.data()[i] *= factor;
}

/// One message of every client and one to each.
void count_exchange(CpRun& run, double numbers) {
    for (Index k = 0; k < run.clients(); ++k) run.traffic().up(numbers);
    run.traffic().down(numbers, run.clients());
}

}  // namespace

// min sum_k 1/2 ||X_k - [[A_1^k, A_2^k, ...]]||^2  subject to  A_n^k = A_n, by ADMM with scaled duals U_n^k:
//   A_1^k <- least squares;  A_n^k <- (X_(n) H + rho_n (A_n - U_n^k)) (Gamma_n + rho_n I)^-1
//   A_n <- mean over k of A_n^k + U_n^k;  U_n^k <- U_n^k + A_n^k - A_n
// rho_n follows the curvature from round to round; the scaled duals are multiplied by its inverse change.
void train_trip(CpRun& run) {
    const auto order = static_cast<std::size_t>(run.order());
    Factors shared = clone(run.client(0).factors);
    std::vector<Factors> duals(static_cast<std::size_t>(run.clients()));
    for (auto& dual : duals) {
        dual.resize(order);
        for (std::size_t n = 1; n < order; ++n) dual[n] = Matrix<double>::zeros(shared[n].rows(), shared[n].cols());
    }
    std::vector<Factors> proposals(duals.size());  // A_n^k; client.factors holds what all agree on
    for (Index k = 0; k < run.clients(); ++k) proposals[static_cast<std::size_t>(k)] = clone(run.client(k).factors);
    std::vector<double> penalties = common_penalties(*run.tuning().rho, proposals);
    count_exchange(run, static_cast<double>(order - 1));
    std::vector<Factors> uploads(duals.size());
    run.train([&](Index) {
        run.each([&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            CpClient& client = run.client(k);
            uploads[at].resize(order);
            Factors& own = proposals[at];
            own[0] = client.objective->best_personal(own);
            for (std::size_t n = 1; n < order; ++n) {
                auto target = client.objective->mttkrp(own, static_cast<Index>(n));
                add_scaled(target, penalties[n], shared[n]);
                add_scaled(target, -penalties[n], duals[at][n]);
                const auto gamma = khatri_rao_gram(own, static_cast<Index>(n));
                own[n] = solve_right(target, gamma, penalties[n]);
                uploads[at][n] = Matrix<double>::copy(own[n].view());
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
        count_exchange(run, run.shared_numbers() + static_cast<double>(order - 1));
        const std::vector<double> before = std::exchange(penalties, common_penalties(*run.tuning().rho, proposals));
        run.each([&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            for (std::size_t n = 1; n < order; ++n) {
                // U + A^k is what was sent.
                duals[at][n] = Matrix<double>::copy(uploads[at][n].view());
                add_scaled(duals[at][n], -1, shared[n]);
                if (penalties[n] > 0) scale(duals[at][n], before[n] / penalties[n]);
            }
            run.client(k).adopt(proposals[at][0], shared);
        });
    });
}

}  // namespace couplet
