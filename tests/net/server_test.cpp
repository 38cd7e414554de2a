#include "server.hpp"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <limits>
#include <thread>

#include "connection.hpp"
#include "exchange.hpp"
#include "federation.grpc.pb.h"
#include "federation.pb.h"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

/// A coordinator with clients a and b, and somebody who holds b's kit and does not play by the rules.
class ServerTest : public NetTest {
  protected:
    ServerTest() : federation_(path("kits"), population(2, {12, 5, 4}, 4, 0.7, 0.05)) { restart(); }
    /// Another coordinator of the same kit.
    void restart() {
        Kit kit = federation_.coordinator();
        kit.limits.stall_seconds = stall_seconds_;
        coordinator_.reset();
        CoordinatorOptions options = job_options(job_);
        options.min_clients = min_clients_;
        coordinator_.emplace(kit, std::move(options), log_);
        a_ = {};
        run_ = {};
    }

    void forget_job() {
        std::filesystem::remove_all(federation_.kits / "coordinator" / "job");
        restart();
    }
    /// Doubles in the uploads instead of a code, so that a test can put one of its own among them.
    void send_plain_numbers() {
        job_.precision = Precision::f64;
        forget_job();
    }

    Target target(const std::string& name) const { return make_target(federation_.kit(name), Role::client, false); }

    /// What the coordinator answers to a message out of turn, or why the connection ended.
    static std::string answer(FrameStream& stream, Connection& connection) {
        try {
            const Received received = receive_message(stream, "coordinator", {});
            const auto* refusal = std::get_if<wire::Refusal>(&received.message.body);
            return refusal != nullptr ? refusal->reason : std::string(wire::to_string(received.message.kind()));
        } catch (const Disconnected&) {
            return connection.reason();
        }
    }
    /// Says these messages and returns the answer to the last.
    template <class... Messages>
    static std::string say(Connection& connection, const Messages&... messages) {
        std::string answered;
        const auto one = [&](const wire::Message& message) {
            try {
                send_message(connection, message);
                answered = answer(connection, connection);
            } catch (const Disconnected&) {
                answered = connection.reason();
            }
        };
        (one(messages), ...);
        return answered;
    }
    wire::JobId job() const { return wire::parse_job_id(coordinator_->status().job); }
    wire::Message join(const std::string& name = "b") const { return {{}, wire::Join{name, version()}}; }
    wire::Message hello(std::size_t k = 1) const {
        return {{wire::protocol_version, job(), 0, 0}, hello_of(federation_.data[k])};
    }

    /// b as far as the question for its upload; a is there too.
    wire::Message reach_start(Connection& connection) {
        if (!a_.valid()) a_ = std::async(std::launch::async, [this] { return attend(federation_, 0); });
        if (!run_.valid()) run_ = std::async(std::launch::async, [this] { return coordinator_->run(); });
        EXPECT_TRUE(connection.open());
        send_message(connection, join());
        receive_message(connection, "coordinator", {});
        send_message(connection, hello());
        return receive_message(connection, "coordinator", {}).message;
    }
    wire::Message upload(const wire::Message& start) const {
        StarClient client(resolve_job(job_), federation_.data[1].view());
        auto reply = client.receive(std::get<wire::StartNotice>(start.body).start);
        return {start.route, std::get<Upload>(std::move(*reply))};
    }
    /// Whatever happened before, an honest b still finishes the job with the right bits.
    void expect_unharmed() {
        if (!a_.valid()) a_ = std::async(std::launch::async, [this] { return attend(federation_, 0); });
        if (!run_.valid()) run_ = std::async(std::launch::async, [this] { return coordinator_->run(); });
        expect_right_bits(attend(federation_, 1));
    }
    /// The job of a and run ends with what it should, and b had this.
    void expect_right_bits(const ClientResult& b) {
        const ClientResult a = a_.get();
        run_.get();
        const auto expected = simulated(federation_, {0, 1}, job_);
        EXPECT_TRUE(same_bits(a.features, *expected.result.features));
        EXPECT_TRUE(same_numbers(b.personal, expected.personal[1]));
    }
    /// Raw parts of a message, as somebody hostile may write them.
    static void send_head(Connection& connection, const std::string& head) {
        v1::Frame frame;
        frame.set_head(head);
        connection.write(frame);
    }

