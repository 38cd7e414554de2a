#include "secure_merge.hpp"

#include "notary.hpp"
#include "room_members_support.hpp"

namespace couplet::net {
namespace {

class SecureMergeTest : public DeskTest {
  protected:
    SecureMergeTest() : federation_(path("kits"), population(clients, {30, 5, 4}, 3, 0.7, 0.05)) {
        for (std::size_t k = 0; k < clients; ++k) {
            const Kit kit = federation_.kit(federation_.names[k]);
            tools_.push_back(std::make_unique<MaskingTools>(
                MaskingTools{make_notary(kit, load_credentials(kit, Role::client)), SumMemory(kit.file("sums.json"))}));
        }
    }
    static JobOptions options() { return {.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random}; }
    JobFile secure_job() const {
        JobFile job = new_job(options());
        job.spec.shield = ShieldTerms{.policy = false};
        return job;
    }
    std::vector<MaskingTools*> tools() {
        std::vector<MaskingTools*> result;
        for (auto& one : tools_) result.push_back(one.get());
        return result;
    }
    Notary notary() const {
        const Kit kit = federation_.coordinator();
        return make_notary(kit, load_credentials(kit, Role::coordinator));
    }
    TestFederation federation_;
    std::vector<std::unique_ptr<MaskingTools>> tools_;
};

TEST_F(SecureMergeTest, SumsWithoutSeeingAndGoesOnFromTheSpool) {
    std::optional<FeaturesMessage> features;
    {
        Room room = make_room(secure_job());
        RoomMembers members(room, data(30), tools());
        const auto places = begin(room);
        JobDesk desk(room, log_, {.deadline = 30s});
        const MergeOutcome outcome = merge_secure(desk, places, notary(), 0);
        EXPECT_EQ(outcome.cohort, (std::vector<Index>{0, 1, 2}));
        ASSERT_TRUE(outcome.shield);
        EXPECT_EQ(outcome.personal_ranks, (std::vector<Index>{3, 3, 3}));
        EXPECT_EQ(room.hello(0).rows, 1) << "nobody knows how many patients there are";
        EXPECT_FALSE(room.job().closed.empty());
        features = copy_of(outcome.features);
    }
    // A coordinator that was killed at the end: all steps are closed, and nobody is asked again.
    Room again = make_room(parse_job_file(read_text(path("job/job.json")), "job.json"));
    again.begin(1, again.job().members);
    JobDesk desk(again, log_, {.deadline = 1ms});
    const MergeOutcome outcome = merge_secure(desk, again.job().members, notary(), 0);
    EXPECT_TRUE(same_bits(outcome.features.features.train, features->features.train));
}

TEST_F(SecureMergeTest, AJobThatHasLostTooManyHasNothingToContinue) {
    Room room = make_room(secure_job());
    RoomMembers members(room, data(30), tools());
    members.silent = {0, 1};
    const auto places = begin(room);
    JobDesk desk(room, log_, {.deadline = 500ms});
    EXPECT_THROW(merge_secure(desk, places, notary(), 0), Error);
    EXPECT_FALSE(std::filesystem::exists(path("job/job.json")));
}

}  // namespace
}  // namespace couplet::net
