#pragma once

#include <string>

#include "couplet/ctt/centring.hpp"
#include "federation.hpp"
#include "session.hpp"

namespace couplet::cli {

class Command;

/// --weight: as the user writes it.
void add_weight_flag(Command& app, std::string& weight);

/// The weight that was asked for by name, before any data is read; auto is none until choose_weight().
void take_weight(const std::string& weight, CentringOptions& centring);

/// Settles --weight auto: sqrt where every mode has the label that every patient has and nothing speaks against it
/// (`obstacle`, an option in words; empty: nothing does), none else, with a note of what stands in the way. Throws
/// InputError for a weight of data without such labels.
void choose_weight(const std::string& weight, const std::string& obstacle, const Federation& federation,
                   const Session& session, CentringOptions& centring);

}  // namespace couplet::cli
