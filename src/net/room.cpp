#include "room.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "couplet/core/error.hpp"
#include "couplet/core/spelling.hpp"
#include "couplet/io/text.hpp"
#include "crash_point.hpp"
#include "plausible.hpp"
#include "spool.hpp"
#include "versions.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds tick{100};
constexpr std::chrono::seconds between_lines{10};
constexpr std::chrono::seconds worth_a_line{2};  // a wait for an answer that takes longer
// A client that comes and goes changes for whom is waited; not every time is told.
constexpr int most_changes_told = 20;
// A latecomer that comes and goes must not keep the coordinator for ever.
constexpr int most_lost = 3;

bool contains(const std::vector<Index>& places, Index place) {
    return std::find(places.begin(), places.end(), place) != places.end();
}

InputError failed_job(const std::string& reason) { return InputError({"job", reason, "a job that can go on", ""}); }

}  // namespace

Room::Room(JobFile job, Options options, Log& log)
    : job_(std::move(job)),
      options_(std::move(options)),
      folder_(options_.folder),
      log_(log),
      seats_(job_.roster.size()),
      replies_(folder_.replies()) {
    for (std::size_t k = 0; k < job_.roster.size(); ++k) {
        const auto place = static_cast<Index>(k);
        hellos_.push_back(folder_.hello(place, who(place)));
        if (const auto at = options_.counted.find(job_.roster[k]); at != options_.counted.end()) {
            seat(place).counted = at->second;
        }
        seat(place).owed_a_word = job_.phase != Phase::closed && job_.reports.contains(place);
    }
    folder_.write(job_);
}

void Room::update(const std::function<void(JobFile&)>& change) {
    const std::lock_guard lock(mutex_);
    change(job_);
    folder_.write(job_);
    changed_.notify_all();
}

JobFile Room::job() const {
    const std::lock_guard lock(mutex_);
    return job_;
}

bool Room::takes_part(Index place) const {
    return job_.phase == Phase::joining || contains(job_.members, place) || contains(job_.late, place) ||
           late_.contains(place);
}

bool Room::may_come_late() const { return options_.late_merge && job_.spec.job.aggregate == Aggregate::stack; }

Room::Ticket Room::enter(const std::string& name, const wire::Join& join) {
    const std::lock_guard lock(mutex_);
    if (join.name != name) {
        throw InputError({"client " + name, fmt::format("it calls itself {}", shown(join.name)),
                          "the name in its certificate", "Use the kit as couplet provision made it."});
    }
    const auto at = std::find(job_.roster.begin(), job_.roster.end(), name);
    if (at == job_.roster.end()) {
        throw InputError({"client " + name, "not on the roster", "a client of this job",
                          fmt::format("Run: couplet provision --add {} -o KITS", name)});
    }
    const Index place = at - job_.roster.begin();
    require_version(who(place), join.version, version());
    if (join.version != version()) {
        log_.paced(
            "version " + name, "version",
            fmt::format("{} runs couplet {}, this is {}: they work together", who(place), join.version, version()),
            {{"client", name}}, false);
    }
    if (!failure_.empty()) throw failed_job(failure_);
    if (!takes_part(place) && !may_come_late()) {
        throw InputError({"client " + name, "the job goes on without it", "a client that came before the deadline",
                          "Ask for a coordinator with `late` merge, or for the next job."});
    }
    Seat& mine = seat(place);
    mine.connected = true;
    mine.last_refusal.clear();
    mine.rejected.clear();
    ++mine.generation;
    unwilling_.erase(place);
    // It greets again, perhaps with other data: what it said before does not count meanwhile.
    if (job_.phase == Phase::joining) greeting(place).reset();
    changed_.notify_all();
    return {place, mine.generation};
}

wire::Message Room::message(wire::Body body) const {
    return {{wire::protocol_version, job_.id, 0, 0}, std::move(body)};
}

wire::Message Room::welcome(Ticket ticket) const {
    const std::lock_guard lock(mutex_);
    return message(wire::Welcome{job_.spec, ticket.place, static_cast<Index>(job_.roster.size())});
}

// ---- which schema the job has

std::vector<Index> Room::greeted() const {
    std::vector<Index> places;
    for (std::size_t k = 0; k < hellos_.size(); ++k) {
        if (hellos_[k]) places.push_back(static_cast<Index>(k));
    }
    return places;
}

