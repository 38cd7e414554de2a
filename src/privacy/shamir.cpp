#include "couplet/privacy/shamir.hpp"

#include <sodium.h>

#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

using Byte = std::uint8_t;

/// Product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1, without a branch or table that depends on the secret.
Byte times(Byte a, Byte b) {
    unsigned product = 0;
    unsigned shifted = a;
    for (int bit = 0; bit < 8; ++bit) {
        product ^= shifted & (0U - ((static_cast<unsigned>(b) >> bit) & 1U));
        shifted = (shifted << 1) ^ (0x11bU & (0U - (shifted >> 7)));
    }
    return static_cast<Byte>(product);
}

/// a^254 = 1/a.
Byte inverse(Byte a) {
    Byte result = 1;
    Byte power = a;
    for (int bit = 1; bit < 8; ++bit) {
        power = times(power, power);
        result = times(result, power);
    }
    return result;
}

}  // namespace

std::vector<Key> split_secret(const Secret& secret, int threshold, int shares, const SecretSource& draw) {
    if (threshold < 1 || threshold > shares || shares > most_shares) {
        throw InputError({"secret sharing", std::to_string(threshold) + " of " + std::to_string(shares),
                          "1 <= threshold <= shares <= " + std::to_string(most_shares), ""});
    }
    std::vector<Secret> coefficients;
    for (int i = 1; i < threshold; ++i) coefficients.push_back(draw());
    std::vector<Key> result(static_cast<std::size_t>(shares));
    for (int i = 0; i < shares; ++i) {
        const auto x = static_cast<Byte>(i + 1);
        for (std::size_t byte = 0; byte < Key{}.size(); ++byte) {
            Byte value = 0;  // Horner, highest coefficient first
            for (auto c = coefficients.rbegin(); c != coefficients.rend(); ++c) {
                value = static_cast<Byte>(times(value, x) ^ c->bytes()[byte]);
            }
            result[static_cast<std::size_t>(i)][byte] = static_cast<Byte>(times(value, x) ^ secret.bytes()[byte]);
        }
    }
    return result;
}

Secret join_secret(const std::map<int, Key>& shares) {
    if (shares.empty()) throw InputError({"secret sharing", "no shares", "at least one", ""});
    Secret secret;
    for (const auto& [index, share] : shares) {
        if (index < 0 || index >= most_shares) {
            throw InputError({"secret sharing", "share " + std::to_string(index), "0 to 254", ""});
        }
        const auto x = static_cast<Byte>(index + 1);
        Byte weight = 1;  // of Lagrange at 0
        for (const auto& [other, unused] : shares) {
            if (other == index) continue;
            const auto y = static_cast<Byte>(other + 1);
            weight = times(weight, times(y, inverse(static_cast<Byte>(x ^ y))));
        }
        for (std::size_t byte = 0; byte < share.size(); ++byte) secret.bytes()[byte] ^= times(weight, share[byte]);
    }
    return secret;
}

}  // namespace couplet
