#pragma once

#include <optional>
#include <string>

#include "couplet/net/kit.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// Everything that must be the same at every peer, as text that a person can compare.
std::string job_text(const wire::JobSpec& spec, const std::optional<Schema>& schema, const Kit& kit);

/// The same for the same text, at every peer.
wire::JobId id_of(const std::string& text);

/// A number for this process. Later processes have higher ones, so that nobody can pass off what an earlier one said as
/// news; the low bits are random, because two may begin at the same time.
wire::Incarnation new_process();

}  // namespace couplet::net