std::vector<Voter> Room::voters(const std::vector<Index>& places) const {
    std::vector<Voter> result;
    for (const Index place : places) {
        if (const auto& hello = greeting(place)) result.push_back(voter(place, *hello));
    }
    return result;
}

Schema Room::schema_now() const {
    if (job_.schema) return *job_.schema;
    return vote().among(voters(job_.members)).schema;
}

Schema Room::schema() const {
    const std::lock_guard lock(mutex_);
    return schema_now();
}

std::optional<Schema> Room::decided_schema(std::optional<Index> without) const {
    if (job_.phase != Phase::joining && !voters(job_.members).empty()) return schema_now();
    std::vector<Index> places = greeted();
    if (without) std::erase(places, *without);
    return vote().certain(voters(places), static_cast<Index>(job_.roster.size()));
}

/// Nobody waits for the others to hear what is certain already.
void Room::turn_away_misfits() {
    const auto schema = decided_schema({});
    if (!schema) return;
    for (const Voter& one : voters(greeted())) {
        if (const auto parts = vote().misfit_of(one, *schema)) turn_away(one.place, *parts);
    }
}

// ---- what clients say

void Room::require_this_job(Index place, const wire::JobId& id, const char* what) const {
    if (id == job_.id) return;
    throw InputError(
        {who(place), fmt::format("{} job {}", what, wire::to_hex(id)), "job " + wire::to_hex(job_.id), ""});
}

void Room::require_fitting_hello(Index place, const Hello& hello) const {
    const auto& before = greeting(place);
    const auto same = [&] {
        return before->features == hello.features && before->rows == hello.rows && before->norm2 == hello.norm2 &&
               before->labels == hello.labels;
    };
    // Until the members are fixed nobody builds on what a client has said, and it may come with other data.
    if (before && job_.phase != Phase::joining && !same()) {
        throw InputError({who(place), fmt::format("{} patients with norm {}", hello.rows, hello.norm2),
                          fmt::format("{} with norm {} as when it joined this job", before->rows, before->norm2),
                          "Give it the same data, or begin a new job."});
    }
    require_plausible_hello(job_.spec, hello, who(place));
    if (const auto schema = decided_schema(place)) {
        if (auto parts = vote().misfit_of(voter(place, hello), *schema)) throw InputError(*parts);
    }
    const Job& job = job_.spec.job;
    if (job.aggregate == Aggregate::average && job.rank && *job.rank > rank_cap(hello)) {
        throw InputError({who(place), fmt::format("data of rank at most {}", rank_cap(hello)),
                          fmt::format("a rank of {}, which the job takes from everybody", *job.rank), ""});
    }
}

void Room::greet(Ticket ticket, const wire::Message& said) {
    const std::lock_guard lock(mutex_);
    require_this_job(ticket.place, said.route.job, "a message of");
    const Hello& hello = std::get<Hello>(said.body);
    require_fitting_hello(ticket.place, hello);
    auto& mine = greeting(ticket.place);
    if (!mine || job_.phase == Phase::joining) {
        folder_.keep_hello(ticket.place, said);
        crash_point("hello-spooled");
        mine = hello;
        nlohmann::json fields{{"client", job_.roster[static_cast<std::size_t>(ticket.place)]}};
        std::string text = who(ticket.place) + " joined";
        if (!job_.spec.shield) {
            fields["rows"] = hello.rows;
            text += fmt::format(" with {} patients", hello.rows);
        }
        log_.paced("joined " + who(ticket.place), "joined", text, fields, false);
    }
    if (job_.phase == Phase::joining) turn_away_misfits();
    changed_.notify_all();
}

// ---- questions and answers

Attempt& Room::speaking() { return late_now_ ? late_.at(*late_now_) : *main_; }
const Attempt& Room::speaking() const { return late_now_ ? late_.at(*late_now_) : *main_; }

const Attempt* Room::attempt_of(Index place) const {
    if (const auto at = late_.find(place); at != late_.end()) return &at->second;
    return main_ && main_->has(place) ? &*main_ : nullptr;
}

bool Room::has_reply(const Attempt& attempt, Index place) const {
    return replies_.contains({attempt.number(), attempt.step(), place});
}

