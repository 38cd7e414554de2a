#include "job_desk.hpp"

#include "room_members_support.hpp"

namespace couplet::net {
namespace {

class JobDeskTest : public DeskTest {
  protected:
    static std::string too_few(const JobDesk& desk, const std::vector<Index>& there) {
        try {
            desk.require_enough(there, "came");
        } catch (const TooFew& few) {
            return few.text;
        }
        return "";
    }
};

TEST_F(JobDeskTest, CountsThoseWhoAreThere) {
    Room room = make_room(new_job({.rank = 3}));
    const JobDesk all(room, log_, {});
    EXPECT_EQ(too_few(all, {0, 1, 2}), "");
    EXPECT_EQ(too_few(all, {0, 2}), "2 of 3 clients came before the deadline: a, c; at least 3 must");
    EXPECT_EQ(too_few(all, {}), "0 of 3 clients came before the deadline; at least 3 must");
    const JobDesk two(room, log_, {.least = 2});
    EXPECT_EQ(too_few(two, {0, 2}), "");
    EXPECT_FALSE(all.until());
    const JobDesk hurried(room, log_, {.deadline = 1h});
    EXPECT_GT(*hurried.until(), Room::Clock::now());
}

TEST_F(JobDeskTest, TakesAnswersInTheOrderOfTheMembers) {
    Room room = make_room(new_job({.rank = 3}));
    RoomMembers members(room, data());
    const auto places = begin(room);
    const JobDesk desk(room, log_, {.deadline = 30s});
    room.publish(wire::StartNotice{{3, 36, 4}, false}, true);
    std::vector<std::size_t> order;
    desk.collect(places, [&](std::size_t at, wire::Message answer) {
        EXPECT_EQ(answer.kind(), wire::Kind::upload);
        order.push_back(at);
    });
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
}

TEST_F(JobDeskTest, WhoAnswersWhatCannotBeUsedIsOut) {
    Room room = make_room(new_job({.rank = 3}));
    RoomMembers members(room, data());
    const auto places = begin(room);
    const JobDesk desk(room, log_, {.deadline = 30s});
    room.publish(wire::StartNotice{{3, 36, 4}, false}, true);
    try {
        desk.collect(places, [](std::size_t at, const wire::Message&) {
            if (at == 1) throw InputError({"client b", "nonsense", "sense", ""});
        });
        FAIL() << "nobody was lost";
    } catch (const Lost& lost) {
        EXPECT_EQ(lost.left, (std::vector<Index>{0, 2}));
    }
    members.end();
    EXPECT_NE(members.reason(1).find("nonsense; expected sense"), std::string::npos) << members.reason(1);
}

TEST_F(JobDeskTest, WhatIsKeptIsThereBeforeTheJobSaysSo) {
    Room room = make_room(new_job({.rank = 3}));
    const JobDesk desk(room, log_, {});
    const auto x = random_tensor<double>({9, 5, 4}, 1);
    const FeaturesMessage features{
        orthonormal_features(block_train(compress_client(x.view(), {0, 0, 3}).block.get())), {}, {}};
    desk.keep(features, 4, [&](JobFile& job) {
        EXPECT_TRUE(same_bits(room.folder().features(4).features.train, features.features.train));
        job.result = 4;
    });
    EXPECT_EQ(parse_job_file(read_text(path("job/job.json")), "job.json").result, 4U);
}

}  // namespace
}  // namespace couplet::net