    /// Sends a message of one chunk with another first number, as if it were meant so.
    static std::string say_with(Connection& connection, const wire::Message& message, double first) {
        wire::Encoder encoder(message);
        const std::string head = encoder.head();
        const auto chunk = encoder.next_chunk();
        std::string bytes(reinterpret_cast<const char*>(chunk.data()), chunk.size());
        bytes.replace(0, 8, reinterpret_cast<const char*>(&first), 8);
        wire::Digest digest;
        digest.add(std::as_bytes(std::span(head)));
        digest.add(std::as_bytes(std::span(bytes)));
        const wire::Hash hash = digest.finish();
        send_head(connection, head);
        v1::Frame frame;
        frame.set_chunk(bytes);
        connection.write(frame);
        frame.set_tail(hash.data(), hash.size());
        connection.write(frame);
        return answer(connection, connection);
    }

    JobOptions job_{.rank = 3};
    std::optional<Index> min_clients_;
    double stall_seconds_ = 5;  // a busy machine may take its time between two messages
    TestFederation federation_;
    std::vector<std::string> lines_;
    Log log_{{}, [this](std::string_view line) { lines_.emplace_back(line); }};
    std::optional<Coordinator> coordinator_;
    std::future<ClientResult> a_;
    std::future<CoordinatorResult> run_;
};

/// Evaluates the text once: it may be read from a connection.
void expect_says(const std::string& text, const std::string& part, int line) {
    EXPECT_NE(text.find(part), std::string::npos) << text << " in line " << line;
}
#define EXPECT_SAYS(text, part) expect_says(text, part, __LINE__)

TEST_F(ServerTest, RefusesACallerWithoutCertificate) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = read_text(federation_.kits / "ca/ca.pem");
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(coordinator_host);
    const auto channel =
        grpc::CreateCustomChannel(federation_.coordinator().coordinator, grpc::SslCredentials(options), arguments);
    const auto stub = v1::Federation::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 10min);
    v1::StatusReply reply;
    EXPECT_EQ(stub->Status(&context, {}, &reply).error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(reply.json(), "");
    EXPECT_TRUE(eventually([this] { return coordinator_->status().refused >= 1; })) << "the operator sees it";
    expect_unharmed();
}

TEST_F(ServerTest, RefusesAForeignAuthorityAndAnExpiredCertificate) {
    const TestFederation other(path("other"), population(1, {12, 5, 4}, 4));
    Target foreign = target("b");
    foreign.credentials->own = {read_text(other.kits / "a/key.pem"), read_text(other.kits / "a/cert.pem")};
    Connection stranger(foreign, {});
    EXPECT_TRUE(!stranger.open() || answer(stranger, stranger) != "");
    Target old = target("b");
    const KeyPair authority{read_text(federation_.kits / "ca/ca.key"), read_text(federation_.kits / "ca/ca.pem")};
    old.credentials->own = issue_certificate(authority, old.self, {.from = -20, .until = -1});
    Connection expired(old, {});
    const bool opened = expired.open();
    EXPECT_TRUE(!opened || say(expired, join()) != "welcome");
    EXPECT_EQ(coordinator_->status().clients[1].state, "absent");
    expect_unharmed();
}

TEST_F(ServerTest, RefusesAClientThatPosesAsAnother) {
    Connection connection(target("b"), {});
    ASSERT_TRUE(connection.open());
    EXPECT_SAYS(say(connection, join("a")), "the name in its certificate");
    expect_unharmed();
}

TEST_F(ServerTest, RefusesACoordinatorAsClientAndAStrangerOfTheSameAuthority) {
    const KeyPair authority{read_text(federation_.kits / "ca/ca.key"), read_text(federation_.kits / "ca/ca.pem")};
    Target other = target("b");
    other.self = {federation_.kit("b").identity.federation, Role::client, "x"};
    other.credentials->own = issue_certificate(authority, other.self);
    Connection unknown(other, {});
    ASSERT_TRUE(unknown.open());
    EXPECT_SAYS(say(unknown, join("x")), "not on the roster");
    Target lead = target("b");
    lead.credentials->own = {read_text(federation_.kits / "coordinator/key.pem"),
                             read_text(federation_.kits / "coordinator/cert.pem")};
    Connection leader(lead, {});
    leader.open();
    EXPECT_SAYS(answer(leader, leader), "a client's");
    expect_unharmed();
}