Room::Next Room::next_now(Ticket ticket, const wire::Route& cursor) {
    const Seat& mine = seat(ticket.place);
    if (mine.generation != ticket.generation) return {What::over, nullptr, false, "a newer connection took over"};
    if (!mine.rejected.empty()) throw InputError({who(ticket.place), mine.rejected, "", ""});
    // A coordinator that has failed stops next: clients are to hear why.
    if (!failure_.empty()) throw failed_job(failure_);
    if (stopping_) return {What::over, nullptr, false, "the coordinator is stopping"};
    if (!takes_part(ticket.place) && !may_come_late()) {
        throw InputError({who(ticket.place), "the job went on without it", "an answer before the deadline",
                          "Ask for a coordinator with `late` merge, or for the next job."});
    }
    const Attempt* attempt = attempt_of(ticket.place);
    if (attempt == nullptr) return {};
    const auto telling = attempt->next(ticket.place, cursor, [&](std::uint32_t step) {
        return replies_.contains({attempt->number(), step, ticket.place});
    });
    if (!telling) return {};
    return {What::message, telling->message, telling->wants_reply, ""};
}

Room::Next Room::next(Ticket ticket, const wire::Route& cursor, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const auto until = Clock::now() + patience;
    for (;;) {
        Next found = next_now(ticket, cursor);
        if (found.what != What::nothing || changed_.wait_until(lock, until) == std::cv_status::timeout) return found;
    }
}

std::optional<fs::path> Room::accept(Ticket ticket, const wire::Head& head) {
    const std::lock_guard lock(mutex_);
    const Index place = ticket.place;
    require_this_job(place, head.route.job, "a message of");
    if (head.kind == wire::Kind::refusal) return folder_.refusal(place);
    const Attempt* attempt = attempt_of(place);
    if (attempt == nullptr) return std::nullopt;  // it was left out meanwhile
    const auto kind = attempt->expect(place, head, who(place));
    if (!kind) return std::nullopt;
    if (*kind == wire::Kind::upload) require_plausible_upload(job_.spec.job, head, greeting(place), who(place));
    const ReplyId id{head.route.attempt, head.route.step, place};
    if (replies_.contains(id)) return std::nullopt;
    return folder_.reply(id);
}

void Room::arrived(Ticket ticket, const wire::Route& route) {
    const std::lock_guard lock(mutex_);
    replies_.insert({route.attempt, route.step, ticket.place});
    changed_.notify_all();
}

void Room::declined(Ticket ticket, const fs::path& path) {
    const auto refusal = load_body<wire::Refusal>(path, who(ticket.place));
    std::error_code ignored;
    fs::remove(path, ignored);
    {
        const std::lock_guard lock(mutex_);
        unwilling_.insert(ticket.place);
        changed_.notify_all();
    }
    throw InputError({who(ticket.place), "refused: " + refusal.reason, "a client that agrees to the job", ""});
}

void Room::spoiled(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    const Attempt* attempt = attempt_of(ticket.place);
    if (attempt == nullptr || !attempt->asks_each()) return;
    unwilling_.insert(ticket.place);
    changed_.notify_all();
}

bool Room::is_unwilling(Index place) const {
    const std::lock_guard lock(mutex_);
    return unwilling_.contains(place);
}

void Room::report(Ticket ticket, const wire::Message& said) {
    const std::lock_guard lock(mutex_);
    const auto& report = std::get<wire::Report>(said.body);
    require_this_job(ticket.place, said.route.job, "a report on");
    require_plausible_report(report, who(ticket.place));
    if (job_.reports.contains(ticket.place)) return;
    job_.reports[ticket.place] = report;
    folder_.write(job_);
    crash_point("report-saved");
    log_.info("done", fmt::format("{} has its result", who(ticket.place)),
              {{"client", job_.roster[static_cast<std::size_t>(ticket.place)]}});
    changed_.notify_all();
}

wire::Message Room::bye(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    seat(ticket.place).owed_a_word = false;
    wire::Bye bye;
    bye.rounds = job_.rounds;
    for (std::size_t k = 0; k < job_.roster.size(); ++k) {
        const auto place = static_cast<Index>(k);
        const bool in = contains(job_.members, place) || contains(job_.late, place);
        (in ? bye.members : bye.missing).push_back(job_.roster[k]);
    }
    return message(std::move(bye));
}

