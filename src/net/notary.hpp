#pragma once

#include <memory>

#include "couplet/net/kit.hpp"
#include "couplet/secure/secure_messages.hpp"

namespace couplet::net {

/// Signatures of a kit's key, and of clients of its federation: a certificate counts when the kit's authority signed it
/// for a client of this federation, it is valid now and was not revoked. What it returns may be used by one thread.
Notary make_notary(const Kit& kit, const Credentials& credentials);

}  // namespace couplet::net
