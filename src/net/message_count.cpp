#include "message_count.hpp"

#include <optional>

#include "audit_trail.hpp"

namespace couplet::net {
namespace {

bool is_of_rounds(wire::Kind kind) {
    switch (kind) {
        case wire::Kind::sum_request:
        case wire::Kind::upload:
        case wire::Kind::sum_reply:
        case wire::Kind::features:
        case wire::Kind::fill_sums:
        case wire::Kind::secure_request:
        case wire::Kind::secure_reply:
        case wire::Kind::centring:
            return true;
        default:
            return false;
    }
}

std::optional<wire::Kind> kind_of(const std::string& text) {
    for (std::size_t i = 0; i < std::variant_size_v<wire::Body>; ++i) {
        if (text == wire::to_string(static_cast<wire::Kind>(i))) return static_cast<wire::Kind>(i);
    }
    return std::nullopt;
}

}  // namespace

void MessageCount::add(bool sent, wire::Kind kind, const wire::Route& route, double bytes) {
    if (!known_.emplace(sent, kind, route.attempt, route.step).second) return;
    Bytes& sum = is_of_rounds(kind) ? rounds_ : others_;
    (sent ? sum.sent : sum.received) += bytes;
}

std::map<std::string, MessageCount> counted_messages(const std::filesystem::path& trail, const std::string& job) {
    std::map<std::string, MessageCount> result;
    for_each_line(trail, [&](const AuditTrail::Fields& line) {
        const std::string event = field<std::string>(line, "event", "");
        if ((event != sent_event && event != received_event) || field<std::string>(line, "job", "") != job) return;
        const auto kind = kind_of(field<std::string>(line, "kind", ""));
        if (!kind) return;  // of another version
        wire::Route route;
        route.attempt = field<std::uint32_t>(line, "attempt", 0);
        route.step = field<std::uint32_t>(line, "step", 0);
        result[field<std::string>(line, "party", "")].add(event == sent_event, *kind, route,
                                                          field<double>(line, "bytes", 0));
    });
    return result;
}

}  // namespace couplet::net
