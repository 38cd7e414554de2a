#include "client_work.hpp"

#include "couplet/ctt/subspace.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

/// Questions and answers of a job without a network.
class ClientWorkTest : public NetTest {
  protected:
    static wire::Message welcome(const JobOptions& job) {
        wire::Welcome body;
        body.spec.job = resolve_job(job);
        body.clients = 3;
        return {route(0, 0), body};
    }
    static wire::Route route(std::uint32_t attempt, std::uint32_t step) {
        return {wire::protocol_version, wire::JobId{7}, attempt, step};
    }
    static wire::Message start(std::uint32_t attempt, bool received = false) {
        return {route(attempt, 1), wire::StartNotice{{3, 60, 1000}, received}};
    }
    std::shared_ptr<const Tensor<double>> x_ =
        std::make_shared<const Tensor<double>>(random_tensor<double>({20, 5, 4}, 3));
    MaskingTools tools_{{}, SumMemory(path("sums.json"))};
};

TEST_F(ClientWorkTest, AnswersAStartOnceAndSaysTheSameAgain) {
    ClientWork work(welcome({.rank = 3}), x_, tools_);
    EXPECT_EQ(std::get<Hello>(work.hello().body).rows, 20);
    const wire::Message* first = work.answer(start(1));
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->route, route(1, 1));
    EXPECT_EQ(std::get<Upload>(first->body).block->rows(), 3);
    const double sent = work.result().numbers_up;
    EXPECT_GT(sent, 0);
    EXPECT_EQ(work.answer(start(1)), first);
    EXPECT_EQ(work.result().numbers_up, sent) << "each message once";
    EXPECT_EQ(work.answer(start(1, true)), nullptr) << "it is there already";
    work.answer(start(2));
    EXPECT_EQ(work.result().numbers_up, sent) << "of the attempt that gives the result";
}

TEST_F(ClientWorkTest, TheFirstBasisOfASumIsMadeHere) {
    const JobOptions job{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random};
    ClientWork work(welcome(job), x_, tools_);
    EXPECT_EQ(work.answer(start(1)), nullptr);
    const wire::Message asked{route(1, 2), SumRequest{0, SubspaceIteration::Want::sketch, {}}};
    const wire::Message* reply = work.answer(asked);
    ASSERT_NE(reply, nullptr);
    const SubspaceIteration same(resolve_job(job), {5, 4});
    EXPECT_EQ(static_cast<Index>(std::get<SumReply>(reply->body).sum->size()), same.sum_length());
    const wire::Message narrow{route(1, 3),
                               SumRequest{1, SubspaceIteration::Want::sketch, Matrix<double>::zeros(3, 2)}};
    EXPECT_NE(complaint([&] { work.answer(narrow); }).find("a basis of 3 rows"), std::string::npos);
}

TEST_F(ClientWorkTest, AJobAsksOnlyWhatItIsMadeOf) {
    ClientWork work(welcome({.rank = 3}), x_, tools_);
    work.answer(start(1));
    const auto asked = [&](wire::Body body) { return complaint([&] { work.answer({route(1, 2), std::move(body)}); }); };
    EXPECT_NE(asked(SumRequest{}).find("a request for a sum"), std::string::npos);
    EXPECT_NE(asked(wire::CentringRequest{}).find("a job that does not centre"), std::string::npos);
    EXPECT_NE(asked(SecureRequest{}).find("a question of this job"), std::string::npos);
}

/// A coordinator whose job is one of secure sums gets no sum of one client's own.
/// A coordinator that does not look must not make a guarantee void.
TEST_F(ClientWorkTest, UnderAGuaranteeNoPatientChangesTheRecordsOfOthers) {
    wire::Message job = welcome({.aggregate = Aggregate::subspace, .rank = 3});
    wire::JobSpec& spec = std::get<wire::Welcome>(job.body).spec;
    spec.shield = ShieldTerms{.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = 1.0};
    EXPECT_EQ(complaint([&] { ClientWork(job, x_, tools_); }), "");
    spec.preparation.scale_clients = true;
    EXPECT_NE(complaint([&] { ClientWork(job, x_, tools_); }), "");
    spec.preparation = {.scale_clients = false, .heldout = 0.25};
    EXPECT_NE(complaint([&] { ClientWork(job, x_, tools_); }).find("`heldout`"), std::string::npos);
}

