#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "couplet/ctt/centring.hpp"
#include "couplet/ctt/job.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/ctt/saved_merge.hpp"
#include "options.hpp"

namespace couplet::cli {

/// What a job computes, as simulate, coordinator and peer take it.
struct JobFlags {
    JobOptions job;
    std::string scale_clients = "none";
    double heldout = 0;
    std::string save_state;
    std::string resume;
    std::string schema;  ///< file with the names of the features; empty: the clients agree

    Preparation preparation() const { return {scale_clients == "norm", heldout}; }
};

/// --aggregate to --passes. `flags` must outlive the parsing.
void add_job_flags(Command& app, JobFlags& flags);
/// --weights, --consensus, --iterations.
void add_consensus_flags(Command& app, JobFlags& flags);
/// --schema, --unnamed.
void add_schema_flags(Command& app, JobFlags& flags);
/// The schema that --schema names.
std::optional<Schema> given_schema(const JobFlags& flags);
/// --unnamed alone.
void add_unnamed_flag(Command& app, Unnamed& unnamed);
/// --centre, --scale.
void add_centring_flags(Command& app, CentringOptions& centring);
/// --scale-clients, --heldout.
void add_preparation_flags(Command& app, JobFlags& flags);
/// The same, --save-state and --resume.
void add_data_flags(Command& app, JobFlags& flags);

/// Rank and errors of a saved merge, where the user gives neither.
void take_errors(const Command& app, const SavedMerge& merge, JobOptions& job);
/// A number of bytes, perhaps with a unit: 5000, 100kB, 2MB, 64KiB. Throws InputError that names the option.
Index parse_bytes(const std::string& name, const std::string& text);

using TakeText = std::function<void(const std::string&)>;
/// One of a few words, which goes through `take`.
void add_word(Command& app, const std::string& name, const std::vector<std::string>& words,
              const std::string& shown_default, const std::string& description, TakeText take);

/// Throws InputError for the first of `options` that was given.
void refuse_given(const Command& app, std::initializer_list<const char*> options, const std::string& with,
                  const std::string& only);
void refuse_given(const Command& app, std::span<const char* const> options, const std::string& with,
                  const std::string& only);
/// Refuses consensus flags with stack, which has none, and weights with an engine that has none.
void refuse_idle_consensus(const Command& app, const Job& job);
/// Refuses flags of another aggregate, which would do nothing.
void refuse_idle_flags(const Command& app, const Job& job);
/// Refuses errors where nothing is cut: average and subspace of patients by features have one core of a given rank.
void refuse_idle_errors(const Command& app, const Job& job, const Shape& features);
/// What to say of features of a lower rank than was asked for, because of the errors that messages may have; empty:
/// nothing.
std::string lower_rank_note(const Job& job, std::span<const Index> ranks);

}  // namespace couplet::cli
