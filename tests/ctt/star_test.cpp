#include "couplet/ctt/star.hpp"

#include <functional>
#include <limits>

#include "couplet/core/error.hpp"
#include "federations.hpp"
#include "release_gate.hpp"

namespace couplet {
namespace {

using namespace support;

double norm2_of(const Clients& clients) {
    double sum = 0;
    for (const auto& x : clients) sum += squared_norm(x.view().unfold(1));
    return sum;
}

/// star: RSE = 1 - K ||W||^2 / sum ||X_k||^2 when only R1 cuts.
TEST(StarTest, PrintedAverageObeysItsIdentity) {
    for (const Shape& shape : {Shape{12, 30}, Shape{12, 5, 6}, Shape{12, 3, 4, 3}}) {
        for (const Index clients : {1, 2, 5}) {
            const auto data = population(clients, shape, 6, 0.8, 0.1, 3);
            const Job job = resolve_job({.aggregate = Aggregate::average, .rank = 4, .eps1 = 0, .eps2 = 0});
            const auto out = drive_star(job, data);
            EXPECT_FALSE(out.message->features.orthonormal);
            const auto w = out.message->features.train.full();
            const double expected =
                1 - static_cast<double>(clients) * squared_norm(w.view().unfold(1)) / norm2_of(data);
            EXPECT_NEAR(out.rse, expected, 1e-10) << shape.to_string() << " K = " << clients;
            // By definition, with the personal cores the clients keep.
            double error2 = 0;
            for (std::size_t k = 0; k < data.size(); ++k) {
                const auto uw = naive_product(out.clients[k].result().personal.view(), w.view().unfold(1));
                error2 += std::pow(naive_distance(uw.view(), data[k].view().unfold(1)), 2);
            }
            EXPECT_NEAR(out.rse, error2 / norm2_of(data), 1e-10);
            EXPECT_EQ(out.coordinator->rounds(), 2);
        }
    }
}

TEST(StarTest, RefitImprovesTheAverage) {
    const auto data = population(4, {12, 5, 6}, 6, 0.8, 0.1, 3);
    const auto printed = drive_star(resolve_job({.aggregate = Aggregate::average, .rank = 4}), data);
    const auto refitted = drive_star(resolve_job({.aggregate = Aggregate::average, .rank = 4, .refit = true}), data);
    EXPECT_LT(refitted.rse, printed.rse);
    EXPECT_TRUE(refitted.message->features.orthonormal);
}

TEST(StarTest, OrderRepetitionAndLatenessDoNotChangeABit) {
    const auto data = population(6, {7, 5, 6}, 5, 0.7, 0.1, 4);
    const std::vector<JobOptions> jobs = {
        {.eps = 0.1},
        {.rank = 3},
        {.aggregate = Aggregate::average, .rank = 3},
        {.aggregate = Aggregate::average, .rank = 3, .refit = true},
        {.aggregate = Aggregate::subspace, .rank = 2, .sketch = Sketch::random},
        {.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::gram},
    };
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const Job job = resolve_job(jobs[j]);
        const auto expected = drive_star(job, data);
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            Random script(seed);
            const auto out = drive_star(job, data, &script);
            EXPECT_TRUE(same_bits(out.message->features, expected.message->features)) << "job " << j;
            EXPECT_EQ(out.message->rel_error_bound, expected.message->rel_error_bound);
            EXPECT_EQ(out.rse, expected.rse);
            EXPECT_EQ(out.coordinator->rounds(), expected.coordinator->rounds());
            EXPECT_EQ(out.coordinator->personal_ranks(), expected.coordinator->personal_ranks());
            for (std::size_t k = 0; k < data.size(); ++k) {
                EXPECT_TRUE(same_bits<double>(out.clients[k].result().personal.view(),
                                              expected.clients[k].result().personal.view()));
            }
        }
    }
}

TEST(StarTest, CountsRounds) {
    const auto data = population(3, {7, 9, 10}, 5, 0.7, 0.1, 4);
    EXPECT_EQ(drive_star(resolve_job({}), data).coordinator->rounds(), 2);
    // Four sums up, three bases and the features down.
    const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random});
    EXPECT_EQ(drive_star(job, data).coordinator->rounds(), 8);
    const Job gram = resolve_job({.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::gram});
    EXPECT_EQ(drive_star(gram, data).coordinator->rounds(), 2);
}

