#include "couplet/net/client.hpp"

#include <cstring>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class ClientTest : public NetTest {
  protected:
    /// Whether any run of `count` neighbouring numbers of `rows` appears in the bytes, in either byte order.
    static bool holds_row(const std::string& bytes, const double* numbers, Index size, Index count) {
        for (Index first = 0; first + count <= size; first += count) {
            std::string needle(reinterpret_cast<const char*>(numbers + first), static_cast<std::size_t>(count) * 8);
            if (bytes.find(needle) != std::string::npos) return true;
            std::string swapped;
            for (Index i = 0; i < count; ++i) {
                std::string one = needle.substr(static_cast<std::size_t>(i) * 8, 8);
                std::reverse(one.begin(), one.end());
                swapped += one;
            }
            if (bytes.find(swapped) != std::string::npos) return true;
        }
        return false;
    }
    /// The same for single precision, which would leak as much.
    static bool holds_floats(const std::string& bytes, const double* numbers, Index size) {
        for (Index first = 0; first + 2 <= size; first += 2) {
            const std::array<float, 2> pair{static_cast<float>(numbers[first]), static_cast<float>(numbers[first + 1])};
            if (bytes.find(std::string(reinterpret_cast<const char*>(pair.data()), 8)) != std::string::npos)
                return true;
        }
        return false;
    }
};

/// Every byte a client hands to its connection, before encryption: no number of the data and none of the personal core.
TEST_F(ClientTest, NeitherDataNorPersonalCoreLeave) {
    const TestFederation federation(path("kits"), population(2, {12, 5, 4}, 4, 0.7, 0.05));
    for (const JobOptions& job :
         {JobOptions{.rank = 3}, JobOptions{.eps = 1e-9}, JobOptions{.aggregate = Aggregate::average, .rank = 3},
          JobOptions{.aggregate = Aggregate::average, .rank = 3, .refit = true},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random},
          JobOptions{.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::gram}}) {
        Log log({}, {});
        Coordinator coordinator(federation.coordinator(), job_options(job), log);
        std::string sent;
        ClientOptions options;
        options.capture = [&](std::span<const char> bytes) { sent.append(bytes.data(), bytes.size()); };
        auto a = std::async(std::launch::async, [&] { return attend(federation, 0, std::move(options)); });
        auto b = std::async(std::launch::async, [&] { return attend(federation, 1); });
        coordinator.run();
        const ClientResult result = a.get();
        b.get();
        ASSERT_GT(sent.size(), 200U);
        const auto& x = federation.data[0];
        EXPECT_FALSE(holds_row(sent, x.data(), x.size(), 1));
        EXPECT_FALSE(holds_floats(sent, x.data(), x.size()));
        EXPECT_FALSE(holds_row(sent, result.personal.data(), result.personal.size(), 1));
        EXPECT_FALSE(holds_floats(sent, result.personal.data(), result.personal.size()));
        // The search itself works: what may leave is found.
        const double norm2 = squared_norm(x.view().unfold(1));
        EXPECT_TRUE(holds_row(sent, &norm2, 1, 1));
    }
}

TEST_F(ClientTest, GivesUpOnACoordinatorThatStaysAway) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    ClientOptions options;
    options.deadline = 300ms;
    std::string lines;
    Log log({}, [&](std::string_view line) { lines += line; });
    const std::string reason =
        complaint([&] { Client(federation.kit("a"), federation.tensor(0), std::move(options), log).run(); });
    EXPECT_NE(reason.find("a job that goes on within 0.3 s"), std::string::npos) << reason;
    EXPECT_NE(lines.find("trying again for 1 s"), std::string::npos) << lines;
}

/// Whoever was let in before knows that its certificate is good.
TEST_F(ClientTest, ACoordinatorThatIsGoneIsNotSaidToRefuseTheCertificate) {
    const TestFederation federation(path("kits"), population(2, {6, 4}, 2));
    std::string lines;
    std::mutex mutex;
    std::promise<void> joined;
    Log quiet({}, {});
    Log log({}, [&](std::string_view line) {
        const std::lock_guard lock(mutex);
        lines += std::string(line) + "\n";
    });
    auto coordinator = std::make_unique<Coordinator>(federation.coordinator(), job_options({.rank = 2}), quiet);
    ClientOptions options;
    options.on_join = [&](const std::string&) { joined.set_value(); };
    Client client(federation.kit("a"), federation.tensor(0), std::move(options), log);
    auto run = std::async(std::launch::async, [&] { return complaint([&] { client.run(); }); });
    joined.get_future().get();
    coordinator.reset();
    const auto said = [&](const char* text) {
        const std::lock_guard lock(mutex);
        return lines.find(text) != std::string::npos;
    };
    while (!said("no coordinator at")) std::this_thread::sleep_for(5ms);
    client.stop();
    run.get();
    EXPECT_FALSE(said("certificate")) << lines;
}

