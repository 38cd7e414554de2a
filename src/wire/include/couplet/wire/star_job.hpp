#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/secure/secure_coordinator.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::wire {

/// Throws InputError that blames `who` for a greeting that would spoil the sums over everybody, or whose data cannot
/// give the rank that the printed method takes from all.
void require_sound(const Hello& hello, const Job& job, const std::string& who);

/// Whatever clients send, nobody is given features that are none: throws RunError.
void require_finite(const Features& features);

struct StarJobOptions {
    JobId id = {};
    JobSpec spec = {};
    std::optional<Schema> schema = {};  ///< of the job; nothing: the one that most sites bring
    Notary notary = {};                 ///< of a job of secure sums: name_of and verify
    Index tree = 0;                     ///< sites to a merger of a tree of them; 0: one merges all
};

/// A site that does not take part, and why.
struct RefusedSite {
    std::string site;
    std::string reason;
};

/// The fields of `simulate --json` that a coordinator knows.
struct StarJobResult {
    std::vector<std::string> members;  ///< in the order of the fields below
    std::vector<std::string> unreported;
    std::optional<double> rse;  ///< once all members have reported
    std::optional<double> rse_heldout;
    std::vector<double> rse_per_client;
    std::vector<Index> personal_ranks;
    Index rounds = 0;
    Index mergers = 0;  ///< of a tree
    double numbers_up = 0;
    double numbers_down = 0;
    double bytes_up = 0;
    double bytes_down = 0;
    double seconds_clients_max = 0;
    double seconds_clients_sum = 0;
    double seconds_server = 0;
    std::optional<MissingReport> imputed = {};
    std::optional<ShieldReport> shield = {};  ///< of secure sums; nobody says then how the features fit it
};

/// A job of the star as its coordinator sees it, over bytes that somebody else carries. Owns no socket, thread or
/// clock:
///
///     greet() everybody; refuse_misfits(); begin() with those who take part
///     while (!delivering()): send welcome() and question() to every member, take() the answer of each
///     send the same once more, which now holds the features; report() the answers
///
/// A question tells everything that its answer follows from, so that a site need not remember anything. When a member
/// is lost, begin() again with the others.
///
/// A job of secure sums asks one step at a time: ask those of asked() with question(member), take() what they answer,
/// close_step() when all have answered or time is up. Whoever is lost is lost to that sum; the job goes on, or
/// close_step() throws RunError. A site's place in its welcome is then its place among the members.
class StarJob {
  public:
    explicit StarJob(StarJobOptions options);

    /// Whether a site's work depends on its place, so that it must be known before the greeting.
    bool needs_places() const noexcept;
    bool is_secure() const noexcept { return spec_.shield.has_value(); }
    /// First to every site; it answers with its greeting. `place` counts from 0.
    std::string welcome(Index place, Index sites) const;
    /// Throws InputError that blames the site.
    void greet(const std::string& site, std::string_view greeting);
    /// Takes those out whose names of features, labels or units do not fit what most bring, or what the job asks for.
    /// Throws InputError when two schemas are equally frequent.
    std::vector<RefusedSite> refuse_misfits();

    /// From here on these take part, in this order, which the bits of the result follow. All must have greeted. `least`
    /// of them must have numbers in the result of secure sums.
    void begin(std::vector<std::string> members, Index least = 0);
    /// What to send to every member now, after its welcome.
    const std::string& question() const noexcept { return question_; }
    /// Who is asked now, and what: everybody the same, but in a step of a secure sum.
    std::vector<Index> asked() const;
    std::string question(Index member);
    /// Ends a step of a secure sum; those who have not answered are lost to it. What was decided is in words.
    std::vector<std::string> close_step();
    /// The answer of a member, by its place among the members; in any order. Throws InputError that blames the site for
    /// one that cannot be used; it must then be left out.
    void take(Index member, std::string_view answer);
    /// Counts the questions: a new one is there as soon as all members have answered the one before.
    std::uint32_t questions() const noexcept { return questions_; }
    /// Whether the question holds the final features.
    bool delivering() const noexcept { return phase_ == Phase::delivering; }
    /// The answer to that.
    void report(Index member, std::string_view answer);

    const FeaturesMessage& features() const;
    const Schema& schema() const noexcept { return schema_; }
    const JobSpec& spec() const noexcept { return spec_; }
    std::string id() const { return to_hex(id_); }
    StarJobResult result() const;

  private:
    enum class Phase { joining, merging, filling, adding, delivering };

    void begin_attempt();
    /// The coordinator's next question, or its features.
    void advance();
    /// What the members are asked from now on.
    void publish(Body body);
    std::vector<Message> context() const;
    Message message(std::uint32_t step, Body body) const;
    void conclude_merge(FeaturesMessage features);
    void conclude_filling();
    void take_in_merge(Index member, Message answer);
    void begin_secure(Index least);
    void conclude_secure();
    void require_member(Index member) const;
    Hello hello(std::size_t member) const;

    JobId id_;
    JobSpec spec_;
    std::optional<Schema> given_;
    Index tree_ = 0;
    Notary notary_;
    Schema schema_;
    std::map<std::string, Hello> hellos_;
    Phase phase_ = Phase::joining;
    std::vector<std::string> members_;
    std::uint32_t attempt_ = 0;
    std::uint32_t step_ = 0;
    std::uint32_t questions_ = 0;
    std::optional<StarCoordinator> star_;
    std::optional<SecureCoordinator> secure_;
    std::optional<Start> start_;
    std::string question_;                     ///< packed, with what it builds on
    std::optional<FeaturesMessage> base_;      ///< what the members have filled their tensors from
    std::optional<FeaturesMessage> features_;  ///< of the latest merge
    std::vector<bool> has_answered_;
    Index waiting_ = 0;
    std::optional<CompletionCourse> course_;
    std::vector<FillSums> sums_;
    std::vector<double> norm2_;  ///< of the members' tensors as they are filled now; empty: as they greeted
    std::map<Index, Report> reports_;
    StarJobResult traffic_;  ///< what is counted on the way
};

}  // namespace couplet::wire