TEST(StarTest, SubspaceReachesCentralizedAccuracy) {
    const auto data = population(5, {20, 9, 10}, 12, 0.85, 0.05, 8);
    for (const auto sketch : {Sketch::random, Sketch::gram}) {
        const auto out = drive_star(resolve_job({.aggregate = Aggregate::subspace, .rank = 6, .sketch = sketch}), data);
        EXPECT_LE(out.rse, 1.02 * centralized_rse(gather_rows(data), 6, 0.01) + 1e-4);
    }
}

std::vector<MergeState> uploads_of(const Job& job, const Clients& clients) {
    const auto before = drive_star(job, clients, nullptr, {}, true);
    std::vector<MergeState> saved;
    for (const auto& upload : before.coordinator->uploads()) saved.push_back({upload.block.clone(), upload.ledger});
    return saved;
}

TEST(StarTest, ResumedJobAgreesWithOneGo) {
    const auto data = population(7, {6, 5, 6}, 4, 0.7, 0.02, 5);
    const Clients first = population(4, {6, 5, 6}, 4, 0.7, 0.02, 5);
    Clients rest;
    for (std::size_t k = 4; k < 7; ++k) rest.push_back(Tensor<double>::copy(data[k].view()));
    for (const JobOptions& options : {JobOptions{.eps = 0.1}, JobOptions{.rank = 3}, JobOptions{.eps = 0}}) {
        const Job job = resolve_job(options);
        const auto whole = drive_star(job, data);
        std::vector<MergeState> saved = uploads_of(job, first);
        EXPECT_EQ(saved.size(), 4U);
        const auto resumed = drive_star(job, rest, nullptr, std::move(saved));
        double error2 = 0;
        for (const auto& x : data) error2 += refit(x.view(), resumed.message->features).error2;
        const double rse = error2 / norm2_of(data);
        EXPECT_LE(std::sqrt(rse), *resumed.message->rel_error_bound + 1e-12);
        if (options.eps && *options.eps > 0) {
            EXPECT_LE(*resumed.message->rel_error_bound, *options.eps * (1 + 1e-9));
        }
        if (options.rank) {
            EXPECT_NEAR(rse, whole.rse, 0.02 * whole.rse);
        }
        if (options.eps == 0.0) {
            EXPECT_LT(rse, 1e-20);
        }
    }
}

TEST(StarTest, ClientsOfOtherSizesJoinWithinTheCertifiedError) {
    // Many small patients join a few large ones: had they a share of all of the error, too much would be spent.
    for (const double scale : {0.03, 0.06, 0.12, 0.25, 1.0}) {
        const auto make = [](Index clients, Index rows, double by, std::uint64_t model) {
            auto result = population(clients, {rows, 10, 12}, 36, 0.93, 0.0, model);
            for (auto& x : result) {
                for (double& e : x.elements()) e *= by;
            }
            return result;
        };
        for (const double eps : {0.5, 0.25, 0.1}) {
            const Job job = resolve_job({.eps = eps});
            const auto first = make(3, 40, 1, 5);
            const auto rest = make(3, 150, scale, 5);
            const auto resumed = drive_star(job, rest, nullptr, uploads_of(job, first));
            double error2 = 0;
            for (const auto* part : {&first, &rest}) {
                for (const auto& x : *part) error2 += refit(x.view(), resumed.message->features).error2;
            }
            EXPECT_LE(*resumed.message->rel_error_bound, eps * (1 + 1e-9)) << "scale " << scale;
            EXPECT_LE(std::sqrt(error2 / (norm2_of(first) + norm2_of(rest))),
                      *resumed.message->rel_error_bound + 1e-12);
        }
    }
}

class StarRefusals : public ::testing::Test {
  protected:
    Clients data_ = population(3, {7, 5, 6}, 5, 0.7, 0.1, 4);
    void greet(StarCoordinator& coordinator, const Job& job) {
        for (Index k = 0; k < 3; ++k)
            coordinator.receive(k, StarClient(job, data_[static_cast<std::size_t>(k)].view()).hello());
    }
};

