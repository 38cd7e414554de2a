#include "link.hpp"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "couplet/core/error.hpp"
#include "crash_point.hpp"
#include "versions.hpp"

namespace couplet::net {
namespace {

// What has arrived is confirmed with every beat, and earlier when much has: the sender keeps it until then.
constexpr int most_unconfirmed = 16;
constexpr double most_unconfirmed_bytes = 4 << 20;

/// Parts of a list that another list has not.
std::string unlike(const std::string& list, const std::string& other) {
    constexpr std::string_view comma = ", ";
    const std::string known = std::string(comma) + other + std::string(comma);
    std::string result;
    for (std::size_t from = 0; from < list.size();) {
        const std::size_t to = std::min(list.find(comma, from), list.size());
        const std::string part = list.substr(from, to - from);
        if (known.find(std::string(comma) + part + std::string(comma)) == std::string::npos) {
            result += (result.empty() ? "" : std::string(comma)) + part;
        }
        from = to + comma.size();
    }
    return result;
}

/// Tells of every frame that arrives: one large message can take longer than the patience of its receiver.
class HeardStream final : public FrameStream {
  public:
    HeardStream(FrameStream& stream, std::function<bool()> heard) : stream_(stream), heard_(std::move(heard)) {}
    bool write(const v1::Frame& frame) override { return stream_.write(frame); }
    bool read(v1::Frame& frame) override { return stream_.read(frame) && heard_(); }

  private:
    FrameStream& stream_;
    std::function<bool()> heard_;
};

}  // namespace

Link::Link(std::string name, wire::Incarnation own, LinkSettings settings, LinkEvents events)
    : name_(std::move(name)), own_(own), settings_(std::move(settings)), events_(std::move(events)), ledger_(own) {}

void Link::post(std::shared_ptr<const wire::Message> message) {
    const std::lock_guard lock(mutex_);
    // Before the first greeting nobody is there for whom it could be kept.
    if (ledger_.process() == 0) return;
    ledger_.post(std::move(message));
    changed_.notify_all();
}

void Link::drop() {
    const std::lock_guard lock(mutex_);
    if (cancel_) cancel_();
}

void Link::close() {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    if (cancel_) cancel_();
    for (const auto* cancel : greeting_) (*cancel)();
    changed_.notify_all();
}

bool Link::closed() const {
    const std::lock_guard lock(mutex_);
    return closing_;
}

Link::View Link::view() const {
    const std::lock_guard lock(mutex_);
    return {ledger_.process(), cancel_ != nullptr, changed_at_, heard_at_, ledger_.has_bulletin(), ledger_.drained()};
}

wire::Greeting Link::receive_greeting(FrameStream& stream) const {
    wire::Message message = receive_message(stream, "peer " + name_, {.max_payload_bytes = 0}).message;
    if (const auto* refusal = std::get_if<wire::Refusal>(&message.body)) {
        throw InputError({"peer " + name_, "refused: " + refusal->reason, "", ""});
    }
    auto* greeting = std::get_if<wire::Greeting>(&message.body);
    if (greeting == nullptr) {
        throw InputError({"peer " + name_, std::string(wire::to_string(message.kind())), "a greeting", ""});
    }
    require_version("peer " + name_, greeting->version, settings_.version);
    if (greeting->job != settings_.job) {
        throw InputError({"peer " + name_, "another job: " + unlike(greeting->job, settings_.job),
                          unlike(settings_.job, greeting->job), "Start all peers with the same flags, seed and kits."});
    }
    if (auto parts = misfit(settings_.schema, greeting->schema, settings_.unnamed, "peer " + name_, "this peer")) {
        throw InputError(std::move(*parts));
    }
    if (greeting->incarnation == own_) {
        throw InputError({"peer " + name_, "this very process", "another one", "Check the addresses in kit.toml."});
    }
    return std::move(*greeting);
}

std::uint64_t Link::begin(const wire::Greeting& theirs, const std::function<void()>& cancel) {
    bool is_new = false;
    std::uint64_t generation = 0;
    {
        const std::lock_guard lock(mutex_);
        if (closing_) throw Disconnected{};
        is_new = ledger_.begin(theirs);
        if (cancel_) cancel_();
        generation = ++generation_;
        cancel_ = cancel;
        changed_at_ = heard_at_ = Clock::now();
        confirm_ = false;
        changed_.notify_all();
    }
    events_.connected(theirs.incarnation, is_new);
    return generation;
}

void Link::end(std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    if (generation_ != generation) return;
    ++generation_;
    cancel_ = nullptr;
    changed_at_ = Clock::now();
    changed_.notify_all();
}

/// Makes a connection known to close() before it stands.
class Link::Greeting {
  public:
    Greeting(Link& link, const std::function<void()>& cancel) : link_(link), cancel_(cancel) {
        const std::lock_guard lock(link_.mutex_);
        if (link_.closing_) throw Disconnected{};
        link_.greeting_.push_back(&cancel_);
    }
    ~Greeting() {
        const std::lock_guard lock(link_.mutex_);
        std::erase(link_.greeting_, &cancel_);
    }
    Greeting(const Greeting&) = delete;
    Greeting& operator=(const Greeting&) = delete;

