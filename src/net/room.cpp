#include "room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "couplet/core/error.hpp"
#include "couplet/core/spelling.hpp"
#include "couplet/io/text.hpp"
#include "couplet/net/kit.hpp"
#include "crash_point.hpp"
#include "spool.hpp"
#include "versions.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds tick{100};
constexpr std::chrono::seconds between_lines{10};
// A client that comes and goes changes for whom is waited; not every time is told.
constexpr int most_changes_told = 20;
// A latecomer that comes and goes must not keep the coordinator for ever.
constexpr int most_lost = 3;
// What one client says must not spoil the sums over all: this leaves room for millions of clients.
constexpr Index most_patients = Index{1} << 40;

bool contains(const std::vector<Index>& places, Index place) {
    return std::find(places.begin(), places.end(), place) != places.end();
}

double ratio(const wire::Report& report) { return report.norm2 > 0 ? report.error2 / report.norm2 : 0; }

std::string hello_name(Index place) { return fmt::format("hello-{}.msg", place); }
std::string refusal_name(Index place) { return fmt::format("refusal-{}.msg", place); }

/// Whether data of schema `mine`, which fits `job`, fits nothing that contradicts it: where one says nothing, both
/// could be meant.
bool tells_as_much(const Schema& job, const Schema& mine) {
    for (std::size_t n = 0; n < job.modes.size(); ++n) {
        const ModeLabels own = n < mine.modes.size() ? mine.modes[n] : ModeLabels{};
        if (own.name.empty() > job.modes[n].name.empty() || own.entries.empty() > job.modes[n].entries.empty() ||
            own.units.empty() > job.modes[n].units.empty()) {
            return false;
        }
    }
    return true;
}

}  // namespace

Room::Room(JobFile job, Options options, Log& log)
    : job_(std::move(job)),
      options_(std::move(options)),
      log_(log),
      seats_(job_.roster.size()),
      hellos_(job_.roster.size()) {
    fs::create_directories(options_.folder);
    load_spool();
    write_job();
}

fs::path Room::reply_file(const wire::Route& route, Index place) const {
    return file(fmt::format("reply-{}-{}-{}.msg", route.attempt, route.step, place));
}

void Room::load_spool() {
    for (std::size_t k = 0; k < hellos_.size(); ++k) {
        const fs::path path = file(hello_name(static_cast<Index>(k)));
        if (!fs::exists(path)) continue;
        hellos_[k] = load_body<Hello>(path, who(static_cast<Index>(k)));
    }
    for (const auto& entry : fs::directory_iterator(options_.folder)) {
        const std::string name = entry.path().filename().string();
        // A crash may leave what was being written.
        if (name.starts_with(".couplet-")) fs::remove(entry.path());
        unsigned attempt = 0;
        unsigned step = 0;
        long place = 0;
        if (std::sscanf(name.c_str(), "reply-%u-%u-%ld.msg", &attempt, &step, &place) == 3) {
            replies_.emplace(attempt, step, place);
        }
    }
}

void Room::write_job() const { write_text(file("job.json"), job_file_text(job_), 0600); }

void Room::update(const std::function<void(JobFile&)>& change) {
    const std::lock_guard lock(mutex_);
    change(job_);
    write_job();
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
    if (!failure_.empty()) throw InputError({"job", failure_, "a job that can go on", ""});
    if (!takes_part(place) && !may_come_late()) {
        throw InputError({"client " + name, "the job goes on without it", "a client that came before the deadline",
                          "Ask for a coordinator with `late` merge, or for the next job."});
    }
    Seat& seat = seats_[static_cast<std::size_t>(place)];
    seat.connected = true;
    seat.last_refusal.clear();
    seat.rejected.clear();
    ++seat.generation;
    unwilling_.erase(place);
    // It greets again, perhaps with other data: what it said before does not count meanwhile.
    if (job_.phase == Phase::joining) hellos_[static_cast<std::size_t>(place)].reset();
    changed_.notify_all();
    return {place, seat.generation};
}

wire::Message Room::message(const Round* round, wire::Body body) const {
    const wire::Route route{wire::protocol_version, job_.id, round == nullptr ? 0 : round->attempt,
                            round == nullptr ? 0 : round->steps};
    return {route, std::move(body)};
}

wire::Message Room::welcome(Ticket ticket) const {
    const std::lock_guard lock(mutex_);
    return message(nullptr, wire::Welcome{job_.spec, ticket.place, static_cast<Index>(job_.roster.size())});
}