TEST_F(StarRefusals, MessagesThatDoNotFitChangeNothing) {
    const Job job = resolve_job({.rank = 3});
    const auto expected = drive_star(job, data_);
    StarCoordinator coordinator(job, 3);
    EXPECT_FALSE(coordinator.next());
    const auto upload_of = [&](const Tensor<double>& x, const ClientLimits& limits) {
        return compress_client(x.view(), limits);
    };
    EXPECT_THROW(coordinator.receive(0, upload_of(data_[0], {0.1, 0.1, 3})), InputError);  // before the start
    EXPECT_THROW(coordinator.receive(3, hello_of(data_[0])), InputError);
    EXPECT_THROW(coordinator.receive(-1, hello_of(data_[0])), InputError);
    greet(coordinator, job);
    auto message = coordinator.next();
    ASSERT_TRUE(std::holds_alternative<Start>(*message));
    EXPECT_THROW(coordinator.receive(0, upload_of(random_tensor<double>({7, 6, 5}), {0, 0, 3})), InputError);
    EXPECT_THROW(coordinator.receive(0, upload_of(data_[0], {0, 0, 5})), InputError);  // above the rank
    auto bad = upload_of(data_[0], {0.1, 0.1, 3});
    bad.norm2 = std::nan("");
    EXPECT_THROW(coordinator.receive(0, std::move(bad)), InputError);
    bad = upload_of(data_[0], {0.1, 0.1, 3});
    bad.rows = std::numeric_limits<Index>::max();
    EXPECT_THROW(coordinator.receive(0, std::move(bad)), InputError);
    auto huge = Tensor<double>::copy(data_[0].view());
    for (Index i = 0; i < huge.size(); ++i) huge.data()[i] *= 1e100;
    EXPECT_THROW(coordinator.receive(0, upload_of(huge, {0.1, 0.1, 3})), InputError);  // more than it greeted with
    EXPECT_THROW(coordinator.receive(0, SumReply{0, sketch_sum(data_[0].view(), {})}), InputError);
    EXPECT_FALSE(coordinator.next());
    std::vector<StarClient> clients;
    for (const auto& x : data_) clients.emplace_back(job, x.view());
    for (Index k = 0; k < 3; ++k)
        coordinator.receive(k, std::move(*clients[static_cast<std::size_t>(k)].receive(*message)));
    auto features = coordinator.next();
    ASSERT_TRUE(features && std::holds_alternative<FeaturesMessage>(*features));
    EXPECT_TRUE(same_bits(std::get<FeaturesMessage>(*features).features, expected.message->features));
    EXPECT_FALSE(coordinator.next());
    // Late ones are nothing.
    coordinator.receive(1, upload_of(data_[1], {0.1, 0.1, 3}));
    EXPECT_THROW(coordinator.resume({}), InputError);
}

TEST_F(StarRefusals, AverageRefusesAnotherRank) {
    const Job job = resolve_job({.aggregate = Aggregate::average, .rank = 3});
    StarCoordinator coordinator(job, 3);
    greet(coordinator, job);
    coordinator.next();
    EXPECT_THROW(coordinator.receive(0, average_client(data_[0].view(), 2, 0.1).upload), InputError);
    EXPECT_THROW(coordinator.receive(0, average_client(data_[0].view(), 5, 0.1).upload), InputError);
    EXPECT_THROW(coordinator.resume({}), InputError);
}

TEST_F(StarRefusals, SumsOfAnotherPassOrSize) {
    const Job job =
        resolve_job({.aggregate = Aggregate::subspace, .rank = 1, .sketch = Sketch::random, .oversampling = 3});
    StarCoordinator coordinator(job, 3);
    greet(coordinator, job);
    coordinator.next();
    EXPECT_THROW(coordinator.receive(0, SumReply{0, sketch_sum(data_[0].view(), {})}), InputError);  // not asked yet
    const auto request = coordinator.next();
    const auto& asked = std::get<SumRequest>(*request);
    EXPECT_EQ(asked.pass, 0);
    EXPECT_THROW(coordinator.receive(0, SumReply{1, sketch_sum(data_[0].view(), asked.basis.view())}), InputError);
    EXPECT_THROW(coordinator.receive(0, SumReply{-1, sketch_sum(data_[0].view(), asked.basis.view())}), InputError);
    EXPECT_THROW(coordinator.receive(0, SumReply{0, sketch_sum(data_[0].view(), {})}), InputError);
    auto huge = Tensor<double>::copy(data_[0].view());
    for (Index i = 0; i < huge.size(); ++i) huge.data()[i] *= 1e100;
    EXPECT_THROW(coordinator.receive(0, SumReply{0, sketch_sum(huge.view(), asked.basis.view())}), InputError);
    StarClient client(job, data_[0].view());
    SumRequest wrong{0, SubspaceIteration::Want::sketch, Matrix<double>::zeros(29, 4)};
    EXPECT_THROW(client.receive(ToClient(std::move(wrong))), InputError);
}

