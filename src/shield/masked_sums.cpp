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

void require_cohort(Index clients, const SumDemands& demands) {
    if (clients >= demands.min_cohort && clients <= most_shares) return;
    throw InputError({"`secure`", std::to_string(clients) + " clients",
                      std::to_string(demands.min_cohort) + " to " + std::to_string(most_shares),
                      clients > most_shares ? "A secret has no more shares; join clients, or run several federations."
                                            : "A sum over fewer would show what each has."});
}

Verifier verifier_of(const std::vector<Identity>& identities) {
    return [&identities](Party party, Bytes message, const Signature& signature) {
        return party >= 0 && party < static_cast<Party>(identities.size()) &&
               verify_signature(identities[static_cast<std::size_t>(party)].verifying(), message, signature);
    };
}

}  // namespace

std::vector<std::uint64_t> MaskedSums::add(std::vector<std::vector<std::uint64_t>> parts, const FixedPoint& how) {
    const auto length = static_cast<std::int64_t>(parts.front().size());
    return add(std::move(parts), {{length, how.ring, how.step}});
}

StarSums::StarSums(Index clients, const SumDemands& demands, int sums) : demands_(demands) {
    keys_ = {.job = Secret::random().bytes(),
             .first = 0,
             .sums = sums,
             .threshold = demands.least_threshold(static_cast<int>(clients)),
             .told = {}};
    require_cohort(clients, demands);
    if (keys_.threshold > clients) {
        throw InputError(
            {"colluding clients", std::to_string(demands.colluders), "fewer than " + std::to_string(clients), ""});
    }
    identities_ = std::vector<Identity>(static_cast<std::size_t>(clients));
}

template <class Body>
void StarSums::for_all(const Body& body) {
    parallel_for(static_cast<std::int64_t>(identities_.size()),
                 [&](std::int64_t k) { body(static_cast<std::size_t>(k)); });
}

void StarSums::make_keys() {
    const auto n = identities_.size();
    keys_.first = next_;
    const Verifier verify = verifier_of(identities_);
    coordinator_.emplace(keys_, verify);
    clients_.clear();
    for (std::size_t k = 0; k < n; ++k) {
        const Identity& identity = identities_[k];
        clients_.emplace_back(
            static_cast<Party>(k), keys_, demands_, [&identity](Bytes message) { return identity.sign(message); },
            verify);
        coordinator_->take_advertisement(static_cast<Party>(k), clients_.back().advertise());
    }
    const Roster& roster = coordinator_->roster();
    std::vector<SealedShares> sealed(n);
    for_all([&](std::size_t k) { sealed[k] = clients_[k].seal(roster); });
    for (std::size_t k = 0; k < n; ++k) coordinator_->take_shares(static_cast<Party>(k), std::move(sealed[k]));
    coordinator_->sharers();
    for_all([&](std::size_t k) { clients_[k].open(coordinator_->shares_for(static_cast<Party>(k))); });
    const auto all = static_cast<double>(n);
    const double announced = (1 + 2 * keys_.sums) * key_bytes + signature_bytes;
    const auto shares = static_cast<double>(sealed_bytes(keys_.sums));
    traffic_.bytes_up += all * (announced + (all - 1) * shares);
    traffic_.bytes_down += all * (all * announced + (all - 1) * shares);
    traffic_.rounds += 2;
}

std::vector<std::uint64_t> StarSums::add(std::vector<std::vector<std::uint64_t>> parts,
                                         const std::vector<Stretch>& stretches) {
    if (!coordinator_ || next_ == keys_.first + keys_.sums) make_keys();
    const auto n = identities_.size();
    const SumTerms terms{next_++, stretches, {}};
    coordinator_->begin_sum(terms, coordinator_->sharers());
    std::vector<MaskedVector> masked(n);
    for_all([&](std::size_t k) { masked[k] = clients_[k].mask(terms, coordinator_->members(), std::move(parts[k])); });
    for (std::size_t k = 0; k < n; ++k) coordinator_->take_masked(static_cast<Party>(k), std::move(masked[k]));
    coordinator_->survivors();
    const Endorsements& endorsements = coordinator_->endorsements();
    std::vector<Unmasking> unmaskings(n);
    for_all([&](std::size_t k) { unmaskings[k] = clients_[k].unmask(endorsements); });
    for (std::size_t k = 0; k < n; ++k) coordinator_->take_unmasking(static_cast<Party>(k), std::move(unmaskings[k]));

    const auto all = static_cast<double>(n);
    const auto numbers = static_cast<double>(packed_bytes(stretches));
    traffic_.bytes_up += all * (numbers + signature_bytes + all * key_bytes);
    traffic_.bytes_down += all * (all * 4 + all * signature_bytes);
    traffic_.rounds += 2;
    return coordinator_->sum();
}

PeerSums::PeerSums(const Graph& graph, const SumDemands& demands)
    : peers_(graph.nodes()), tree_(graph.bfs_tree(graph.centre())) {
    require_cohort(peers_, demands);
    identities_ = std::vector<Identity>(static_cast<std::size_t>(peers_));
    session_ = session_of(KeyTerms{.job = Secret::random().bytes(), .threshold = static_cast<int>(peers_), .told = {}});
    const Verifier verify = verifier_of(identities_);
    for (Index k = 0; k < peers_; ++k) {
        secrets_.push_back(Secret::random());
        const auto party = static_cast<Party>(k);
        Advertisement own{public_key(secrets_.back()), {public_key(secrets_.back())}, {}, {}};
        const auto text = advertisement_text(session_, party, own);
        own.signature = identities_[static_cast<std::size_t>(k)].sign(text);
        // Every peer checks this of every other before it masks anything.
        if (!verify(party, text, own.signature)) throw RunError({"peer", "a wrong signature", "its own", ""});
        members_[party] = own.sealing;
        parties_.insert(party);
    }
    const auto links = static_cast<double>(peers_ - 1);
    traffic_.bytes_up += links * 2 * static_cast<double>(peers_) * (key_bytes + signature_bytes);
    traffic_.rounds += 2 * tree_.height;
}

std::vector<std::uint64_t> PeerSums::add(std::vector<std::vector<std::uint64_t>> parts,
                                         const std::vector<Stretch>& stretches) {
    const SumTerms terms{next_++, stretches, {}};
    const Key session = session_of(session_, terms, parties_);
    parallel_for(peers_, [&](std::int64_t k) {
        const auto at = static_cast<std::size_t>(k);
        add_pairwise_masks(parts[at], terms, session, static_cast<Party>(k), secrets_[at], members_);
    });
    for (auto node = tree_.order.rbegin(); node != tree_.order.rend(); ++node) {
        const Index parent = tree_.parent[static_cast<std::size_t>(*node)];
        if (parent < 0) continue;
        auto& to = parts[static_cast<std::size_t>(parent)];
        const auto& from = parts[static_cast<std::size_t>(*node)];
        std::size_t i = 0;
        for (const Stretch& stretch : stretches) {
            const std::size_t end = i + static_cast<std::size_t>(stretch.numbers);
            for (; i < end; ++i) to[i] = stretch.ring.sum(to[i], from[i]);
        }
    }
    const auto links = static_cast<double>(peers_ - 1);
    traffic_.bytes_up += links * static_cast<double>(packed_bytes(stretches));
    traffic_.rounds += 2 * tree_.height;
    return std::move(parts[static_cast<std::size_t>(tree_.root)]);
}

}  // namespace couplet
