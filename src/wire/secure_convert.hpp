#pragma once

#include <string>

#include "couplet/wire/message.hpp"
#include "payload_reader.hpp"
#include "secure_bodies.pb.h"

/// The part of convert.hpp that is about secure sums.
namespace couplet::wire {

v1::Shield to_proto(const ShieldTerms& terms);
v1::SecureRequest to_proto(const SecureRequest& request);
v1::SecureReply to_proto(const SecureReply& reply);

Promise promise_of(const v1::SecureRequest& p, const std::string& who);
Promise promise_of(const v1::SecureReply& p, const std::string& who);

ShieldTerms shield_of(const v1::Shield& p, const std::string& who);
SecureRequest secure_body(const v1::SecureRequest& p, PayloadReader& payload, const std::string& who);
SecureReply secure_body(const v1::SecureReply& p, PayloadReader& payload, const std::string& who);

}  // namespace couplet::wire