void Room::leave(Ticket ticket) noexcept {
    const std::lock_guard lock(mutex_);
    Seat& mine = seat(ticket.place);
    if (mine.generation == ticket.generation) mine.connected = false;
    changed_.notify_all();
}

void Room::count(Ticket ticket, bool sent, wire::Kind kind, const wire::Route& route, double bytes) {
    const std::lock_guard lock(mutex_);
    seat(ticket.place).counted.add(sent, kind, route, bytes);
}

std::vector<MessageCount> Room::counted() const {
    const std::lock_guard lock(mutex_);
    std::vector<MessageCount> result;
    for (const Seat& one : seats_) result.push_back(one.counted);
    return result;
}

void Room::refused(const std::string& name, const std::string& reason) {
    bool known = false;
    {
        const std::lock_guard lock(mutex_);
        ++refusals_;
        const auto at = std::find(job_.roster.begin(), job_.roster.end(), name);
        known = at != job_.roster.end();
        if (known) seat(at - job_.roster.begin()).last_refusal = reason;
    }
    log_.paced(known ? "refused " + name : "refused strangers", "refused", "refused: " + reason, {{"client", name}});
}

bool Room::wait(std::unique_lock<std::mutex>& lock, const std::function<std::vector<Index>()>& missing,
                Deadline deadline, Told& told) {
    deadline_ = deadline;
    for (;;) {
        if (stopping_) throw Stopped{};
        waiting_ = missing();
        if (waiting_.empty()) return true;
        const auto now = Clock::now();
        if (deadline && now >= *deadline) {
            waiting_.clear();
            return false;
        }
        const bool changed = !told.at_leisure && waiting_ != told.places && told.changes < most_changes_told;
        if (changed || now >= told.next_line) {
            ++told.changes;
            told.places = waiting_;
            told.next_line = now + between_lines;
            lock.unlock();
            log_.info("waiting", waiting_text(status()));
            lock.lock();
            continue;
        }
        auto until = std::min(told.next_line, now + tick);
        if (deadline) until = std::min(until, *deadline);
        changed_.wait_until(lock, until);
    }
}

std::vector<Index> Room::gather(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto is_here = [this](Index place) { return seat(place).connected; };
    const auto silent = [this] {
        std::vector<Index> places;
        for (std::size_t k = 0; k < hellos_.size(); ++k) {
            if (!hellos_[k]) places.push_back(static_cast<Index>(k));
        }
        return places;
    };
    Told told;
    for (;;) {
        const bool all = wait(lock, silent, deadline, told);
        std::vector<Index> there = greeted();
        if (!all) std::erase_if(there, [&](Index place) { return !is_here(place); });
        const bool all_here = std::all_of(there.begin(), there.end(), is_here);
        if (all_here && vote().is_tied(voters(there)) && !stands(lock)) continue;
        const auto fitting = settle(there);
        if (!all || fitting.size() == there.size()) return fitting;
    }
}

bool Room::stands(std::unique_lock<std::mutex>& lock) {
    const auto presence = [this] {
        std::vector<std::pair<bool, std::uint64_t>> result;
        for (const Seat& seat : seats_) result.emplace_back(seat.connected, seat.generation);
        return result;
    };
    const auto before = presence();
    const bool moved = changed_.wait_for(lock, options_.tie_stands, [&] { return stopping_ || presence() != before; });
    if (stopping_) throw Stopped{};
    return !moved;
}

std::vector<Index> Room::settle(const std::vector<Index>& places) {
    SchemaVote::Outcome outcome = vote().settle(voters(places), [this](Index place) { return seat(place).connected; });
    for (const auto& [place, why] : outcome.misfits) turn_away(place, why);
    return std::move(outcome.fitting);
}

/// Forgets what a client has said, on disk too: it may come again with other data.
void Room::turn_away(Index place, const ErrorParts& why) {
    folder_.remove_hello(place);
    greeting(place).reset();
    Seat& turned = seat(place);
    turned.rejected = fmt::format("{}{}; expected {}. {}", why.where == who(place) ? "" : why.where + ": ", why.found,
                                  why.expected, why.remedy);
    turned.last_refusal = turned.rejected;
    // Whoever comes and goes causes it as often as it likes, and of others too.
    const std::string& name = job_.roster[static_cast<std::size_t>(place)];
    log_.paced("refused " + name, "refused", fmt::format("refused: {}: {}", who(place), turned.rejected),
               {{"client", name}});
    changed_.notify_all();
}