TEST_F(ClientTest, WaitsForACoordinatorThatComesLater) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    auto a = std::async(std::launch::async, [&] { return attend(federation, 0); });
    std::this_thread::sleep_for(300ms);
    Log log({}, {});
    Coordinator coordinator(federation.coordinator(), job_options({.rank = 2}), log);
    coordinator.run();
    EXPECT_EQ(a.get().members, federation.names);
}

TEST_F(ClientTest, StopsInEveryState) {
    const TestFederation federation(path("kits"), population(2, {6, 4}, 2));
    Log log({}, {});
    const auto stopped = [&](std::chrono::milliseconds after) {
        Client client(federation.kit("a"), federation.tensor(0), {.deadline = 20s}, log);
        auto run = std::async(std::launch::async, [&] { return complaint([&] { client.run(); }); });
        std::this_thread::sleep_for(after);
        client.stop();
        return run.get();
    };
    EXPECT_NE(stopped(50ms).find("stopped before the job was done"), std::string::npos) << "no coordinator";
    const Coordinator coordinator(federation.coordinator(), job_options({.rank = 2}), log);
    EXPECT_NE(stopped(0ms).find("stopped before the job was done"), std::string::npos) << "connecting";
    EXPECT_NE(stopped(500ms).find("stopped before the job was done"), std::string::npos) << "waiting for others";
}

TEST_F(ClientTest, RefusesAKitThatCannotBeUsed) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    Log log({}, {});
    const auto refused = [&](const Kit& kit) { return complaint([&] { Client(kit, federation.tensor(0), {}, log); }); };
    EXPECT_NE(refused(federation.coordinator()).find("the kit of a coordinator"), std::string::npos);
    Kit kit = federation.kit("a");
    kit.identity.name = "b";
    EXPECT_NE(refused(kit).find("as kit.toml says"), std::string::npos);
    kit = federation.kit("a");
    const KeyPair authority{read_text(federation.kits / "ca/ca.key"), read_text(federation.kits / "ca/ca.pem")};
    const KeyPair old = issue_certificate(authority, kit.identity, {.from = -20, .until = -1});
    write_text(kit.file("key.pem"), old.key, 0600);
    write_text(kit.file("cert.pem"), old.certificate);
    EXPECT_NE(refused(kit).find("expired on"), std::string::npos);
    Kit far = federation.kit("a");
    far.coordinator = "example.org:7443";
    EXPECT_NE(complaint([&] { Client(far, federation.tensor(0), {.insecure = true}, log); }).find("`insecure`"),
              std::string::npos);
}

TEST_F(ClientTest, WorksWithoutTlsOnLoopbackWhenAsked) {
    const TestFederation federation(path("kits"), population(1, {6, 4}, 2));
    CoordinatorOptions options = job_options({.rank = 2});
    options.insecure = true;
    std::string lines;
    Log log({}, [&](std::string_view line) { lines += line; });
    Coordinator coordinator(federation.coordinator(), std::move(options), log);
    auto a = std::async(std::launch::async, [&] { return attend(federation, 0, {.insecure = true}); });
    coordinator.run();
    EXPECT_EQ(a.get().members, federation.names);
    EXPECT_NE(lines.find("warning: no TLS"), std::string::npos);
}

TEST_F(ClientTest, StatusIsForPartiesOnly) {
    const TestFederation federation(path("kits"), population(2, {6, 4}, 2));
    Log log({}, {});
    const Coordinator coordinator(federation.coordinator(), job_options({.rank = 2}), log);
    for (const char* party : {"a", "coordinator"}) {
        const StatusReport status = fetch_status(federation.kit(party), false, 10min);
        EXPECT_EQ(status.phase, "joining");
        EXPECT_EQ(status.clients.size(), 2U);
    }
    revoke(federation.kits, "b");
    EXPECT_NE(complaint([&] { fetch_status(federation.kit("b"), false, 10min); }).find("revoked"), std::string::npos);
    const TestFederation other(path("other"), population(1, {6, 4}, 2));
    Kit foreign = other.kit("a");
    foreign.coordinator = federation.kit("a").coordinator;
    EXPECT_NE(complaint([&] { fetch_status(foreign, false, 2s); }), "");
}

}  // namespace
}  // namespace couplet::net
