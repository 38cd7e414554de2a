#include "room.hpp"

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
    Room room(JobFile job, bool late = false) { return Room(std::move(job), {path("job"), late}, log_); }
    wire::Message hello(const Hello& said = {{5, 4}, 9, 2}) const { return {{1, new_job().id, 0, 0}, said}; }
    static Room::Ticket join(Room& room, const std::string& name) { return room.enter(name, {name, "1"}); }
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
    EXPECT_NE(complaint([&] { r.enter("a", {"b", "1"}); }).find("it calls itself 'b'"), std::string::npos);
    const auto ticket = join(r, "b");
    const auto welcome = r.welcome(ticket);
    EXPECT_EQ(std::get<wire::Welcome>(welcome.body).place, 1);
    EXPECT_EQ(welcome.route.job, new_job().id);
    EXPECT_EQ(r.status().clients[1].state, "connected");
    r.leave(ticket);
    EXPECT_EQ(r.status().clients[1].state, "absent");
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
    r.report(a, {{1, new_job().id, 0, 0}, wire::Report{3, 1, 4, 0, 0, 1}});
    r.report(a, {{1, new_job().id, 0, 0}, wire::Report{3, 2, 4, 0, 0, 1}});
    EXPECT_TRUE(r.await_reports({0}, soon()));
    EXPECT_EQ(r.status().clients[0].rse, 0.25);
    const auto bye = std::get<wire::Bye>(r.bye(a).body);
    EXPECT_EQ(bye.members, (std::vector<std::string>{"a"}));
    EXPECT_EQ(bye.missing, (std::vector<std::string>{"b", "c"}));
}

/// Nobody waits for a latecomer that is there and says nothing, nor for ever for one that comes and goes.
TEST_F(RoomTest, ALatecomerThatDoesNotAnswerIsGivenUp) {
    Room r = room(new_job(), true);
    const auto a = greet(r, "a");
    greet(r, "b");
    greet(r, "c");
    r.update([](JobFile& job) { job.phase = Phase::closed, job.attempt = 1, job.members = {0}; });
    r.report(a, {{1, new_job().id, 0, 0}, wire::Report{3, 1, 4, 0, 0, 1}});
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
    EXPECT_NE(complaint([&] {
                  r.greet(a, hello({{5, 4}, 10, 2}));
              }).find("as when it joined this job"),
              std::string::npos);
    EXPECT_NO_THROW(r.greet(a, hello()));
    r.fail("too few");
    EXPECT_NE(complaint([&] { r.next(a, {}, 0ms); }).find("too few"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