  private:
    Link& link_;
    const std::function<void()>& cancel_;
};

std::uint64_t Link::greet(FrameStream& stream, bool opened_here, const std::function<void()>& cancel) {
    const auto say = [&] {
        std::unique_lock lock(mutex_);
        wire::Greeting greeting = ledger_.greeting(settings_.job, settings_.version);
        lock.unlock();
        greeting.schema = settings_.schema;
        send_message(stream, message(std::move(greeting)));
    };
    if (opened_here) {
        try {
            say();
        } catch (const Disconnected&) {
            receive_greeting(stream);  // whoever refuses stops listening; why is still to be read
            throw;
        }
    }
    const wire::Greeting theirs = receive_greeting(stream);
    // The end that was called answers once the connection before this one can count no more arrivals.
    const std::uint64_t generation = begin(theirs, cancel);
    try {
        if (!opened_here) say();
    } catch (const Disconnected&) {
        end(generation);
        throw;
    }
    return generation;
}

bool Link::speak(FrameStream& stream, bool opened_here, const std::function<void()>& cancel,
                 const std::function<void()>& greeted) {
    std::uint64_t generation = 0;
    try {
        const Greeting visible(*this, cancel);
        generation = greet(stream, opened_here, cancel);
    } catch (const Disconnected&) {
        return false;
    }
    greeted();
    crash_point("peer-greeted");
    std::thread writer([&] {
        try {
            write(stream, generation);
        } catch (const Disconnected&) {
            cancel();
        }
    });
    std::string reason;
    try {
        read(stream, generation);
    } catch (const Disconnected&) {
        // The owner sees it in view().
    } catch (const std::exception& error) {
        reason = error.what();
    }
    cancel();
    end(generation);
    writer.join();
    if (!reason.empty()) events_.refused(reason);
    return true;
}

bool Link::touch(std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    if (generation_ != generation) return false;
    heard_at_ = Clock::now();
    return true;
}

bool Link::take(std::uint64_t generation, const wire::Message& message, double bytes) {
    const std::lock_guard lock(mutex_);
    if (generation_ != generation) return false;
    if (const auto* beat = std::get_if<wire::Beat>(&message.body)) {
        ledger_.acknowledge(beat->received);
        return true;
    }
    ledger_.arrived();
    unconfirmed_bytes_ += bytes;
    // A bulletin is confirmed at once: the next one waits for it.
    if (++unconfirmed_ >= most_unconfirmed || unconfirmed_bytes_ >= most_unconfirmed_bytes ||
        message.kind() == wire::Kind::bulletin) {
        confirm_ = true;
        changed_.notify_all();
    }
    return true;
}

void Link::read(FrameStream& stream, std::uint64_t generation) {
    HeardStream heard(stream, [&] { return touch(generation); });
    wire::Incarnation process = 0;
    {
        const std::lock_guard lock(mutex_);
        process = ledger_.process();
    }
    const std::string who = "peer " + name_;
    for (;;) {
        Received received = receive_message(heard, who, settings_.limits);
        wire::Message& message = received.message;
        const bool expected = wire::is_numbered(message) || message.kind() == wire::Kind::beat;
        if (!expected || message.route.job != settings_.id) {
            throw InputError({who, fmt::format("{} that does not belong here", wire::to_string(message.kind())),
                              "a message of this job", ""});
        }
        if (!take(generation, message, received.bytes)) return;
        if (events_.passed) events_.passed(false, message.kind(), {received.bytes, received.hash});
        crash_point("peer-received");
        if (wire::is_numbered(message)) events_.received(process, std::move(message));
    }
}

void Link::write(FrameStream& stream, std::uint64_t generation) {
    auto next_beat = Clock::now();
    for (;;) {
        std::shared_ptr<const wire::Message> next;
        std::optional<wire::Message> beat;
        {
            std::unique_lock lock(mutex_);
            changed_.wait_until(lock, next_beat, [&] {
                return closing_ || generation_ != generation || confirm_ || ledger_.has_next();
            });
            if (closing_ || generation_ != generation) return;
            const auto now = Clock::now();
            if (confirm_ || now >= next_beat) {
                beat = message(wire::Beat{ledger_.received()});
                confirm_ = false;
                unconfirmed_ = 0;
                unconfirmed_bytes_ = 0;
                next_beat = now + settings_.beat;
            } else {
                next = ledger_.next();
            }
        }
        if (beat) send_message(stream, *beat);
        if (next) {
            const Passed passed = send_message(stream, *next);
            if (events_.passed) events_.passed(true, next->kind(), passed);
            crash_point("peer-sent");
        }
    }
}

}  // namespace couplet::net