/// What a refusal says: a type alone would not tell which check was met, and a lost check could pass by accident.
std::string refusal_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

/// What a client sends is measured against its own greeting, on both sides and figure by figure.
TEST_F(StarRefusals, AnUploadIsThatOfItsGreeting) {
    const Job job = resolve_job({.rank = 3});
    const auto refused = [&](const std::function<void(Upload&)>& change) {
        StarCoordinator coordinator(job, 3);
        greet(coordinator, job);
        coordinator.next();
        auto upload = compress_client(data_[0].view(), {0.1, 0.1, 3});
        change(upload);
        return refusal_of([&] { coordinator.receive(0, std::move(upload)); });
    };
    const double norm2 = squared_norm(std::as_const(data_[0]).view().unfold(1));
    EXPECT_EQ(refused([](Upload&) {}), "");
    EXPECT_EQ(refused([](Upload& u) { u.rows = 6; }), "client 1: 6 patients; expected 7 as it said");
    EXPECT_EQ(refused([](Upload& u) { u.rows = 8; }), "client 1: 8 patients; expected 7 as it said");
    const std::string expected =
        "client 1: a squared norm that its data cannot have; expected one from 0 to that of its greeting";
    for (const double squares : {-1.0, std::nan(""), norm2 * (1 + 1e-5)}) {
        EXPECT_EQ(refused([&](Upload& u) { u.norm2 = squares; }), expected) << squares;
        EXPECT_EQ(refused([&](Upload& u) { u.svd_tail2 = squares; }), expected) << squares;
        EXPECT_EQ(refused([&](Upload& u) { u.tt_tail2 = squares; }), expected) << squares;
    }
    for (const double squares : {norm2 * (1 - 1e-9), norm2, norm2 * (1 + 1e-9)}) {  // rounding is nobody's fault
        EXPECT_EQ(refused([&](Upload& u) { u.norm2 = u.svd_tail2 = u.tt_tail2 = squares; }), "") << squares;
    }
    for (const double squares : {0.0, norm2 * (1 - 1e-5)}) {
        EXPECT_EQ(refused([&](Upload& u) { u.norm2 = squares; }),
                  "client 1: an upload of data with a smaller norm; expected the data of its greeting");
    }
}

/// A large norm with few rows beside it would make the error of everybody else invisible.
TEST_F(StarRefusals, FiguresOfAnUploadAreThoseOfItsRows) {
    const std::string expected =
        "client 1: figures that do not fit what it sent; expected the norm of its rows and of what was cut";
    const double norm2 = squared_norm(std::as_const(data_[0]).view().unfold(1));
    for (const bool in_tree : {false, true}) {
        const auto refused = [&](double scale, double svd_tail2, double tt_tail2) {
            const Job job = resolve_job({.eps = 0.2});
            StarCoordinator coordinator(job, 3);
            if (in_tree) coordinator.merge_in_tree(2);
            greet(coordinator, job);
            coordinator.next();
            Matrix<double> rows(7, 30);
            for (Index i = 0; i < rows.size(); ++i) rows.data()[i] = scale * std::as_const(data_[0]).data()[i];
            Upload upload{ReleaseGate::release(FeatureBlock(std::move(rows), {5, 6})), 7, norm2, svd_tail2, tt_tail2};
            return refusal_of([&] { coordinator.receive(0, std::move(upload)); });
        };
        EXPECT_EQ(refused(1, 0, 0), "");
        EXPECT_EQ(refused(1e-3, 0, 0), expected) << "nearly nothing was sent, and nothing cut";
        EXPECT_EQ(refused(0.99, 0, 0), expected);
        EXPECT_EQ(refused(1.01, 0, 0), expected);
        EXPECT_EQ(refused(0.6, 0.64 * norm2, 0), "") << "the rest was cut";
        EXPECT_EQ(refused(0.6, 0.5 * norm2, 0), expected);
        EXPECT_EQ(refused(0.9, 0, 0.011 * norm2), "") << "the message lost it";
        EXPECT_EQ(refused(0.9, 0, 0.009 * norm2), expected);
    }
}

