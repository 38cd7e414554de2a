#include "couplet/privacy/secure_sum.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "couplet/privacy/shamir.hpp"

namespace couplet {
namespace {

using Buffer = std::vector<std::uint8_t>;

void put(Buffer& to, std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) to.push_back(static_cast<std::uint8_t>(value >> (8 * byte)));
}
void put(Buffer& to, Bytes bytes) {
    for (const std::uint8_t byte : bytes) to.push_back(byte);
}
void put(Buffer& to, const char* text) {
    put(to, Bytes(reinterpret_cast<const std::uint8_t*>(text), std::strlen(text) + 1));
}
void put(Buffer& to, const std::set<Party>& parties) {
    put(to, static_cast<std::uint64_t>(parties.size()));
    for (const Party party : parties) put(to, static_cast<std::uint64_t>(party));
}

std::string name(Party party) { return "client " + std::to_string(party + 1); }

std::set<Party> parties_of(const auto& by_party) {
    std::set<Party> parties;
    for (const auto& [party, unused] : by_party) parties.insert(party);
    return parties;
}

// A sealing key serves one session, one pair and one direction, so the nonce may be fixed.
constexpr std::size_t nonce_bytes = crypto_aead_chacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t tag_bytes = crypto_aead_chacha20poly1305_ietf_ABYTES;

Buffer associated(const Key& session, Party from, Party to) {
    Buffer text;
    put(text, "couplet shares");
    put(text, session);
    put(text, static_cast<std::uint64_t>(from));
    put(text, static_cast<std::uint64_t>(to));
    return text;
}

Buffer seal_shares(const Secret& key, const Key& seed_share, const Key& key_share, const Buffer& about) {
    Buffer plain;
    put(plain, seed_share);
    put(plain, key_share);
    Buffer sealed(plain.size() + tag_bytes);
    const unsigned char nonce[nonce_bytes] = {};
    ::crypto_aead_chacha20poly1305_ietf_encrypt(sealed.data(), nullptr, plain.data(), plain.size(), about.data(),
                                                about.size(), nullptr, nonce, key.bytes().data());
    ::sodium_memzero(plain.data(), plain.size());
    return sealed;
}

/// Share of the seed, share of the masking key; nothing when the seal is broken.
std::optional<std::pair<Secret, Secret>> open_shares(const Secret& key, const Buffer& sealed, const Buffer& about) {
    Buffer plain(2 * Key{}.size());
    if (sealed.size() != plain.size() + tag_bytes) return std::nullopt;
    const unsigned char nonce[nonce_bytes] = {};
    const int opened =
        ::crypto_aead_chacha20poly1305_ietf_decrypt(plain.data(), nullptr, nullptr, sealed.data(), sealed.size(),
                                                    about.data(), about.size(), nonce, key.bytes().data());
    if (opened != 0) return std::nullopt;
    Key first;
    Key second;
    std::copy_n(plain.begin(), first.size(), first.begin());
    std::copy_n(plain.begin() + static_cast<std::ptrdiff_t>(first.size()), second.size(), second.begin());
    ::sodium_memzero(plain.data(), plain.size());
    std::pair<Secret, Secret> shares{Secret(first), Secret(second)};
    ::sodium_memzero(first.data(), first.size());
    ::sodium_memzero(second.data(), second.size());
    return shares;
}

Secret mask_seed(const Secret& own, const Key& other, const Key& session, Party a, Party b) {
    return shared_key(own, other, session, "mask", std::min(a, b), std::max(a, b));
}

}  // namespace

Key session_of(const SumTerms& terms) {
    require_sodium();
    Buffer text;
    put(text, "couplet secure sum 2");
    put(text, terms.job);
    put(text, static_cast<std::uint64_t>(terms.pass));
    put(text, static_cast<std::uint64_t>(terms.length));
    put(text, static_cast<std::uint64_t>(terms.bits));
    std::uint64_t step = 0;
    std::memcpy(&step, &terms.step, sizeof step);
    put(text, step);
    put(text, static_cast<std::uint64_t>(terms.threshold));
    put(text, terms.told);
    return hash_bytes(text);
}

std::vector<std::uint8_t> advertisement_text(const Key& session, Party party, const Key& sealing, const Key& masking) {
    Buffer text;
    put(text, "couplet keys");
    put(text, session);
    put(text, static_cast<std::uint64_t>(party));
    put(text, sealing);
    put(text, masking);
    return text;
}

