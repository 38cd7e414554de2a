#include "filling_round.hpp"

#include <limits>

#include "coordinator_result.hpp"
#include "room_members_support.hpp"
#include "star_merge.hpp"

namespace couplet::net {
namespace {

class FillingRoundTest : public DeskTest {
  protected:
    JobFile filling_job(int iterations) const {
        JobOptions options{.rank = 2};
        JobFile job = new_job(options);
        job.spec.job.precision = Precision::f64;
        job.spec.missing = CompletionLimits{.max_iterations = iterations};
        return job;
    }
    RoomMembers::Data with_holes() const {
        RoomMembers::Data result;
        for (const auto& x : data()) {
            auto copy = Tensor<double>::copy(x->view());
            copy.data()[7] = std::numeric_limits<double>::quiet_NaN();
            result.push_back(std::make_shared<const Tensor<double>>(std::move(copy)));
        }
        return result;
    }
};

TEST_F(FillingRoundTest, EachIterationIsAnAttemptAndTheLastOneDelivers) {
    Room room = make_room(filling_job(2));
    RoomMembers members(room, with_holes());
    const auto places = begin(room);
    JobDesk desk(room, log_, {.deadline = 30s});
    fill_members(desk, merge_star(desk, places, {}), places, 1);
    JobFile job = room.job();
    EXPECT_EQ(job.phase, Phase::running);
    EXPECT_EQ(job.attempt, 2U);
    EXPECT_EQ(job.completing.base, 1U);
    EXPECT_EQ(job.completing.norm2.size(), 3U);
    EXPECT_EQ(course_of(job).report().iterations, 1);
    FeaturesMessage base = room.folder().features(1);
    base.filling->answered = true;
    room.begin(2, places, std::move(base));
    fill_members(desk, merge_star(desk, places, {}), places, 2);
    job = room.job();
    EXPECT_EQ(job.phase, Phase::delivering);
    EXPECT_EQ(job.result, 3U);
    EXPECT_EQ(job.completing.history.size(), 2U);
    const FeaturesMessage last = room.folder().features(3);
    EXPECT_TRUE(last.filling->last);
    EXPECT_FALSE(last.rel_error_bound) << "it was one of filled tensors";
    EXPECT_THROW(room.folder().features(1), Error) << "nobody needs them any more";
}

TEST_F(FillingRoundTest, AMemberThatIsSilentIsLost) {
    Room room = make_room(filling_job(2));
    RoomMembers members(room, with_holes());
    const auto places = begin(room);
    JobDesk desk(room, log_, {.deadline = 30s});
    MergeOutcome outcome = merge_star(desk, places, {});
    members.silent = {0};
    JobDesk hurried(room, log_, {.deadline = 300ms});
    EXPECT_THROW(fill_members(hurried, std::move(outcome), places, 1), Lost);
    EXPECT_TRUE(room.job().completing.history.empty());
}

}  // namespace
}  // namespace couplet::net
