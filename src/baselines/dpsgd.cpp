#include "cp_run.hpp"

namespace couplet {

void train_dpsgd(CpRun& run) {
    const Tuning& tuning = run.tuning();
    const Index order = run.order();
    const auto links = static_cast<Index>(run.graph().edges().size());
    std::vector<Factors> stepped(static_cast<std::size_t>(run.clients()));
    run.train([&](Index round) {
        const double step = run.step(round);
        run.each([&](Index k) {
            CpClient& client = run.client(k);
            for (Index local = 0; local < *tuning.tau; ++local) {
                for (Index n = 0; n < order; ++n) client.descend(n, step, *tuning.fibers);
            }
            stepped[static_cast<std::size_t>(k)] = clone(client.factors);
        });
        for (Index message = 0; message < 2 * links; ++message) run.traffic().up(run.shared_numbers());
        // A_n^k <- sum_j m_kj A_n^j, the own factor first and then the neighbours in order.
        run.each([&](Index k) {
            const double own = run.weights()(k, k);
            for (std::size_t n = 1; n < static_cast<std::size_t>(order); ++n) {
                Matrix<double>& mixed = run.client(k).factors[n];
                for (Index i = 0; i < mixed.size(); ++i) mixed.data()[i] *= own;
                for (const Index j : run.graph().neighbours(k)) {
                    add_scaled(mixed, run.weights()(k, j), stepped[static_cast<std::size_t>(j)][n]);
                }
            }
        });
    });
}

}  // namespace couplet
