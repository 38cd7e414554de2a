#pragma once

#include "couplet/net/peer.hpp"
#include "net_test_support.hpp"

namespace couplet::net {

/// A provisioned decentralized network with data: peers a, b, c, ...
struct TestPeers {
    std::filesystem::path kits;
    std::vector<std::string> names;
    Clients data;

    TestPeers(std::filesystem::path folder, Clients clients, const std::string& graph)
        : kits(std::move(folder)), data(std::move(clients)) {
        PeersPlan plan{.peers = {}, .graph = graph, .seed = 0, .days = 30};
        for (std::size_t k = 0; k < data.size(); ++k) {
            names.emplace_back(1, static_cast<char>('a' + k));
            plan.peers.push_back({names.back(), "127.0.0.1:" + std::to_string(free_port())});
        }
        provision_peers(kits, plan, true);
    }
    Kit kit(std::size_t k) const { return load_kit(kits / names[k]); }
    std::shared_ptr<const Tensor<double>> tensor(std::size_t k) const {
        return std::make_shared<const Tensor<double>>(Tensor<double>::copy(data[k].view()));
    }
    PeerOptions options(const JobOptions& job) const {
        return {.spec = {resolve_job(job), {}},
                .deadline = at_ease(20s),
                .gather = at_ease(10s),
                .link_deadline = at_ease(2s)};
    }
    std::future<PeerResult> start(std::size_t k, PeerOptions how) const {
        return std::async(std::launch::async, [this, k, how = std::move(how)]() mutable {
            Log log({}, {});
            PeerNode peer(kit(k), tensor(k), std::move(how), log);
            return peer.run();
        });
    }
};

}  // namespace couplet::net
