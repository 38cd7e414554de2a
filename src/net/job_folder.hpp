#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "couplet/ctt/merge_tree.hpp"
#include "job_file.hpp"

namespace couplet::net {

/// Which answer it is: of whom, to which question of which attempt.
struct ReplyId {
    std::uint32_t attempt = 0;
    std::uint32_t step = 0;
    Index place = 0;
    friend auto operator<=>(const ReplyId&, const ReplyId&) = default;
};

FeaturesMessage copy_of(const FeaturesMessage& message);

/// The folder of a job in its coordinator's kit: which file holds what. Everything is there completely, durable when
/// the function returns, or not at all. What is read is checked again, and whoever sent it is blamed (InputError).
class JobFolder {
  public:
    /// Made if it is not there.
    explicit JobFolder(std::filesystem::path folder);

    void write(const JobFile& job) const;
    /// There is nothing to continue any more.
    void forget_job() const noexcept;

    std::optional<Hello> hello(Index place, const std::string& who) const;
    void keep_hello(Index place, const wire::Message& hello) const;
    void remove_hello(Index place) const noexcept;

    /// Where an answer, or a refusal instead of it, is written as it arrives.
    std::filesystem::path reply(const ReplyId& id) const;
    std::filesystem::path refusal(Index place) const;
    /// Those that are there. What a crash left half written is removed.
    std::set<ReplyId> replies() const;
    void remove_reply(const ReplyId& id) const noexcept;
    /// What a client contributed to the merge of an attempt: its upload.
    MergeState contribution(std::uint32_t attempt, Index place, const std::string& who) const;

    /// The features of an attempt.
    FeaturesMessage features(std::uint32_t attempt) const;
    void keep_features(std::uint32_t attempt, const FeaturesMessage& features) const;
    void remove_features(std::uint32_t attempt) const noexcept;

    /// What the members of an attempt moved their data by.
    Centring centring(std::uint32_t attempt) const;
    void keep_centring(std::uint32_t attempt, const Centring& centring) const;

    /// What was merged before the job, by its place in JobFile::resumed.
    MergeState resumed(std::size_t i) const;
    void keep_resumed(std::size_t i, MergeState state) const;

  private:
    std::filesystem::path folder_;
};

}  // namespace couplet::net
