#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "couplet/privacy/secure_sum.hpp"
#include "couplet/secure/shield_plan.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// A job of secure sums as its messages: sum 0 counts patients (not under a guarantee of differential privacy), sums 1,
/// 2, ... are over the data. Keys are made once, for all sums that the job can have, in two steps (keys, shares); a sum
/// then takes two more (numbers, unmasking), or three where somebody was lost on the way. A sum of which somebody was
/// lost may be tried again, with fresh keys, as long as nobody has helped to read it.
///
/// A request says what is new since the request before it: the counts with the first sum over the data, a basis once,
/// of the last basis only the columns that are in no basis before. Everything that was said since the keys were made is
/// hashed in a chain, which masks are bound to and numbers are signed under: sums of clients that were told different
/// things are noise, and the first of them to see another's signature refuses.

struct Announced {
    Advertisement keys;
    std::string certificate;  ///< PEM, of the client that signed them
};

/// Coordinator to clients.
struct AskKeys {};
struct AskShares {
    std::map<Party, Announced> roster;
};
/// A sum that was opened, as it travels: packed by its rings.
struct OpenedSum {
    Index sum = 0;
    Index sites = 0;  ///< whose numbers are in it
    std::vector<std::uint8_t> bytes;
    friend bool operator==(const OpenedSum&, const OpenedSum&) = default;
};
struct AskNumbers {
    SealedShares shares;                 ///< with the first sum of these keys
    std::set<Party> members;             ///< whose numbers shall be in the sum
    std::vector<std::uint64_t> counts;   ///< the sum 0, with the first sum over the data of these keys
    Matrix<double> basis;                ///< from sum 2 on; the first comes from the seed
    bool extends = false;                ///< the basis has these columns first, and then what the bases before it add
    std::vector<OpenedSum> opened = {};  ///< under a budget: what is new; with the first sum of these keys, all
};
struct AskEndorsement {
    Survivors survivors;
};
struct AskUnmasking {
    Endorsements endorsements;  ///< under the survivors; where nobody was lost, those that came with the numbers
};
using SecureAsk = std::variant<AskKeys, AskShares, AskNumbers, AskEndorsement, AskUnmasking>;

struct SecureRequest {
    Index sum = 0;
    Index again = 0;  ///< which keys: those made first, or again
    SecureAsk ask;
};

/// Client to coordinator: why it is not in this try, or what was asked for. Announced and SealedShares are two more.
struct Declined {
    std::string reason;
};
struct MaskedNumbers {
    std::vector<std::uint8_t> bytes;  ///< packed, as wide as the ring
    Signature signature;              ///< under what was asked for
};
struct Endorsement {
    Signature signature;  ///< under the survivors
};
using SecureAnswer = std::variant<Declined, Announced, SealedShares, MaskedNumbers, Endorsement, Unmasking>;

struct SecureReply {
    Index sum = 0;
    Index again = 0;
    SecureAnswer answer;
};

/// Names a job for ever.
using SecureJobId = std::array<std::uint8_t, 16>;

/// Signatures under a federation's certificates.
struct Notary {
    Signer sign;              ///< with the own key
    std::string certificate;  ///< the own one, PEM
    /// Whose certificate it is; throws InputError for one that does not count in this federation.
    std::function<std::string(const std::string& certificate)> name_of;
    std::function<bool(const std::string& certificate, Bytes message, const Signature& signature)> verify;
};

/// Which keys of a job they are, and what was told before them.
struct KeyPlace {
    SecureJobId job{};
    Index first = 0;  ///< sum that they are for, and all later ones
    Index again = 0;
    Key told{};
};
/// What keys are bound to. `last`: of the sums that the job can have.
KeyTerms key_terms(const KeyPlace& place, Index last, int threshold);
/// The last sum that a job can have, before its plan is known.
Index last_sum(const Job& job, const Shape& features, const ShieldTerms& terms);
/// Hash of what the job said at its start (`start`, and with how many clients).
Key told_first(const Key& start, Index clients);
/// What numbers are asked for with, chained to all that was told since the keys were made.
Key told_next(const Key& before, const AskNumbers& ask);
/// Clients of so many that must stay to the end of a sum.
int secure_threshold(const ShieldTerms& terms, Index clients) noexcept;
/// Of sum 0.
FixedPoint census_fixed_point();

}  // namespace couplet
