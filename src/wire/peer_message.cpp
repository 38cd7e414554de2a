#include "couplet/wire/peer_message.hpp"

#include <algorithm>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/overloaded.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::wire {
namespace {

std::shared_ptr<const PeerBody> shared(PeerBody body) { return std::make_shared<const PeerBody>(std::move(body)); }

}  // namespace

Index records_per_bulletin(Index peers) {
    // Three lists of processes, two of links, up to a hundred numbers, a signature and a certificate a record; 64 KiB
    // are enough for news.
    constexpr Index room = 56 << 10;
    constexpr Index fixed = 2200;
    return std::max<Index>(1, room / (fixed + 3 * 8 * peers + 2 * peers * peers / 16));
}

Message to_message(const Route& route, const PeerMessage& message) {
    auto body = std::visit(
        Overloaded{[&](const Released<std::vector<double>>& values) {
                       return Body(PeerState{message.iteration, values});
                   },
                   [](const Matrix<double>& basis) { return Body(PeerBasis{Matrix<double>::copy(basis.view())}); },
                   [](const FeaturesMessage& m) {
                       return Body(FeaturesMessage{m.features.clone(), m.rel_error_bound});
                   },
                   [](const Start& totals) {
                       return Body(StartNotice{totals, false});
                   },
                   [](const MergeState& m) {
                       return Body(PeerMerge{{m.block.clone(), m.ledger}});
                   }},
        *message.body);
    return {route, std::move(body)};
}

PeerMessage to_peer_message(Message message, Index to, const std::string& who) {
    PeerMessage result{to, static_cast<Index>(message.route.step), 0, nullptr};
    if (auto* state = std::get_if<PeerState>(&message.body)) {
        result.iteration = state->iteration;
        result.body = shared(std::move(state->values));
    } else if (auto* basis = std::get_if<PeerBasis>(&message.body)) {
        result.body = shared(std::move(basis->basis));
    } else if (auto* features = std::get_if<FeaturesMessage>(&message.body)) {
        result.body = shared(std::move(*features));
    } else if (auto* start = std::get_if<StartNotice>(&message.body)) {
        result.body = shared(start->start);
    } else if (auto* merge = std::get_if<PeerMerge>(&message.body)) {
        result.body = shared(std::move(merge->state));
    } else {
        throw InputError({who, std::string(to_string(message.kind())), "a message of the running job", ""});
    }
    return result;
}

bool is_numbered(const Message& message) noexcept {
    const Kind kind = message.kind();
    return kind != Kind::greeting && kind != Kind::beat && kind != Kind::refusal;
}

}  // namespace couplet::wire
