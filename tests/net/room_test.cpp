#include "room.hpp"

#include <sys/stat.h>

#include "net_test_support.hpp"
#include "spool.hpp"

namespace couplet::net {
namespace {

/// The meeting of streams and job without a network: scripted, in one thread.
class RoomTest : public NetTest {
  protected:
    JobFile new_job() const {
        JobFile job;
        job.id = wire::parse_job_id("00112233445566778899aabbccddeeff");
        job.spec = {resolve_job({.rank = 3}), {}};
        job.roster = {"a", "b", "c"};
        return job;
    }
    Room room(JobFile job, bool late = false) { return Room(std::move(job), {path("job"), late, 50ms}, log_); }
    wire::Message hello(const Hello& said = {{5, 4}, 9, 2}) const {
        return {{wire::protocol_version, new_job().id, 0, 0}, said};
    }
    static Room::Ticket join(Room& room, const std::string& name) { return room.enter(name, {name, version()}); }
    Room::Ticket greet(Room& room, const std::string& name) const {
        const auto ticket = join(room, name);
        room.greet(ticket, hello());
        return ticket;
    }
    wire::Head upload_head(const wire::Route& route) const {
        return {route, wire::Kind::upload, 8 * 60, default_chunk_bytes, {5, 4}, {}, 3};
    }
    static Room::Deadline soon() { return Room::Clock::now() + 20ms; }