std::string Room::refusal_text() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (std::size_t k = 0; k < seats_.size(); ++k) {
        if (hellos_[k] || seats_[k].last_refusal.empty()) continue;
        text += fmt::format("; {} was refused: {}", who(static_cast<Index>(k)), seats_[k].last_refusal);
    }
    return text;
}

std::vector<double> Room::norms() const {
    const std::lock_guard lock(mutex_);
    std::vector<double> result;
    for (const auto& hello : hellos_) result.push_back(hello ? hello->norm2 : 0);
    return result;
}

void Room::remove_replies(const std::set<std::pair<std::uint32_t, Index>>& keep) {
    const std::lock_guard lock(mutex_);
    std::erase_if(replies_, [&](const ReplyId& id) {
        if (id.step == 1 && keep.contains({id.attempt, id.place})) return false;
        folder_.remove_reply(id);
        return true;
    });
}

void Room::begin(std::uint32_t number, std::vector<Index> members, std::optional<wire::Body> base) {
    const std::lock_guard lock(mutex_);
    const auto held = main_ ? main_->asked() : std::nullopt;
    main_.emplace(job_.id, number, std::move(members));
    if (base) main_->set_base(std::move(*base), held);
    late_now_.reset();
}

void Room::begin_late(std::uint32_t number, Index place) {
    const std::lock_guard lock(mutex_);
    // Features of those who have them need not stay.
    std::erase_if(late_, [this](const auto& entry) { return job_.reports.contains(entry.first); });
    late_.insert_or_assign(place, Attempt(job_.id, number, {place}));
    late_now_ = place;
}

void Room::publish(wire::Body body, bool wants_reply, Index numbers) {
    const std::lock_guard lock(mutex_);
    speaking().ask(std::move(body), wants_reply, numbers);
    changed_.notify_all();
}

void Room::publish_each(std::map<Index, wire::Body> bodies, Index bytes) {
    const std::lock_guard lock(mutex_);
    speaking().ask_each(std::move(bodies), bytes);
    changed_.notify_all();
}

void Room::pass_over() {
    const std::lock_guard lock(mutex_);
    speaking().pass_over();
}

void Room::abandon() {
    const std::lock_guard lock(mutex_);
    folder_.forget_job();
}

bool Room::await_reply(Index place, Deadline deadline) {
    std::unique_lock lock(mutex_);
    const Attempt& attempt = speaking();
    bool unwilling = false;
    const auto missing = [&] {
        std::vector<Index> places;
        unwilling = unwilling_.contains(place);
        if (unwilling) return places;
        for (const Index member : attempt.members()) {
            if (!attempt.asks(member) || unwilling_.contains(member)) continue;
            if (!has_reply(attempt, member)) places.push_back(member);
        }
        // The others are only named: this one is waited for.
        if (!contains(places, place)) places.clear();
        return places;
    };
    answers_.next_line = std::max(answers_.next_line, Clock::now() + worth_a_line);
    return wait(lock, missing, deadline, answers_) && !unwilling;
}

std::vector<Index> Room::replied() {
    const std::lock_guard lock(mutex_);
    std::vector<Index> places;
    for (const Index member : speaking().members()) {
        if (has_reply(speaking(), member)) places.push_back(member);
    }
    return places;
}

wire::Message Room::take_reply(Index place) {
    const ReplyId id = [&] {
        const std::lock_guard lock(mutex_);
        return ReplyId{speaking().number(), speaking().step(), place};
    }();
    return load_message(folder_.reply(id), who(place));
}

void Room::reject(Index place, const std::string& reason) {
    bool told = false;
    {
        const std::lock_guard lock(mutex_);
        const ReplyId id{speaking().number(), speaking().step(), place};
        folder_.remove_reply(id);
        replies_.erase(id);
        told = seat(place).connected;
        if (told) seat(place).rejected = reason;
        changed_.notify_all();
    }
    if (!told) refused(job_.roster[static_cast<std::size_t>(place)], fmt::format("{}: {}", who(place), reason));
}

