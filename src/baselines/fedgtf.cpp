#include <algorithm>
#include <utility>

#include "cp_run.hpp"
#include "sign_message.hpp"

namespace couplet {
namespace {

/// What a client uploads for one factor: packed signs, or everything.
struct Packed {
    Matrix<double> value;
    double bytes = 0;  ///< without the envelope
};

Packed pack(Matrix<double> p, ErrorFeedback& feedback, bool compress) {
    if (!compress) {
        const double bytes = 8 * static_cast<double>(p.size());
        return {std::move(p), bytes};
    }
    const SignMessage message = feedback.send(std::move(p));
    return {expand_signs(message), message.bytes()};
}

/// Uploads of all clients for one factor, summed in the order of the clients.
Matrix<double> sum_of(const std::vector<Packed>& uploads) {
    auto sum = Matrix<double>::copy(uploads.front().value.view());
    for (std::size_t k = 1; k < uploads.size(); ++k) add_scaled(sum, 1, uploads[k].value);
    return sum;
}

/// The sum goes down in the shorter form: the clients' messages as they came, or full precision.
double bytes_down(const std::vector<Packed>& uploads) {
    double forwarded = 0;
    for (const Packed& upload : uploads) forwarded += upload.bytes;
    return std::min(forwarded, 8 * static_cast<double>(uploads.front().value.size()));
}

}  // namespace

void train_fedgtf_ef(CpRun& run) {
    const Tuning& tuning = run.tuning();
    const auto order = static_cast<std::uint64_t>(run.order());
    const auto clients = static_cast<std::size_t>(run.clients());
    std::vector<std::vector<ErrorFeedback>> feedback(clients);
    for (auto& modes : feedback) modes.resize(order);
    std::vector<Packed> uploads(clients);
    Random modes(run.seed(), mode_stream);  // everybody draws the same modes
    run.train([&](Index round) {
        const double step = run.step(round);
        Index local = 0;
        std::uint64_t mode = modes.below(order);
        for (; mode == 0; mode = modes.below(order)) ++local;
        run.each([&](Index k) {
            CpClient& client = run.client(k);
            for (Index i = 0; i < local; ++i) client.descend(0, step, *tuning.fibers, *tuning.prox);
            auto p = client.descent(static_cast<Index>(mode), step, *tuning.fibers, *tuning.prox);
            for (Index i = 0; i < p.size(); ++i) p.data()[i] *= client.weight;
            const auto at = static_cast<std::size_t>(k);
            uploads[at] = pack(std::move(p), feedback[at][mode], run.options().compress);
        });
        Matrix<double> sum;
        run.serve([&] { sum = sum_of(uploads); });
        const auto numbers = static_cast<double>(sum.size());
        for (const Packed& upload : uploads) run.traffic().up_packed(numbers, upload.bytes);
        run.traffic().down_packed(numbers, bytes_down(uploads), run.clients());
        run.each([&](Index k) { add_scaled(run.client(k).factors[mode], -1, sum); });
    });
}

// Clients work on copies of their own; what they did to the factors that were not yet drawn stays with them until those
// are. client.factors holds what all agree on.
void train_fedgtf_ef_pc(CpRun& run) {
    const Tuning& tuning = run.tuning();
    const auto order = static_cast<std::uint64_t>(run.order());
    const auto clients = static_cast<std::size_t>(run.clients());
    std::vector<std::vector<ErrorFeedback>> feedback(clients);
    for (auto& modes : feedback) modes.resize(order);
    std::vector<Packed> uploads(clients);
    Factors shared = clone(run.client(0).factors);
    std::vector<Factors> local(clients);
    for (Index k = 0; k < run.clients(); ++k) local[static_cast<std::size_t>(k)] = clone(run.client(k).factors);
    Random modes(run.seed(), mode_stream);
    run.train([&](Index round) {
        const double step = run.step(round);
        std::vector<Index> path;
        for (Index i = 1; i < *tuning.tau; ++i) path.push_back(static_cast<Index>(modes.below(order)));
        const std::uint64_t sent = 1 + modes.below(order - 1);
        path.push_back(static_cast<Index>(sent));
        run.each([&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            CpClient& client = run.client(k);
            std::swap(client.factors, local[at]);
            for (const Index mode : path) client.descend(mode, step, *tuning.fibers, *tuning.prox);
            std::swap(client.factors, local[at]);
            auto difference = Matrix<double>::copy(local[at][sent].view());
            add_scaled(difference, -1, shared[sent]);
            uploads[at] = pack(std::move(difference), feedback[at][sent], run.options().compress);
        });
        run.serve([&] { add_scaled(shared[sent], 1 / static_cast<double>(clients), sum_of(uploads)); });
        const auto numbers = static_cast<double>(shared[sent].size());
        for (const Packed& upload : uploads) run.traffic().up_packed(numbers, upload.bytes);
        run.traffic().down_packed(numbers, bytes_down(uploads), run.clients());
        run.each([&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            local[at][sent] = Matrix<double>::copy(shared[sent].view());
            run.client(k).adopt(local[at][0], shared);
        });
    });
}

}  // namespace couplet
