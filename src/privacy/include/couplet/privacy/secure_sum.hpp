#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/privacy/ring.hpp"
#include "couplet/privacy/secret.hpp"

namespace couplet {

/// Sums of vectors of which the coordinator learns the sums alone (Bonawitz et al. 2017, the protocol for an active
/// adversary, on libsodium), with keys that are made once for many sums:
///
///     keys      every client signs an X25519 key for shares, and for every sum to come a masking key of its own and
///     the
///               hash of a seed of its own
///     shares    of all these seeds and masking keys (Shamir, t of n), sealed to each of the others
///     then for each sum:
///     numbers   masked with a stream of the own seed and one for each pair of members, which cancel in the sum; signed
///               with what the client was told of this sum and of its members
///     (lost)    only where somebody has sent no numbers: the others sign who survived
///     unmasking one share of each member: of its seed (there) or of its masking key (lost), never both
///
/// What each party sees. The coordinator: public keys, hashes of random seeds, sealed shares, masked numbers, and for
/// each sum t shares of the seeds of those in it. A client: the same of others' public parts, and its own shares, fewer
/// than t. So of a sum that nobody has unmasked nobody learns anything, and of one that was, its total alone.
///
/// Why a share for one sum opens no other: seeds and masking keys of different sums are drawn independently, each has
/// its own shares, and a client gives those of each sum once. Why masks are single-use: a client masks one vector a sum
/// and refuses a second, and the streams come from the sum's secrets hashed with all that it was told of it (job, keys,
/// number, lengths, rings, members, and whatever the caller binds), so that even a client that is asked otherwise than
/// the others meets streams of its own.
///
/// Why asking who survived can be left out where nobody was lost: then no share of a masking key is revealed. For both
/// of a client's secrets of one sum the coordinator would need t shares of its masking key, which are given only under
/// t signatures for one set of survivors, and t shares of its seed from clients that gave no such signature: n - t of
/// them and the c that collude are fewer than t, as t > (n + c)/2.
///
/// Client and coordinator are state machines: no socket, thread or clock. Parties are numbers; 0 <= number < 255.

using Party = int;
using Signature = std::vector<std::uint8_t>;
using Signer = std::function<Signature(Bytes message)>;
/// Whether the signature under the message is that party's: its certificate's key says so.
using Verifier = std::function<bool(Party party, Bytes message, const Signature& signature)>;

/// What all parties agree on before the first key; signed with every message, so that nothing of another job or try can
/// be replayed.
struct KeyTerms {
    Key job{};               ///< nonce of the job, and of the try
    std::int64_t first = 0;  ///< number of the first sum that the keys are for
    int sums = 1;            ///< that they serve, at most
    int threshold = 0;       ///< t: clients that must stay to the end of a sum
    /// Hash of whatever else shapes a client's numbers: a client that was told something else than the others has a
    /// session of its own, and its keys count with nobody.
    Key told{};
    friend bool operator==(const KeyTerms&, const KeyTerms&) = default;
};

/// One sum: its number, and what its vectors are made of.
struct SumTerms {
    std::int64_t sum = 0;
    std::vector<Stretch> stretches;
    Key told{};  ///< as KeyTerms::told, of this sum
    std::int64_t length() const noexcept;
    friend bool operator==(const SumTerms&, const SumTerms&) = default;
};

/// Binds everything to the terms.
Key session_of(const KeyTerms& terms);
Key session_of(const Key& keys, const SumTerms& sum, const std::set<Party>& members);

/// What a client demands, whatever the coordinator says.
struct SumDemands {
    int min_cohort = 3;
    /// Clients that may collude with the coordinator. The threshold must exceed n/2, or (n + colluders)/2: two disjoint
    /// sets of answers, one to undo the pairwise masks and one to undo a client's own, must not both reach it.
    int colluders = 0;
    int least_threshold(int clients) const noexcept { return (clients + colluders) / 2 + 1; }
};

struct Advertisement {
    Key sealing{};             ///< X25519 key that shares are sealed to
    std::vector<Key> masking;  ///< of each sum, X25519 key that pairwise masks come from
    std::vector<Key> seeds;    ///< of each sum, hash of the seed of the own mask
    Signature signature;
};
using Roster = std::map<Party, Advertisement>;
/// Sealed shares by receiver (from a client) or by sender (from the coordinator).
using SealedShares = std::map<Party, std::vector<std::uint8_t>>;
/// Bytes of the shares of so many sums, sealed.
std::size_t sealed_bytes(int sums) noexcept;
struct MaskedVector {
    std::vector<std::uint64_t> values;
    Signature signature;  ///< under what the client was told of this sum
};
/// Who is still there, as the coordinator tells it.
struct Survivors {
    std::set<Party> alive;
    std::set<Party> dropped;
};
using Endorsements = std::map<Party, Signature>;
/// One share for every member of a sum: of its own seed when it is alive, of its masking key when it was lost.
struct Unmasking {
    std::map<Party, Key> alive;
    std::map<Party, Key> dropped;
};

/// Call in order: advertise, seal, open, and for each sum mask, endorse (only where somebody was lost), unmask. Each
/// throws InputError, names what is wrong with what the coordinator says, and leaves the client unusable: nothing more
/// is answered. Each can be called once, those of a sum once a sum.
class SecureSumClient {
  public:
    /// Keys, seeds and what they are shared with are drawn in a fixed order.
    SecureSumClient(Party self, const KeyTerms& terms, const SumDemands& demands, Signer sign, Verifier verify,
                    SecretSource draw = Secret::random);

