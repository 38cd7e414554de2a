#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attempt.hpp"
#include "couplet/net/log.hpp"
#include "couplet/net/status.hpp"
#include "job_folder.hpp"
#include "message_count.hpp"
#include "schema_vote.hpp"

namespace couplet::net {

/// Thrown out of every wait when the coordinator is told to stop.
struct Stopped {};

/// Where the clients' streams and the thread that runs the job meet. Owns the job's folder: what a client has said is
/// on disk before anybody builds on it, so that a restart finds it. Knows no socket.
///
/// Methods for streams throw InputError when the client must be turned away; what() is what it is told.
class Room {
  public:
    using Clock = std::chrono::steady_clock;
    using Deadline = std::optional<Clock::time_point>;

    struct Options {
        std::filesystem::path folder;  ///< of the job; made if not there
        bool late_merge = false;       ///< clients that come after the members are fixed may wait to be merged
        /// How long two sides must differ before all are told: a connection that is gone is not noticed at once.
        std::chrono::milliseconds tie_stands{2000};
        /// What has passed in this job before this process, by client.
        std::map<std::string, MessageCount> counted = {};
    };
    /// Writes `job`, or continues it with what is spooled in the folder.
    Room(JobFile job, Options options, Log& log);

    // ---- for streams

    /// A client's stream. A later one of the same client takes its place.
    struct Ticket {
        Index place = 0;
        std::uint64_t generation = 0;
    };
    /// `name` is from the certificate.
    Ticket enter(const std::string& name, const wire::Join& join);
    wire::Message welcome(Ticket ticket) const;
    void greet(Ticket ticket, const wire::Message& message);

    enum class What { message, nothing, over };
    struct Next {
        What what = What::nothing;
        std::shared_ptr<const wire::Message> message;
        bool wants_reply = false;
        std::string reason;  ///< why it is over
    };
    /// The next message for this client, whose last one was `cursor`; waits for it up to `patience`.
    Next next(Ticket ticket, const wire::Route& cursor, std::chrono::milliseconds patience);
    /// Where to keep the answer that begins with this head; nothing when it is known already or no longer wanted.
    std::optional<std::filesystem::path> accept(Ticket ticket, const wire::Head& head);
    /// The answer lies there.
    void arrived(Ticket ticket, const wire::Route& route);
    /// The client has refused instead, and said why there. Throws InputError with its words.
    [[noreturn]] void declined(Ticket ticket, const std::filesystem::path& reason);
    /// Its answer was none that could be taken. What was masked once is not masked again: nobody waits for another.
    void spoiled(Ticket ticket);
    void report(Ticket ticket, const wire::Message& message);
    wire::Message bye(Ticket ticket);
    void leave(Ticket ticket) noexcept;
    /// Books what has passed: `sent` to the client, or received.
    void count(Ticket ticket, bool sent, wire::Kind kind, const wire::Route& route, double bytes);
    /// Books a refusal of somebody; `name` may be empty.
    void refused(const std::string& name, const std::string& reason);

    // ---- for the thread that runs the job

    /// As it stands: streams add reports meanwhile.
    JobFile job() const;
    const std::vector<std::string>& roster() const noexcept { return job_.roster; }
    const wire::JobId& id() const noexcept { return job_.id; }
    const wire::JobSpec& spec() const noexcept { return job_.spec; }
    std::string who(Index place) const { return "client " + job_.roster[static_cast<std::size_t>(place)]; }
    const JobFolder& folder() const noexcept { return folder_; }
    /// Changes the job and writes it; what `change` does is durable when this returns.
    void update(const std::function<void(JobFile&)>& change);

