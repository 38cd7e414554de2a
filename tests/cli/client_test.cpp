#include "network_support.hpp"

namespace couplet::testing {
namespace {

class ClientVerbTest : public NetworkVerbTest {};

TEST_F(ClientVerbTest, RefusesWhatMakesNoSense) {
    refused({"client", "--kit", "none", "--data", "a.npy"}, 2, "no such file");
    refused({"client", "--kit", "kits/a", "--data", "none.npy"}, 2, "no such file");
    refused({"client", "--kit", "kits/coordinator", "--data", "a.npy"}, 2, "the kit of a coordinator");
    refused({"client", "--kit", "kits/a", "--data", "a.npy", "--deadline", "100ms"}, 1, "a job that goes on within");
    shell("chmod 644 kits/a/key.pem");
    refused({"client", "--kit", "kits/a", "--data", "a.npy"}, 2, "chmod 600");
}

TEST_F(ClientVerbTest, ToldWhyItIsRefused) {
    couplet({"provision", "--revoke", "b", "-o", "kits"});
    const pid_t lead = coordinator({"--rank", "3"});
    const Outcome run = couplet({"client", "--kit", "kits/b", "--data", "b.npy", "--deadline", "20s"});
    EXPECT_EQ(run.status, 1);
    EXPECT_NE(run.err.find("a certificate that was revoked"), std::string::npos) << run.err;
    ::kill(lead, SIGTERM);
    EXPECT_EQ(finish(lead), 143);
}

}  // namespace
}  // namespace couplet::testing