std::vector<std::uint8_t> survivors_text(const Key& session, const Survivors& survivors) {
    Buffer text;
    put(text, "couplet survivors");
    put(text, session);
    put(text, survivors.alive);
    put(text, survivors.dropped);
    return text;
}

Key public_key(const Secret& key) {
    Key result;
    ::crypto_scalarmult_base(result.data(), key.bytes().data());
    return result;
}

Secret shared_key(const Secret& own, const Key& other, const Key& session, const char* purpose, Party a, Party b) {
    Secret point;
    if (::crypto_scalarmult(point.bytes().data(), own.bytes().data(), other.data()) != 0) {
        throw InputError({"key exchange", "a key of small order", "a key that a client made", ""});
    }
    Buffer about;
    put(about, purpose);
    put(about, session);
    put(about, static_cast<std::uint64_t>(a));
    put(about, static_cast<std::uint64_t>(b));
    Secret key;
    ::crypto_generichash(key.bytes().data(), key.bytes().size(), about.data(), about.size(), point.bytes().data(),
                         point.bytes().size());
    return key;
}

Identity::Identity(Secret seed) : seed_(std::move(seed)) {
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
    ::crypto_sign_seed_keypair(verifying_.data(), secret, seed_.bytes().data());
    ::sodium_memzero(secret, sizeof secret);
}

Signature Identity::sign(Bytes message) const {
    unsigned char secret[crypto_sign_SECRETKEYBYTES];
    Key unused;
    ::crypto_sign_seed_keypair(unused.data(), secret, seed_.bytes().data());
    Signature signature(crypto_sign_BYTES);
    ::crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(), secret);
    ::sodium_memzero(secret, sizeof secret);
    return signature;
}

bool verify_signature(const Key& verifying, Bytes message, const Signature& signature) {
    require_sodium();
    return signature.size() == crypto_sign_BYTES &&
           ::crypto_sign_verify_detached(signature.data(), message.data(), message.size(), verifying.data()) == 0;
}

void add_pairwise_masks(std::span<std::uint64_t> values, Party self, const Secret& masking_key,
                        const std::map<Party, Key>& members, const Key& session, const Ring& ring) {
    for (const auto& [other, key] : members) {
        if (other == self) continue;
        const Secret seed = mask_seed(masking_key, key, session, self, other);
        add_mask(values, seed, ring, other > self ? Sign::plus : Sign::minus);
    }
}

SecureSumClient::SecureSumClient(Party self, const SumTerms& terms, const SumDemands& demands, Signer sign,
                                 Verifier verify, SecretSource draw)
    : self_(self),
      terms_(terms),
      session_(session_of(terms)),
      demands_(demands),
      sign_(std::move(sign)),
      verify_(std::move(verify)),
      draw_(std::move(draw)),
      sealing_key_(draw_()),
      masking_key_(draw_()),
      own_seed_(draw_()) {}

InputError SecureSumClient::refuse(const std::string& found, const std::string& expected) const {
    return InputError({"coordinator", found, expected, "This client takes no further part in the sum."});
}

void SecureSumClient::begin(Step expected, const char* what) {
    const Step now = std::exchange(step_, Step::done);
    if (now != expected) throw refuse(std::string(what) + " out of turn or twice", "each step of a sum once");
}

Advertisement SecureSumClient::advertise() {
    begin(Step::advertise, "a request for keys");
    own_.sealing = public_key(sealing_key_);
    own_.masking = public_key(masking_key_);
    own_.signature = sign_(advertisement_text(session_, self_, own_.sealing, own_.masking));
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
    if (own == roster.end() || own->second.sealing != own_.sealing || own->second.masking != own_.masking) {
        throw refuse("a roster without this client's keys", "the keys that it sent");
    }
    for (const auto& [party, keys] : roster) {
        if (verify_(party, advertisement_text(session_, party, keys.sealing, keys.masking), keys.signature)) continue;
        throw refuse("keys of " + name(party) + " with a wrong signature", "keys that it signed for this sum");
    }
    roster_ = roster;
    int place = 0;
    for (const auto& [party, unused] : roster_) place_[party] = place++;
    auto seed_shares = split_secret(own_seed_, terms_.threshold, n, draw_);
    auto key_shares = split_secret(masking_key_, terms_.threshold, n, draw_);
    SealedShares sealed;
    for (const auto& [party, keys] : roster_) {
        const auto at = static_cast<std::size_t>(place_.at(party));
        if (party == self_) {
            seed_shares_.emplace(self_, Secret(seed_shares[at]));
            key_shares_.emplace(self_, Secret(key_shares[at]));
            continue;
        }
        const Secret key = shared_key(sealing_key_, keys.sealing, session_, "seal", self_, party);
        sealed[party] = seal_shares(key, seed_shares[at], key_shares[at], associated(session_, self_, party));
    }
    for (auto* shares : {&seed_shares, &key_shares}) ::sodium_memzero(shares->data(), shares->size() * sizeof(Key));
    step_ = Step::mask;
    return sealed;
}