SchemaParty Room::party(Index place, const Hello& hello) const { return {who(place), hello.schema()}; }

SchemaAgreement Room::agreement(const std::vector<Index>& places) const {
    std::vector<SchemaParty> parties;
    for (const Index place : places) {
        if (const auto& hello = hellos_[static_cast<std::size_t>(place)]) parties.push_back(party(place, *hello));
    }
    const Unnamed unnamed = job_.spec.job.unnamed;
    return job_.schema ? agree(parties, unnamed, *job_.schema) : agree(parties, unnamed);
}

Schema Room::schema_now() const {
    if (job_.schema) return *job_.schema;
    return agreement(job_.members).schema;
}

Schema Room::schema() const {
    const std::lock_guard lock(mutex_);
    return schema_now();
}

/// What the job's schema is for certain, whoever may still come: that of a job that has begun, one that was given, or
/// what most of the roster bring. `without` has no say.
std::optional<Schema> Room::decided_schema(std::optional<Index> without) const {
    if (job_.schema) return job_.schema;
    const bool begun = std::any_of(job_.members.begin(), job_.members.end(),
                                   [this](Index k) { return hellos_[static_cast<std::size_t>(k)].has_value(); });
    if (job_.phase != Phase::joining && begun) return schema_now();
    std::vector<Index> greeted;
    for (std::size_t k = 0; k < hellos_.size(); ++k) {
        if (hellos_[k] && static_cast<Index>(k) != without) greeted.push_back(static_cast<Index>(k));
    }
    const auto is_majority = [this](Index votes) { return 2 * votes > static_cast<Index>(job_.roster.size()); };
    if (!is_majority(static_cast<Index>(greeted.size()))) return std::nullopt;
    try {
        SchemaAgreement found = agreement(greeted);
        const auto firm = std::count_if(greeted.begin(), greeted.end(), [&](Index place) {
            const Schema mine = hellos_[static_cast<std::size_t>(place)]->schema();
            return tells_as_much(found.schema, mine) &&
                   !misfit(found.schema, mine, job_.spec.job.unnamed, who(place), "the job");
        });
        if (is_majority(firm)) return std::move(found.schema);
    } catch (const InputError&) {
        // Undecided so far.
    }
    return std::nullopt;
}

void Room::require_fitting_schema(Index place, const Hello& hello) const {
    const auto schema = decided_schema(place);
    if (!schema) return;
    const Unnamed unnamed = job_.spec.job.unnamed;
    if (auto parts = misfit(*schema, hello.schema(), unnamed, who(place), "the job")) throw InputError(*parts);
}

/// Nobody waits for the others to hear what is certain already.
void Room::turn_away_misfits() {
    const auto schema = decided_schema({});
    if (!schema) return;
    const Unnamed unnamed = job_.spec.job.unnamed;
    for (std::size_t k = 0; k < hellos_.size(); ++k) {
        if (!hellos_[k]) continue;
        const auto place = static_cast<Index>(k);
        if (const auto parts = misfit(*schema, hellos_[k]->schema(), unnamed, who(place), "the job")) {
            turn_away(place, *parts);
        }
    }
}

void Room::require_fitting_hello(Index place, const Hello& hello) const {
    const auto& before = hellos_[static_cast<std::size_t>(place)];
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
    if (hello.rows > most_patients || hello.norm2 > largest_norm2) {
        throw InputError({who(place), fmt::format("{} patients with norm {}", hello.rows, hello.norm2),
                          fmt::format("at most {} with norm {}", most_patients, largest_norm2),
                          "Scale the data, or use `scale_clients` norm."});
    }
    // Filled entries are not scaled, and nothing at all has no norm to scale by.
    const bool scaled = job_.spec.preparation.scale_clients && !job_.spec.missing && hello.norm2 != 0;
    if (scaled && std::abs(hello.norm2 - 1) > unit_tolerance) {
        throw InputError({who(place), fmt::format("a squared norm of {}", hello.norm2),
                          "1, as `scale_clients` norm makes it", "Use the couplet client as it is."});
    }
    require_fitting_schema(place, hello);
    const Job& job = job_.spec.job;
    if (job.aggregate == Aggregate::average && job.rank && *job.rank > rank_cap(hello)) {
        throw InputError({who(place), fmt::format("data of rank at most {}", rank_cap(hello)),
                          fmt::format("a rank of {}, which the job takes from everybody", *job.rank), ""});
    }
}