    Log log_{{}, {}};
};

TEST_F(RoomTest, KnowsItsRoster) {
    Room r = room(new_job());
    EXPECT_NE(complaint([&] { join(r, "x"); }).find("not on the roster"), std::string::npos);
    EXPECT_NE(complaint([&] { r.enter("a", {"b", version()}); }).find("it calls itself 'b'"), std::string::npos);
    const auto ticket = join(r, "b");
    const auto welcome = r.welcome(ticket);
    EXPECT_EQ(std::get<wire::Welcome>(welcome.body).place, 1);
    EXPECT_EQ(welcome.route.job, new_job().id);
    EXPECT_EQ(r.status().clients[1].state, "connected");
    r.leave(ticket);
    EXPECT_EQ(r.status().clients[1].state, "absent");
}

/// One client's figures are in the sums and the status of all: what cannot be is not taken.
TEST_F(RoomTest, AReportThatCannotBeIsRefused) {
    Room r = room(new_job());
    const auto a = greet(r, "a");
    r.update([](JobFile& job) {
        job.phase = Phase::delivering;
        job.members = {0};
    });
    const auto said = [&](const wire::Report& report) {
        return complaint([&] { r.report(a, {{wire::protocol_version, new_job().id, 0, 0}, report}); });
    };
    EXPECT_EQ(said({3, 1e151, 4, 0, 0, 1}), "client a: a report with a figure of 1e+151; expected at most 1e+150");
    for (const wire::Report& bad : {wire::Report{3, 4, 1e151, 0, 0, 1}, wire::Report{3, 1, 4, 1e151, 0, 1},
                                    wire::Report{3, 1, 4, 0, 1e151, 1}, wire::Report{3, 1, 4, 0, 0, 1e151}}) {
        EXPECT_NE(said(bad).find("a report with a figure of 1e+151"), std::string::npos);
    }
    EXPECT_NE(said({3, 1e140, 1e-200, 0, 0, 1}).find("a report with a figure of inf"), std::string::npos);
    EXPECT_FALSE(r.status().clients[0].rse);
    EXPECT_FALSE(r.await_reports({0}, soon()));
    EXPECT_EQ(said({3, 1e150, 1e150, 0, 0, 1}), "");
    EXPECT_EQ(r.status().clients[0].rse, 1);
}

TEST_F(RoomTest, GathersEverybodyOrThoseWhoAreThere) {
    Room r = room(new_job());
    greet(r, "a");
    const auto b = greet(r, "b");
    r.leave(b);
    EXPECT_EQ(r.gather(soon()), (std::vector<Index>{0})) << "b has gone again";
    greet(r, "b");
    greet(r, "c");
    EXPECT_EQ(r.gather(soon()), (std::vector<Index>{0, 1, 2}));
}

TEST_F(RoomTest, ARestartFindsGreetingsAndAnswers) {
    {
        Room r = room(new_job());
        const auto a = greet(r, "a");
        greet(r, "b");
        r.update([](JobFile& job) {
            job.phase = Phase::running;
            job.attempt = 1;
            job.members = {0, 1};
        });
        r.begin(1, {0, 1});
        r.publish(wire::StartNotice{{2, 18, 4}, false}, true);
        const auto next = r.next(a, {}, 0ms);
        const auto path = r.accept(a, upload_head(next.message->route));
        ASSERT_TRUE(path);
        const auto x = random_tensor<double>({9, 5, 4}, 1);
        save_message(*path, {next.message->route, compress_client(x.view(), {0, 0, 3})});
        r.arrived(a, next.message->route);
        EXPECT_FALSE(r.accept(a, upload_head(next.message->route))) << "told twice, kept once";
    }
    std::ofstream(path("job/.couplet-1-2.tmp")) << "half";
    Room again = room(parse_job_file(read_text(path("job/job.json")), "job.json"));
    EXPECT_FALSE(std::filesystem::exists(path("job/.couplet-1-2.tmp")));
    EXPECT_EQ(again.job().members, (std::vector<Index>{0, 1}));
    EXPECT_EQ(again.hello(1).rows, 9);
    again.begin(1, {0, 1});
    again.publish(wire::StartNotice{{2, 18, 4}, false}, true);
    EXPECT_TRUE(again.await_reply(0, soon()));
    EXPECT_FALSE(again.await_reply(1, soon()));
    EXPECT_EQ(again.replied(), (std::vector<Index>{0}));
    EXPECT_EQ(again.take_reply(0).kind(), wire::Kind::upload);
    // a comes back: it is told the start, and that its answer is known.
    const auto a = greet(again, "a");
    const auto next = again.next(a, {}, 0ms);
    ASSERT_EQ(next.what, Room::What::message);
    EXPECT_TRUE(std::get<wire::StartNotice>(next.message->body).received);
    EXPECT_FALSE(next.wants_reply);
    EXPECT_EQ(again.next(a, next.message->route, 0ms).what, Room::What::nothing);
}

TEST_F(RoomTest, WhoComesBackToACompletionIsToldWhereItStands) {
    Room r = room(new_job());
    const auto a = greet(r, "a");
    r.update([](JobFile& job) { job.phase = Phase::running, job.attempt = 1, job.members = {0}; });
    const auto features = [](const Filling& filling) {
        const auto x = random_tensor<double>({9, 5, 4}, 1);
        const Upload upload = compress_client(x.view(), {0, 0, 3});
        return FeaturesMessage{orthonormal_features(block_train(upload.block.get())), {}, filling};
    };
    r.begin(1, {0});
    r.publish(wire::StartNotice{{1, 9, 2}, false}, true);
    const auto start = r.next(a, {}, 0ms);
    r.arrived(a, start.message->route);
    r.publish(features({0.2, 1}), true);
    const auto trial = r.next(a, start.message->route, 0ms);
    ASSERT_EQ(trial.message->kind(), wire::Kind::features);
    EXPECT_TRUE(trial.wants_reply);
    wire::Head head{trial.message->route, wire::Kind::sum_reply, 0, default_chunk_bytes};
    EXPECT_NE(complaint([&] { r.accept(a, head); }).find("sums of a completion"), std::string::npos);
    head.kind = wire::Kind::fill_sums;
    EXPECT_TRUE(r.accept(a, head));
    r.arrived(a, trial.message->route);
    // The next iteration: whoever heard the features goes on at once.
    r.begin(2, {0}, features({0.2, 1, false, true}));
    EXPECT_EQ(r.next(a, trial.message->route, 0ms).what, Room::What::nothing) << "nothing before the start";
    r.publish(wire::StartNotice{{1, 9, 3}, false, true}, true);
    const auto held = r.next(a, trial.message->route, 0ms);
    ASSERT_EQ(held.message->kind(), wire::Kind::start);
    EXPECT_TRUE(held.wants_reply);
    // Whoever comes back learns the order of the job, the features, and only then what to do.
    const auto order = r.next(a, {}, 0ms);
    ASSERT_EQ(order.message->kind(), wire::Kind::start);
    EXPECT_TRUE(std::get<wire::StartNotice>(order.message->body).received);
    EXPECT_FALSE(order.wants_reply);
    const auto base = r.next(a, order.message->route, 0ms);
    ASSERT_EQ(base.message->kind(), wire::Kind::features);
    EXPECT_TRUE(std::get<FeaturesMessage>(base.message->body).filling->answered);
    EXPECT_FALSE(base.wants_reply);
    const auto question = r.next(a, base.message->route, 0ms);
    EXPECT_EQ(question.message->route, held.message->route);
    EXPECT_TRUE(question.wants_reply);
    EXPECT_TRUE(std::get<wire::StartNotice>(question.message->body).refilled);
}

/// After a restart nobody holds anything, whatever its stream begins with.
TEST_F(RoomTest, ARestartTellsTheFeaturesOfACompletionToEverybody) {
    JobFile job = new_job();
    job.phase = Phase::running;
    job.attempt = 2;
    job.members = {0};
    Room r = room(job);
    const auto a = greet(r, "a");
    const auto x = random_tensor<double>({9, 5, 4}, 1);
    const Upload upload = compress_client(x.view(), {0, 0, 3});
    r.begin(2, {0},
            FeaturesMessage{orthonormal_features(block_train(upload.block.get())), {}, Filling{0, 1, false, true}});
    r.publish(wire::StartNotice{{1, 9, 3}, false, true}, true);
    const auto order = r.next(a, {}, 0ms);
    EXPECT_FALSE(order.wants_reply);
    EXPECT_EQ(r.next(a, order.message->route, 0ms).message->kind(), wire::Kind::features);
}

TEST_F(RoomTest, AskedQuestionsAreAnsweredOnceAndInKind) {
    Room r = room(new_job());
    const auto a = greet(r, "a");
    r.update([](JobFile& job) { job.phase = Phase::running, job.attempt = 1, job.members = {0}; });
    r.begin(1, {0});
    EXPECT_EQ(r.next(a, {}, 0ms).what, Room::What::nothing);
    r.publish(wire::StartNotice{{1, 9, 2}, false}, true);
    const wire::Route route = r.next(a, {}, 0ms).message->route;
    wire::Head head = upload_head(route);
    head.modes = {5, 3};
    EXPECT_NE(complaint([&] { r.accept(a, head); }).find("5x4 as it said"), std::string::npos);
    head = upload_head(route);
    head.rows = 4;
    EXPECT_NE(complaint([&] { r.accept(a, head); }).find("rank 4; expected at most 3"), std::string::npos);
    head = upload_head(route);
    head.kind = wire::Kind::sum_reply;
    EXPECT_NE(complaint([&] { r.accept(a, head); }), "");
    head = upload_head(route);
    head.route.job.fill(9);
    EXPECT_NE(complaint([&] { r.accept(a, head); }).find("a message of job 0909"), std::string::npos);
    head = upload_head(route);
    head.route.attempt = 0;
    EXPECT_FALSE(r.accept(a, head)) << "an answer to an attempt that was given up is read and forgotten";
    head.route.attempt = 7;
    EXPECT_NE(complaint([&] { r.accept(a, head); }), "");
}

TEST_F(RoomTest, ThoseWhoWereLeftOutAreToldOrWait) {
    for (const bool late : {false, true}) {
        std::filesystem::remove_all(path("job"));
        Room r = room(new_job(), late);
        const auto c = greet(r, "c");
        r.update([](JobFile& job) { job.phase = Phase::running, job.attempt = 1, job.members = {0, 1}; });
        r.begin(1, {0, 1});
        if (late) {
            EXPECT_EQ(r.next(c, {}, 0ms).what, Room::What::nothing);
            EXPECT_EQ(r.await_latecomer(soon()), 2);
            EXPECT_EQ(r.status().clients[2].state, "late");
        } else {
            EXPECT_NE(complaint([&] { r.next(c, {}, 0ms); }).find("went on without it"), std::string::npos);
            EXPECT_NE(complaint([&] { join(r, "c"); }).find("goes on without it"), std::string::npos);
            EXPECT_FALSE(r.await_latecomer(soon()));
        }
        EXPECT_EQ(r.job().absent(), (std::vector<Index>{2}));
    }
}

TEST_F(RoomTest, ReportsAreKeptOnceAndEndTheJob) {
    Room r = room(new_job());
    const auto a = greet(r, "a");
    r.update([](JobFile& job) { job.phase = Phase::delivering, job.attempt = 1, job.members = {0}; });
    EXPECT_FALSE(r.await_reports({0}, soon()));
    r.report(a, {{wire::protocol_version, new_job().id, 0, 0}, wire::Report{3, 1, 4, 0, 0, 1}});
    r.report(a, {{wire::protocol_version, new_job().id, 0, 0}, wire::Report{3, 2, 4, 0, 0, 1}});
    EXPECT_TRUE(r.await_reports({0}, soon()));
    EXPECT_EQ(r.status().clients[0].rse, 0.25);
    const auto bye = std::get<wire::Bye>(r.bye(a).body);
    EXPECT_EQ(bye.members, (std::vector<std::string>{"a"}));
    EXPECT_EQ(bye.missing, (std::vector<std::string>{"b", "c"}));
}

/// A client that was stopped before it heard the last word comes again, to a coordinator that may have been started
/// again.
TEST_F(RoomTest, TheEndWaitsForThoseWhoMayNotHaveHeardIt) {
    const auto took = [](Room& r, std::chrono::milliseconds longest) {
        const auto start = Room::Clock::now();
        r.see_off(longest);
        return Room::Clock::now() - start;
    };
    const wire::Message report{{wire::protocol_version, new_job().id, 0, 0}, wire::Report{3, 1, 4, 0, 0, 1}};
    {
        Room r = room(new_job());
        const auto a = greet(r, "a");
        greet(r, "c");
        r.update([](JobFile& job) { job.phase = Phase::delivering, job.attempt = 1, job.members = {0, 1}; });
        r.report(a, report);
        EXPECT_GE(took(r, 50ms), 50ms) << "a is there";
        r.bye(a);
        r.leave(a);
        EXPECT_LT(took(r, 20min), 10min) << "c, who stays, is not in the result";
    }
    JobFile again = new_job();
    again.phase = Phase::delivering, again.attempt = 1, again.members = {0, 1};
    again.reports[0] = std::get<wire::Report>(report.body);
    Room r = room(again);
    EXPECT_GE(took(r, 50ms), 50ms) << "a may come again";
    const auto a = greet(r, "a");
    r.bye(a);
    r.leave(a);
    EXPECT_LT(took(r, 20min), 10min);
    again.phase = Phase::closed;
    Room closed = room(again);
    EXPECT_LT(took(closed, 20min), 10min) << "whoever asks for a job that is done has time until the deadline";
}

/// Nobody waits for a latecomer that is there and says nothing, nor for ever for one that comes and goes.
TEST_F(RoomTest, ALatecomerThatDoesNotAnswerIsGivenUp) {
    Room r = room(new_job(), true);
    const auto a = greet(r, "a");
    greet(r, "b");
    greet(r, "c");
    r.update([](JobFile& job) { job.phase = Phase::closed, job.attempt = 1, job.members = {0}; });
    r.report(a, {{wire::protocol_version, new_job().id, 0, 0}, wire::Report{3, 1, 4, 0, 0, 1}});
    const auto never = Room::Clock::now() + 1h;
    EXPECT_EQ(r.await_latecomer(never), 1);
    r.begin_late(2, 1);
    r.give_up(1);
    EXPECT_EQ(r.await_latecomer(never), 2) << "the next one has its turn";
    r.begin_late(3, 2);
    r.give_up(2);
    EXPECT_EQ(r.await_latecomer(never), std::nullopt) << "both are there, and neither answers";
    for (int i = 0; i < 2; ++i) {
        greet(r, "b");
        EXPECT_EQ(r.await_latecomer(never), 1) << "it came again";
        r.begin_late(4, 1);
        r.give_up(1);
    }
    greet(r, "b");
    EXPECT_EQ(r.await_latecomer(never), std::nullopt);
}

/// Each of those merged late has features of its own, also when the next is merged before it has fetched them.
TEST_F(RoomTest, LatecomersAreAskedSideBySide) {
    Room r = room(new_job(), true);
    const auto b = greet(r, "b");
    const auto c = greet(r, "c");
    r.update([](JobFile& job) { job.phase = Phase::closed, job.attempt = 1, job.members = {0}; });
    r.begin_late(2, 1);
    r.publish(wire::StartNotice{{1, 9, 2}, true}, false);
    r.begin_late(3, 2);
    r.publish(wire::StartNotice{{1, 9, 2}, true}, false);
    EXPECT_EQ(r.next(b, {}, 0ms).message->route.attempt, 2U);
    EXPECT_EQ(r.next(c, {}, 0ms).message->route.attempt, 3U);
}

TEST_F(RoomTest, AFailureIsToldAlsoWhileStopping) {
    Room r = room(new_job());
    const auto a = greet(r, "a");
    r.fail("too few");
    r.stop();
    EXPECT_NE(complaint([&] { r.next(a, {}, 0ms); }).find("too few"), std::string::npos);
}

TEST_F(RoomTest, AnAnswerThatIsRejectedIsForgotten) {
    Room r = room(new_job());
    const auto a = greet(r, "a");
    r.update([](JobFile& job) { job.phase = Phase::running, job.attempt = 1, job.members = {0}; });
    r.begin(1, {0});
    r.publish(wire::StartNotice{{1, 9, 2}, false}, true);
    const wire::Route route = r.next(a, {}, 0ms).message->route;
    const auto file = r.accept(a, upload_head(route));
    std::ofstream(*file) << "no message";
    r.arrived(a, route);
    EXPECT_NE(complaint([&] { r.take_reply(0); }), "");
    r.reject(0, "nonsense");
    EXPECT_FALSE(std::filesystem::exists(*file));
    EXPECT_TRUE(r.replied().empty());
    EXPECT_NE(complaint([&] { r.next(a, route, 0ms); }).find("client a: nonsense"), std::string::npos);
    EXPECT_TRUE(r.accept(greet(r, "a"), upload_head(route))) << "it may answer again";
}

/// The last value that is taken and the first that is not.
TEST_F(RoomTest, WhatOneClientSaysCannotSpoilTheSumsOfAll) {
    const auto said = [&](Index rows, double norm2) {
        std::filesystem::remove_all(path("job"));
        Room r = room(new_job());
        return complaint([&] { r.greet(join(r, "a"), hello({{5, 4}, rows, norm2})); });
    };
    constexpr Index most = Index{1} << 40;
    EXPECT_EQ(said(most, 1e150), "");
    const std::string expected =
        "; expected at most 1099511627776 with norm 1e+150. Scale the data, or use `scale_clients` norm.";
    EXPECT_EQ(said(most + 1, 1), "client a: 1099511627777 patients with norm 1" + expected);
    EXPECT_EQ(said(1, 1.1e150), "client a: 1 patients with norm 1.1e+150" + expected);
}

TEST_F(RoomTest, AnAverageTakesTheSameRankFromEverybody) {
    JobFile job = new_job();
    job.spec = {resolve_job({.aggregate = Aggregate::average, .rank = 9}), {}};
    Room r = room(job);
    EXPECT_EQ(complaint([&] {
                  r.greet(join(r, "a"), hello({{5, 4}, 8, 2}));
              }),
              "client a: data of rank at most 8; expected a rank of 9, which the job takes from everybody");
    EXPECT_EQ(complaint([&] { greet(r, "a"); }), "") << "nine patients are enough";
    r.update([](JobFile& file) { file.phase = Phase::running, file.attempt = 1, file.members = {0}; });
    r.begin(1, {0});
    r.publish(wire::StartNotice{{1, 9, 2}, false}, true);
    const auto a = greet(r, "a");
    wire::Head head = upload_head(r.next(a, {}, 0ms).message->route);
    for (const Index rank : {8, 10}) {
        head.rows = rank;
        EXPECT_EQ(complaint([&] { r.accept(a, head); }), "client a: rank " + std::to_string(rank) + "; expected 9");
    }
    head.rows = 9;
    EXPECT_TRUE(r.accept(a, head));
}

TEST_F(RoomTest, FeatureModesAreTheSameEverywhere) {
    JobFile job = new_job();
    job.schema = Schema{Shape{5, 4}, {}};
    Room r = room(job);
    greet(r, "b");
    const std::string said = complaint([&] { r.greet(join(r, "c"), hello({{5, 3}, 9, 2})); });
    EXPECT_NE(said.find("client c: mode 3 has size 3; expected 4 as the job has"), std::string::npos) << said;
    EXPECT_EQ(complaint([&] { greet(r, "c"); }), "");
}

Hello named(std::vector<std::string> labels) { return {{2}, 9, 2, {{"", std::move(labels), {}}}}; }

TEST_F(RoomTest, WhatMostClientsHaveIsTheJobsSchemaWhoeverCameFirst) {
    Room r = room(new_job());
    const auto a = join(r, "a");
    r.greet(a, hello(named({"age", "sbp"})));
    const auto b = join(r, "b");
    r.greet(b, hello(named({"age", "systolic"})));
    // Nothing speaks against either so far, and a restart finds both.
    EXPECT_TRUE(std::filesystem::exists(path("job") / "hello-0.msg"));
    const auto c = join(r, "c");
    r.greet(c, hello(named({"systolic", "age"})));
    EXPECT_EQ(r.gather(soon()), (std::vector<Index>{1, 2}));
    const std::string said = complaint([&] { r.next(a, {}, 0ms); });
    EXPECT_NE(said.find("'sbp'"), std::string::npos) << said;
    EXPECT_NE(said.find("'systolic' as the job has"), std::string::npos) << said;
    EXPECT_FALSE(std::filesystem::exists(path("job") / "hello-0.msg")) << "a restart does not find the wrong one";
    EXPECT_NE(r.refusal_text().find("client a was refused"), std::string::npos) << r.refusal_text();
    // Two of three are certain now: another wrong file is refused at its greeting, the right one is taken.
    EXPECT_NE(complaint([&] {
                  r.greet(join(r, "a"), hello(named({"age", "pulse"})));
              }).find("'pulse'"),
              std::string::npos);
    EXPECT_EQ(complaint([&] { r.greet(join(r, "a"), hello(named({"age", "systolic"}))); }), "");
    EXPECT_EQ(r.gather(soon()), (std::vector<Index>{0, 1, 2}));
    r.update([](JobFile& file) { file.phase = Phase::running, file.attempt = 1, file.members = {0, 1, 2}; });
    EXPECT_EQ(r.schema().modes.at(0).entries, (std::vector<std::string>{"age", "systolic"}));
}

TEST_F(RoomTest, ATieIsToldToAllAndNobodyIsKept) {
    JobFile job = new_job();
    job.roster = {"a", "b"};
    Room r = room(job);
    const auto a = join(r, "a");
    r.greet(a, hello(named({"age", "sbp"})));
    const auto b = join(r, "b");
    r.greet(b, hello(named({"age", "systolic"})));
    EXPECT_TRUE(r.gather(soon()).empty());
    for (const auto ticket : {a, b}) {
        const std::string said = complaint([&] { r.next(ticket, {}, 0ms); });
        EXPECT_NE(said.find("'sbp'"), std::string::npos) << said;
        EXPECT_NE(said.find("'systolic'"), std::string::npos) << said;
    }
    EXPECT_FALSE(std::filesystem::exists(path("job") / "hello-0.msg"));
    EXPECT_FALSE(std::filesystem::exists(path("job") / "hello-1.msg"));
}

TEST_F(RoomTest, WhoeverIsGoneHasNoSayAndMayComeAgain) {
    JobFile job = new_job();
    job.roster = {"a", "b"};
    Room r(job, {path("job"), false, 10s}, log_);
    const auto a = join(r, "a");
    r.greet(a, hello(named({"age", "systolic"})));
    const auto b = join(r, "b");
    r.greet(b, hello(named({"age", "sbp"})));
    auto gathered = std::async(std::launch::async, [&] { return r.gather(Room::Clock::now() + 10min); });
    // The tie is known; that b is gone comes a moment later, as it does over a network.
    std::this_thread::sleep_for(20ms);
    r.leave(b);
    const auto forgotten = [&] { return !std::filesystem::exists(path("job") / "hello-1.msg"); };
    EXPECT_TRUE(eventually(forgotten));
    EXPECT_EQ(complaint([&] { EXPECT_EQ(r.next(a, {}, 0ms).what, Room::What::nothing); }), "") << "a waits for b";
    r.greet(join(r, "b"), hello(named({"systolic", "age"})));
    EXPECT_EQ(gathered.get(), (std::vector<Index>{0, 1}));
}

TEST_F(RoomTest, WhoeverDiffersHearsItAsSoonAsMostAreCertain) {
    JobFile job = new_job();
    job.roster = {"a", "b", "c", "d", "e"};
    Room r = room(job);
    const auto a = join(r, "a");
    r.greet(a, hello(named({"age", "sbp"})));
    r.greet(join(r, "b"), hello(named({"age", "systolic"})));
    r.greet(join(r, "c"), hello(named({"age", "systolic"})));
    EXPECT_EQ(complaint([&] { r.next(a, {}, 0ms); }), "") << "two of five can be outvoted";
    r.greet(join(r, "d"), hello(named({"systolic", "age"})));
    const std::string said = complaint([&] { r.next(a, {}, 0ms); });
    EXPECT_NE(said.find("'sbp'; expected 'systolic' as the job has"), std::string::npos) << said;
    EXPECT_FALSE(std::filesystem::exists(path("job") / "hello-0.msg"));
    EXPECT_EQ(complaint([&] { r.greet(join(r, "a"), hello(named({"age", "systolic"}))); }), "");
    EXPECT_EQ(r.gather(soon()).size(), 4U);
}

/// One that comes and goes decides when another is turned away: neither pushes out what the log had before.
TEST_F(RoomTest, WhoIsTurnedAwayAgainAndAgainFillsNoLog) {
    std::vector<std::string> lines;
    Log log({}, [&](std::string_view line) { lines.emplace_back(line); });
    Room r(new_job(), {path("job"), false}, log);
    r.greet(join(r, "b"), hello(named({"age", "systolic"})));
    for (int i = 0; i < 60; ++i) {
        const auto a = join(r, "a");  // what it said before is forgotten
        const auto c = join(r, "c");
        r.greet(c, hello(named({"age", std::string(3900, 'x')})));
        r.greet(a, hello(named({"age", "systolic"})));
        ASSERT_NE(complaint([&] { r.next(c, {}, 0ms); }).find("as the job has"), std::string::npos);
        r.leave(c);
        r.leave(a);
    }
    const auto is_refusal = [](const std::string& line) { return line.starts_with("warning: refused: client c"); };
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(), is_refusal), 20);
    for (const std::string& line : lines) EXPECT_LT(line.size(), 500U) << line;
}

