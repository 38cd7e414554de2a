#include "couplet/privacy/secure_sum.hpp"

#include <sodium.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "couplet/privacy/shamir.hpp"
#include "sum_keys.hpp"

namespace couplet {
namespace {

// Each is 64 bytes of every sealed share.
constexpr int most_sums = 100;

}  // namespace

SecureSumClient::SecureSumClient(Party self, const KeyTerms& terms, const SumDemands& demands, Signer sign,
                                 Verifier verify, SecretSource draw)
    : self_(self),
      terms_(terms),
      keys_session_(session_of(terms)),
      demands_(demands),
      sign_(std::move(sign)),
      verify_(std::move(verify)),
      draw_(std::move(draw)),
      sealing_key_(draw_()) {
    if (terms.sums < 1 || terms.sums > most_sums) {
        throw refuse("keys for " + std::to_string(terms.sums) + " sums", "1 to " + std::to_string(most_sums));
    }
    secrets_.resize(static_cast<std::size_t>(terms.sums));
    for (Secrets& secrets : secrets_) {
        secrets.masking = draw_();
        secrets.seed = draw_();
    }
}

InputError SecureSumClient::refuse(const std::string& found, const std::string& expected) const {
    return InputError({"coordinator", found, expected, "This client takes no further part in the sum."});
}

void SecureSumClient::begin(Step expected, const char* what) {
    const Step now = std::exchange(step_, Step::advertise);
    if (now == expected) return;
    secrets_.clear();
    throw refuse(std::string(what) + " out of turn or twice", "each step of a sum once");
}

void SecureSumClient::require_cohort(std::size_t others) const {
    const int least = std::max(terms_.threshold, demands_.min_cohort);
    if (static_cast<int>(others) + 1 >= least) return;
    throw refuse("shares of " + std::to_string(others) + " others", "at least " + std::to_string(least - 1));
}

Advertisement SecureSumClient::advertise() {
    begin(secrets_.empty() ? Step::unmask : Step::advertise, "a request for keys");
    own_.sealing = public_key(sealing_key_);
    for (const Secrets& secrets : secrets_) {
        own_.masking.push_back(public_key(secrets.masking));
        own_.seeds.push_back(commitment(secrets.seed));
    }
    own_.signature = sign_(advertisement_text(keys_session_, self_, own_));
    step_ = Step::seal;
    return own_;
}

SealedShares SecureSumClient::seal(const Roster& roster) {
    begin(Step::seal, "a roster");
    const int n = static_cast<int>(roster.size());
    if (n < demands_.min_cohort || n > most_shares) {
        throw refuse("a roster of " + std::to_string(n) + " clients",
                     "at least " + std::to_string(demands_.min_cohort) + ", as this client's policy says");
    }
    const int least = demands_.least_threshold(n);
    if (terms_.threshold < least || terms_.threshold > n) {
        throw refuse("a threshold of " + std::to_string(terms_.threshold) + " of " + std::to_string(n),
                     "at least " + std::to_string(least));
    }
    const auto own = roster.find(self_);
    if (own == roster.end() || own->second.sealing != own_.sealing || own->second.masking != own_.masking ||
        own->second.seeds != own_.seeds) {
        throw refuse("a roster without this client's keys", "the keys that it sent");
    }
    for (const auto& [party, keys] : roster) {
        const bool whole = keys.masking.size() == secrets_.size() && keys.seeds.size() == secrets_.size();
        if (whole && verify_(party, advertisement_text(keys_session_, party, keys), keys.signature)) continue;
        throw refuse("keys of " + party_name(party) + " with a wrong signature", "keys that it signed for these sums");
    }
    roster_ = roster;
    std::vector<ByteText> plain(roster_.size());
    for (Secrets& secrets : secrets_) {
        auto seed_shares = split_secret(secrets.seed, terms_.threshold, n, draw_);
        auto masking_shares = split_secret(secrets.masking, terms_.threshold, n, draw_);
        std::size_t at = 0;
        for (const auto& [party, unused] : roster_) {
            put(plain[at], seed_shares[at]);
            put(plain[at], masking_shares[at]);
            if (party == self_) {
                secrets.seed_shares.emplace(self_, Secret(seed_shares[at]));
                secrets.masking_shares.emplace(self_, Secret(masking_shares[at]));
            }
            ++at;
        }
        wipe(seed_shares);
        wipe(masking_shares);
    }
    SealedShares sealed;
    std::size_t at = 0;
    for (const auto& [party, keys] : roster_) {
        ByteText& own_plain = plain[at++];
        if (party == self_) {
            ::sodium_memzero(own_plain.data(), own_plain.size());
            continue;
        }
        const Secret key = shared_key(sealing_key_, keys.sealing, keys_session_, "seal", self_, party);
        sealed[party] = seal_shares(key, std::move(own_plain), {keys_session_, self_, party});
    }
    step_ = Step::open;
    return sealed;
}

void SecureSumClient::open(const SealedShares& received) {
    begin(Step::open, "others' shares");
    require_cohort(received.size());
    sharers_ = {self_};
    for (const auto& [party, sealed] : received) {
        const auto keys = roster_.find(party);
        if (keys == roster_.end() || party == self_) {
            throw refuse("shares of " + party_name(party), "shares of others in the roster");
        }
        const Secret key = shared_key(sealing_key_, keys->second.sealing, keys_session_, "seal", party, self_);
        auto shares = open_shares(key, sealed, {keys_session_, party, self_}, 2 * secrets_.size());
        if (!shares)
            throw refuse("shares of " + party_name(party) + " with a broken seal", "what it sealed to this client");
        for (std::size_t i = 0; i < secrets_.size(); ++i) {
            secrets_[i].seed_shares.emplace(party, std::move((*shares)[2 * i]));
            secrets_[i].masking_shares.emplace(party, std::move((*shares)[2 * i + 1]));
        }
        sharers_.insert(party);
    }
    sealing_key_.wipe();
    step_ = Step::mask;
}

MaskedVector SecureSumClient::mask(const SumTerms& sum, const std::set<Party>& members,
                                   std::vector<std::uint64_t> values) {
    begin(Step::mask, "a request for masked numbers");
    if (sum.sum <= sum_ || sum.sum < terms_.first || sum.sum >= terms_.first + terms_.sums) {
        throw refuse("keys of sum " + std::to_string(sum.sum + 1) + " once more, or of none",
                     "those of a sum that these keys were made for, once");
    }
    if (static_cast<std::int64_t>(values.size()) != sum.length()) {
        throw refuse("a sum of " + std::to_string(values.size()) + " numbers", std::to_string(sum.length()));
    }
    if (!members.contains(self_) || !std::ranges::includes(sharers_, members)) {
        throw refuse("members of a sum who are not those with shares", "some of them, and this client");
    }
    require_cohort(members.size() - 1);
    sum_ = sum.sum;
    members_ = members;
    session_ = session_of(keys_session_, sum, members);
    Secrets& secrets = of_sum();
    std::map<Party, Key> masking;
    const auto at = static_cast<std::size_t>(sum_ - terms_.first);
    for (const Party party : members) masking[party] = roster_.at(party).masking[at];
    add_to(values, sum, own_stream(secrets.seed, session_), Sign::plus);
    add_pairwise_masks(values, sum, session_, self_, secrets.masking, masking);
    // Of this sum and of those that were passed over.
    for (std::size_t i = 0; i <= at; ++i) {
        secrets_[i].seed.wipe();
        secrets_[i].masking.wipe();
    }
    step_ = Step::endorse;
    return {std::move(values), sign_(numbers_text(session_, self_))};
}

Signature SecureSumClient::endorse(const Survivors& survivors) {
    begin(Step::endorse, "a list of survivors");
    std::set<Party> both;
    std::ranges::set_intersection(survivors.alive, survivors.dropped, std::inserter(both, both.end()));
    if (!both.empty()) {
        throw refuse(party_name(*both.begin()) + " as both alive and lost", "every client as one or the other");
    }
    std::set<Party> all = survivors.alive;
    all.insert(survivors.dropped.begin(), survivors.dropped.end());
    if (all != members_) throw refuse("survivors that are not those who shared", "everybody who shared, once");
    if (!survivors.alive.contains(self_)) throw refuse("this client as lost", "it as alive: it has just answered");
    const int least = std::max(terms_.threshold, demands_.min_cohort);
    if (static_cast<int>(survivors.alive.size()) < least) {
        throw refuse(std::to_string(survivors.alive.size()) + " survivors", "at least " + std::to_string(least));
    }
    survivors_ = survivors;
    step_ = Step::unmask;
    return sign_(survivors_text(session_, survivors_));
}

Unmasking SecureSumClient::unmask(const Endorsements& endorsements) {
    const bool everybody = complete();
    if (everybody) survivors_ = {members_, {}};
    begin(everybody ? Step::endorse : Step::unmask, "a request to unmask");
    const auto lost_text = survivors_text(session_, survivors_);
    for (const auto& [party, signature] : endorsements) {
        const auto text = everybody ? numbers_text(session_, party) : lost_text;
        if (survivors_.alive.contains(party) && verify_(party, text, signature)) continue;
        throw refuse("a signature of " + party_name(party) +
                         (everybody ? " under another sum than this client was asked for" : " under other survivors"),
                     "the same for everybody");
    }
    const int good = static_cast<int>(endorsements.size());
    const int needed = everybody ? static_cast<int>(members_.size()) : terms_.threshold;
    if (good < needed) {
        throw refuse(std::to_string(good) + " signatures under the survivors", "at least " + std::to_string(needed));
    }
    Secrets& secrets = of_sum();
    Unmasking reveal;
    for (const Party party : survivors_.alive) reveal.alive[party] = secrets.seed_shares.at(party).bytes();
    for (const Party party : survivors_.dropped) reveal.dropped[party] = secrets.masking_shares.at(party).bytes();
    secrets.seed_shares.clear();
    secrets.masking_shares.clear();
    step_ = Step::mask;
    return reveal;
}

}  // namespace couplet
