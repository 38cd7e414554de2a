#pragma once

#include <map>
#include <vector>

#include "couplet/privacy/secret.hpp"

namespace couplet {

/// At most so many shares of a secret: points of the field with 256 elements without zero.
inline constexpr int most_shares = 255;

/// Shamir's secret sharing, byte by byte over GF(2^8) with the polynomial of AES: any `threshold` of the shares give
/// the secret, fewer say nothing about it. Share i belongs to point i + 1. Throws InputError unless 1 <= threshold <=
/// shares <= 255.
std::vector<Key> split_secret(const Secret& secret, int threshold, int shares,
                              const SecretSource& draw = Secret::random);

/// The secret from shares by their index (from 0). All that are given are used: give at least the threshold. Wrong or
/// too few shares give a wrong secret, which the caller must notice. Throws InputError for none or an index out of
/// range.
Secret join_secret(const std::map<int, Key>& shares);

}  // namespace couplet
