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
    const auto parts = hold_out(x->view(), 0.3, 1, 0);
    const auto direct = refit(parts.heldout.view(), features);
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

std::shared_ptr<const Tensor<double>> scaled_client(double factor, std::uint64_t seed = 1) {
    return shared(random_tensor<double>({10, 3, 2}, seed, factor));
}

TEST(JobNorm2Test, IsTheSquaredNormOfDataWhoseSquaresAreSafe) {
    for (const double factor : {1e-73, 1.0, 1e73}) {
        const auto x = scaled_client(factor);
        const double norm = naive_norm(x->view().unfold(1));
        EXPECT_NEAR(job_norm2(x->view(), "client 1") / norm / norm, 1, 1e-13) << factor;
    }
    EXPECT_EQ(job_norm2(Tensor<double>::zeros({2, 3}).view(), "client 1"), 0);
    const auto refused = [](double value) {
        auto x = Tensor<double>::zeros({2, 2});
        x.data()[0] = value;
        return message_of([&] { job_norm2(x.view(), "client 7"); });
    };
    const std::string rest =
        "; expected 0, or a norm between 1e-75 and 1e75. Scale the data, or use `scale_clients` norm.";
    EXPECT_EQ(refused(1.01e75), "client 7: a norm of about 1e75" + rest);
    EXPECT_EQ(refused(0.99e75), "");
    EXPECT_EQ(refused(1.01e-75), "");
    EXPECT_EQ(refused(0.99e-75), "client 7: a norm of about 1e-75" + rest);
    EXPECT_EQ(refused(1e160), "client 7: a norm of about 1e160" + rest);
    EXPECT_EQ(refused(1e-170), "client 7: a norm of about 1e-170" + rest);
    EXPECT_EQ(refused(5e-324), "client 7: a norm of about 1e-323" + rest);
    EXPECT_NE(refused(std::nan("")).find("client 7: NaN at index (0, 0)"), std::string::npos);
}

TEST(PrepareTest, AnyMagnitudeIsScaledToNormOne) {
    const auto plain = prepare_client(scaled_client(1), {.scale_clients = true, .heldout = 0.3}, 1, 0);
    for (const double factor : {1e-300, 1e-170, 1e-80, 1e80, 1e160, 1e300}) {
        const auto client = prepare_client(scaled_client(factor), {.scale_clients = true, .heldout = 0.3}, 1, 0);
        EXPECT_NEAR(client.scale / factor, plain.scale, 1e-13 * plain.scale) << factor;
        for (Index i = 0; i < plain.training->size(); ++i) {
            EXPECT_NEAR(client.training->data()[i], plain.training->data()[i], 1e-14) << factor;
        }
        for (Index i = 0; i < plain.heldout->size(); ++i) {
            EXPECT_NEAR(client.heldout->data()[i], plain.heldout->data()[i], 1e-13) << factor;
        }
        const auto features = orthonormal_features(random_train<double>({3, 2}, {2, 2, 1}, 4));
        EXPECT_NEAR(heldout_error(client, features).error2, heldout_error(plain, features).error2, 1e-12);
        const auto back = scaled_back(Matrix<double>::copy(client.training->view().unfold(1)), client.scale);
        EXPECT_NEAR(naive_norm(back.view()) / factor / plain.scale, 1, 1e-12) << factor;
    }
}

TEST(PrepareTest, RefusesByNameWhatCannotBeSquaredOrScaled) {
    const auto message = [](std::shared_ptr<const Tensor<double>> x, const Preparation& how) {
        return message_of([&] { prepare_client(std::move(x), how, 1, 2); });
    };
    const std::string rest =
        "; expected 0, or a norm between 1e-75 and 1e75. Scale the data, or use `scale_clients` norm.";
    EXPECT_EQ(message(scaled_client(1e160), {}), "client 3: a norm of about 1e161" + rest);
    EXPECT_EQ(message(scaled_client(1e-170), {}), "client 3: a norm of about 1e-169" + rest);
    EXPECT_EQ(message(scaled_client(1e-322), {.scale_clients = true}),
              "client 3: a norm of 7.60861e-322; expected 0, or a norm of at least 2.2e-308. Scale the data first.");
    Tensor<double> large({10, 3});
    for (double& value : large.elements()) value = 1.5e308;
    EXPECT_EQ(
        message(shared(std::move(large)), {.scale_clients = true}),
        "client 3: a norm of about 1e309; expected a number between 4.9e-324 and 1.8e308. Scale the values first.");
    // Patients held out who are of another world than those who take part.
    auto x = random_tensor<double>({10, 3, 2}, 1);
    const auto parts = hold_out(x.view(), 0.3, 1, 2);
    for (Index i = 0; i < x.size(); ++i) {
        if (std::ranges::count(parts.heldout.elements(), x.data()[i]) > 0) x.data()[i] *= 1e100;
    }
    for (const bool scale : {false, true}) {
        const auto found = message(shared(Tensor<double>::copy(x.view())), {.scale_clients = scale, .heldout = 0.3});
        EXPECT_TRUE(found.starts_with("client 3, held-out patients: a norm of about 1e10")) << found;
    }
    EXPECT_EQ(message(shared(Tensor<double>::copy(x.view())), {.scale_clients = true}), "");
}

TEST(HoldOutTest, CountsToTheNearestPatient) {
    const auto held = [](Index rows, double fraction) {
        return hold_out(random_tensor<double>({rows, 2}).view(), fraction, 1, 0).heldout.shape()[0];
    };
    EXPECT_EQ(held(10, 0.24), 2);
    EXPECT_EQ(held(10, 0.25), 3);
    EXPECT_EQ(held(10, 0.94), 9);
    EXPECT_EQ(held(10, 0.96), 9) << "one takes part";
    EXPECT_EQ(held(3, 0.1), 0);
}

}  // namespace
}  // namespace couplet
