#include "star_merge.hpp"

#include "room_members_support.hpp"

namespace couplet::net {
namespace {

using StarMergeTest = DeskTest;

/// Real clients' work through a room and back, without a socket: what a simulation gives, bit for bit.
TEST_F(StarMergeTest, GivesTheFeaturesOfTheSimulation) {
    for (const JobOptions& job : {JobOptions{.rank = 3}, JobOptions{.aggregate = Aggregate::average, .rank = 3},
                                  JobOptions{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random}}) {
        std::filesystem::remove_all(path("job"));
        Room room = make_room(new_job(job));
        RoomMembers members(room, data());
        const auto places = begin(room);
        JobDesk desk(room, log_, {.deadline = 30s});
        const MergeOutcome outcome = merge_star(desk, places, {});
        const SimulationResult expected = simulated(data(), job);
        EXPECT_TRUE(same_bits(outcome.features.features.train, expected.features->train));
        EXPECT_EQ(outcome.features.rel_error_bound.has_value(), expected.rel_error_bound.has_value());
        EXPECT_EQ(outcome.traffic.bytes_up, expected.bytes_up);
        EXPECT_EQ(outcome.traffic.bytes_down, expected.bytes_down);
        EXPECT_EQ(outcome.rounds, expected.rounds);
        EXPECT_GT(desk.seconds(), 0);
    }
}

TEST_F(StarMergeTest, AMemberThatIsSilentIsLost) {
    Room room = make_room(new_job({.rank = 3}));
    RoomMembers members(room, data());
    members.silent = {1};
    const auto places = begin(room);
    JobDesk desk(room, log_, {.deadline = 500ms});
    try {
        merge_star(desk, places, {});
        FAIL() << "nobody was lost";
    } catch (const Lost& lost) {
        EXPECT_EQ(lost.left, (std::vector<Index>{0, 2}));
    }
}

TEST_F(StarMergeTest, AStartThatIsToldAgainAsksForNothing) {
    Room room = make_room(new_job({.rank = 3}));
    const auto ticket = room.enter("a", {"a", version()});
    room.greet(ticket, {{wire::protocol_version, room.id(), 0, 0}, Hello{{5, 4}, 12, 2}});
    room.update([](JobFile& job) { job.phase = Phase::delivering, job.members = {0}, job.result = 1; });
    room.begin(1, {0});
    publish_start(JobDesk(room, log_, {}), {0});
    const auto next = room.next(ticket, {}, 0ms);
    ASSERT_EQ(next.what, Room::What::message);
    const auto& notice = std::get<wire::StartNotice>(next.message->body);
    EXPECT_TRUE(notice.received);
    EXPECT_FALSE(next.wants_reply);
    EXPECT_EQ(notice.start.rows, 12);
}

}  // namespace
}  // namespace couplet::net
