#include "entrance.hpp"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>

#include "credentials.hpp"
#include "health.grpc.pb.h"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

/// Without TLS callers are who they say, and must say something that can be a name.
TEST(EntranceTest, WithoutTlsACallerHasToNameItself) {
    std::string pattern = ::testing::TempDir() + "couplet-entrance-XXXXXX";
    const std::filesystem::path folder = ::mkdtemp(pattern.data());
    const TestFederation federation(folder / "kits", population(1, {6, 4}, 2));
    Log log({}, {});
    CoordinatorOptions options = job_options({.rank = 2});
    options.insecure = true;
    const Coordinator coordinator(federation.coordinator(), std::move(options), log);
    const auto channel = grpc::CreateChannel(federation.coordinator().coordinator, grpc::InsecureChannelCredentials());
    const auto stub = grpc::health::v1::Health::NewStub(channel);
    const auto check = [&](const std::optional<std::string>& name) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + 10min);
        if (name) context.AddMetadata(insecure_name_key, *name);
        grpc::health::v1::HealthCheckResponse reply;
        const grpc::Status status = stub->Check(&context, {}, &reply);
        return status.ok() ? std::to_string(reply.status()) : status.error_message();
    };
    EXPECT_NE(check(std::nullopt).find("no name"), std::string::npos);
    EXPECT_NE(check("A b").find("lower-case letters"), std::string::npos);
    EXPECT_EQ(check("a"), "1");
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace couplet::net