TEST_F(StarRefusals, ASumIsThatOfItsGreeting) {
    const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = 1, .sketch = Sketch::gram});
    const double norm2 = squared_norm(std::as_const(data_[0]).view().unfold(1));
    const auto refused = [&](double value) {
        StarCoordinator coordinator(job, 3);
        greet(coordinator, job);
        coordinator.next();
        coordinator.next();
        auto sum = sketch_sum(data_[0].view(), {}).get();
        sum[sum.size() / 2] = value;
        return refusal_of([&] { coordinator.receive(0, SumReply{0, ReleaseGate::release(std::move(sum))}); });
    };
    const std::string expected =
        "client 1: a sum that its data cannot have; expected numbers up to the squared norm of its greeting";
    for (const double value : {norm2, -norm2, 0.0}) EXPECT_EQ(refused(value), "") << value;
    for (const double value : {norm2 * (1 + 1e-5), -norm2 * (1 + 1e-5), -1e100, std::nan("")}) {
        EXPECT_EQ(refused(value), expected) << value;
    }
}

TEST_F(StarRefusals, ClientsRefuseWhatCannotCome) {
    const Job job = resolve_job({.aggregate = Aggregate::average, .rank = 3});
    StarClient client(job, data_[0].view());
    EXPECT_THROW(client.result(), RunError);
    EXPECT_THROW(client.receive(ToClient(SumRequest{})), InputError);
    const auto expected = drive_star(job, data_);
    const auto message = [&] { return ToClient(FeaturesMessage{expected.message->features.clone(), std::nullopt}); };
    EXPECT_THROW(client.receive(message()), InputError);  // before the start
    client.receive(ToClient(Start{3, 21, 1.0}));
    EXPECT_THROW(client.receive(ToClient(FeaturesMessage{{random_train<double>({6, 5}, {3, 2, 1}), {}, false}, {}})),
                 InputError);
    EXPECT_THROW(client.receive(ToClient(FeaturesMessage{{random_train<double>({5, 6}, {2, 2, 1}), {}, false}, {}})),
                 InputError);
    EXPECT_FALSE(client.finished());
    client.receive(message());
    client.receive(message());
    EXPECT_EQ(client.result().personal.rows(), 7);
    EXPECT_THROW(StarClient(job, random_tensor<double>({7}).view()).hello(), InputError);
    EXPECT_THROW(StarCoordinator(job, 0), InputError);
}

TEST(StarTest, ATreeIgnoresWhatComesTwiceAndIsRefusedWhereNothingIsMerged) {
    const Clients clients = population(5, {12, 6, 5}, 4, 0.7, 0.05);
    const Job job = resolve_job({.rank = 3});
    StarCoordinator coordinator(job, 5);
    coordinator.merge_in_tree(2);
    EXPECT_THROW(coordinator.merge_in_tree(1), InputError);
    for (Index k = 0; k < 5; ++k) coordinator.receive(k, hello_of(clients[static_cast<std::size_t>(k)]));
    const Start start = std::get<Start>(*coordinator.next());
    EXPECT_EQ(coordinator.mergers(), 3 + 2 + 1);
    for (const Index k : {4, 2, 4, 0, 2, 1}) {
        const auto& x = clients[static_cast<std::size_t>(k)];
        coordinator.receive(k, compress_client(x.view(), client_limits(job, hello_of(x), start)));
    }
    EXPECT_FALSE(coordinator.next());
    coordinator.receive(3, compress_client(clients[3].view(), client_limits(job, hello_of(clients[3]), start)));
    const auto features = std::get<FeaturesMessage>(*coordinator.next());
    EXPECT_EQ(features.features.train.left_rank(), 3);
    StarCoordinator sums(resolve_job({.aggregate = Aggregate::subspace, .rank = 3}), 5);
    EXPECT_THROW(sums.merge_in_tree(2), InputError);
}

}  // namespace
}  // namespace couplet