std::vector<std::uint64_t> SecureSumClient::mask(const SealedShares& received, std::vector<std::uint64_t> values) {
    begin(Step::mask, "a request for masked numbers");
    if (static_cast<std::int64_t>(values.size()) != terms_.length) {
        throw refuse("a sum of " + std::to_string(values.size()) + " numbers", std::to_string(terms_.length));
    }
    if (static_cast<int>(received.size()) + 1 < std::max(terms_.threshold, demands_.min_cohort)) {
        throw refuse("shares of " + std::to_string(received.size()) + " others",
                     "at least " + std::to_string(std::max(terms_.threshold, demands_.min_cohort) - 1));
    }
    std::map<Party, Key> members;
    for (const auto& [party, sealed] : received) {
        const auto keys = roster_.find(party);
        if (keys == roster_.end() || party == self_) {
            throw refuse("shares of " + name(party), "shares of others in the roster");
        }
        const Secret key = shared_key(sealing_key_, keys->second.sealing, session_, "seal", party, self_);
        auto shares = open_shares(key, sealed, associated(session_, party, self_));
        if (!shares) throw refuse("shares of " + name(party) + " with a broken seal", "what it sealed to this client");
        seed_shares_.emplace(party, std::move(shares->first));
        key_shares_.emplace(party, std::move(shares->second));
        members[party] = keys->second.masking;
    }
    const Ring ring(terms_.bits);
    add_mask(values, own_seed_, ring, Sign::plus);
    add_pairwise_masks(values, self_, masking_key_, members, session_, ring);
    step_ = Step::endorse;
    return values;
}

Signature SecureSumClient::endorse(const Survivors& survivors) {
    begin(Step::endorse, "a list of survivors");
    const auto sharers = parties_of(seed_shares_);
    std::set<Party> both;
    std::set_intersection(survivors.alive.begin(), survivors.alive.end(), survivors.dropped.begin(),
                          survivors.dropped.end(), std::inserter(both, both.end()));
    if (!both.empty()) {
        throw refuse(name(*both.begin()) + " as both alive and lost", "every client as one or the other");
    }
    std::set<Party> all = survivors.alive;
    all.insert(survivors.dropped.begin(), survivors.dropped.end());
    if (all != sharers) throw refuse("survivors that are not those who shared", "everybody who shared, once");
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
    begin(Step::unmask, "a request to unmask");
    const auto text = survivors_text(session_, survivors_);
    int good = 0;
    for (const auto& [party, signature] : endorsements) {
        if (!survivors_.alive.contains(party) || !verify_(party, text, signature)) {
            throw refuse("a signature of " + name(party) + " under other survivors", "the same for everybody");
        }
        ++good;
    }
    if (good < terms_.threshold) {
        throw refuse(std::to_string(good) + " signatures under the survivors",
                     "at least " + std::to_string(terms_.threshold));
    }
    Unmasking reveal;
    for (const Party party : survivors_.alive) reveal.alive[party] = seed_shares_.at(party).bytes();
    for (const Party party : survivors_.dropped) reveal.dropped[party] = key_shares_.at(party).bytes();
    for (Secret* key : {&sealing_key_, &masking_key_, &own_seed_}) key->wipe();
    seed_shares_.clear();
    key_shares_.clear();
    return reveal;
}

SecureSumCoordinator::SecureSumCoordinator(const SumTerms& terms, Verifier verify)
    : terms_(terms), session_(session_of(terms)), ring_(terms.bits), verify_(std::move(verify)) {}

RunError SecureSumCoordinator::too_few(const char* what, std::size_t found) const {
    return RunError({"secure sum", std::to_string(found) + " " + what, "at least " + std::to_string(terms_.threshold),
                     "Too many clients were lost; nothing was revealed. Start the job again."});
}

void SecureSumCoordinator::take_advertisement(Party from, Advertisement advertisement) {
    const auto text = advertisement_text(session_, from, advertisement.sealing, advertisement.masking);
    if (!verify_(from, text, advertisement.signature)) {
        throw InputError({name(from), "keys with a wrong signature", "keys signed for this sum", ""});
    }
    if (sharers_ || !shares_.empty()) throw InputError({name(from), "keys after the roster", "them before it", ""});
    roster_.emplace(from, std::move(advertisement));
}

