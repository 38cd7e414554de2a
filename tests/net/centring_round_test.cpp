#include "centring_round.hpp"

#include "couplet/core/random.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/tensor/any_label.hpp"
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

/// Presences with a label that every patient has in both modes, of so many patients.
std::shared_ptr<const Tensor<double>> presences(Index patients, std::uint64_t seed, const char* label = any_label) {
    auto x = std::make_shared<Tensor<double>>(Shape{patients, 5, 4});
    Random random(seed);
    for (Index p = 0; p < patients; ++p) {
        std::vector<double> a(5, 1), b(4, 1);
        for (std::size_t i = 1; i < 5; ++i) a[i] = random.uniform() < 0.5 ? 1 : 0;
        for (std::size_t j = 1; j < 4; ++j) b[j] = random.uniform() < 0.5 ? 1 : 0;
        for (Index i = 0; i < 20; ++i) {
            x->data()[p * 20 + i] = a[static_cast<std::size_t>(i / 4)] * b[static_cast<std::size_t>(i % 4)];
        }
    }
    x->set_labels({{}, {"c", {label, "1", "2", "3", "4"}, {}}, {"d", {label, "5", "6", "7"}, {}}});
    return x;
}

TEST_F(CentringRoundTest, MembersWeighTheirDataByThePrevalencesOfAll) {
    JobFile job = new_job({.rank = 3});
    job.spec.centring.weight = Weight::sqrt;
    Room room = make_room(std::move(job));
    const RoomMembers::Data sites{presences(30, 1), presences(20, 2), presences(25, 3)};
    RoomMembers members(room, sites);
    const auto places = begin(room);
    JobDesk desk(room, log_, {.deadline = 30s});
    centre_members(desk, places, 1);
    const Centring weights = centring_of_job(room);
    EXPECT_EQ(weights.weight, Weight::sqrt);
    EXPECT_EQ(weights.any_at, (std::vector<Index>{0, 0}));
    EXPECT_EQ(weights.patients, 75);
    const CentringOptions how{.weight = Weight::sqrt, .any_at = {0, 0}};
    FeatureSums sums;
    for (const auto& x : sites) sums.add(feature_sums(x->view(), how));
    Centring expected = centring_of(sums, how);
    expected.mean = without_small_cells(std::move(expected.mean), Shape{5, 4}, how.any_at, 75);
    EXPECT_EQ(weights, expected);
    const Tensor<double> moved = centred(sites[1]->view(), weights, "site");
    EXPECT_NEAR(room.job().centred.norm2[1], squared_norm<double>(moved.view().unfold(1)),
                1e-9 * room.job().centred.norm2[1]);
}

TEST_F(CentringRoundTest, AWeightNeedsTheLabelOfEveryPatient) {
    JobFile job = new_job({.rank = 3});
    job.spec.centring.weight = Weight::pearson;
    Room room = make_room(std::move(job));
    RoomMembers members(room, {presences(30, 1, "x"), presences(20, 2, "x"), presences(25, 3, "x")});
    const auto places = begin(room);
    JobDesk desk(room, log_, {.deadline = 30s});
    EXPECT_THROW(centre_members(desk, places, 1), InputError);
    EXPECT_EQ(room.job().centred.attempt, 0U);
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