void Room::greet(Ticket ticket, const wire::Message& greeting) {
    const std::lock_guard lock(mutex_);
    if (greeting.route.job != job_.id) {
        throw InputError({who(ticket.place), "a message of job " + wire::to_hex(greeting.route.job),
                          "job " + wire::to_hex(job_.id), ""});
    }
    const Hello& hello = std::get<Hello>(greeting.body);
    require_fitting_hello(ticket.place, hello);
    auto& mine = hellos_[static_cast<std::size_t>(ticket.place)];
    if (!mine || job_.phase == Phase::joining) {
        save_message(file(hello_name(ticket.place)), greeting);
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

Room::Round& Room::speaking() { return late_now_ ? late_.at(*late_now_) : *main_; }

const Room::Round* Room::round_of(Index place) const {
    if (const auto at = late_.find(place); at != late_.end()) return &at->second;
    return main_ && contains(main_->members, place) ? &*main_ : nullptr;
}

Room::Next Room::next_now(Ticket ticket, const wire::Route& cursor) {
    const Seat& seat = seats_[static_cast<std::size_t>(ticket.place)];
    if (seat.generation != ticket.generation) return {What::over, nullptr, false, "a newer connection took over"};
    if (!seat.rejected.empty()) throw InputError({who(ticket.place), seat.rejected, "", ""});
    // A coordinator that has failed stops next: clients are to hear why.
    if (!failure_.empty()) throw InputError({"job", failure_, "a job that can go on", ""});
    if (stopping_) return {What::over, nullptr, false, "the coordinator is stopping"};
    if (!takes_part(ticket.place) && !may_come_late()) {
        throw InputError({who(ticket.place), "the job went on without it", "an answer before the deadline",
                          "Ask for a coordinator with `late` merge, or for the next job."});
    }
    const Round* round = round_of(ticket.place);
    if (round == nullptr || !round->start) return {};
    const auto answered = [&](const Question& question) {
        return replies_.contains({round->attempt, question.message->route.step, ticket.place});
    };
    if (round->base && cursor.attempt != round->attempt && cursor != round->told) {
        wire::StartNotice notice = std::get<wire::StartNotice>(round->start->message->body);
        notice.received = true;
        wire::Route route = round->start->message->route;
        route.step = 0;
        return {What::message, std::make_shared<const wire::Message>(wire::Message{route, std::move(notice)}), false,
                ""};
    }
    if (round->base && cursor.attempt == round->attempt && cursor.step == 0) {
        return {What::message, round->base->message, false, ""};
    }
    const wire::Route& start = round->start->message->route;
    if (cursor.attempt != round->attempt || cursor.step < start.step) {
        wire::StartNotice notice = std::get<wire::StartNotice>(round->start->message->body);
        notice.received = !round->start->wants_reply || answered(*round->start);
        return {What::message, std::make_shared<const wire::Message>(wire::Message{start, notice}),
                round->start->wants_reply && !notice.received, ""};
    }
    const Question& current = *round->current;
    if (current.message->route.step <= cursor.step || (current.wants_reply && answered(current))) return {};
    if (!current.asks(ticket.place)) return {};
    const auto& asked = current.each.empty() ? current.message : current.each.at(ticket.place);
    return {What::message, asked, current.wants_reply, ""};
}

Room::Next Room::next(Ticket ticket, const wire::Route& cursor, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const auto until = Clock::now() + patience;
    for (;;) {
        Next found = next_now(ticket, cursor);
        if (found.what != What::nothing || changed_.wait_until(lock, until) == std::cv_status::timeout) return found;
    }
}

void Room::require_fitting_upload(Index place, const wire::Head& head) const {
    const auto& hello = hellos_[static_cast<std::size_t>(place)];
    if (!hello || head.modes != hello->features) {
        throw InputError({who(place), "feature modes " + head.modes.to_string(),
                          hello ? hello->features.to_string() + " as it said" : "a greeting first", ""});
    }
    const Job& job = job_.spec.job;
    const Index cap = std::min(rank_cap(*hello), job.rank.value_or(head.rows));
    if (head.rows > cap || (job.aggregate == Aggregate::average && head.rows != cap)) {
        throw InputError({who(place), fmt::format("rank {}", head.rows),
                          fmt::format("{}{}", job.aggregate == Aggregate::average ? "" : "at most ", cap), ""});
    }
}

std::optional<fs::path> Room::accept(Ticket ticket, const wire::Head& head) {
    const std::lock_guard lock(mutex_);
    if (head.route.job != job_.id) {
        throw InputError({who(ticket.place), "a message of job " + wire::to_hex(head.route.job),
                          "job " + wire::to_hex(job_.id), ""});
    }
    if (head.kind == wire::Kind::refusal) return file(refusal_name(ticket.place));
    const Round* round = round_of(ticket.place);
    if (round == nullptr || head.route.attempt < round->attempt) return std::nullopt;  // it was left out meanwhile
    const bool first = round->start && round->start->message->route.step == head.route.step;
    const auto& question = first ? round->start : round->current;
    if (!question || !question->wants_reply || question->message->route != head.route) {
        if (question && head.route.attempt == round->attempt && head.route.step < round->steps) return std::nullopt;
        throw InputError({who(ticket.place),
                          fmt::format("an answer to question {} of attempt {}", head.route.step, head.route.attempt),
                          fmt::format("question {} of attempt {}", round->steps, round->attempt), ""});
    }
    const bool fills = question->message->kind() == wire::Kind::features;
    const bool secure = !question->each.empty();
    const wire::Kind wanted = secure  ? wire::Kind::secure_reply
                              : first ? wire::Kind::upload
                              : fills ? wire::Kind::fill_sums
                                      : wire::Kind::sum_reply;
    if (head.kind != wanted) {
        throw InputError({who(ticket.place), fmt::format("{}", wire::to_string(head.kind)),
                          fmt::format("{}", wire::to_string(wanted)), ""});
    }
    if (secure) {
        if (!question->asks(ticket.place)) return std::nullopt;
        // Nothing, where the client declines.
        if (head.payload_bytes != 0 && head.payload_bytes != question->raw_bytes) {
            throw InputError({who(ticket.place), fmt::format("{} bytes of numbers", head.payload_bytes),
                              fmt::format("{}", question->raw_bytes), ""});
        }
        if (replies_.contains({head.route.attempt, head.route.step, ticket.place})) return std::nullopt;
        return reply_file(head.route, ticket.place);
    }
    if (first) require_fitting_upload(ticket.place, head);
    if (!first && head.payload_bytes != 8 * question->numbers) {
        throw InputError({who(ticket.place), fmt::format("{} numbers", head.payload_bytes / 8),
                          fmt::format("{}", question->numbers), ""});
    }
    if (!first && head.pass != question->pass) {
        throw InputError({who(ticket.place), fmt::format("a sum for pass {}", head.pass),
                          fmt::format("pass {}", question->pass), ""});
    }
    if (replies_.contains({head.route.attempt, head.route.step, ticket.place})) return std::nullopt;
    return reply_file(head.route, ticket.place);
}

void Room::arrived(Ticket ticket, const wire::Route& route) {
    const std::lock_guard lock(mutex_);
    replies_.emplace(route.attempt, route.step, ticket.place);
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

bool Room::is_unwilling(Index place) const {
    const std::lock_guard lock(mutex_);
    return unwilling_.contains(place);
}

void Room::report(Ticket ticket, const wire::Message& said) {
    const std::lock_guard lock(mutex_);
    const auto& report = std::get<wire::Report>(said.body);
    if (said.route.job != job_.id) {
        throw InputError(
            {who(ticket.place), "a report on job " + wire::to_hex(said.route.job), "job " + wire::to_hex(job_.id), ""});
    }
    // What one client reports must not spoil the figures of all, nor what is said of them.
    const double largest = std::max(
        {report.error2, report.norm2, report.heldout_error2, report.heldout_norm2, ratio(report), report.seconds});
    if (largest > largest_norm2) {
        throw InputError({who(ticket.place), fmt::format("a report with a figure of {}", largest),
                          fmt::format("at most {}", largest_norm2), ""});
    }
    if (job_.reports.contains(ticket.place)) return;
    job_.reports[ticket.place] = report;
    write_job();
    crash_point("report-saved");
    log_.info("done", fmt::format("{} has its result", who(ticket.place)),
              {{"client", job_.roster[static_cast<std::size_t>(ticket.place)]}});
    changed_.notify_all();
}

wire::Message Room::bye(Ticket) const {
    const std::lock_guard lock(mutex_);
    wire::Bye bye;
    bye.rounds = job_.rounds;
    for (std::size_t k = 0; k < job_.roster.size(); ++k) {
        const auto place = static_cast<Index>(k);
        const bool in = contains(job_.members, place) || contains(job_.late, place);
        (in ? bye.members : bye.missing).push_back(job_.roster[k]);
    }
    return message(nullptr, std::move(bye));
}

void Room::leave(Ticket ticket) noexcept {
    const std::lock_guard lock(mutex_);
    Seat& seat = seats_[static_cast<std::size_t>(ticket.place)];
    if (seat.generation == ticket.generation) seat.connected = false;
    changed_.notify_all();
}

void Room::count(Ticket ticket, double bytes_up, double bytes_down) {
    const std::lock_guard lock(mutex_);
    Seat& seat = seats_[static_cast<std::size_t>(ticket.place)];
    seat.bytes_up += bytes_up;
    seat.bytes_down += bytes_down;
}

void Room::refused(const std::string& name, const std::string& reason) {
    bool known = false;
    {
        const std::lock_guard lock(mutex_);
        ++refusals_;
        const auto at = std::find(job_.roster.begin(), job_.roster.end(), name);
        known = at != job_.roster.end();
        if (known) seats_[static_cast<std::size_t>(at - job_.roster.begin())].last_refusal = reason;
    }
    log_.paced(known ? "refused " + name : "refused strangers", "refused", "refused: " + reason, {{"client", name}});
}

bool Room::wait(std::unique_lock<std::mutex>& lock, const std::function<std::vector<Index>()>& missing,
                Deadline deadline) {
    auto next_line = Clock::now();
    std::vector<Index> said;
    int changes = 0;
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
        if ((waiting_ != said && changes < most_changes_told) || now >= next_line) {
            ++changes;
            said = waiting_;
            next_line = now + between_lines;
            lock.unlock();
            log_.info("waiting", waiting_text(status()));
            lock.lock();
            continue;
        }
        auto until = std::min(next_line, now + tick);
        if (deadline) until = std::min(until, *deadline);
        changed_.wait_until(lock, until);
    }
}

std::vector<Index> Room::gather(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto places = [&](auto is_wanted) {
        std::vector<Index> result;
        for (std::size_t k = 0; k < hellos_.size(); ++k) {
            if (is_wanted(k)) result.push_back(static_cast<Index>(k));
        }
        return result;
    };
    for (;;) {
        const bool all = wait(
            lock, [&] { return places([&](std::size_t k) { return !hellos_[k]; }); }, deadline);
        const auto there = places([&](std::size_t k) { return hellos_[k] && (all || seats_[k].connected); });
        if (all_here(there) && tied(there) && !stands(lock)) continue;
        const auto fitting = settle(there);
        if (!all || fitting.size() == there.size()) return fitting;
    }
}

bool Room::all_here(const std::vector<Index>& places) const {
    return std::all_of(places.begin(), places.end(),
                       [this](Index place) { return seats_[static_cast<std::size_t>(place)].connected; });
}

bool Room::tied(const std::vector<Index>& places) const {
    if (places.empty()) return false;
    try {
        agreement(places);
        return false;
    } catch (const InputError&) {
        return true;
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
    if (places.empty()) return {};
    std::vector<Index> fitting;
    try {
        const SchemaAgreement found = agreement(places);
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (found.misfits[i]) {
                turn_away(places[i], *found.misfits[i]);
            } else {
                fitting.push_back(places[i]);
            }
        }
    } catch (const InputError& error) {
        // Nobody can tell who is right. Whoever has gone again does not speak against those who are there.
        std::vector<Index> here;
        std::copy_if(places.begin(), places.end(), std::back_inserter(here),
                     [this](Index place) { return seats_[static_cast<std::size_t>(place)].connected; });
        const bool no_way_out = here.empty() || here.size() == places.size();
        for (const Index place : places) {
            if (no_way_out || !contains(here, place)) turn_away(place, error.parts());
        }
        return no_way_out ? std::vector<Index>{} : settle(here);
    }
    return fitting;
}

/// Forgets what a client has said, on disk too: it may come again with other data.
void Room::turn_away(Index place, const ErrorParts& why) {
    const auto at = static_cast<std::size_t>(place);
    std::error_code ignored;
    fs::remove(file(hello_name(place)), ignored);
    hellos_[at].reset();
    seats_[at].rejected = fmt::format("{}{}; expected {}. {}", why.where == who(place) ? "" : why.where + ": ",
                                      why.found, why.expected, why.remedy);
    seats_[at].last_refusal = seats_[at].rejected;
    log_.warn("refused", fmt::format("refused: {}: {}", who(place), seats_[at].rejected),
              {{"client", job_.roster[at]}});
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

MergeState Room::contribution(std::uint32_t attempt, Index place) const {
    wire::Route route;
    route.attempt = attempt;
    route.step = 1;
    Upload upload = load_body<Upload>(reply_file(route, place), who(place));
    const Ledger ledger{1, upload.rows, upload.norm2, upload.svd_tail2, upload.tt_tail2, 0};
    return {std::move(upload.block).take(), ledger};
}

void Room::remove_replies(const std::set<std::pair<std::uint32_t, Index>>& keep) {
    const std::lock_guard lock(mutex_);
    std::error_code ignored;
    std::erase_if(replies_, [&](const Reply& reply) {
        const auto [attempt, step, place] = reply;
        if (step == 1 && keep.contains({attempt, place})) return false;
        wire::Route route;
        route.attempt = attempt;
        route.step = step;
        fs::remove(reply_file(route, place), ignored);
        return true;
    });
}

void Room::begin(std::uint32_t attempt, std::vector<Index> members, std::optional<wire::Body> base) {
    const std::lock_guard lock(mutex_);
    std::optional<wire::Route> told;
    if (main_ && main_->current) told = main_->current->message->route;
    main_ = Round{attempt, std::move(members), {}, {}, 0};
    if (base) {
        ++main_->steps;
        main_->base = Question{std::make_shared<const wire::Message>(message(&*main_, std::move(*base))), false, 0, 0};
        main_->told = told;
    }
    late_now_.reset();
}

void Room::begin_late(std::uint32_t attempt, Index place) {
    const std::lock_guard lock(mutex_);
    // Features of those who have them need not stay.
    std::erase_if(late_, [this](const auto& entry) { return job_.reports.contains(entry.first); });
    late_[place] = Round{attempt, {place}, {}, {}, 0};
    late_now_ = place;
}

void Room::publish(wire::Body body, bool wants_reply, Index numbers) {
    const std::lock_guard lock(mutex_);
    Round& round = speaking();
    ++round.steps;
    const bool first = std::holds_alternative<wire::StartNotice>(body);
    const auto* sum = std::get_if<SumRequest>(&body);
    const auto* centring = std::get_if<wire::CentringRequest>(&body);
    const Index told = centring != nullptr && !centring->centring.empty() ? 1 : 0;
    const Index pass = sum == nullptr ? told : sum->pass;
    const Question question{std::make_shared<const wire::Message>(message(&round, std::move(body))), wants_reply,
                            numbers, pass};
    if (first) round.start = question;
    round.current = question;
    changed_.notify_all();
}

void Room::publish_each(std::map<Index, wire::Body> bodies, Index bytes) {
    const std::lock_guard lock(mutex_);
    Round& round = speaking();
    ++round.steps;
    Question question{nullptr, true, 0, 0, {}, bytes};
    for (auto& [place, body] : bodies) {
        question.each[place] = std::make_shared<const wire::Message>(message(&round, std::move(body)));
    }
    question.message = question.each.begin()->second;
    round.current = std::move(question);
    changed_.notify_all();
}

void Room::pass_over() {
    const std::lock_guard lock(mutex_);
    ++speaking().steps;
}

void Room::abandon() {
    const std::lock_guard lock(mutex_);
    std::error_code ignored;
    fs::remove(file("job.json"), ignored);
}

bool Room::await_reply(Index place, Deadline deadline) {
    std::unique_lock lock(mutex_);
    const Round& round = speaking();
    bool unwilling = false;
    const auto missing = [&] {
        std::vector<Index> places;
        unwilling = unwilling_.contains(place);
        if (unwilling) return places;
        for (const Index member : round.members) {
            if (!round.current->asks(member) || unwilling_.contains(member)) continue;
            if (!replies_.contains({round.attempt, round.steps, member})) places.push_back(member);
        }
        // The others are only named: this one is waited for.
        if (!contains(places, place)) places.clear();
        return places;
    };
    return wait(lock, missing, deadline) && !unwilling;
}

std::vector<Index> Room::replied() {
    const std::lock_guard lock(mutex_);
    const Round& round = speaking();
    std::vector<Index> places;
    for (const Index member : round.members) {
        if (replies_.contains({round.attempt, round.steps, member})) places.push_back(member);
    }
    return places;
}

wire::Message Room::take_reply(Index place) {
    wire::Route route;
    {
        const std::lock_guard lock(mutex_);
        const Round& round = speaking();
        route.attempt = round.attempt;
        route.step = round.steps;
    }
    return load_message(reply_file(route, place), who(place));
}

void Room::reject(Index place, const std::string& reason) {
    bool told = false;
    {
        const std::lock_guard lock(mutex_);
        const wire::Route route{.job = job_.id, .attempt = speaking().attempt, .step = speaking().steps};
        std::error_code ignored;
        fs::remove(reply_file(route, place), ignored);
        replies_.erase({route.attempt, route.step, place});
        Seat& seat = seats_[static_cast<std::size_t>(place)];
        told = seat.connected;
        if (told) seat.rejected = reason;
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
    return wait(lock, missing, deadline);
}

std::optional<Index> Room::await_latecomer(Deadline deadline) {
    std::unique_lock lock(mutex_);
    std::optional<Index> found;
    const auto missing = [&] {
        found.reset();
        std::vector<Index> places = job_.unreported();
        for (const Index place : may_come_late() ? job_.absent() : std::vector<Index>{}) {
            const Seat& seat = seats_[static_cast<std::size_t>(place)];
            if (seat.lost >= most_lost || (seat.lost > 0 && seat.lost_generation == seat.generation)) continue;
            places.push_back(place);
            if (!seat.connected || !hellos_[static_cast<std::size_t>(place)]) continue;
            if (!found || seat.lost < seats_[static_cast<std::size_t>(*found)].lost) found = place;
        }
        return found ? std::vector<Index>{} : places;
    };
    wait(lock, missing, deadline);
    return found;
}

void Room::give_up(Index place) {
    const std::lock_guard lock(mutex_);
    Seat& seat = seats_[static_cast<std::size_t>(place)];
    ++seat.lost;
    seat.lost_generation = seat.generation;
    late_.erase(place);
    late_now_.reset();
}

void Room::fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    failure_ = reason;
    changed_.notify_all();
}

void Room::stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
}

std::string Room::state_text(Index place) const {
    const auto at = static_cast<std::size_t>(place);
    if (job_.reports.contains(place)) return "done";
    if (!takes_part(place)) return seats_[at].connected ? "late" : "not in";
    if (!seats_[at].connected) return hellos_[at] ? "disconnected" : "absent";
    const Round* round = round_of(place);
    if (round == nullptr || !round->current) return hellos_[at] ? "joined" : "connected";
    if (!round->current->wants_reply) return job_.phase == Phase::running ? "joined" : "fitting";
    return replies_.contains({round->attempt, round->steps, place}) ? "answered" : "computing";
}

StatusReport Room::status() const {
    const std::lock_guard lock(mutex_);
    StatusReport status;
    status.job = wire::to_hex(job_.id);
    status.phase = to_string(job_.phase);
    status.aggregate = to_string(job_.spec.job.aggregate);
    status.attempt = job_.attempt;
    const Round* round = late_now_ ? &late_.at(*late_now_) : main_ ? &*main_ : nullptr;
    status.round = round != nullptr ? round->steps : 0;
    for (const Index place : waiting_) status.waiting.push_back(job_.roster[static_cast<std::size_t>(place)]);
    if (deadline_ && !waiting_.empty()) {
        status.seconds_left = std::max(0.0, std::chrono::duration<double>(*deadline_ - Clock::now()).count());
    }
    for (std::size_t k = 0; k < job_.roster.size(); ++k) {
        const auto place = static_cast<Index>(k);
        ClientStatus client{job_.roster[k],
                            state_text(place),
                            {},
                            seats_[k].bytes_up,
                            seats_[k].bytes_down,
                            {},
                            spelled(seats_[k].last_refusal, log_.spelling())};
        if (job_.spec.shield) {
            status.clients.push_back(std::move(client));
            continue;
        }
        if (hellos_[k]) client.rows = hellos_[k]->rows;
        if (const auto report = job_.reports.find(place); report != job_.reports.end()) {
            client.rse = ratio(report->second);
        }
        status.clients.push_back(std::move(client));
    }
    status.refused = refusals_;
    status.uptime = std::chrono::duration<double>(Clock::now() - begun_).count();
    status.version = version();
    return status;
}

}  // namespace couplet::net