    /// Waits until everybody on the roster has said hello and their schemas fit together, or the deadline. Returns who
    /// is there and fits; the others are turned away, all of them where two schemas are equally frequent, and may come
    /// again with other data. Whoever is gone has no say against those who are there: it is waited for, so that it may
    /// come again.
    std::vector<Index> gather(Deadline deadline);
    /// That of the job: given, or what its members agree on.
    Schema schema() const;
    /// Forgets answers; `keep` spares those of these attempts and places to the first question.
    void remove_replies(const std::set<std::pair<std::uint32_t, Index>>& keep);
    /// Why those who are not there were refused, in words; empty: nobody was.
    std::string refusal_text() const;
    const Hello& hello(Index place) const { return *hellos_[static_cast<std::size_t>(place)]; }
    /// Squared norms of everybody's data, by place, as they greeted; 0 of who has not.
    std::vector<double> norms() const;
    /// Fixes who takes part from here on; nobody's question is left over.
    /// `base` is told first to whoever does not hold it: the features that the members have filled their tensors from,
    /// or how they have centred them.
    void begin(std::uint32_t attempt, std::vector<Index> members, std::optional<wire::Body> base = {});
    /// The same for one client that is merged late, beside the members and others that were.
    void begin_late(std::uint32_t attempt, Index place);
    /// Asks those of the attempt that began last. `wants_reply` is for start, sums, centring and features to fill from;
    /// `numbers` of a sum.
    void publish(wire::Body body, bool wants_reply, Index numbers = 0);
    /// Asks each of these members something else, and nobody else anything: steps of secure sums. `bytes` of masked
    /// numbers in an answer.
    void publish_each(std::map<Index, wire::Body> bodies, Index bytes);
    /// Counts a question whose answers are there from before an interruption; nobody is asked.
    void pass_over();
    /// Whether this member has said that it does not agree to what it is asked; nobody waits for it.
    bool is_unwilling(Index place) const;
    /// There is nothing to continue: the next coordinator begins a new job.
    void abandon();
    /// Whether the answer to the last question is here from this member; waits up to the deadline, or until the member
    /// says that it does not agree.
    bool await_reply(Index place, Deadline deadline);
    /// Members whose answer to the last question is here.
    std::vector<Index> replied();
    wire::Message take_reply(Index place);
    /// Forgets this member's answer to the last question, on disk too, and turns the member away.
    void reject(Index place, const std::string& reason);
    /// Waits until these have reported, or the deadline.
    bool await_reports(const std::vector<Index>& places, Deadline deadline);
    /// Waits, at most so long, for those in the result who may still want the last word: whoever is connected, and
    /// whoever reported to an earlier process and has not come since. One that was stopped before it heard that word is
    /// started again, and would wait for a coordinator that is gone.
    void see_off(std::chrono::milliseconds longest);
    /// Waits for a client that is not in the result and may be merged late, and meanwhile for reports of those who are.
    /// Nothing at the deadline, or when there is nobody to wait for.
    std::optional<Index> await_latecomer(Deadline deadline);
    /// This latecomer did not answer. It has its turn again when it reconnects, after others and not for ever.
    void give_up(Index place);
    /// What has passed between everybody and the coordinator.
    std::vector<MessageCount> counted() const;
    /// Turns everybody away from here on.
    void fail(const std::string& reason);
    /// What they are told; empty: it has not failed.
    std::string failure() const;

    void stop();
    StatusReport status() const;

  private:
    struct Seat {
        std::uint64_t generation = 0;
        bool connected = false;
        bool owed_a_word = false;  ///< it has reported, to an earlier process
        MessageCount counted = {};
        std::string last_refusal;
        std::string rejected;  ///< why its answer cannot be used; it is told and has to come again
        int lost = 0;          ///< how often it was given up as a latecomer
        std::uint64_t lost_generation = 0;
    };
    Seat& seat(Index place) { return seats_[static_cast<std::size_t>(place)]; }
    const Seat& seat(Index place) const { return seats_[static_cast<std::size_t>(place)]; }
    std::optional<Hello>& greeting(Index place) { return hellos_[static_cast<std::size_t>(place)]; }
    const std::optional<Hello>& greeting(Index place) const { return hellos_[static_cast<std::size_t>(place)]; }
    void require_this_job(Index place, const wire::JobId& id, const char* what) const;
    bool takes_part(Index place) const;
    bool may_come_late() const;
    Attempt& speaking();
    const Attempt& speaking() const;
    const Attempt* attempt_of(Index place) const;
    bool has_reply(const Attempt& attempt, Index place) const;
    Next next_now(Ticket ticket, const wire::Route& cursor);
    wire::Message message(wire::Body body) const;
    void require_fitting_hello(Index place, const Hello& hello) const;
    /// What the job's schema is for certain, whoever may still come; `without` has no say.
    std::optional<Schema> decided_schema(std::optional<Index> without) const;
    void turn_away_misfits();
    SchemaVote vote() const { return {job_.schema, job_.spec.job.unnamed}; }
    Voter voter(Index place, const Hello& hello) const { return {place, who(place), hello.schema()}; }
    std::vector<Voter> voters(const std::vector<Index>& places) const;
    std::vector<Index> greeted() const;
    /// Whether nobody comes or goes for as long as a tie must stand.
    bool stands(std::unique_lock<std::mutex>& lock);
    /// Those of these places who fit; the others are turned away.
    std::vector<Index> settle(const std::vector<Index>& places);
    void turn_away(Index place, const ErrorParts& why);
    Schema schema_now() const;
    /// For whom was waited when it was last told: a wait that is begun again and again tells no more than one.
    struct Told {
        Clock::time_point next_line = Clock::now();
        std::vector<Index> places = {};
        int changes = 0;
        bool at_leisure = false;  ///< every change is news, or only what lasts
    };
    /// Waits until `missing` is empty; false at the deadline. Says for whom while it lasts.
    bool wait(std::unique_lock<std::mutex>& lock, const std::function<std::vector<Index>()>& missing, Deadline deadline,
              Told& told);
    std::string state_text(Index place) const;
    ClientStatus client_status(Index place) const;

    JobFile job_;
    Options options_;
    JobFolder folder_;
    Log& log_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Seat> seats_;
    std::vector<std::optional<Hello>> hellos_;
    std::set<ReplyId> replies_;
    std::set<Index> unwilling_;
    std::optional<Attempt> main_;
    std::map<Index, Attempt> late_;  ///< by place: each is asked alone
    std::optional<Index> late_now_;  ///< whose publish() speaks to; nothing: to the members
    std::vector<Index> waiting_;
    Deadline deadline_;
    std::string failure_;
    bool stopping_ = false;
    Index refusals_ = 0;
    Told answers_ = {.at_leisure = true};  ///< of all waits for answers: a job has many, most of them short
    Clock::time_point begun_ = Clock::now();
};

}  // namespace couplet::net