    Advertisement advertise();
    /// Takes everybody's keys. Refuses a cohort below the demanded one, a threshold that is too low, keys whose
    /// signature is wrong, and a roster that changes or omits this client's own.
    SealedShares seal(const Roster& roster);
    /// Takes the shares that the others have sealed to this client; who sent none was lost.
    void open(const SealedShares& received);
    /// Begins a sum, with a higher number than all before it. Refuses members without shares and fewer than the
    /// threshold or the demanded cohort.
    MaskedVector mask(const SumTerms& sum, const std::set<Party>& members, std::vector<std::uint64_t> values);
    /// Signs who survived. Refuses a set that is no split of the members, or that is smaller than the threshold.
    Signature endorse(const Survivors& survivors);
    /// Reveals one share of each member: when all have signed what this client was told of the sum, or, where some are
    /// lost, when enough have signed the survivors that it has signed. Ends the sum and forgets its secrets.
    Unmasking unmask(const Endorsements& endorsements);

    /// Of the sum that was masked last.
    const std::set<Party>& members() const noexcept { return members_; }
    /// Nobody was said to be lost.
    bool complete() const noexcept { return step_ == Step::endorse; }

  private:
    enum class Step { advertise, seal, open, mask, endorse, unmask, done };
    struct Secrets {
        Secret masking;
        Secret seed;
        std::map<Party, Secret> seed_shares;     ///< of the others' seeds
        std::map<Party, Secret> masking_shares;  ///< of the others' masking keys
    };
    void begin(Step expected, const char* what);
    InputError refuse(const std::string& found, const std::string& expected) const;
    void require_cohort(std::size_t others) const;
    Secrets& of_sum() { return secrets_.at(static_cast<std::size_t>(sum_ - terms_.first)); }

    Party self_;
    KeyTerms terms_;
    Key keys_session_;
    SumDemands demands_;
    Signer sign_;
    Verifier verify_;
    SecretSource draw_;
    Step step_ = Step::advertise;
    Secret sealing_key_;
    std::vector<Secrets> secrets_;
    Advertisement own_;
    Roster roster_;
    std::set<Party> sharers_;
    std::int64_t sum_ = -1;  ///< that was masked last
    Key session_{};          ///< of that sum
    std::set<Party> members_;
    Survivors survivors_;
};

/// The coordinator's side. take_* throws InputError for what no honest client could send, naming it. Between the steps
/// the caller decides how long to wait; a client that has not answered by then is lost.
class SecureSumCoordinator {
  public:
    SecureSumCoordinator(const KeyTerms& terms, Verifier verify);