TEST_F(ServerTest, RefusesARevokedClientWithoutARestart) {
    revoke(federation_.kits, "b");
    Connection connection(target("b"), {});
    connection.open();
    EXPECT_SAYS(answer(connection, connection), "revoked");
    // A new certificate is welcome.
    rotate(federation_.kits, "b", 30);
    expect_unharmed();
}

/// Whoever has a client's key listens where the coordinator should: clients send it nothing.
TEST_F(ServerTest, AClientCannotActAsCoordinator) {
    Kit fake = federation_.coordinator();
    fake.listen = "127.0.0.1:" + std::to_string(free_port());
    Credentials credentials = load_credentials(federation_.kit("b"), Role::client);
    JobFile job;
    job.roster = {"a", "b"};
    Room room(job, {path("fake"), false}, log_);
    AuditTrail audit(path("fake-audit.jsonl"));
    const Server server(fake, credentials, room, audit, log_);
    Kit victim = federation_.kit("a");
    victim.coordinator = fake.listen;
    std::size_t sent = 0;
    ClientOptions options{.deadline = 300ms};
    options.capture = [&](std::span<const char> bytes) { sent += bytes.size(); };
    Client client(victim, federation_.tensor(0), std::move(options), log_);
    const std::string reason = complaint([&] { client.run(); });
    EXPECT_NE(reason, "");
    EXPECT_EQ(sent, 0U) << "nothing left before the certificate was looked at";
    room.stop();
}

TEST_F(ServerTest, RefusesAnotherProtocolAndAnotherJob) {
    wire::Message newer = join();
    newer.route.protocol = 99;
    Connection connection(target("b"), {});
    ASSERT_TRUE(connection.open());
    EXPECT_SAYS(say(connection, newer), "protocol 99; expected 2");
    wire::Message stray = hello();
    stray.route.job.fill(7);
    Connection second(target("b"), {});
    ASSERT_TRUE(second.open());
    EXPECT_SAYS(say(second, join(), stray), "a message of job 0707");
    expect_unharmed();
}

TEST_F(ServerTest, RefusesAnotherShapeAndOtherDataThanBefore) {
    // A greeting with other features comes first and goes again: it decides nothing.
    wire::Message other{{wire::protocol_version, job(), 0, 0}, Hello{{5, 3}, 11, 1}};
    const auto wait_for_rows = [this](Index rows) {
        const auto known = [&] { return coordinator_->status().clients[1].rows == rows; };
        EXPECT_TRUE(eventually(known));
    };
    {
        Connection connection(target("b"), {});
        ASSERT_TRUE(connection.open());
        send_message(connection, join());
        receive_message(connection, "coordinator", {});
        send_message(connection, other);
        wait_for_rows(11);
    }
    // The others come after it has come again: two that differ would both be refused.
    run_ = std::async(std::launch::async, [this] { return coordinator_->run(); });
    auto b = std::async(std::launch::async, [this] { return attend(federation_, 1); });
    wait_for_rows(12);
    a_ = std::async(std::launch::async, [this] { return attend(federation_, 0); });
    expect_right_bits(b.get());
}

