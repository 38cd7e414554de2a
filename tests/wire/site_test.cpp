#include "couplet/wire/site.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "couplet/wire/envelope.hpp"
#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

Message welcome(const JobOptions& job) {
    return {{protocol_version, {7}, 0, 0}, Welcome{{resolve_job(job), {}, {}}, 0, 1}};
}

std::shared_ptr<const Tensor<double>> data() {
    return std::make_shared<Tensor<double>>(population_client({10, 5, 4}, 3, 0.7, 0.05, 1, 1));
}

Start start_of(const Hello& hello) { return {1, hello.rows, hello.norm2, {}}; }

TEST(Site, AnswersTheSameQuestionFromBefore) {
    Site site(welcome({.rank = 2}), data());
    const Hello hello = std::get<Hello>(site.hello().body);
    EXPECT_EQ(hello.rows, 10);
    const Message question{{protocol_version, {7}, 1, 1}, StartNotice{start_of(hello), false, false}};
    const Message* first = site.answer(question);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->kind(), Kind::upload);
    EXPECT_EQ(site.answer(question), first);
}

TEST(Site, NeedsNoMemoryForWhatItIsToldAgain) {
    const JobOptions job{.aggregate = Aggregate::average, .rank = 2};
    Site remembers(welcome(job), data());
    const Hello hello = std::get<Hello>(remembers.hello().body);
    const Route route{protocol_version, {7}, 1, 1};
    const Message* upload = remembers.answer({route, StartNotice{start_of(hello), false, false}});
    ASSERT_NE(upload, nullptr);
    const auto features = [&] {
        return FeaturesMessage{{block_train(std::get<Upload>(upload->body).block.get()), {}, false}, std::nullopt};
    };
    remembers.fit(features());
    std::vector<Message> told;
    told.push_back(welcome(job));
    told.push_back({route, StartNotice{start_of(hello), true, false}});
    told.push_back({route, features()});
    const Answer answer = answer_all(pack(told), data());
    ASSERT_TRUE(answer.result);
    const Matrix<double>& a = remembers.result().personal;
    const Matrix<double>& b = answer.result->personal;
    ASSERT_EQ(a.size(), b.size());
    EXPECT_TRUE(std::equal(a.data(), a.data() + a.size(), b.data()));
    EXPECT_EQ(std::get<Report>(unpack_one(answer.reply, "site").body).error2,
              std::get<Report>(remembers.report().body).error2);
}

TEST(Site, RefusesSecureSumsForWhichItHasNoKeys) {
    Message job = welcome({.aggregate = Aggregate::subspace, .rank = 2});
    std::get<Welcome>(job.body).spec.shield = ShieldTerms{};
    EXPECT_NE(refusal([&] { Site(job, data()); }).find("a job of secure sums"), std::string::npos);
}

/// A coordinator whose job is one of secure sums gets no sum of one site's own.
TEST(Site, AJobOfSecureSumsAsksForNoOthers) {
    Message job = welcome({.aggregate = Aggregate::subspace, .rank = 2});
    std::get<Welcome>(job.body).spec.shield = ShieldTerms{};
    Site site(job, data(), {.vet = {}, .secure = [](const JobId&) { return SecureTools{}; }});
    const Message asked{{protocol_version, {7}, 1, 2}, SumRequest{0, SubspaceIteration::Want::sketch, {}}};
    EXPECT_NE(refusal([&] { site.answer(asked); }).find("expected steps of secure sums alone"), std::string::npos);
}

/// Features in another order between two steps would be another sum than the keys were signed for.
TEST(Site, AJobOfSecureSumsBeginsOnce) {
    Message job = welcome({.aggregate = Aggregate::subspace, .rank = 2});
    std::get<Welcome>(job.body).spec.shield = ShieldTerms{};
    Site site(job, data(), {.vet = {}, .secure = [](const JobId&) { return SecureTools{}; }});
    Message start{{protocol_version, {7}, 1, 1}, StartNotice{{.clients = 3}, false, false}};
    EXPECT_EQ(site.answer(start), nullptr);
    std::get<StartNotice>(start.body).received = true;
    EXPECT_EQ(site.answer(start), nullptr) << "told again";
    ++std::get<StartNotice>(start.body).start.clients;
    EXPECT_NE(refusal([&] { site.answer(start); }).find("another start of the job"), std::string::npos);
}

TEST(Site, RefusesMessagesThatMakeNoQuestion) {
    EXPECT_NE(refusal([] { answer_all("", data()); }).find("a welcome first"), std::string::npos);
    EXPECT_NE(refusal([] {
                  answer_all(pack(Message{{}, Refusal{"no"}}), data());
              }).find("another message now"),
              std::string::npos);
    std::vector<Message> other_job;
    other_job.push_back(welcome({.rank = 2}));
    other_job.push_back({{protocol_version, {8}, 1, 1}, StartNotice{{1, 10, 1.0, {}}, false, false}});
    EXPECT_NE(refusal([&] { answer_all(pack(other_job), data()); }).find("another message now"), std::string::npos);
    std::vector<Message> idle;
    idle.push_back(welcome({.rank = 2}));
    idle.push_back({{protocol_version, {7}, 1, 1}, StartNotice{{1, 10, 1.0, {}}, true, false}});
    EXPECT_NE(refusal([&] { answer_all(pack(idle), data()); }).find("another message now"), std::string::npos);
}

TEST(Site, IsVettedBeforeItAnswersAndBeforeItsAnswerIsSent) {
    std::vector<Message> question;
    question.push_back(welcome({.rank = 2}));
    const Hello hello = std::get<Hello>(Site(question.front(), data()).hello().body);
    question.push_back({{protocol_version, {7}, 1, 1}, StartNotice{start_of(hello), false, false}});
    std::vector<Kind> heard;
    answer_all(pack(question), data(),
               {.vet = [&](const Message& message) { heard.push_back(message.kind()); }, .secure = {}});
    EXPECT_EQ(heard, (std::vector<Kind>{Kind::welcome, Kind::start, Kind::upload}));
    for (const Kind refused : heard) {
        const auto vet = [&](const Message& message) {
            if (message.kind() == refused) throw InputError({"policy", "this", "another", ""});
        };
        EXPECT_NE(refusal([&] { answer_all(pack(question), data(), {.vet = vet, .secure = {}}); }).find("policy: this"),
                  std::string::npos);
    }
}

TEST(Site, SaysWhatToDoAboutUnknownEntries) {
    auto x = population_client({10, 5, 4}, 3, 0.7, 0.05, 1, 1);
    x.data()[3] = std::numeric_limits<double>::quiet_NaN();
    const auto hidden = std::make_shared<Tensor<double>>(std::move(x));
    const std::string reason = refusal([&] { Site(welcome({.rank = 2}), hidden); });
    EXPECT_NE(reason.find("`missing` impute"), std::string::npos) << reason;
}

}  // namespace
}  // namespace couplet::wire