TEST_F(RoomTest, AWaitThatIsBegunAgainAndAgainFillsNoLog) {
    std::vector<std::string> lines;
    Log log({}, [&](std::string_view line) { lines.emplace_back(line); });
    JobFile job = new_job();
    job.roster = {"a", "b"};
    Room r(job, {path("job"), false, 1ms}, log);
    auto gathered = std::async(std::launch::async, [&] { EXPECT_THROW(r.gather({}), Stopped); });
    const auto is_told = [&](Room::Ticket ticket) { return complaint([&] { r.next(ticket, {}, 1ms); }) != ""; };
    for (int i = 0; i < 60; ++i) {
        const auto a = join(r, "a");
        const auto b = join(r, "b");
        r.greet(a, hello(named({"age", "sbp"})));
        r.greet(b, hello(named({"age", "systolic"})));
        for (int k = 0; k < 20'000 && !(is_told(a) && is_told(b)); ++k) continue;
        r.leave(a);
        r.leave(b);
    }
    r.stop();
    gathered.get();
    const auto is_wait = [](const std::string& line) { return line.starts_with("waiting for "); };
    EXPECT_LT(std::count_if(lines.begin(), lines.end(), is_wait), 40);
}

TEST_F(RoomTest, WhoSaysNothingDecidesNothingBeforeAllAreThere) {
    JobFile job = new_job();
    job.spec.job.unnamed = Unnamed::allow;
    Room r = room(job);
    const Hello silent{{2}, 9, 2};
    r.greet(join(r, "a"), hello(silent));
    const auto b = join(r, "b");
    r.greet(b, hello(named({"age", "sbp"})));
    EXPECT_EQ(complaint([&] { r.next(b, {}, 0ms); }), "");
    // a could go with either: b and c are equally many.
    EXPECT_EQ(complaint([&] { r.greet(join(r, "c"), hello(named({"age", "systolic"}))); }), "");
    EXPECT_TRUE(r.gather(soon()).empty());
    EXPECT_NE(complaint([&] { r.next(b, {}, 0ms); }).find("'systolic'"), std::string::npos);
}

TEST_F(RoomTest, ARankUpToThatOfTheDataIsTaken) {
    JobFile job = new_job();
    job.spec = {resolve_job({.eps = 0.1}), {}};
    Room r = room(job);
    const auto a = greet(r, "a");
    r.update([](JobFile& file) { file.phase = Phase::running, file.attempt = 1, file.members = {0}; });
    r.begin(1, {0});
    r.publish(wire::StartNotice{{1, 9, 2}, false}, true);
    wire::Head head = upload_head(r.next(a, {}, 0ms).message->route);
    head.rows = 9;
    EXPECT_EQ(complaint([&] { r.accept(a, head); }), "");
    head.rows = 10;
    EXPECT_EQ(complaint([&] { r.accept(a, head); }), "client a: rank 10; expected at most 9");
}

TEST_F(RoomTest, ASumIsOfThePassAndTheSizeThatWereAskedFor) {
    JobFile job = new_job();
    job.spec = {resolve_job({.aggregate = Aggregate::subspace, .rank = 3}), {}};
    Room r = room(job);
    const auto a = greet(r, "a");
    r.update([](JobFile& file) { file.phase = Phase::running, file.attempt = 1, file.members = {0}; });
    r.begin(1, {0});
    r.publish(wire::StartNotice{{1, 9, 2}, false}, false);
    const auto start = r.next(a, {}, 0ms);
    EXPECT_FALSE(start.wants_reply);
    r.publish(SumRequest{2, SubspaceIteration::Want::sketch, random_matrix<double>(20, 3, 1)}, true, 60);
    const auto question = r.next(a, start.message->route, 0ms);
    ASSERT_EQ(question.what, Room::What::message);
    EXPECT_TRUE(question.wants_reply);
    const wire::Head good{question.message->route, wire::Kind::sum_reply, 8 * 60, default_chunk_bytes, {}, {}, 0, 2};
    const auto refused = [&](const std::function<void(wire::Head&)>& change) {
        wire::Head head = good;
        change(head);
        return complaint([&] { r.accept(a, head); });
    };
    EXPECT_EQ(refused([](wire::Head&) {}), "");
    EXPECT_EQ(refused([](wire::Head& h) { h.payload_bytes += 8; }), "client a: 61 numbers; expected 60");
    EXPECT_EQ(refused([](wire::Head& h) { h.payload_bytes -= 8; }), "client a: 59 numbers; expected 60");
    EXPECT_EQ(refused([](wire::Head& h) { h.pass = 1; }), "client a: a sum for pass 1; expected pass 2");
    EXPECT_EQ(refused([](wire::Head& h) { h.kind = wire::Kind::upload; }), "client a: upload; expected sum");
    EXPECT_EQ(refused([](wire::Head& h) { ++h.route.step; }),
              "client a: an answer to question 3 of attempt 1; expected question 2 of attempt 1");
    r.arrived(a, good.route);
    EXPECT_EQ(r.next(a, start.message->route, 0ms).what, Room::What::nothing) << "it has answered";
    r.publish(SumRequest{3, SubspaceIteration::Want::sketch, random_matrix<double>(20, 3, 1)}, true, 60);
    EXPECT_FALSE(r.accept(a, good)) << "the question before: read and forgotten";
}

TEST_F(RoomTest, StepsOfSecureSumsAskEachSomethingElse) {
    JobFile job = new_job();
    job.spec = {resolve_job({.aggregate = Aggregate::subspace, .rank = 3}), {}};
    job.spec.shield = ShieldTerms{};
    Room r = room(job);
    const auto a = greet(r, "a");
    const auto b = greet(r, "b");
    const auto c = greet(r, "c");
    EXPECT_FALSE(r.status().clients[0].rows) << "nobody is told how many patients a client has";
    r.update([](JobFile& file) { file.phase = Phase::running, file.attempt = 1, file.members = {0, 1, 2}; });
    r.begin(1, {0, 1, 2});
    r.publish(wire::StartNotice{{3, 3, 0}, false}, false);
    const auto start = r.next(a, {}, 0ms).message->route;
    r.pass_over();  // answered before an interruption
    std::map<Index, wire::Body> questions;
    for (const Index place : {0, 1}) questions.emplace(place, SecureRequest{1, place, AskNumbers{}});
    r.publish_each(std::move(questions), 7);
    const auto first = r.next(a, start, 0ms);
    ASSERT_EQ(first.what, Room::What::message);
    EXPECT_EQ(first.message->route.step, 3U);
    EXPECT_EQ(std::get<SecureRequest>(first.message->body).again, 0);
    EXPECT_EQ(std::get<SecureRequest>(r.next(b, start, 0ms).message->body).again, 1);
    EXPECT_EQ(r.next(c, start, 0ms).what, Room::What::nothing) << "not asked";
    const wire::Head good{first.message->route, wire::Kind::secure_reply, 7, default_chunk_bytes, {}, {}, 0, 0};
    const auto refused = [&](const std::function<void(wire::Head&)>& change) {
        wire::Head head = good;
        change(head);
        return complaint([&] { r.accept(a, head); });
    };
    EXPECT_EQ(refused([](wire::Head&) {}), "");
    EXPECT_EQ(refused([](wire::Head& h) { h.payload_bytes = 0; }), "") << "it may decline";
    EXPECT_EQ(refused([](wire::Head& h) { h.payload_bytes = 8; }), "client a: 8 bytes of numbers; expected 7");
    r.spoiled(b);
    const auto begun = Room::Clock::now();
    EXPECT_FALSE(r.await_reply(1, begun + 600s)) << "its numbers were refused: nobody waits for others";
    EXPECT_LT(Room::Clock::now() - begun, 300s);
    EXPECT_NE(refused([](wire::Head& h) { h.kind = wire::Kind::sum_reply; }), "");
    EXPECT_FALSE(r.accept(c, good)) << "read and forgotten";
    r.arrived(a, good.route);
    EXPECT_TRUE(r.await_reply(0, soon()));
    EXPECT_EQ(r.replied(), std::vector<Index>{0});
}

/// A job of secure sums has dozens of steps, of which each waits a moment for everybody.
TEST_F(RoomTest, ShortWaitsForAnswersAreNotTold) {
    std::vector<std::string> lines;
    Log log({}, [&](std::string_view line) { lines.emplace_back(line); });
    Room r(new_job(), {path("job"), false}, log);
    const auto a = greet(r, "a");
    r.update([](JobFile& file) { file.phase = Phase::running, file.attempt = 1, file.members = {0}; });
    r.begin(1, {0});
    r.publish(wire::StartNotice{{1, 9, 2}, false}, true);
    lines.clear();
    for (int step = 0; step < 20; ++step) {
        EXPECT_FALSE(r.await_reply(0, Room::Clock::now() + 1ms));
        r.leave(a);
    }
    EXPECT_TRUE(lines.empty()) << ::testing::PrintToString(lines);
}

TEST_F(RoomTest, NobodyWaitsForAClientThatDoesNotAgree) {
    Room r = room(new_job());
    const auto a = greet(r, "a");
    r.update([](JobFile& file) { file.phase = Phase::running, file.attempt = 1, file.members = {0}; });
    r.begin(1, {0});
    r.publish(wire::StartNotice{{1, 9, 2}, false}, true);
    const auto question = r.next(a, {}, 0ms);
    const auto path = r.accept(a, {question.message->route, wire::Kind::refusal, 0, default_chunk_bytes, {}, {}, 0, 0});
    ASSERT_TRUE(path);
    save_message(*path, {question.message->route, wire::Refusal{"this site's policy: too much"}});
    EXPECT_EQ(complaint([&] { r.declined(a, *path); }),
              "client a: refused: this site's policy: too much; expected a client that agrees to the job");
    EXPECT_TRUE(r.is_unwilling(0));
    const auto begun = Room::Clock::now();
    EXPECT_FALSE(r.await_reply(0, begun + 20min));
    EXPECT_LT(Room::Clock::now() - begun, 10min);
    join(r, "a");
    EXPECT_FALSE(r.is_unwilling(0)) << "it may have changed its mind";
}

TEST_F(RoomTest, WhatItKeepsIsForItsOwnerAlone) {
    const mode_t before = ::umask(0);
    Room r = room(new_job());
    greet(r, "a");
    r.update([](JobFile& job) { job.attempt = 3; });
    ::umask(before);
    for (const char* name : {"job/job.json", "job/hello-0.msg"}) {
        EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(path(name)).permissions()), 0600U) << name;
    }
}

