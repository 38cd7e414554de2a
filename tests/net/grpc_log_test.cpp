#include "grpc_log.hpp"

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(GrpcLogTest, PassesFailedHandshakesOnAndNothingElse) {
    grpc_init();  // reads what is to be logged
    std::vector<std::string> heard;
    {
        const GrpcLog log([&](const std::string& text) { heard.push_back(text); });
        gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR,
                "Handshake failed with fatal error: certificate verify failed");
        gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "the weather is bad");
    }
    gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "Handshake failed afterwards");
    EXPECT_EQ(heard, std::vector<std::string>{
                         "certificate verify failed (the certificate is of another federation, has expired or is not "
                         "valid yet: compare kits and clocks)"});
}

TEST(HandshakeTextTest, SaysWhatItMayMean) {
    EXPECT_EQ(handshake_text("Connection refused"), "Connection refused");
    EXPECT_EQ(handshake_text(""), "");
    EXPECT_EQ(handshake_text("x: Socket closed"),
              "x: Socket closed (before or right after the handshake: it refuses the certificate of this kit, or it "
              "has too many "
              "connections of strangers; its log says which)");
    EXPECT_EQ(handshake_text(" certificate verify failed."),
              "certificate verify failed (the certificate is of another federation, has expired or is not valid yet: "
              "compare kits and clocks)");
}

/// A process that gRPC ends without a word leaves nothing to look for.
TEST(GrpcLogDeathTest, AnAssertionThatEndsTheProcessIsSaid) {
    EXPECT_DEATH(
        {
            grpc_init();  // reads what is to be logged
            quiet_grpc();
            gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "the weather is bad");
            GPR_ASSERT(1 == 2);
        },
        "^couplet: gRPC: .*grpc_log_test.cpp:[0-9]+: assertion failed: 1 == 2\n$");
}

}  // namespace
}  // namespace couplet::net
