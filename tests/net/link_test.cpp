#include "link.hpp"

#include <condition_variable>
#include <deque>

#include "federation.pb.h"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

/// One direction of a connection in memory.
class Pipe {
  public:
    bool put(const v1::Frame& frame) {
        const std::lock_guard lock(mutex_);
        if (closed_) return false;
        frames_.push_back(frame);
        changed_.notify_all();
        return true;
    }
    bool take(v1::Frame& frame) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return closed_ || !frames_.empty(); });
        if (closed_) return false;
        frame = std::move(frames_.front());
        frames_.pop_front();
        return true;
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<v1::Frame> frames_;
    bool closed_ = false;
};

class End final : public FrameStream {
  public:
    End(Pipe& in, Pipe& out) : in_(in), out_(out) {}
    bool write(const v1::Frame& frame) override { return out_.put(frame); }
    bool read(v1::Frame& frame) override { return in_.take(frame); }

  private:
    Pipe& in_;
    Pipe& out_;
};

/// A link and what it told.
struct Side {
    std::mutex mutex;
    std::vector<std::uint32_t> steps = {};
    std::vector<bool> connections = {};
    std::string refusal = {};
    Link link;

    Side(wire::Incarnation own, const std::string& job)
        : link("other", own, LinkSettings{.job = job, .version = "1", .id = {}, .beat = 20ms},
               LinkEvents{[this](auto, bool is_new) {
                              const std::lock_guard lock(mutex);
                              connections.push_back(is_new);
                          },
                          [this](auto, wire::Message message) {
                              const std::lock_guard lock(mutex);
                              steps.push_back(message.route.step);
                          },
                          [this](const std::string& reason) {
                              const std::lock_guard lock(mutex);
                              refusal = reason;
                          }}) {}
    std::size_t count() {
        const std::lock_guard lock(mutex);
        return steps.size();
    }
};

/// A connection between two links, in threads of its own.
class Line {
  public:
    Line(Side& a, Side& b) {
        const auto cancel = [this] {
            there_.close();
            back_.close();
        };
        const auto speak = [this, cancel](Link& link, Pipe& in, Pipe& out, bool opened) {
            End end(in, out);
            try {
                link.speak(end, opened, cancel, [] {});
            } catch (const InputError& error) {
                {
                    const std::lock_guard lock(mutex_);
                    said_ = error.what();
                }
                cancel();
            }
        };
        one_ = std::thread([&, speak] { speak(a.link, back_, there_, true); });
        two_ = std::thread([&, speak] { speak(b.link, there_, back_, false); });
    }
    ~Line() {
        cut();
        one_.join();
        two_.join();
    }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    void cut() {
        there_.close();
        back_.close();
    }
    std::string said() const {
        const std::lock_guard lock(mutex_);
        return said_;
    }

  private:
    mutable std::mutex mutex_;
    std::string said_;
    Pipe there_;
    Pipe back_;
    std::thread one_;
    std::thread two_;
};

std::shared_ptr<const wire::Message> numbered(std::uint32_t step) {
    return std::make_shared<const wire::Message>(
        wire::Message{{wire::protocol_version, {}, 1, step}, wire::PeerBasis{Matrix<double>::identity(2)}});
}

bool soon(const std::function<bool()>& happens) { return eventually(happens); }

TEST(LinkTest, MessagesArriveInOrderOverConnectionsThatBreak) {
    Side a(1, "job");
    Side b(2, "job");
    std::uint32_t posted = 0;
    for (int round = 0; round < 5; ++round) {
        const Line line(a, b);
        ASSERT_TRUE(soon([&] { return a.link.view().connected && b.link.view().connected; }));
        for (int i = 0; i < 30; ++i) a.link.post(numbered(posted++));
    }
    const Line last(a, b);
    EXPECT_TRUE(soon([&] { return b.count() == posted && a.link.view().drained; }));
    for (std::uint32_t i = 0; i < posted; ++i) ASSERT_EQ(b.steps[i], i);
    EXPECT_TRUE(b.connections.front());
    EXPECT_EQ(std::count(b.connections.begin(), b.connections.end(), true), 1) << "one process";
    EXPECT_EQ(a.link.view().process, 2U);
}

TEST(LinkTest, ABeatKeepsTheLinkHeard) {
    Side a(1, "job");
    Side b(2, "job");
    const Line line(a, b);
    ASSERT_TRUE(soon([&] { return b.link.view().connected; }));
    const auto first = b.link.view().heard;
    EXPECT_TRUE(soon([&] { return b.link.view().heard > first; }));
    b.link.drop();
    EXPECT_TRUE(soon([&] { return !a.link.view().connected && !b.link.view().connected; }));
}

TEST(LinkTest, AnotherJobIsRefusedWithTheDifference) {
    Side a(1, "rank 3, seed 0");
    Side b(2, "rank 4, seed 0");
    std::string said;
    {
        Line line(a, b);
        soon([&] { return !line.said().empty(); });
        line.cut();
        said = line.said();
    }
    EXPECT_NE(said.find("another job: rank 3; expected rank 4"), std::string::npos) << said;
    EXPECT_TRUE(a.connections.empty() && b.connections.empty());
}