TEST_F(RoomTest, AnotherMinorVersionIsRefusedAndAPatchIsNot) {
    Room r = room(new_job());
    const std::string own = version();
    const std::string minor = own.substr(0, own.rfind('.'));
    EXPECT_NO_THROW(r.enter("a", {"a", minor + ".99"}));
    EXPECT_NE(complaint([&] {
                  r.enter("a", {"a", "99.0.0"});
              }).find("expected couplet " + minor + ".x"),
              std::string::npos);
}

TEST_F(RoomTest, WithScaledClientsTheNormIsOne) {
    JobFile job = new_job();
    job.spec.preparation.scale_clients = true;
    Room r = room(std::move(job));
    const auto said = [&](double norm2) {
        return complaint([&] {
            r.greet(join(r, "a"), {{wire::protocol_version, r.id(), 0, 0}, Hello{{5, 4}, 12, norm2}});
        });
    };
    EXPECT_EQ(said(1 + 1e-9), "");
    EXPECT_EQ(said(0), "");
    EXPECT_NE(said(4).find("a squared norm of 4; expected 1"), std::string::npos);
}

TEST_F(RoomTest, AnOlderConnectionNeitherAsksNorLeaves) {
    Room r = room(new_job());
    const auto old = greet(r, "a");
    const auto fresh = greet(r, "a");
    EXPECT_EQ(r.next(old, {}, 0ms).what, Room::What::over);
    EXPECT_EQ(r.next(old, {}, 0ms).reason, "a newer connection took over");
    r.leave(old);
    EXPECT_EQ(r.status().clients[0].state, "joined") << "the newer one stays";
    const auto at = [](std::uint32_t step) { return wire::Route{wire::protocol_version, {}, 1, step}; };
    r.count(fresh, false, wire::Kind::upload, at(1), 3);
    r.count(fresh, true, wire::Kind::start, at(1), 5);
    r.count(old, false, wire::Kind::sum_reply, at(2), 10);
    r.count(old, true, wire::Kind::start, at(1), 5) /* told again */;
    EXPECT_EQ(r.status().clients[0].bytes_up, 13);
    EXPECT_EQ(r.status().clients[0].bytes_down, 5);
    EXPECT_EQ(r.counted()[0].rounds().received, 13);
    EXPECT_EQ(r.counted()[0].others().sent, 5);
    r.leave(fresh);
    EXPECT_EQ(r.status().clients[0].state, "disconnected");
}

