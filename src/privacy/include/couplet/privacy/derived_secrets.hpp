#pragma once

#include "couplet/privacy/secret.hpp"

namespace couplet {

/// Secrets that follow from a root and what they are for, the same in the same order every time: for a client that must
/// come back to the secrets of a sum in another process. Whoever does not know the root learns nothing of one from the
/// others.
SecretSource derived_secrets(const Secret& root, const Key& purpose);

}  // namespace couplet
