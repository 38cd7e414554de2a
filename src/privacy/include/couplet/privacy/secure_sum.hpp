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

/// A sum of vectors of which the coordinator learns the sum alone (Bonawitz et al. 2017, the protocol for an active
/// adversary, on libsodium). Every client masks its numbers with a stream of its own and one for each pair of clients,
/// which cancel in the sum. The seeds are shared among the clients (Shamir), so that a client that is lost on the way
/// does not spoil the sum: of every client the others reveal either what undoes its pairwise masks (lost) or what
/// undoes its own (there), never both.
///
/// Client and coordinator are state machines: no socket, thread or clock. One run, one sum: keys are made for it and
/// wiped after it. Parties are numbers; 0 <= number < 255.

using Party = int;
using Signature = std::vector<std::uint8_t>;
using Signer = std::function<Signature(Bytes message)>;
/// Whether the signature under the message is that party's: its certificate's key says so.
using Verifier = std::function<bool(Party party, Bytes message, const Signature& signature)>;

/// What all parties agree on before the first key; signed with every message, so that nothing of another sum, job or
/// shape can be replayed.
struct SumTerms {
    Key job{};              ///< nonce of the job, drawn anew for each; the clients mix in their part
    std::int64_t pass = 0;  ///< place of this sum in its job
    std::int64_t length = 0;
    int bits = 64;      ///< of the ring
    double step = 0;    ///< of the fixed point
    int threshold = 0;  ///< t: clients that must stay to the end
    /// Hash of whatever else shapes a client's numbers: a client that was told something else than the others has a
    /// session of its own, and its keys count with nobody.
    Key told{};
    friend bool operator==(const SumTerms&, const SumTerms&) = default;
};

/// Binds everything to the terms.
Key session_of(const SumTerms& terms);

/// What a client demands, whatever the coordinator says.
struct SumDemands {
    int min_cohort = 3;
    /// Clients that may collude with the coordinator. The threshold must exceed n/2, or (n + colluders)/2: two disjoint
    /// sets of answers, one to undo the pairwise masks and one to undo a client's own, must not both reach it.
    int colluders = 0;
    int least_threshold(int clients) const noexcept { return (clients + colluders) / 2 + 1; }
};

struct Advertisement {
    Key sealing{};  ///< X25519 key that shares are sealed to
    Key masking{};  ///< X25519 key that pairwise masks come from
    Signature signature;
};
using Roster = std::map<Party, Advertisement>;
/// Sealed shares by receiver (from a client) or by sender (from the coordinator).
using SealedShares = std::map<Party, std::vector<std::uint8_t>>;
/// Who is still there, as the coordinator tells it.
struct Survivors {
    std::set<Party> alive;
    std::set<Party> dropped;
};
using Endorsements = std::map<Party, Signature>;
/// One share for every party of the roster: of its own seed when it is alive, of its masking key when it was lost.
struct Unmasking {
    std::map<Party, Key> alive;
    std::map<Party, Key> dropped;
};

/// Call in order: advertise, seal, mask, endorse, unmask. Each throws InputError, names what is wrong with what the
/// coordinator says, and leaves the client unusable: nothing more is answered. Each can be called once.
class SecureSumClient {
  public:
    /// Keys, seeds and what they are shared with are drawn in a fixed order.
    SecureSumClient(Party self, const SumTerms& terms, const SumDemands& demands, Signer sign, Verifier verify,
                    SecretSource draw = Secret::random);

    Advertisement advertise();
    /// Takes everybody's keys. Refuses a cohort below the demanded one, a threshold that is too low, keys whose
    /// signature is wrong, and a roster that changes or omits this client's own.
    SealedShares seal(const Roster& roster);
    /// Takes the shares that the others have sealed to this client; who sent none was lost. Returns the masked numbers.
    std::vector<std::uint64_t> mask(const SealedShares& received, std::vector<std::uint64_t> values);
    /// Signs who survived. Refuses a set that is no split of those who shared, or that is smaller than the threshold.
    Signature endorse(const Survivors& survivors);
    /// Reveals one share of each, when enough others have signed the same survivors.
    Unmasking unmask(const Endorsements& endorsements);

  private:
    enum class Step { advertise, seal, mask, endorse, unmask, done };
    void begin(Step expected, const char* what);
    InputError refuse(const std::string& found, const std::string& expected) const;

    Party self_;
    SumTerms terms_;
    Key session_;
    SumDemands demands_;
    Signer sign_;
    Verifier verify_;
    SecretSource draw_;
    Step step_ = Step::advertise;
    Secret sealing_key_;
    Secret masking_key_;
    Secret own_seed_;
    Advertisement own_;
    Roster roster_;
    std::map<Party, int> place_;           ///< of each party among the shares
    std::map<Party, Secret> seed_shares_;  ///< of the others' seeds
    std::map<Party, Secret> key_shares_;   ///< of the others' masking keys
    Survivors survivors_;
};

/// The coordinator's side. take_* throws InputError for what no honest client could send, naming it. Between the steps
/// the caller decides how long to wait; a client that has not answered by then is lost.
class SecureSumCoordinator {
  public:
    SecureSumCoordinator(const SumTerms& terms, Verifier verify);

    void take_advertisement(Party from, Advertisement advertisement);
    /// Ends the first step; throws RunError below the threshold, as all of these do.
    const Roster& roster();

    void take_shares(Party from, SealedShares sealed);
    /// What everybody sealed to this party, from those who sealed to all.
    SealedShares shares_for(Party to);

    void take_masked(Party from, std::vector<std::uint64_t> masked);
    const Survivors& survivors();

    void take_endorsement(Party from, Signature signature);
    const Endorsements& endorsements();

    void take_unmasking(Party from, Unmasking unmasking);
    /// The sum of the survivors' numbers.
    std::vector<std::uint64_t> sum();

  private:
    RunError too_few(const char* what, std::size_t found) const;

    SumTerms terms_;
    Key session_;
    Ring ring_;
    Verifier verify_;
    Roster roster_;
    std::optional<std::set<Party>> sharers_;
    std::map<Party, SealedShares> shares_;
    std::map<Party, std::vector<std::uint64_t>> masked_;
    std::optional<Survivors> survivors_;
    Endorsements endorsements_;
    std::map<Party, Unmasking> unmaskings_;
};

/// Bytes that are signed: an advertisement under a session, and a set of survivors.
std::vector<std::uint8_t> advertisement_text(const Key& session, Party party, const Key& sealing, const Key& masking);
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
/// member, with opposite signs at both ends, so that the sum over all members has none.
void add_pairwise_masks(std::span<std::uint64_t> values, Party self, const Secret& masking_key,
                        const std::map<Party, Key>& members, const Key& session, const Ring& ring);

}  // namespace couplet