/// What `said` makes a link answer: the first message of a connection that the link has opened.
std::string answer_to(const wire::Message& said) {
    Side a(1, "job");
    Pipe in;
    Pipe out;
    End far(out, in);
    send_message(far, said);
    End near(in, out);
    try {
        a.link.speak(
            near, true,
            [&] {
                in.close();
                out.close();
            },
            [] {});
    } catch (const InputError& error) {
        return error.what();
    }
    return a.refusal;
}

TEST(LinkTest, OnlyAGreetingOfThisJobOpensALink) {
    const auto greeting = [](wire::Incarnation process, const std::string& job) {
        return wire::Message{{wire::protocol_version, {}, 0, 0}, wire::Greeting{process, job, "1", 0, 0}};
    };
    EXPECT_EQ(answer_to(greeting(1, "job")),
              "peer other: this very process; expected another one. Check the addresses in kit.toml.");
    EXPECT_EQ(answer_to({{wire::protocol_version, {}, 0, 0}, wire::Beat{0}}), "peer other: beat; expected a greeting");
    EXPECT_EQ(answer_to({{wire::protocol_version, {}, 0, 0}, wire::Refusal{"a revoked certificate"}}),
              "peer other: refused: a revoked certificate");
    EXPECT_EQ(
        answer_to(greeting(2, "rank 3, seed 0")),
        "peer other: another job: rank 3, seed 0; expected job. Start all peers with the same flags, seed and kits.");
}

/// After the greetings: what no honest neighbour sends ends the connection and says why.
TEST(LinkTest, MessagesThatDoNotBelongHereEndTheConnection) {
    const auto refused = [](const wire::Message& said) {
        Side a(1, "job");
        Pipe in;
        Pipe out;
        End far(out, in);
        send_message(far, {{wire::protocol_version, {}, 0, 0}, wire::Greeting{2, "job", "1", 0, 0}});
        send_message(far, said);
        End near(in, out);
        EXPECT_TRUE(a.link.speak(
            near, true,
            [&] {
                in.close();
                out.close();
            },
            [] {}));
        EXPECT_EQ(a.count(), 0U);
        EXPECT_FALSE(a.link.view().connected);
        return a.refusal;
    };
    wire::JobId other{};
    other.fill(9);
    EXPECT_EQ(refused({{wire::protocol_version, other, 1, 0}, wire::PeerBasis{Matrix<double>::identity(2)}}),
              "peer other: basis that does not belong here; expected a message of this job");
    EXPECT_EQ(refused({{wire::protocol_version, {}, 1, 0}, wire::Greeting{2, "job", "1", 0, 0}}),
              "peer other: greeting of a peer that does not belong here; expected a message of this job");
    EXPECT_EQ(refused({{wire::protocol_version, {}, 1, 0}, wire::Beat{5}}),
              "peer: 5 messages that it says have arrived; expected at most the 0 that were sent");
}

TEST(LinkTest, ARestartedProcessGetsNothingOfTheOneBefore) {
    Side a(1, "job");
    {
        Side b(2, "job");
        Line line(a, b);
        ASSERT_TRUE(soon([&] { return a.link.view().connected; }));
        line.cut();
        ASSERT_TRUE(soon([&] { return !a.link.view().connected; }));
    }
    a.link.post(numbered(7));
    Side again(3, "job");
    const Line line(a, again);
    ASSERT_TRUE(soon([&] { return a.link.view().process == 3; }));
    a.link.post(numbered(8));
    ASSERT_TRUE(soon([&] { return again.count() == 1; }));
    EXPECT_EQ(again.steps.front(), 8U);
}

/// A neighbour behind a partition takes the greeting and answers nothing: that must not keep anybody from ending.
TEST(LinkTest, ClosingEndsAConnectionThatNeverGreets) {
    Side a(1, "job");
    Pipe in;
    Pipe out;
    std::atomic<bool> greeted = false;
    auto speaking = std::async(std::launch::async, [&] {
        End end(in, out);
        return a.link.speak(
            end, true, [&] { in.close(); }, [&] { greeted = true; });
    });
    v1::Frame frame;
    ASSERT_TRUE(out.take(frame)) << "its greeting";
    a.link.close();
    EXPECT_FALSE(speaking.get());
    EXPECT_FALSE(greeted);
}

TEST(LinkTest, WhatIsPostedBeforeTheFirstGreetingIsForNobody) {
    Side a(1, "job");
    a.link.post(numbered(1));
    EXPECT_TRUE(a.link.view().drained);
    a.link.close();
    EXPECT_TRUE(a.link.closed());
    Side b(2, "job");
    const Line line(b, a);  // a closed link greets nobody
    EXPECT_FALSE(a.link.view().connected);
}

}  // namespace
}  // namespace couplet::net
