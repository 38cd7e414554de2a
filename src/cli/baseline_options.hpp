#pragma once

#include <span>
#include <string>

#include "couplet/baselines/run_method.hpp"
#include "session.hpp"

namespace couplet::cli {

inline constexpr const char* baselines_group = "Options of the CP methods";

/// What the user says about the methods that train a CP model.
struct BaselineFlags {
    BaselineOptions options = {};
    bool tuned = false;
    std::string cache = {};  ///< empty: the default
};

/// --rounds, --tolerance, --loss and --no-compression. The flags must outlive the parsing, as in the functions below.
void add_training_options(Command& app, BaselineOptions& options);
/// --step, --fibers, ...: one for each parameter of a Tuning.
void add_tuning_options(Command& app, Tuning& tuning);
/// --tuned and --cache.
void add_cache_options(Command& app, BaselineFlags& flags);

/// Names of all of them.
std::span<const char* const> baseline_flag_names();

/// "--step 0.5 --fibers 80": what to type for this tuning.
std::string tuning_text(const Tuning& tuning);
Json tuning_json(const Tuning& tuning);

}  // namespace couplet::cli
