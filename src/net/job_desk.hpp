#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "couplet/net/log.hpp"
#include "room.hpp"

namespace couplet::net {

/// Too few clients are left: the job cannot go on.
struct TooFew {
    std::string text;
    std::string refusals;  ///< of others: not for the clients' ears
};
/// A member gave no answer that can be used; these did.
struct Lost {
    std::vector<Index> left;
};

/// What a merge comes to.
struct MergeOutcome {
    FeaturesMessage features = {};
    std::vector<Index> personal_ranks = {};
    Traffic traffic = {};
    Index rounds = 0;
    std::vector<Index> cohort = {};           ///< of secure sums: whose numbers are in them
    std::optional<ShieldReport> shield = {};  ///< likewise
};

/// Where the thread that runs a job works: it asks the members through the room, and what it computes is kept in the
/// job's folder before anybody builds on it.
class JobDesk {
  public:
    struct Options {
        std::optional<std::chrono::milliseconds> deadline = {};  ///< for every wait; nothing: for ever
        std::optional<Index> least = {};                         ///< clients; nothing: everybody on the roster
    };
    /// Both must outlive it.
    JobDesk(Room& room, Log& log, Options options) : room_(room), log_(log), options_(options) {}

    Room& room() const noexcept { return room_; }
    Log& log() const noexcept { return log_; }
    const wire::JobSpec& spec() const noexcept { return room_.spec(); }
    const Job& job() const noexcept { return spec().job; }
    bool stacks() const noexcept { return job().aggregate == Aggregate::stack; }

    /// Until when a wait that begins now may last.
    Room::Deadline until() const;
    /// Throws TooFew unless enough clients are there, who `what`.
    void require_enough(const std::vector<Index>& there, const char* what) const;

    /// The answers of all members to what was asked last, in their order, each from disk when it is its turn. When
    /// `take` throws InputError for one, its sender is turned away. Throws Lost unless all could be taken.
    using Take = std::function<void(std::size_t at, wire::Message answer)>;
    void collect(const std::vector<Index>& members, const Take& take) const;

    /// Makes features and what they mean for the job durable. job.json, written last, decides: what lies there for
    /// another attempt is as if not there.
    void keep(const FeaturesMessage& features, std::uint32_t attempt,
              const std::function<void(JobFile&)>& change) const;

    /// Seconds of computing here, without waits: for a Stopwatch.
    double& seconds() noexcept { return seconds_; }

  private:
    Room& room_;
    Log& log_;
    Options options_;
    double seconds_ = 0;
};

}  // namespace couplet::net
