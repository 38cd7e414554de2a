#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/wire/message.hpp"
#include "couplet/wire/receiver.hpp"

namespace couplet::net {

/// One attempt at a job as its members see it: what they are asked, one step after another, and what whoever comes back
/// is told again. A value: no disk, no lock, no clock.
class Attempt {
  public:
    /// Members are places on the roster.
    Attempt(const wire::JobId& job, std::uint32_t number, std::vector<Index> members)
        : job_(job), number_(number), members_(std::move(members)) {}

    std::uint32_t number() const noexcept { return number_; }
    /// Of the last question, from 1; 0: nothing was asked.
    std::uint32_t step() const noexcept { return step_; }
    const std::vector<Index>& members() const noexcept { return members_; }
    bool has(Index place) const noexcept;

    /// Told first to whoever does not hold it: what the members have made their tensors from. Whoever was told `held`
    /// last holds it. Call before anything is asked.
    void set_base(wire::Body base, std::optional<wire::Route> held);
    /// Asks all members; `numbers` is how many a sum has.
    void ask(wire::Body body, bool wants_reply, Index numbers = 0);
    /// Asks each of these members something else, and nobody else anything; `bytes` of masked numbers are in an answer.
    void ask_each(std::map<Index, wire::Body> bodies, Index bytes);
    /// Counts a question whose answers are there already; nobody is asked.
    void pass_over() noexcept { ++step_; }

    /// The last question was to this member.
    bool asks(Index place) const;
    /// It is a step of a secure sum.
    bool asks_each() const noexcept { return current_ && !current_->each.empty(); }
    bool has_asked() const noexcept { return current_.has_value(); }
    bool wants_reply() const noexcept { return current_ && current_->wants_reply; }
    /// Of what was asked last.
    std::optional<wire::Route> asked() const;

    struct Telling {
        std::shared_ptr<const wire::Message> message;
        bool wants_reply = false;
    };
    /// What a member is told whose last message was `cursor`; nothing: it waits. `answered` knows, by step, whether its
    /// answer is there.
    using Answered = std::function<bool(std::uint32_t step)>;
    std::optional<Telling> next(Index place, const wire::Route& cursor, const Answered& answered) const;

    /// Of which kind an answer is that begins with this head; nothing when it is no longer wanted. Throws InputError
    /// that blames `who` for one that was not asked for, and one of another kind or length.
    std::optional<wire::Kind> expect(Index place, const wire::Head& head, const std::string& who) const;

  private:
    struct Question {
        std::shared_ptr<const wire::Message> message;
        bool wants_reply = false;
        Index numbers = 0;
        Index pass = 0;
        /// Of secure sums: who is asked what; `message` is then one of them.
        std::map<Index, std::shared_ptr<const wire::Message>> each = {};
        Index masked_bytes = 0;

        bool asks(Index place) const { return each.empty() || each.contains(place); }
        wire::Kind reply_kind() const;
        void require_length(const wire::Head& head, const std::string& who) const;
    };
    std::shared_ptr<const wire::Message> message(wire::Body body) const;
    Telling start_again(std::uint32_t step, bool received) const;

    wire::JobId job_;
    std::uint32_t number_;
    std::vector<Index> members_;
    std::uint32_t step_ = 0;
    std::optional<Question> start_;
    std::optional<Question> current_;
    std::shared_ptr<const wire::Message> base_;  ///< step 1 where there is one; step 0 tells the job's order before
    std::optional<wire::Route> held_;
};

}  // namespace couplet::net