/// The status is for people; what the client and others are told is not yet.
TEST_F(RoomTest, TheStatusNamesParametersAsTheLogDoes) {
    Log log({}, {}, [](std::string_view name) { return "--" + std::string(name); });
    Room r(new_job(), {path("job"), false, 50ms}, log);
    r.refused("b", "no `rank`");
    EXPECT_EQ(r.status().clients[1].last_refusal, "no --rank");
    EXPECT_NE(r.refusal_text().find("no `rank`"), std::string::npos) << r.refusal_text();
}

TEST_F(RoomTest, RefusalsAreCountedAndShownWithTheirClient) {
    Room r = room(new_job());
    r.refused("b", "a reason");
    r.refused("stranger", "another");
    const StatusReport status = r.status();
    EXPECT_EQ(status.refused, 2);
    EXPECT_EQ(status.clients[1].last_refusal, "a reason");
    EXPECT_EQ(status.clients[0].last_refusal, "");
    join(r, "b");
    EXPECT_EQ(r.status().clients[1].last_refusal, "") << "it is let in now";
}

TEST_F(RoomTest, ShowsHowFarEverybodyIs) {
    Room r = room(new_job());
    const auto state = [&](Index place) { return r.status().clients[static_cast<std::size_t>(place)].state; };
    const auto a = greet(r, "a");
    greet(r, "b");
    EXPECT_EQ(state(0), "joined");
    EXPECT_EQ(r.status().clients[0].rows, 9);
    EXPECT_FALSE(r.status().clients[2].rows);
    r.update([](JobFile& job) { job.phase = Phase::running, job.attempt = 1, job.members = {0, 1}; });
    EXPECT_EQ(state(2), "not in");
    r.begin(1, {0, 1});
    r.publish(wire::StartNotice{{2, 18, 4}, false}, true);
    EXPECT_EQ(r.status().round, 1);
    EXPECT_EQ(r.status().phase, "running");
    EXPECT_EQ(state(0), "computing");
    r.arrived(a, r.next(a, {}, 0ms).message->route);
    EXPECT_EQ(state(0), "answered");
    EXPECT_EQ(state(1), "computing");
    r.update([](JobFile& job) { job.phase = Phase::delivering; });
    r.publish(FeaturesMessage{orthonormal_features(random_train<double>({5, 4}, {3, 4, 1}, 1)), {}}, false);
    EXPECT_EQ(state(0), "fitting");
    EXPECT_EQ(r.status().round, 2);
    r.report(a, {{wire::protocol_version, new_job().id, 0, 0}, wire::Report{3, 1, 0, 0, 0, 1}});
    EXPECT_EQ(state(0), "done");
    EXPECT_EQ(r.status().clients[0].rse, 0) << "nothing to explain is explained";
    wire::Message foreign{{1, {}, 0, 0}, wire::Report{}};
    foreign.route.job.fill(9);
    EXPECT_NE(complaint([&] { r.report(a, foreign); }).find("a report on job 0909"), std::string::npos);
}