    void take_advertisement(Party from, Advertisement advertisement);
    /// Ends the first step; throws RunError below the threshold, as all of these do.
    const Roster& roster();

    void take_shares(Party from, SealedShares sealed);
    /// What everybody sealed to this party, from those who sealed to all.
    SealedShares shares_for(Party to);
    /// Those who sealed to all; ends that step.
    const std::set<Party>& sharers();

    /// Of sharers. Throws RunError where the keys serve no such sum.
    void begin_sum(const SumTerms& sum, std::set<Party> members);
    const std::set<Party>& members() const noexcept { return members_; }
    void take_masked(Party from, MaskedVector masked);
    const Survivors& survivors();

    void take_endorsement(Party from, Signature signature);
    /// Under the survivors; where nobody was lost, those that came with the numbers.
    const Endorsements& endorsements();

    void take_unmasking(Party from, Unmasking unmasking);
    /// The sum of the survivors' numbers. A share that does not fit the hash or the key that its owner signed is left
    /// out and its sender named in liars(); throws RunError where too few are left.
    std::vector<std::uint64_t> sum();
    const std::set<Party>& liars() const noexcept { return liars_; }

  private:
    RunError too_few(const char* what, std::size_t found) const;
    const Key& masking_of(Party party) const;
    std::map<int, Key> shares_of(Party party, bool alive) const;
    bool fits(Party party, bool alive, const Secret& secret) const;
    Secret joined(Party party, bool alive);
    void add(std::vector<std::uint64_t>& total, const Secret& stream, Sign sign) const;

    KeyTerms terms_;
    Key keys_session_;
    Verifier verify_;
    Roster roster_;
    std::map<Party, int> place_;  ///< of each party among the shares
    std::optional<std::set<Party>> sharers_;
    std::map<Party, SealedShares> shares_;
    SumTerms sum_;
    Key session_{};
    std::set<Party> members_;
    std::map<Party, MaskedVector> masked_;
    std::optional<Survivors> survivors_;
    Endorsements endorsements_;
    std::map<Party, Unmasking> unmaskings_;
    std::set<Party> liars_;
};

/// Bytes that are signed: keys under their session, and under a sum's session its numbers and a set of survivors.
std::vector<std::uint8_t> advertisement_text(const Key& session, Party party, const Advertisement& keys);
std::vector<std::uint8_t> numbers_text(const Key& session, Party party);
std::vector<std::uint8_t> survivors_text(const Key& session, const Survivors& survivors);

/// Key of an X25519 exchange, bound to the session, its purpose and both parties.
Secret shared_key(const Secret& own, const Key& other, const Key& session, const char* purpose, Party a, Party b);
/// The public half.
Key public_key(const Secret& key);

/// An identity for parties without certificates of their own: an Ed25519 key pair.
class Identity {
  public:
    explicit Identity(Secret seed = Secret::random());
    const Key& verifying() const noexcept { return verifying_; }
    Signature sign(Bytes message) const;

  private:
    Secret seed_;
    Key verifying_{};
};
bool verify_signature(const Key& verifying, Bytes message, const Signature& signature);

/// Masks for peers (section 9): pairs alone, no shares. Adds to the numbers of `self` one stream for every other
/// member, with opposite signs at both ends, so that the sum over all members has none. `session` is the sum's.
void add_pairwise_masks(std::span<std::uint64_t> values, const SumTerms& sum, const Key& session, Party self,
                        const Secret& masking_key, const std::map<Party, Key>& members);

}  // namespace couplet
