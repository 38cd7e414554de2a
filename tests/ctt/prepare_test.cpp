#include "couplet/ctt/prepare.hpp"

#include <limits>
#include <set>

#include "couplet/core/error.hpp"
#include "couplet/ctt/refit.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(HoldOutTest, IsSeededDisjointAndComplete) {
    const auto x = random_tensor<double>({20, 3, 2}, 3);
    const auto parts = hold_out(x.view(), 0.3, 7, 2);
    EXPECT_EQ(parts.training.shape(), (Shape{14, 3, 2}));
    EXPECT_EQ(parts.heldout.shape(), (Shape{6, 3, 2}));
    std::set<double> seen;
    for (const auto* part : {&parts.training, &parts.heldout}) {
        for (Index i = 0; i < part->shape()[0]; ++i) seen.insert(part->data()[i * 6]);
    }
    EXPECT_EQ(seen.size(), 20u);
    const auto first = [&](std::uint64_t seed, Index client) {
        const auto again = hold_out(x.view(), 0.3, seed, client);
        return std::vector<double>(again.heldout.data(), again.heldout.data() + 36);
    };
    EXPECT_EQ(first(7, 2), first(7, 2));
    EXPECT_NE(first(7, 2), first(8, 2));
    EXPECT_NE(first(7, 2), first(7, 3));
}

TEST(HoldOutTest, LeavesAtLeastOnePatient) {
    for (const Index rows : {1, 2, 10}) {
        const auto x = random_tensor<double>({rows, 3});
        const auto parts = hold_out(x.view(), 0.99, 1, 0);
        EXPECT_GE(parts.training.shape()[0], 1);
        EXPECT_EQ(parts.training.shape()[0] + parts.heldout.shape()[0], rows);
    }
    EXPECT_EQ(hold_out(random_tensor<double>({5, 3}).view(), 0, 1, 0).heldout.shape()[0], 0);
}

std::shared_ptr<const Tensor<double>> shared(Tensor<double> x) {
    return std::make_shared<const Tensor<double>>(std::move(x));
}

TEST(PrepareTest, NothingAskedForNothingDone) {
    const auto x = shared(random_tensor<double>({6, 3, 2}, 1));
    const auto client = prepare_client(x, {}, 1, 0);
    EXPECT_EQ(client.training, x);
    EXPECT_EQ(client.heldout, nullptr);
    EXPECT_EQ(client.scale, 1);
    EXPECT_EQ(heldout_error(client, {}).norm2, 0);
}

TEST(PrepareTest, ScalesTheTrainingRowsToNormOne) {
    const auto x = shared(random_tensor<double>({10, 3, 2}, 2));
    const auto client = prepare_client(x, {.scale_clients = true, .heldout = 0.3}, 1, 0);
    EXPECT_EQ(client.training->shape(), (Shape{7, 3, 2}));
    EXPECT_NEAR(squared_norm(client.training->view().unfold(1)), 1, 1e-12);
    const auto parts = hold_out(x->view(), 0.3, 1, 0);
    EXPECT_NEAR(client.scale * client.scale, squared_norm(parts.training.view().unfold(1)), 1e-9);
    EXPECT_EQ(client.training->data()[5], parts.training.data()[5] / client.scale);
    const auto back = scaled_back(Matrix<double>::copy(client.training->view().unfold(1)), client.scale);
    EXPECT_NEAR(back.data()[5], parts.training.data()[5], 1e-12);
    EXPECT_EQ(prepare_client(shared(Tensor<double>::zeros({2, 2})), {.scale_clients = true}, 1, 0).scale, 1);
}

TEST(PrepareTest, HeldOutErrorIsInTheUnitsOfTheJob) {
    const auto x = shared(random_tensor<double>({10, 3, 2}, 3));
    const auto client = prepare_client(x, {.scale_clients = true, .heldout = 0.3}, 1, 0);
    const auto train = random_train<double>({3, 2}, {2, 2, 1}, 4);
    const auto features = orthonormal_features(train);
    const auto error = heldout_error(client, features);
    const auto direct = refit(client.heldout->view(), features);
    EXPECT_NEAR(error.error2 * client.scale * client.scale, direct.error2, 1e-12 * direct.norm2);
    EXPECT_NEAR(error.norm2 * client.scale * client.scale, direct.norm2, 1e-12 * direct.norm2);
}

TEST(PrepareTest, NamesTheClientWithANumberThatIsNone) {
    auto x = random_tensor<double>({3, 2}, 1);
    x.data()[3] = std::numeric_limits<double>::infinity();
    try {
        prepare_client(shared(std::move(x)), {}, 0, 4);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.parts().where, "client 5");
    }
}

}  // namespace
}  // namespace couplet