TEST_F(RoomTest, SaysForWhomAndHowLongItWaits) {
    std::vector<std::string> lines;
    Log log({}, [&](std::string_view line) { lines.emplace_back(line); });
    Room r(new_job(), {path("job"), false}, log);
    greet(r, "b");
    EXPECT_EQ(r.gather(soon()), (std::vector<Index>{1}));
    ASSERT_GE(lines.size(), 2U);
    EXPECT_EQ(lines[0], "client b joined with 9 patients");
    EXPECT_EQ(lines[1].find("waiting for 2 of 3: a, c, 00:01 left"), 0U) << lines[1];
    EXPECT_TRUE(r.status().waiting.empty()) << "it waits no more";
    EXPECT_FALSE(r.status().seconds_left);
}

TEST_F(RoomTest, StoppingEndsEveryWait) {
    Room r = room(new_job());
    const auto a = greet(r, "a");
    auto waiting = std::async(std::launch::async, [&] { EXPECT_THROW(r.gather({}), Stopped); });
    r.stop();
    waiting.get();
    EXPECT_EQ(r.next(a, {}, 1h).what, Room::What::over);
}

TEST_F(RoomTest, OtherDataThanBeforeIsRefused) {
    Room r = room(new_job());
    greet(r, "a");
    const auto a = join(r, "a");
    // Until the members are fixed nobody builds on it.
    EXPECT_NO_THROW(r.greet(a, hello({{5, 4}, 10, 2})));
    EXPECT_EQ(r.hello(0).rows, 10);
    r.greet(a, hello());
    r.update([](JobFile& file) { file.phase = Phase::running, file.attempt = 1, file.members = {0}; });
    EXPECT_NE(complaint([&] {
                  r.greet(a, hello({{5, 4}, 10, 2}));
              }).find("as when it joined this job"),
              std::string::npos);
    const std::string as_before =
        "; expected 9 with norm 2 as when it joined this job. Give it the same data, or begin a new job.";
    EXPECT_EQ(complaint([&] { r.greet(a, hello({{5, 4}, 8, 2})); }), "client a: 8 patients with norm 2" + as_before);
    EXPECT_EQ(complaint([&] { r.greet(a, hello({{5, 4}, 9, 3})); }), "client a: 9 patients with norm 3" + as_before);
    EXPECT_EQ(complaint([&] { r.greet(a, hello({{4, 5}, 9, 2})); }), "client a: 9 patients with norm 2" + as_before);
    EXPECT_NO_THROW(r.greet(a, hello()));
    r.fail("too few");
    EXPECT_NE(complaint([&] { r.next(a, {}, 0ms); }).find("too few"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
