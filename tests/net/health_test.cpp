#include "health.hpp"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>

#include "credentials.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class HealthTest : public NetTest {
  protected:
    std::unique_ptr<grpc::health::v1::Health::Stub> stub(const std::string& name) {
        const Credentials credentials = load_credentials(federation_.kit(name), Role::client);
        grpc::ChannelArguments arguments;
        arguments.SetSslTargetNameOverride(coordinator_host);
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        return grpc::health::v1::Health::NewStub(grpc::CreateCustomChannel(
            federation_.coordinator().coordinator, channel_credentials(credentials), arguments));
    }
    static std::string check(grpc::health::v1::Health::Stub& stub, const std::string& service) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + 10min);
        HealthCheckRequest request;
        request.set_service(service);
        HealthCheckResponse reply;
        const grpc::Status status = stub.Check(&context, request, &reply);
        return status.ok() ? HealthCheckResponse::ServingStatus_Name(reply.status()) : status.error_message();
    }

    TestFederation federation_{path("kits"), population(2, {6, 4}, 2)};
    Log log_{{}, {}};
    Coordinator coordinator_{federation_.coordinator(), job_options({.rank = 2}), log_};
};

TEST_F(HealthTest, TellsPartiesThatItServes) {
    const auto a = stub("a");
    EXPECT_EQ(check(*a, ""), "SERVING");
    EXPECT_EQ(check(*a, "couplet.v1.Federation"), "SERVING");
    EXPECT_EQ(check(*a, "another"), "no such service");
}

/// A watch is a stream that lives: the revocation ends it, and no other is let in.
TEST_F(HealthTest, RevocationEndsAWatchAndRefusesTheNext) {
    const auto a = stub("a");
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 10min);
    const auto reader = a->Watch(&context, HealthCheckRequest{});
    HealthCheckResponse reply;
    ASSERT_TRUE(reader->Read(&reply));
    EXPECT_EQ(reply.status(), HealthCheckResponse::SERVING);
    revoke(federation_.kits, "a");
    EXPECT_FALSE(reader->Read(&reply));
    EXPECT_NE(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_NE(check(*stub("a"), "").find("revoked"), std::string::npos);
    EXPECT_EQ(check(*stub("b"), ""), "SERVING");
}

TEST_F(HealthTest, ANewerWatchEndsTheOlder) {
    const auto a = stub("a");
    const auto other = stub("a");
    grpc::ClientContext first;
    grpc::ClientContext second;
    const auto before = a->Watch(&first, HealthCheckRequest{});
    HealthCheckResponse reply;
    ASSERT_TRUE(before->Read(&reply));
    const auto after = other->Watch(&second, HealthCheckRequest{});
    ASSERT_TRUE(after->Read(&reply));
    EXPECT_FALSE(before->Read(&reply));
    second.TryCancel();
    first.TryCancel();
}

}  // namespace
}  // namespace couplet::net
