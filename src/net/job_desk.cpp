#include "job_desk.hpp"

#include <fmt/format.h>

#include "couplet/core/error.hpp"
#include "crash_point.hpp"
#include "roster.hpp"

namespace couplet::net {

Room::Deadline JobDesk::until() const {
    if (!options_.deadline) return std::nullopt;
    return Room::Clock::now() + *options_.deadline;
}

void JobDesk::require_enough(const std::vector<Index>& there, const char* what) const {
    const auto& roster = room_.roster();
    const Index least = options_.least.value_or(static_cast<Index>(roster.size()));
    if (static_cast<Index>(there.size()) >= least) return;
    throw TooFew{fmt::format("{} of {} clients {} before the deadline{}{}; at least {} must", there.size(),
                             roster.size(), what, there.empty() ? "" : ": ", list_of(roster, there), least),
                 room_.refusal_text()};
}

void JobDesk::collect(const std::vector<Index>& members, const Take& take) const {
    const auto deadline = until();
    std::optional<Index> rejected;
    bool complete = true;
    for (std::size_t i = 0; complete && i < members.size(); ++i) {
        complete = room_.await_reply(members[i], deadline) || room_.is_unwilling(members[i]);
        if (!complete) continue;
        if (room_.is_unwilling(members[i])) rejected = members[i];
        if (rejected) continue;
        try {
            take(i, room_.take_reply(members[i]));
        } catch (const InputError& error) {
            room_.reject(members[i], fmt::format("{}; expected {}", error.parts().found, error.parts().expected));
            rejected = members[i];
        }
    }
    if (complete && !rejected) return;
    Lost lost{room_.replied()};
    if (rejected) std::erase(lost.left, *rejected);  // it may have answered once more
    throw lost;
}

void JobDesk::keep(const FeaturesMessage& features, std::uint32_t attempt,
                   const std::function<void(JobFile&)>& change) const {
    room_.folder().keep_features(attempt, features);
    crash_point("outcome-saved");
    room_.update(change);
    crash_point("outcome-kept");
}

}  // namespace couplet::net
