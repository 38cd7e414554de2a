#include "attempt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

/// Of a sum: its pass. Sums of the features are told before their norms.
Index pass_of(const wire::Body& body) {
    if (const auto* sum = std::get_if<SumRequest>(&body)) return sum->pass;
    const auto* centring = std::get_if<wire::CentringRequest>(&body);
    return centring != nullptr && !centring->centring.empty() ? 1 : 0;
}

}  // namespace

bool Attempt::has(Index place) const noexcept {
    return std::find(members_.begin(), members_.end(), place) != members_.end();
}

std::shared_ptr<const wire::Message> Attempt::message(wire::Body body) const {
    return std::make_shared<const wire::Message>(
        wire::Message{{wire::protocol_version, job_, number_, step_}, std::move(body)});
}

void Attempt::set_base(wire::Body base, std::optional<wire::Route> held) {
    ++step_;
    base_ = message(std::move(base));
    held_ = held;
}

void Attempt::ask(wire::Body body, bool wants_reply, Index numbers) {
    ++step_;
    const bool first = std::holds_alternative<wire::StartNotice>(body);
    const Index pass = pass_of(body);
    current_ = Question{message(std::move(body)), wants_reply, numbers, pass};
    if (first) start_ = current_;
}

void Attempt::ask_each(std::map<Index, wire::Body> bodies, Index bytes) {
    ++step_;
    Question question{nullptr, true, 0, 0, {}, bytes};
    for (auto& [place, body] : bodies) question.each[place] = message(std::move(body));
    question.message = question.each.begin()->second;
    current_ = std::move(question);
}

bool Attempt::asks(Index place) const { return current_ && current_->asks(place); }

std::optional<wire::Route> Attempt::asked() const {
    if (!current_) return std::nullopt;
    return current_->message->route;
}

Attempt::Telling Attempt::start_again(std::uint32_t step, bool received) const {
    auto notice = std::get<wire::StartNotice>(start_->message->body);
    notice.received = received;
    wire::Route route = start_->message->route;
    route.step = step;
    return {std::make_shared<const wire::Message>(wire::Message{route, std::move(notice)}), !received};
}

std::optional<Attempt::Telling> Attempt::next(Index place, const wire::Route& cursor, const Answered& answered) const {
    if (!start_) return std::nullopt;
    const bool here = cursor.attempt == number_;
    if (base_ && !here && cursor != held_) return start_again(0, true);
    if (base_ && here && cursor.step == 0) return Telling{base_, false};
    const std::uint32_t start = start_->message->route.step;
    if (!here || cursor.step < start) return start_again(start, !start_->wants_reply || answered(start));
    const std::uint32_t step = current_->message->route.step;
    if (step <= cursor.step || (current_->wants_reply && answered(step)) || !current_->asks(place)) {
        return std::nullopt;
    }
    return Telling{current_->each.empty() ? current_->message : current_->each.at(place), current_->wants_reply};
}

wire::Kind Attempt::Question::reply_kind() const {
    if (!each.empty()) return wire::Kind::secure_reply;
    switch (message->kind()) {
        case wire::Kind::start:
            return wire::Kind::upload;
        case wire::Kind::features:
            return wire::Kind::fill_sums;
        default:
            return wire::Kind::sum_reply;
    }
}

void Attempt::Question::require_length(const wire::Head& head, const std::string& who) const {
    if (!each.empty()) {
        // Nothing, where the client declines.
        if (head.payload_bytes == 0 || head.payload_bytes == masked_bytes) return;
        throw InputError(
            {who, fmt::format("{} bytes of numbers", head.payload_bytes), fmt::format("{}", masked_bytes), ""});
    }
    if (head.payload_bytes != 8 * numbers) {
        throw InputError({who, fmt::format("{} numbers", head.payload_bytes / 8), fmt::format("{}", numbers), ""});
    }
    if (head.pass != pass) {
        throw InputError({who, fmt::format("a sum for pass {}", head.pass), fmt::format("pass {}", pass), ""});
    }
}

std::optional<wire::Kind> Attempt::expect(Index place, const wire::Head& head, const std::string& who) const {
    if (head.route.attempt < number_) return std::nullopt;  // it was left out meanwhile
    const bool first = start_ && start_->message->route.step == head.route.step;
    const auto& question = first ? start_ : current_;
    if (!question || !question->wants_reply || question->message->route != head.route) {
        if (question && head.route.attempt == number_ && head.route.step < step_) return std::nullopt;
        throw InputError({who,
                          fmt::format("an answer to question {} of attempt {}", head.route.step, head.route.attempt),
                          fmt::format("question {} of attempt {}", step_, number_), ""});
    }
    const wire::Kind wanted = question->reply_kind();
    if (head.kind != wanted) {
        throw InputError(
            {who, fmt::format("{}", wire::to_string(head.kind)), fmt::format("{}", wire::to_string(wanted)), ""});
    }
    if (!question->asks(place)) return std::nullopt;
    if (!first) question->require_length(head, who);
    return wanted;
}

}  // namespace couplet::net
