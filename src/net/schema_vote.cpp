#include "schema_vote.hpp"

#include <algorithm>
#include <iterator>

namespace couplet::net {
namespace {

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

SchemaAgreement SchemaVote::among(const std::vector<Voter>& voters) const {
    std::vector<SchemaParty> parties;
    for (const Voter& voter : voters) parties.push_back({voter.who, voter.schema});
    return given_ ? agree(parties, unnamed_, *given_) : agree(parties, unnamed_);
}

bool SchemaVote::is_tied(const std::vector<Voter>& voters) const {
    if (voters.empty()) return false;
    try {
        among(voters);
        return false;
    } catch (const InputError&) {
        return true;
    }
}

std::optional<Schema> SchemaVote::certain(const std::vector<Voter>& greeted, Index roster) const {
    if (given_) return given_;
    const auto is_majority = [&](auto votes) { return 2 * static_cast<Index>(votes) > roster; };
    if (!is_majority(greeted.size())) return std::nullopt;
    try {
        SchemaAgreement found = among(greeted);
        const auto firm = std::count_if(greeted.begin(), greeted.end(), [&](const Voter& voter) {
            return tells_as_much(found.schema, voter.schema) && !misfit_of(voter, found.schema);
        });
        if (is_majority(firm)) return std::move(found.schema);
    } catch (const InputError&) {
        // Undecided so far.
    }
    return std::nullopt;
}

std::optional<ErrorParts> SchemaVote::misfit_of(const Voter& voter, const Schema& schema) const {
    return misfit(schema, voter.schema, unnamed_, voter.who, "the job");
}

SchemaVote::Outcome SchemaVote::settle(const std::vector<Voter>& voters,
                                       const std::function<bool(Index place)>& is_here) const {
    if (voters.empty()) return {};
    Outcome outcome;
    try {
        const SchemaAgreement found = among(voters);
        for (std::size_t i = 0; i < voters.size(); ++i) {
            if (found.misfits[i]) {
                outcome.misfits.emplace_back(voters[i].place, *found.misfits[i]);
            } else {
                outcome.fitting.push_back(voters[i].place);
            }
        }
        return outcome;
    } catch (const InputError& tie) {
        std::vector<Voter> here;
        std::copy_if(voters.begin(), voters.end(), std::back_inserter(here),
                     [&](const Voter& voter) { return is_here(voter.place); });
        const bool no_way_out = here.empty() || here.size() == voters.size();
        for (const Voter& voter : voters) {
            if (no_way_out || !is_here(voter.place)) outcome.misfits.emplace_back(voter.place, tie.parts());
        }
        if (no_way_out) return outcome;
        Outcome rest = settle(here, is_here);
        outcome.fitting = std::move(rest.fitting);
        std::move(rest.misfits.begin(), rest.misfits.end(), std::back_inserter(outcome.misfits));
        return outcome;
    }
}

}  // namespace couplet::net
