#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "couplet/ctt/peer.hpp"
#include "couplet/ctt/star.hpp"
#include "couplet/tt/rounding.hpp"
#include "trains.hpp"

/// Federations with known properties, and drivers that run the state machines in one thread, scripted.
namespace couplet::support {

using Clients = std::vector<Tensor<double>>;

inline Shape feature_modes(const Shape& shape) {
    return Shape(std::vector<Index>(shape.sizes().begin() + 1, shape.sizes().end()));
}

/// Train multiplied out, R_0 x P; full() drops a bond of 1.
inline Matrix<double> rows_of(const TensorTrain<double>& train) {
    return Matrix<double>::adopt(train.full().release(), train.left_rank(), train.shape().size());
}

/// Patients of one population: random mixtures of `rank` common feature trains whose weights fall by `decay`, plus
/// noise. `model` picks the population, `client` the patients.
inline Tensor<double> population_client(const Shape& shape, Index rank, double decay, double noise, std::uint64_t model,
                                        std::uint64_t client) {
    const Shape features = feature_modes(shape);
    std::vector<Index> ranks(static_cast<std::size_t>(features.order()) + 1, std::min<Index>(rank, 4));
    ranks.front() = rank;
    ranks.back() = 1;
    const auto common =
        rows_of(random_train<double>({features.sizes().begin(), features.sizes().end()}, ranks, 1000 * model + 1));
    auto mixing = random_matrix<double>(shape[0], rank, 7919 * model + client + 1);
    for (Index i = 0; i < mixing.rows(); ++i) {
        for (Index j = 0; j < rank; ++j) mixing(i, j) *= std::pow(decay, static_cast<double>(j));
    }
    auto x = random_tensor<double>(shape, 104729 * model + client + 2, noise);
    multiply<double>(mixing.view(), Op::none, common.view(), Op::none, x.view().unfold(1), 1.0, 1.0);
    return x;
}

inline Clients population(Index clients, const Shape& shape, Index rank, double decay = 0.7, double noise = 0.01,
                          std::uint64_t model = 1) {
    Clients result;
    for (Index k = 0; k < clients; ++k) {
        result.push_back(population_client(shape, rank, decay, noise, model, static_cast<std::uint64_t>(k)));
    }
    return result;
}

inline Hello hello_of(const Tensor<double>& x) {
    return {feature_modes(x.shape()), x.shape()[0], squared_norm(x.view().unfold(1))};
}

inline std::vector<Hello> hellos_of(const Clients& clients) {
    std::vector<Hello> result;
    for (const auto& x : clients) result.push_back(hello_of(x));
    return result;
}

/// All patients of all clients in one tensor.
inline Tensor<double> gather_rows(const Clients& clients) {
    std::vector<Index> sizes(clients.front().shape().sizes().begin(), clients.front().shape().sizes().end());
    sizes[0] = 0;
    for (const auto& x : clients) sizes[0] += x.shape()[0];
    Tensor<double> all{Shape(std::move(sizes))};
    double* to = all.data();
    for (const auto& x : clients) to = std::copy_n(x.data(), x.size(), to);
    return all;
}

/// RSE of centralized TT-SVD with R1 and eps2 / sqrt(N - 1) at every bond.
inline double centralized_rse(const Tensor<double>& all, Index rank, double eps2) {
    TtSvdOptions options;
    const Index bonds = all.shape().order() - 1;
    options.bonds.assign(static_cast<std::size_t>(bonds), {eps2 / std::sqrt(static_cast<double>(bonds))});
    options.bonds[0].max_rank = rank;
    const auto result = tt_svd(all.view(), options);
    return result.rel_error * result.rel_error;
}

/// ||X - X W^T W||^2 with W the rows of the orthonormal features, by loops over the definition.
inline double naive_refit_error2(const Tensor<double>& x, const Features& features) {
    const auto w = rows_of(features.train);
    const auto rows = x.view().unfold(1);
    const auto personal = naive_product(rows, w.view(), Op::none, Op::transpose);
    const auto back = naive_product(personal.view(), w.view());
    const double distance = naive_distance(rows, back.view());
    return distance * distance;
}

/// How far the row space of `a` is from that of `b`: ||W_a - W_a P_b||.
inline double row_space_distance(const Features& a, const Features& b) {
    std::vector<Index> sizes(a.train.shape().sizes().begin(), a.train.shape().sizes().end());
    sizes.insert(sizes.begin(), a.train.left_rank());
    return std::sqrt(naive_refit_error2(Tensor<double>(Shape(std::move(sizes)), rows_of(a.train).release()), b));
}

inline bool same_bits(const Features& a, const Features& b) {
    return a.sigma == b.sigma && a.orthonormal == b.orthonormal && same_bits(a.train, b.train);
}

inline double rse_of(const std::vector<double>& errors2, const std::vector<double>& norms2) {
    double error2 = 0;
    double norm2 = 0;
    for (const double e : errors2) error2 += e;
    for (const double n : norms2) norm2 += n;
    return norm2 > 0 ? error2 / norm2 : 0;
}

/// Of clients that are fitted with these features.
inline double rse_with(const Clients& clients, const Features& features) {
    std::vector<double> errors2, norms2;
    for (const auto& x : clients) {
        const auto fit = refit(x.view(), features);
        errors2.push_back(fit.error2);
        norms2.push_back(fit.norm2);
    }
    return rse_of(errors2, norms2);
}

struct StarOutcome {
    std::deque<StarClient> clients;
    std::optional<StarCoordinator> coordinator;
    std::optional<FeaturesMessage> message;
    std::vector<Index> upload_numbers;  ///< first round of stack and average
    double rse = 0;
};

/// Runs a star to its end. With a script, replies arrive in random order and half of them twice, and those of the wave
/// before once more.
inline StarOutcome drive_star(const Job& job, const Clients& data, Random* script = nullptr,
                              std::vector<MergeState> resume = {}, bool keep = false) {
    StarOutcome out;
    out.coordinator.emplace(job, static_cast<Index>(data.size()));
    if (!resume.empty()) out.coordinator->resume(std::move(resume));
    if (keep) out.coordinator->keep_uploads();
    for (const auto& x : data) out.clients.emplace_back(job, x.view());
    out.upload_numbers.assign(data.size(), 0);
    std::vector<std::size_t> order(data.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto shuffle = [&] {
        if (script == nullptr) return;
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[script->below(i)]);
    };
    shuffle();
    for (const std::size_t k : order) {
        out.coordinator->receive(static_cast<Index>(k), out.clients[k].hello());
        if (script != nullptr) out.coordinator->receive(static_cast<Index>(k), out.clients[k].hello());
    }
    std::optional<ToClient> before;
    while (!out.coordinator->finished()) {
        auto message = out.coordinator->next();
        if (!message) throw RunError({"test", "a coordinator that waits", "a message", ""});
        if (auto* features = std::get_if<FeaturesMessage>(&*message)) {
            out.message = FeaturesMessage{features->features.clone(), features->rel_error_bound};
        }
        shuffle();
        for (const std::size_t k : order) {
            const auto id = static_cast<Index>(k);
            auto reply = out.clients[k].receive(*message);
            if (reply) {
                if (const auto* upload = std::get_if<Upload>(&*reply)) out.upload_numbers[k] = upload->block->numbers();
                out.coordinator->receive(id, std::move(*reply));
            }
            if (script == nullptr) continue;
            if (script->below(2) == 0) {
                auto again = out.clients[k].receive(*message);
                if (again) out.coordinator->receive(id, std::move(*again));
            }
            if (before) {
                auto late = out.clients[k].receive(*before);
                if (late) out.coordinator->receive(id, std::move(*late));
            }
        }
        if (script != nullptr && std::holds_alternative<SumRequest>(*message)) before = std::move(message);
    }
    std::vector<double> errors2;
    std::vector<double> norms2;
    for (const auto& client : out.clients) {
        errors2.push_back(client.result().error2);
        norms2.push_back(client.result().norm2);
    }
    out.rse = rse_of(errors2, norms2);
    return out;
}

struct PeersOutcome {
    std::vector<std::unique_ptr<Peer>> peers;
    Index messages = 0;
    double rse = 0;
};

/// Runs a decentralized network to its end. With a script, nodes start in random order while messages already fly,
/// messages arrive in random order, and a quarter of them once more at some later time.
inline PeersOutcome drive_peers(const Job& job, const ConsensusPlan& plan, const Clients& data,
                                Random* script = nullptr) {
    PeersOutcome out;
    std::vector<std::pair<Index, PeerMessage>> queue;
    const auto post = [&](Index from, std::vector<PeerMessage> messages) {
        out.messages += static_cast<Index>(messages.size());
        for (auto& message : messages) queue.emplace_back(from, std::move(message));
    };
    for (std::size_t k = 0; k < data.size(); ++k) {
        out.peers.push_back(make_peer(job, plan, static_cast<Index>(k), data[k].view()));
    }
    std::vector<Index> waiting;
    for (std::size_t k = data.size(); k-- > 0;) waiting.push_back(static_cast<Index>(k));
    while (!waiting.empty() || !queue.empty()) {
        const bool start = !waiting.empty() && (script == nullptr || queue.empty() || script->below(8) == 0);
        if (start) {
            const std::size_t at = script == nullptr ? waiting.size() - 1 : script->below(waiting.size());
            const Index k = waiting[at];
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
            post(k, out.peers[static_cast<std::size_t>(k)]->start());
            continue;
        }
        const std::size_t at = script == nullptr ? 0 : script->below(queue.size());
        const auto [from, message] = queue[at];
        const bool again = script != nullptr && script->below(4) == 0;
        if (!again) queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(at));
        post(message.to, out.peers[static_cast<std::size_t>(message.to)]->receive(from, message));
    }
    std::vector<double> errors2;
    std::vector<double> norms2;
    for (const auto& peer : out.peers) {
        errors2.push_back(peer->result().error2);
        norms2.push_back(peer->result().norm2);
    }
    out.rse = rse_of(errors2, norms2);
    return out;
}

}  // namespace couplet::support
