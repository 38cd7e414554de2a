#include "centring_round.hpp"

#include "room_members_support.hpp"

namespace couplet::net {
namespace {

class CentringRoundTest : public DeskTest {
  protected:
    JobFile centring_job() const {
        JobFile job = new_job({.rank = 3});
        job.spec.centring.centre = true;
        return job;
    }
};

TEST_F(CentringRoundTest, MembersMoveTheirDataByTheMeansOfAll) {
    Room room = make_room(centring_job());
    RoomMembers members(room, data());
    const auto places = begin(room);
    JobDesk desk(room, log_, {.deadline = 30s});
    EXPECT_TRUE(centring_of_job(room).empty());
    centre_members(desk, places, 1);
    const Centring moved = centring_of_job(room);
    ASSERT_EQ(moved.mean.size(), 20U);
    double first = 0;
    for (const auto& x : data()) {
        for (Index i = 0; i < 12; ++i) first += x->data()[i * 20];
    }
    EXPECT_NEAR(moved.mean[0], first / 36, 1e-12);
    const JobFile job = room.job();
    EXPECT_EQ(job.attempt, 2U);
    EXPECT_EQ(job.centred.attempt, 1U);
    ASSERT_EQ(job.centred.norm2.size(), 3U);
    double norm2 = 0;
    for (Index i = 0; i < 240; ++i) {
        const double moved_number = data()[0]->data()[i] - moved.mean[static_cast<std::size_t>(i % 20)];
        norm2 += moved_number * moved_number;
    }
    EXPECT_NEAR(job.centred.norm2[0], norm2, 1e-9 * norm2);
    EXPECT_GT(job.traffic.numbers_up, 0);
}

TEST_F(CentringRoundTest, ANormThatCannotBeIsNotBuiltOn) {
    Room room = make_room(centring_job());
    RoomMembers members(room, data());
    members.false_norms = {{2, 1e200}};
    const auto places = begin(room);
    JobDesk desk(room, log_, {.deadline = 30s});
    EXPECT_THROW(centre_members(desk, places, 1), Lost);
    EXPECT_EQ(room.job().centred.attempt, 0U);
    members.end();
    EXPECT_NE(members.reason(2).find("a squared norm of 1e+200 after centring"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
