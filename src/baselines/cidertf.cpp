#include "cp_run.hpp"
#include "sign_message.hpp"

namespace couplet {
namespace {

/// What a peer tells its neighbours of how its factor moved away from their copy of it.
struct Broadcast {
    Matrix<double> change;  ///< empty: the trigger did not fire, nothing is sent
    double bytes = 0;
};

bool fires(const Matrix<double>& difference, const Matrix<double>& factor, double threshold) {
    return inner_product(difference, difference) > threshold * inner_product(factor, factor);
}

Broadcast announce(const Matrix<double>& factor, const Matrix<double>& copy, double threshold, bool compress) {
    auto difference = Matrix<double>::copy(factor.view());
    add_scaled(difference, -1, copy);
    if (!fires(difference, factor, threshold)) return {};
    if (!compress) {
        const double bytes = 8 * static_cast<double>(difference.size());
        return {std::move(difference), bytes};
    }
    const SignMessage message = compress_signs(difference.view());
    return {expand_signs(message), message.bytes()};
}

}  // namespace

void train_cidertf(CpRun& run) {
    const Tuning& tuning = run.tuning();
    const auto order = static_cast<std::uint64_t>(run.order());
    const auto clients = static_cast<std::size_t>(run.clients());
    // Everybody starts from the same factors, so the copies are right without a message.
    std::vector<Factors> copies(clients);
    for (auto& copy : copies) copy = clone(run.client(0).factors);
    std::vector<Broadcast> broadcasts(clients);
    Random modes(run.seed(), mode_stream);  // everybody draws the same modes
    run.train([&](Index round) {
        const double step = run.step(round);
        std::vector<Index> path;
        for (Index i = 0; i < *tuning.tau; ++i) path.push_back(static_cast<Index>(modes.below(order)));
        const std::size_t shared = 1 + modes.below(order - 1);
        run.each([&](Index k) {
            CpClient& client = run.client(k);
            for (const Index mode : path) client.descend(mode, step, *tuning.fibers);
            const auto at = static_cast<std::size_t>(k);
            broadcasts[at] =
                announce(client.factors[shared], copies[at][shared], *tuning.threshold, run.options().compress);
        });
        for (std::size_t k = 0; k < clients; ++k) {
            if (broadcasts[k].change.size() == 0) continue;
            const auto numbers = static_cast<double>(broadcasts[k].change.size());
            const Index neighbours = run.graph().degree(static_cast<Index>(k));
            for (Index link = 0; link < neighbours; ++link) run.traffic().up_packed(numbers, broadcasts[k].bytes);
            add_scaled(copies[k][shared], 1, broadcasts[k].change);
        }
        run.each([&](Index k) {
            Matrix<double>& factor = run.client(k).factors[shared];
            const auto at = static_cast<std::size_t>(k);
            for (const Index j : run.graph().neighbours(k)) {
                const double weight = *tuning.gossip * run.weights()(k, j);
                add_scaled(factor, weight, copies[static_cast<std::size_t>(j)][shared]);
                add_scaled(factor, -weight, copies[at][shared]);
            }
        });
    });
}

}  // namespace couplet
