#include <iterator>
#include <utility>

#include "couplet/privacy/secure_sum.hpp"
#include "couplet/privacy/shamir.hpp"
#include "sum_keys.hpp"

namespace couplet {

SecureSumCoordinator::SecureSumCoordinator(const KeyTerms& terms, Verifier verify)
    : terms_(terms), keys_session_(session_of(terms)), verify_(std::move(verify)) {}

RunError SecureSumCoordinator::too_few(const char* what, std::size_t found) const {
    return RunError({"secure sum", std::to_string(found) + " " + what, "at least " + std::to_string(terms_.threshold),
                     "Too many clients were lost; nothing was revealed. Start the job again."});
}

void SecureSumCoordinator::take_advertisement(Party from, Advertisement advertisement) {
    const auto text = advertisement_text(keys_session_, from, advertisement);
    const auto sums = static_cast<std::size_t>(terms_.sums);
    const bool whole = advertisement.masking.size() == sums && advertisement.seeds.size() == sums;
    if (!whole || !verify_(from, text, advertisement.signature)) {
        throw InputError({party_name(from), "keys with a wrong signature", "keys signed for these sums", ""});
    }
    if (sharers_ || !shares_.empty())
        throw InputError({party_name(from), "keys after the roster", "them before it", ""});
    roster_.emplace(from, std::move(advertisement));
}

const Roster& SecureSumCoordinator::roster() {
    if (static_cast<int>(roster_.size()) < terms_.threshold) throw too_few("clients with keys", roster_.size());
    return roster_;
}

void SecureSumCoordinator::take_shares(Party from, SealedShares sealed) {
    auto expected = parties_of(roster_);
    if (!expected.contains(from) || sharers_)
        throw InputError({party_name(from), "shares now", "them in their step", ""});
    expected.erase(from);
    if (parties_of(sealed) != expected) {
        throw InputError({party_name(from), "shares for others than the roster", "one for each of them", ""});
    }
    shares_.emplace(from, std::move(sealed));
}

const std::set<Party>& SecureSumCoordinator::sharers() {
    if (!sharers_) {
        sharers_ = parties_of(shares_);
        for (const auto& [party, unused] : roster_) place_.emplace(party, static_cast<int>(place_.size()));
    }
    if (static_cast<int>(sharers_->size()) < terms_.threshold) throw too_few("clients with shares", sharers_->size());
    return *sharers_;
}

SealedShares SecureSumCoordinator::shares_for(Party to) {
    SealedShares all;
    for (const Party from : sharers()) {
        if (from != to) all[from] = shares_.at(from).at(to);
    }
    return all;
}

void SecureSumCoordinator::begin_sum(const SumTerms& sum, std::set<Party> members) {
    if (sum.sum < terms_.first || sum.sum >= terms_.first + terms_.sums || !std::ranges::includes(sharers(), members)) {
        throw RunError({"secure sum", "sum " + std::to_string(sum.sum + 1), "one that the keys were made for", ""});
    }
    sum_ = sum;
    members_ = std::move(members);
    session_ = session_of(keys_session_, sum_, members_);
    masked_.clear();
    survivors_.reset();
    endorsements_.clear();
    unmaskings_.clear();
}

void SecureSumCoordinator::take_masked(Party from, MaskedVector masked) {
    if (!members_.contains(from) || survivors_) {
        throw InputError({party_name(from), "masked numbers now", "them in their step", ""});
    }
    if (static_cast<std::int64_t>(masked.values.size()) != sum_.length()) {
        throw InputError(
            {party_name(from), std::to_string(masked.values.size()) + " numbers", std::to_string(sum_.length()), ""});
    }
    if (!verify_(from, numbers_text(session_, from), masked.signature)) {
        throw InputError(
            {party_name(from), "numbers with a wrong signature", "its own, under what it was asked for", ""});
    }
    masked_.emplace(from, std::move(masked));
}

const Survivors& SecureSumCoordinator::survivors() {
    if (!survivors_) {
        Survivors found;
        for (const Party party : members_) (masked_.contains(party) ? found.alive : found.dropped).insert(party);
        if (static_cast<int>(found.alive.size()) < terms_.threshold) {
            throw too_few("clients with numbers", found.alive.size());
        }
        survivors_ = std::move(found);
    }
    return *survivors_;
}

void SecureSumCoordinator::take_endorsement(Party from, Signature signature) {
    const bool wanted = survivors_ && survivors_->alive.contains(from);
    if (!wanted || !verify_(from, survivors_text(session_, *survivors_), signature)) {
        throw InputError({party_name(from), "a wrong signature under the survivors", "a survivor's own", ""});
    }
    endorsements_.emplace(from, std::move(signature));
}

const Endorsements& SecureSumCoordinator::endorsements() {
    if (survivors_ && survivors_->dropped.empty()) {
        for (const auto& [party, masked] : masked_) endorsements_.emplace(party, masked.signature);
    }
    if (static_cast<int>(endorsements_.size()) < terms_.threshold) throw too_few("signatures", endorsements_.size());
    return endorsements_;
}

void SecureSumCoordinator::take_unmasking(Party from, Unmasking unmasking) {
    const bool fits = survivors_ && survivors_->alive.contains(from) &&
                      parties_of(unmasking.alive) == survivors_->alive &&
                      parties_of(unmasking.dropped) == survivors_->dropped;
    if (!fits) throw InputError({party_name(from), "shares of others than the survivors", "one for each party", ""});
    unmaskings_.emplace(from, std::move(unmasking));
}

const Key& SecureSumCoordinator::masking_of(Party party) const {
    return roster_.at(party).masking[static_cast<std::size_t>(sum_.sum - terms_.first)];
}

std::map<int, Key> SecureSumCoordinator::shares_of(Party party, bool alive) const {
    std::map<int, Key> shares;
    for (const auto& [from, reveal] : unmaskings_) {
        if (liars_.contains(from)) continue;
        shares[place_.at(from)] = (alive ? reveal.alive : reveal.dropped).at(party);
    }
    return shares;
}

bool SecureSumCoordinator::fits(Party party, bool alive, const Secret& secret) const {
    if (!alive) return public_key(secret) == masking_of(party);
    return commitment(secret) == roster_.at(party).seeds[static_cast<std::size_t>(sum_.sum - terms_.first)];
}

/// Any t shares give the secret, so whoever's share must be left out for it to fit has sent another one.
Secret SecureSumCoordinator::joined(Party party, bool alive) {
    const auto threshold = static_cast<std::size_t>(terms_.threshold);
    const auto first = [&](std::map<int, Key> shares) {
        while (shares.size() > threshold) shares.erase(std::prev(shares.end()));
        return join_secret(shares);
    };
    const std::map<int, Key> shares = shares_of(party, alive);
    if (shares.size() >= threshold) {
        if (Secret secret = first(shares); fits(party, alive, secret)) return secret;
    }
    for (const auto& [from, unused] : unmaskings_) {
        std::map<int, Key> others = shares;
        if (others.erase(place_.at(from)) == 0 || others.size() < threshold) continue;
        Secret secret = first(others);
        if (!fits(party, alive, secret)) continue;
        liars_.insert(from);
        return secret;
    }
    throw RunError({"secure sum", "shares that do not give the secret of " + party_name(party), "those that it made",
                    "Some client has sent shares that are none. Start the job again."});
}

void SecureSumCoordinator::add(std::vector<std::uint64_t>& total, const Secret& stream, Sign sign) const {
    add_to(total, sum_, stream, sign);
}

std::vector<std::uint64_t> SecureSumCoordinator::sum() {
    if (static_cast<int>(unmaskings_.size()) < terms_.threshold) {
        throw too_few("clients that unmask", unmaskings_.size());
    }
    std::vector<std::uint64_t> total(static_cast<std::size_t>(sum_.length()), 0);
    std::size_t done = 0;
    for (const Stretch& stretch : sum_.stretches) {
        const std::size_t end = done + static_cast<std::size_t>(stretch.numbers);
        for (const auto& [party, masked] : masked_) {
            for (std::size_t i = done; i < end; ++i) total[i] = stretch.ring.sum(total[i], masked.values[i]);
        }
        done = end;
    }
    for (const Party party : survivors_->alive) add(total, own_stream(joined(party, true), session_), Sign::minus);
    for (const Party lost : survivors_->dropped) {
        const Secret key = joined(lost, false);
        for (const Party party : survivors_->alive) {
            // What the survivor added for this pair, taken back.
            add(total, mask_seed(key, masking_of(party), session_, party, lost),
                lost > party ? Sign::minus : Sign::plus);
        }
    }
    return total;
}

}  // namespace couplet