TEST_F(ServerTest, RefusesNumbersThatAreNone) {
    send_plain_numbers();
    Connection connection(target("b"), {});
    const wire::Message start = reach_start(connection);
    const wire::Message message = upload(start);
    wire::Encoder encoder(message);
    send_head(connection, encoder.head());
    const auto chunk = encoder.next_chunk();
    std::string bytes(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    bytes.replace(16, 8, reinterpret_cast<const char*>(&nan), 8);
    v1::Frame frame;
    frame.set_chunk(bytes);
    connection.write(frame);
    EXPECT_SAYS(answer(connection, connection), "client b: NaN or infinity at number 3 of its upload");
    expect_unharmed();
}

TEST_F(ServerTest, RefusesRanksThatPromiseGigabytes) {
    Connection connection(target("b"), {});
    const wire::Message start = reach_start(connection);
    const wire::Message message = upload(start);
    v1::Head head;
    ASSERT_TRUE(head.ParseFromString(wire::Encoder(message).head()));
    head.mutable_upload()->set_modes(0, 1 << 20);
    head.mutable_upload()->set_modes(1, 1 << 20);
    head.mutable_upload()->clear_ranks();
    head.mutable_upload()->set_block_rows(12);
    head.set_payload_bytes(8ULL * 12 << 40);
    send_head(connection, head.SerializeAsString());
    EXPECT_SAYS(answer(connection, connection), "at most 2147483648");
    // Within the limit on bytes, but not what it said it has.
    Connection second(target("b"), {});
    reach_start(second);
    head.mutable_upload()->set_modes(0, 1024);
    head.mutable_upload()->set_modes(1, 1024);
    head.set_payload_bytes(8ULL * 12 << 20);
    send_head(second, head.SerializeAsString());
    EXPECT_SAYS(answer(second, second), "5x4 as it said");
    expect_unharmed();
}

TEST_F(ServerTest, RefusesAMillionTinyMessagesAtTheSecond) {
    Connection connection(target("b"), {});
    const wire::Message start = reach_start(connection);
    const wire::Message message = upload(start);
    send_head(connection, wire::Encoder(message).head());
    v1::Frame tiny;
    tiny.set_chunk(std::string(8, '\0'));
    int accepted = 0;
    while (accepted < 1'000'000 && connection.write(tiny)) ++accepted;
    EXPECT_LT(accepted, 1'000'000);
    EXPECT_SAYS(answer(connection, connection), "a chunk of 8 bytes");
    // And joins for ever.
    Connection second(target("b"), {});
    ASSERT_TRUE(second.open());
    EXPECT_SAYS(say(second, join(), join(), join()), "another message now");
    expect_unharmed();
}

TEST_F(ServerTest, CutsOffAClientThatStallsInAMessage) {
    stall_seconds_ = 2;
    restart();
    Connection connection(target("b"), {});
    const wire::Message start = reach_start(connection);
    const wire::Message message = upload(start);
    send_head(connection, wire::Encoder(message).head());
    v1::Frame frame;
    EXPECT_FALSE(connection.read(frame)) << "the coordinator ends it";
    const auto said = [this] { return coordinator_->status().clients[1].last_refusal; };
    EXPECT_TRUE(eventually([&] { return !said().empty(); }));
    EXPECT_SAYS(said(), "nothing for 2 s");
    // One that says nothing at all, and a socket that does not even shake hands.
    Connection silent(target("b"), {});
    ASSERT_TRUE(silent.open());
    EXPECT_FALSE(silent.read(frame));
    const int idle = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(parse_address(federation_.coordinator().coordinator, "x").port));
    EXPECT_EQ(::connect(idle, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    expect_unharmed();
    ::close(idle);
}

/// What a head says beside sizes is checked before anything is kept.
TEST_F(ServerTest, RefusesAnUploadWithImpossibleFigures) {
    const auto refusal = [&](const std::function<void(v1::Upload&)>& change) {
        Connection connection(target("b"), {});
        const wire::Message message = upload(reach_start(connection));
        v1::Head head;
        EXPECT_TRUE(head.ParseFromString(wire::Encoder(message).head()));
        change(*head.mutable_upload());
        send_head(connection, head.SerializeAsString());
        return answer(connection, connection);
    };
    EXPECT_SAYS(refusal([](v1::Upload& u) { u.set_norm2(std::numeric_limits<double>::quiet_NaN()); }), "squared norm");
    EXPECT_SAYS(refusal([](v1::Upload& u) { u.set_svd_tail2(-1); }), "squared tail of -1");
    EXPECT_SAYS(refusal([](v1::Upload& u) { u.set_rows(~0ULL); }), "fewer than 2^63");
    expect_unharmed();
}

/// Numbers that only the merge can judge: their sender is out, the answer is forgotten, nobody else is harmed.
TEST_F(ServerTest, ForgetsAnAnswerThatItsSenderCannotHave) {
    send_plain_numbers();
    for (const bool huge : {true, false}) {
        Connection connection(target("b"), {});
        wire::Message message = upload(reach_start(connection));
        if (huge) {
            EXPECT_SAYS(say_with(connection, message, 1e300), "figures that do not fit what it sent");
        } else {
            std::get<Upload>(message.body).rows += 1;
            EXPECT_SAYS(say(connection, message), "13 patients; expected 12 as it said");
        }
        EXPECT_SAYS(complaint([&] { run_.get(); }), "1 of 2 clients answered before the deadline: a; at least 2 must");
        EXPECT_SAYS(complaint([&] { a_.get(); }), "1 of 2 clients answered");
        // Started again, it goes on with an answer that is right.
        restart();
    }
    expect_unharmed();
}

TEST_F(ServerTest, LeavesOutASenderOfWrongSums) {
    job_ = {.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random};
    min_clients_ = 1;
    forget_job();
    Connection connection(target("b"), {});
    reach_start(connection);
    const auto answer_sum = [&](Index pass, double scale) {
        const wire::Message question = receive_message(connection, "coordinator", {}).message;
        const auto& request = std::get<SumRequest>(question.body);
        const SubspaceIteration first(resolve_job(job_), {5, 4});
        auto x = Tensor<double>::copy(federation_.data[1].view());
        for (Index i = 0; i < x.size(); ++i) x.data()[i] *= scale;
        const auto& basis = request.pass == 0 ? first.basis() : request.basis;
        send_message(connection, {question.route, SumReply{pass, sketch_sum(x.view(), basis.view())}});
    };
    answer_sum(0, 1);
    answer_sum(0, 1);  // to the second question
    EXPECT_SAYS(answer(connection, connection), "a sum for pass 0; expected pass 1");
    Connection again(target("b"), {});
    reach_start(again);
    const wire::Message question = receive_message(again, "coordinator", {}).message;
    auto x = Tensor<double>::copy(federation_.data[1].view());
    for (Index i = 0; i < x.size(); ++i) x.data()[i] *= 1e140;
    const auto& request = std::get<SumRequest>(question.body);
    const wire::Message huge{question.route, SumReply{request.pass, sketch_sum(x.view(), request.basis.view())}};
    EXPECT_SAYS(say(again, huge), "a sum that its data cannot have");
    const CoordinatorResult result = run_.get();
    EXPECT_EQ(result.members, (std::vector<std::string>{"a"}));
    EXPECT_TRUE(same_bits(a_.get().features, *simulated(federation_, {0}, job_).result.features));
}

TEST_F(ServerTest, RefusesAGreetingThatWouldSpoilEverySum) {
    for (const Hello& said : {Hello{{5, 4}, Index{1} << 41, 1}, Hello{{5, 4}, 12, 1e200}}) {
        Connection connection(target("b"), {});
        ASSERT_TRUE(connection.open());
        EXPECT_SAYS(say(connection, join(), wire::Message{{wire::protocol_version, job(), 0, 0}, said}),
                    "expected at most");
    }
    expect_unharmed();
}

/// Threads are few: one client that opens streams and says nothing must not take those of all.
TEST_F(ServerTest, SilentStreamsOfOneClientLockNobodyOut) {
    stall_seconds_ = 30;
    restart();
    std::vector<std::unique_ptr<Connection>> silent;
    for (int i = 0; i < 45; ++i) {
        silent.push_back(std::make_unique<Connection>(target("b"), nullptr));
        silent.back()->open();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // no faster: that is another fault
    }
    v1::Frame frame;
    EXPECT_FALSE(silent.front()->read(frame)) << "a newer one took its place";
    Connection other(target("a"), {});
    ASSERT_TRUE(other.open());
    EXPECT_EQ(say(other, join("a")), "welcome");
    EXPECT_EQ(say(*silent.back(), join()), "welcome") << "the last one is as good as any";
    expect_unharmed();
}

TEST_F(ServerTest, RefusesUnaskedAnswers) {
    Connection connection(target("b"), {});
    const wire::Message start = reach_start(connection);
    wire::Message message = upload(start);
    message.route.step += 5;
    EXPECT_SAYS(say(connection, message), "an answer to question 6");
    Connection second(target("b"), {});
    const wire::Message again = reach_start(second);
    const auto sum = sketch_sum(federation_.data[1].view(), {});
    EXPECT_SAYS(say(second, wire::Message{again.route, SumReply{0, sum}}), "sum; expected upload");
    expect_unharmed();
}

TEST_F(ServerTest, ANewerConnectionTakesTheSeat) {
    Connection first(target("b"), {});
    ASSERT_TRUE(first.open());
    EXPECT_EQ(say(first, join()), "welcome");
    send_message(first, hello());
    expect_unharmed();
    // The first may have been asked before it was replaced; then it ends all the same.
    std::string said = answer(first, first);
    while (said == "start") said = answer(first, first);
    EXPECT_NE(said, "features");
}

}  // namespace
}  // namespace couplet::net
