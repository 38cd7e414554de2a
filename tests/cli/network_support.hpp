#pragma once

#include "busy_times.hpp"
#include "cli_test_support.hpp"
#include "ports.hpp"

namespace couplet::testing {

/// Two clients with data and kits on a port of their own.
class NetworkVerbTest : public CliTest {
  protected:
    NetworkVerbTest() {
        python(
            "r = np.random.default_rng(5); w = r.standard_normal((4, 5, 4))\n"
            "for name, rows in zip('ab', (12, 9)):\n"
            "    np.save(name + '.npy', np.einsum('ia,ajk->ijk', r.random((rows, 4)), w))\n");
        const int port = support::free_port();
        couplet({"provision", "--coordinator", "127.0.0.1:" + std::to_string(port), "--clients", "a,b", "-o", "kits"});
        shell("sed -i 's/^http_port.*/http_port = -1/' kits/coordinator/kit.toml");
    }
    pid_t background(const std::vector<std::string>& arguments, const std::string& name) const {
        return start(arguments, {}, ::open(path(name + ".out").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600),
                     ::open(path(name + ".err").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600));
    }
    pid_t coordinator(std::vector<std::string> flags) const {
        flags.insert(flags.begin(), {"coordinator", "--kit", "kits/coordinator", "--json", "--deadline", "600s"});
        return background(flags, "coordinator");
    }
    pid_t client(const std::string& name, std::vector<std::string> flags = {}) const {
        flags.insert(flags.begin(),
                     {"client", "--kit", "kits/" + name, "--data", name + ".npy", "--json", "--deadline", "600s"});
        return background(flags, name);
    }
    void refused(const std::vector<std::string>& arguments, int status, const std::string& message) {
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, status) << message << "\n" << run.err;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(run.out, "");
    }
};

}  // namespace couplet::testing
