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
/// 2, ... are over the data, each asked for in five steps. A sum of which somebody was lost may be tried again, with
/// fresh keys, as long as nobody has helped to read it.

struct Announced {
    Advertisement keys;
    std::string certificate;  ///< PEM, of the client that signed them
};

/// Coordinator to clients.
struct AskKeys {
    std::vector<std::uint64_t> counts;  ///< the sum 0, once it is known
    Matrix<double> basis;               ///< from sum 2 on; the first comes from the seed
};
struct AskShares {
    std::map<Party, Announced> roster;
};
struct AskNumbers {
    SealedShares shares;
};
struct AskEndorsement {
    Survivors survivors;
};
struct AskUnmasking {
    Endorsements endorsements;
};
using SecureAsk = std::variant<AskKeys, AskShares, AskNumbers, AskEndorsement, AskUnmasking>;

struct SecureRequest {
    Index sum = 0;
    Index again = 0;  ///< which try
    SecureAsk ask;
};

/// Client to coordinator: why it is not in this try, or what was asked for. Announced and SealedShares are two more.
struct Declined {
    std::string reason;
};
struct MaskedNumbers {
    std::vector<std::uint8_t> bytes;  ///< packed, as wide as the ring
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

/// Which sum of a job it is, and what was told with it.
struct SumPlace {
    SecureJobId job{};
    Index sum = 0;
    Index again = 0;
    Key told{};
};
/// What a sum is bound to.
SumTerms secure_terms(const SumPlace& place, std::int64_t length, const FixedPoint& how, int threshold);
/// Hash of what the job said at its start (`start`, and with how many clients) and of what a sum is asked for with. The
/// first basis over the data follows from these; later ones are given.
Key told_with(const Key& start, Index clients, const std::vector<std::uint64_t>& counts, const Matrix<double>& basis);
/// Clients of so many that must stay to the end of a sum.
int secure_threshold(const ShieldTerms& terms, Index clients) noexcept;
/// Of sum 0.
FixedPoint census_fixed_point();

}  // namespace couplet