TEST_F(ClientWorkTest, AJobOfSecureSumsAsksForNoOthers) {
    wire::Message job = welcome({.aggregate = Aggregate::subspace, .rank = 3});
    std::get<wire::Welcome>(job.body).spec.shield.emplace();
    ClientWork work(job, x_, tools_);
    EXPECT_TRUE(work.is_masked());
    const auto hello = std::get<Hello>(work.hello().body);
    EXPECT_EQ(hello.rows, 1);
    EXPECT_EQ(hello.norm2, 0);
    for (const auto want : {SubspaceIteration::Want::gram, SubspaceIteration::Want::sketch}) {
        EXPECT_NE(complaint([&] {
                      work.answer({route(1, 2), SumRequest{0, want, {}}});
                  }).find("expected steps of secure sums alone, as the job said at its start"),
                  std::string::npos);
    }
    EXPECT_NE(complaint([&] {
                  work.answer({route(1, 2), wire::CentringRequest{}});
              }).find("secure sums alone"),
              std::string::npos);
    EXPECT_NE(complaint([&] {
                  work.answer({route(1, 2), SecureRequest{}});
              }).find("the start of such a job"),
              std::string::npos);
    EXPECT_NE(complaint([&] { work.answer(start(1)); }).find("secure sums without TLS"), std::string::npos);
}

TEST_F(ClientWorkTest, CentresByTheSumsOfAllBeforeItUploads) {
    wire::Message job = welcome({.rank = 2});
    std::get<wire::Welcome>(job.body).spec.centring.centre = true;
    ClientWork work(job, x_, tools_);
    EXPECT_EQ(work.answer(start(1)), nullptr) << "the sums come first";
    const wire::Message* sums = work.answer({route(1, 2), wire::CentringRequest{}});
    ASSERT_NE(sums, nullptr);
    EXPECT_EQ(std::get<SumReply>(sums->body).sum->size(), 21U) << "patients, and a sum of each feature";
    const Centring mean{std::vector<double>(20, 0.5), {}};
    const wire::Message* norm = work.answer({route(1, 3), wire::CentringRequest{mean}});
    ASSERT_NE(norm, nullptr);
    const double norm2 = std::get<SumReply>(norm->body).sum->front();
    double expected = 0;
    for (Index i = 0; i < x_->size(); ++i) expected += (x_->data()[i] - 0.5) * (x_->data()[i] - 0.5);
    EXPECT_NEAR(norm2, expected, 1e-9 * expected);
    wire::StartNotice again{{3, 60, 1000}, false, true};
    ASSERT_NE(work.answer({route(2, 1), again}), nullptr);
}

TEST_F(ClientWorkTest, ABoundThatItsOwnErrorContradictsIsDoubted) {
    ClientWork work(welcome({.rank = 2}), x_, tools_);
    wire::Message begun = start(1);
    std::get<wire::StartNotice>(begun.body).start.norm2 = std::get<Hello>(work.hello().body).norm2;
    const wire::Message* upload = work.answer(begun);
    ASSERT_NE(upload, nullptr);
    Features features = orthonormal_features(block_train(std::get<Upload>(upload->body).block.get()));
    work.fit({std::move(features), 1e-9, {}});
    EXPECT_FALSE(work.result().rel_error_bound);
    EXPECT_NE(work.result().doubt.find("where the bound is 1e-09"), std::string::npos) << work.result().doubt;
    EXPECT_GT(std::get<wire::Report>(work.report().body).error2, 0);
}

/// The bound is of everybody's norms, also of those who were merged before this client came.
TEST_F(ClientWorkTest, WhoWasMergedBeforeCountsInTheBound) {
    for (const double earlier : {0.0, 1e4}) {
        ClientWork work(welcome({.rank = 2}), x_, tools_);
        const double norm2 = std::get<Hello>(work.hello().body).norm2;
        wire::Message begun = start(1);
        std::get<wire::StartNotice>(begun.body).start.norm2 = norm2;
        std::get<wire::StartNotice>(begun.body).start.earlier_norm2 = earlier * norm2;
        const wire::Message* upload = work.answer(begun);
        ASSERT_NE(upload, nullptr);
        Features features = orthonormal_features(block_train(std::get<Upload>(upload->body).block.get()));
        work.fit({std::move(features), 0.1, {}});
        EXPECT_GT(work.result().rse, 0.01) << "of its own norm it is more than the bound";
        EXPECT_EQ(work.result().rel_error_bound.has_value(), earlier > 0) << work.result().doubt;
    }
}

}  // namespace
}  // namespace couplet::net