bool Room::await_reports(const std::vector<Index>& places, Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto missing = [&] {
        std::vector<Index> result;
        for (const Index place : places) {
            if (!job_.reports.contains(place)) result.push_back(place);
        }
        return result;
    };
    Told told;
    return wait(lock, missing, deadline, told);
}

void Room::see_off(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, longest, [this] {
        return stopping_ || std::none_of(seats_.begin(), seats_.end(), [&](const Seat& one) {
                   const auto place = static_cast<Index>(&one - seats_.data());
                   return takes_part(place) && (one.connected || one.owed_a_word);
               });
    });
}

std::optional<Index> Room::await_latecomer(Deadline deadline) {
    std::unique_lock lock(mutex_);
    std::optional<Index> found;
    const auto missing = [&] {
        found.reset();
        std::vector<Index> places = job_.unreported();
        for (const Index place : may_come_late() ? job_.absent() : std::vector<Index>{}) {
            const Seat& one = seat(place);
            if (one.lost >= most_lost || (one.lost > 0 && one.lost_generation == one.generation)) continue;
            places.push_back(place);
            if (!one.connected || !greeting(place)) continue;
            if (!found || one.lost < seat(*found).lost) found = place;
        }
        return found ? std::vector<Index>{} : places;
    };
    Told told;
    wait(lock, missing, deadline, told);
    return found;
}

void Room::give_up(Index place) {
    const std::lock_guard lock(mutex_);
    Seat& one = seat(place);
    ++one.lost;
    one.lost_generation = one.generation;
    late_.erase(place);
    late_now_.reset();
}

void Room::fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    failure_ = reason;
    changed_.notify_all();
}

std::string Room::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_.empty() ? "" : failed_job(failure_).what();
}

void Room::stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
}

std::string Room::state_text(Index place) const {
    const bool connected = seat(place).connected;
    const bool joined = greeting(place).has_value();
    if (job_.reports.contains(place)) return "done";
    if (!takes_part(place)) return connected ? "late" : "not in";
    if (!connected) return joined ? "disconnected" : "absent";
    const Attempt* attempt = attempt_of(place);
    if (attempt == nullptr || !attempt->has_asked()) return joined ? "joined" : "connected";
    if (!attempt->wants_reply()) return job_.phase == Phase::running ? "joined" : "fitting";
    return has_reply(*attempt, place) ? "answered" : "computing";
}

ClientStatus Room::client_status(Index place) const {
    const Seat& one = seat(place);
    ClientStatus client{.name = job_.roster[static_cast<std::size_t>(place)],
                        .state = state_text(place),
                        .bytes_up = one.counted.rounds().received + one.counted.others().received,
                        .bytes_down = one.counted.rounds().sent + one.counted.others().sent,
                        .last_refusal = spelled(one.last_refusal, log_.spelling())};
    // Where only sums are seen nobody knows how many patients a client has, nor how well they fit.
    if (job_.spec.shield) return client;
    if (const auto& hello = greeting(place)) client.rows = hello->rows;
    if (const auto report = job_.reports.find(place); report != job_.reports.end()) {
        client.rse = rse_of(report->second);
    }
    return client;
}

StatusReport Room::status() const {
    const std::lock_guard lock(mutex_);
    StatusReport status;
    status.job = wire::to_hex(job_.id);
    status.phase = to_string(job_.phase);
    status.aggregate = to_string(job_.spec.job.aggregate);
    status.attempt = job_.attempt;
    status.round = late_now_ || main_ ? speaking().step() : 0;
    for (const Index place : waiting_) status.waiting.push_back(job_.roster[static_cast<std::size_t>(place)]);
    if (deadline_ && !waiting_.empty()) {
        status.seconds_left = std::max(0.0, std::chrono::duration<double>(*deadline_ - Clock::now()).count());
    }
    for (std::size_t k = 0; k < job_.roster.size(); ++k) {
        status.clients.push_back(client_status(static_cast<Index>(k)));
    }
    status.refused = refusals_;
    status.uptime = std::chrono::duration<double>(Clock::now() - begun_).count();
    status.version = version();
    return status;
}

}  // namespace couplet::net