const Roster& SecureSumCoordinator::roster() {
    if (static_cast<int>(roster_.size()) < terms_.threshold) throw too_few("clients with keys", roster_.size());
    return roster_;
}

void SecureSumCoordinator::take_shares(Party from, SealedShares sealed) {
    auto expected = parties_of(roster_);
    if (!expected.contains(from) || sharers_) throw InputError({name(from), "shares now", "them in their step", ""});
    expected.erase(from);
    if (parties_of(sealed) != expected) {
        throw InputError({name(from), "shares for others than the roster", "one for each of them", ""});
    }
    shares_.emplace(from, std::move(sealed));
}

SealedShares SecureSumCoordinator::shares_for(Party to) {
    if (!sharers_) sharers_ = parties_of(shares_);
    if (static_cast<int>(sharers_->size()) < terms_.threshold) throw too_few("clients with shares", sharers_->size());
    SealedShares all;
    for (const Party from : *sharers_) {
        if (from != to) all[from] = shares_.at(from).at(to);
    }
    return all;
}

void SecureSumCoordinator::take_masked(Party from, std::vector<std::uint64_t> masked) {
    if (!sharers_ || !sharers_->contains(from) || survivors_) {
        throw InputError({name(from), "masked numbers now", "them in their step", ""});
    }
    if (static_cast<std::int64_t>(masked.size()) != terms_.length) {
        throw InputError({name(from), std::to_string(masked.size()) + " numbers", std::to_string(terms_.length), ""});
    }
    masked_.emplace(from, std::move(masked));
}

const Survivors& SecureSumCoordinator::survivors() {
    if (!survivors_) {
        Survivors found;
        for (const Party party : sharers_.value_or(std::set<Party>{})) {
            (masked_.contains(party) ? found.alive : found.dropped).insert(party);
        }
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
        throw InputError({name(from), "a wrong signature under the survivors", "a survivor's own", ""});
    }
    endorsements_.emplace(from, std::move(signature));
}

const Endorsements& SecureSumCoordinator::endorsements() {
    if (static_cast<int>(endorsements_.size()) < terms_.threshold) throw too_few("signatures", endorsements_.size());
    return endorsements_;
}

void SecureSumCoordinator::take_unmasking(Party from, Unmasking unmasking) {
    const bool fits = survivors_ && survivors_->alive.contains(from) &&
                      parties_of(unmasking.alive) == survivors_->alive &&
                      parties_of(unmasking.dropped) == survivors_->dropped;
    if (!fits) throw InputError({name(from), "shares of others than the survivors", "one for each party", ""});
    unmaskings_.emplace(from, std::move(unmasking));
}

std::vector<std::uint64_t> SecureSumCoordinator::sum() {
    if (static_cast<int>(unmaskings_.size()) < terms_.threshold)
        throw too_few("clients that unmask", unmaskings_.size());
    std::map<Party, int> place;
    for (const auto& [party, unused] : roster_) place.emplace(party, static_cast<int>(place.size()));
    const auto joined = [&](Party of, bool alive) {
        std::map<int, Key> shares;
        for (const auto& [from, reveal] : unmaskings_) {
            if (static_cast<int>(shares.size()) == terms_.threshold) break;
            shares[place.at(from)] = (alive ? reveal.alive : reveal.dropped).at(of);
        }
        return join_secret(shares);
    };
    std::vector<std::uint64_t> total(static_cast<std::size_t>(terms_.length), 0);
    for (const auto& [party, masked] : masked_) {
        for (std::size_t i = 0; i < total.size(); ++i) total[i] = (total[i] + masked[i]) & ring_.mask();
    }
    for (const Party party : survivors_->alive) add_mask(total, joined(party, true), ring_, Sign::minus);
    for (const Party lost : survivors_->dropped) {
        const Secret key = joined(lost, false);
        if (public_key(key) != roster_.at(lost).masking) {
            throw RunError(
                {"secure sum", "shares that do not give the key of " + name(lost), "those that it made", ""});
        }
        for (const Party party : survivors_->alive) {
            const Secret seed = mask_seed(key, roster_.at(party).masking, session_, party, lost);
            // What the survivor added for this pair, taken back.
            add_mask(total, seed, ring_, lost > party ? Sign::minus : Sign::plus);
        }
    }
    return total;
}

}  // namespace couplet
