#include "couplet/shield/masked_sums.hpp"

#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/privacy/shamir.hpp"

namespace couplet {
namespace {

constexpr double key_bytes = sizeof(Key);
constexpr double signature_bytes = 64;
constexpr double sealed_bytes = 2 * key_bytes + 16;

void require_cohort(Index clients, const SumDemands& demands) {
    if (clients >= demands.min_cohort && clients <= most_shares) return;
    throw InputError({"`secure`", std::to_string(clients) + " clients",
                      std::to_string(demands.min_cohort) + " to " + std::to_string(most_shares),
                      clients > most_shares ? "A secret has no more shares; join clients, or run several federations."
                                            : "A sum over fewer would show what each has."});
}

SumTerms terms_of(const Key& job, std::int64_t pass, std::size_t length, const FixedPoint& how, int threshold) {
    return {job, pass, static_cast<std::int64_t>(length), how.ring.bits(), how.step, threshold, {}};
}

Verifier verifier_of(const std::vector<Identity>& identities) {
    return [&identities](Party party, Bytes message, const Signature& signature) {
        return party >= 0 && party < static_cast<Party>(identities.size()) &&
               verify_signature(identities[static_cast<std::size_t>(party)].verifying(), message, signature);
    };
}

}  // namespace

StarSums::StarSums(Index clients, const SumDemands& demands)
    : demands_(demands),
      threshold_(demands.least_threshold(static_cast<int>(clients))),
      job_(Secret::random().bytes()) {
    require_cohort(clients, demands);
    if (threshold_ > clients) {
        throw InputError(
            {"colluding clients", std::to_string(demands.colluders), "fewer than " + std::to_string(clients), ""});
    }
    identities_ = std::vector<Identity>(static_cast<std::size_t>(clients));
}

std::vector<std::uint64_t> StarSums::add(std::vector<std::vector<std::uint64_t>> parts, const FixedPoint& how) {
    const auto n = identities_.size();
    const SumTerms terms = terms_of(job_, pass_++, parts.front().size(), how, threshold_);
    const Verifier verify = verifier_of(identities_);
    SecureSumCoordinator coordinator(terms, verify);
    std::vector<SecureSumClient> clients;
    for (std::size_t k = 0; k < n; ++k) {
        const Identity& identity = identities_[k];
        clients.emplace_back(
            static_cast<Party>(k), terms, demands_, [&identity](Bytes message) { return identity.sign(message); },
            verify);
        coordinator.take_advertisement(static_cast<Party>(k), clients.back().advertise());
    }
    const Roster& roster = coordinator.roster();
    const auto for_all = [&](const auto& body) {
        parallel_for(static_cast<std::int64_t>(n), [&](std::int64_t k) { body(static_cast<std::size_t>(k)); });
    };
    std::vector<SealedShares> sealed(n);
    for_all([&](std::size_t k) { sealed[k] = clients[k].seal(roster); });
    for (std::size_t k = 0; k < n; ++k) coordinator.take_shares(static_cast<Party>(k), std::move(sealed[k]));
    std::vector<SealedShares> received(n);
    for (std::size_t k = 0; k < n; ++k) received[k] = coordinator.shares_for(static_cast<Party>(k));
    for_all([&](std::size_t k) { parts[k] = clients[k].mask(received[k], std::move(parts[k])); });
    for (std::size_t k = 0; k < n; ++k) coordinator.take_masked(static_cast<Party>(k), std::move(parts[k]));
    const Survivors& survivors = coordinator.survivors();
    for (std::size_t k = 0; k < n; ++k) {
        coordinator.take_endorsement(static_cast<Party>(k), clients[k].endorse(survivors));
    }
    const Endorsements& endorsements = coordinator.endorsements();
    std::vector<Unmasking> unmaskings(n);
    for_all([&](std::size_t k) { unmaskings[k] = clients[k].unmask(endorsements); });
    for (std::size_t k = 0; k < n; ++k) coordinator.take_unmasking(static_cast<Party>(k), std::move(unmaskings[k]));

    const auto all = static_cast<double>(n);
    const auto numbers = static_cast<double>(how.ring.packed_bytes(static_cast<std::size_t>(terms.length)));
    traffic_.bytes_up += all * (2 * key_bytes + signature_bytes + (all - 1) * sealed_bytes + numbers + signature_bytes +
                                all * key_bytes);
    traffic_.bytes_down +=
        all * (all * (2 * key_bytes + signature_bytes) + (all - 1) * sealed_bytes + all * 4 + all * signature_bytes);
    traffic_.rounds += 5;
    return coordinator.sum();
}

PeerSums::PeerSums(const Graph& graph, const SumDemands& demands)
    : peers_(graph.nodes()), tree_(graph.bfs_tree(graph.centre())), job_(Secret::random().bytes()) {
    require_cohort(peers_, demands);
    identities_ = std::vector<Identity>(static_cast<std::size_t>(peers_));
}

std::vector<std::uint64_t> PeerSums::add(std::vector<std::vector<std::uint64_t>> parts, const FixedPoint& how) {
    const SumTerms terms = terms_of(job_, pass_++, parts.front().size(), how, static_cast<int>(peers_));
    const Key session = session_of(terms);
    const Verifier verify = verifier_of(identities_);
    std::vector<Secret> keys;
    std::map<Party, Key> members;
    for (Index k = 0; k < peers_; ++k) {
        keys.push_back(Secret::random());
        const Party party = static_cast<Party>(k);
        const Key masking = public_key(keys.back());
        const auto text = advertisement_text(session, party, masking, masking);
        const Signature signature = identities_[static_cast<std::size_t>(k)].sign(text);
        // Every peer checks this of every other before it masks anything.
        if (!verify(party, text, signature)) throw RunError({"peer", "a wrong signature", "its own", ""});
        members[party] = masking;
    }
    parallel_for(peers_, [&](std::int64_t k) {
        const auto at = static_cast<std::size_t>(k);
        add_pairwise_masks(parts[at], static_cast<Party>(k), keys[at], members, session, how.ring);
    });
    for (auto node = tree_.order.rbegin(); node != tree_.order.rend(); ++node) {
        const Index parent = tree_.parent[static_cast<std::size_t>(*node)];
        if (parent < 0) continue;
        auto& to = parts[static_cast<std::size_t>(parent)];
        const auto& from = parts[static_cast<std::size_t>(*node)];
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = (to[i] + from[i]) & how.ring.mask();
    }
    const auto links = static_cast<double>(peers_ - 1);
    const auto numbers = static_cast<double>(how.ring.packed_bytes(static_cast<std::size_t>(terms.length)));
    const double key_flood = static_cast<double>(peers_) * (key_bytes + signature_bytes);
    traffic_.bytes_up += links * (numbers + 2 * key_flood);
    traffic_.rounds += 2 * tree_.height;
    return std::move(parts[static_cast<std::size_t>(tree_.root)]);
}

}  // namespace couplet
