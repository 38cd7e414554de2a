#include "grpc_log.hpp"

#include <grpc/support/log.h>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(GrpcLogTest, PassesFailedHandshakesOnAndNothingElse) {
    std::vector<std::string> heard;
    {
        const GrpcLog log([&](const std::string& text) { heard.push_back(text); });
        gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR,
                "Handshake failed with fatal error: certificate verify failed");
        gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "the weather is bad");
    }
    gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "Handshake failed afterwards");
    EXPECT_EQ(heard, std::vector<std::string>{" certificate verify failed"});
}

}  // namespace
}  // namespace couplet::net
