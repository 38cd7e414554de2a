#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "binary.hpp"
#include "busy_times.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/model.hpp"
#include "couplet/io/npy.hpp"
#include "couplet/net/client.hpp"
#include "couplet/net/coordinator.hpp"
#include "couplet/net/provision.hpp"
#include "couplet/sim/simulate.hpp"
#include "federations.hpp"
#include "message_count.hpp"
#include "ports.hpp"

namespace couplet::net {

using namespace support;
using namespace std::chrono_literals;

/// What an Error says; empty when nothing is thrown.
inline std::string complaint(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

/// A folder of its own, removed afterwards.
class NetTest : public ::testing::Test {
  protected:
    NetTest() {
        std::string pattern = ::testing::TempDir() + "couplet-net-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~NetTest() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path path(const std::string& name) const { return folder_ / name; }

    std::filesystem::path folder_;
};

/// A provisioned federation with data: parties a, b, c, ...
struct TestFederation {
    std::filesystem::path kits;
    std::vector<std::string> names;
    Clients data;

    TestFederation(std::filesystem::path folder, Clients clients) : kits(std::move(folder)), data(std::move(clients)) {
        for (std::size_t k = 0; k < data.size(); ++k) {
            names.push_back(k < 26 ? std::string(1, static_cast<char>('a' + k)) : "c" + std::to_string(k));
        }
        provision_star(kits, {"127.0.0.1:" + std::to_string(free_port()), names, 30}, true);
    }
    /// Client k's data as a file, for a process.
    std::filesystem::path file(std::size_t k) const {
        const std::filesystem::path path = kits / (names[k] + ".npy");
        if (!std::filesystem::exists(path)) write_npy(path, data[k].view(), true);
        return path;
    }
    Kit kit(const std::string& name) const { return load_kit(kits / name); }
    Kit coordinator() const { return kit("coordinator"); }
    std::shared_ptr<const Tensor<double>> tensor(std::size_t k) const {
        return std::make_shared<const Tensor<double>>(Tensor<double>::copy(data[k].view()));
    }
    MemorySource source(const std::vector<std::size_t>& members) const {
        Clients copies;
        for (const std::size_t k : members) copies.push_back(Tensor<double>::copy(data[k].view()));
        return MemorySource(std::move(copies));
    }
    /// The sum over what the trails in these kits say of the messages of a job, each once. Sent and received are the
    /// party's own.
    MessageCount::Bytes recorded_rounds(const std::vector<std::string>& parties, const std::string& job) const {
        MessageCount::Bytes sum;
        for (const auto& party : parties) {
            for (const auto& [other, count] : counted_messages(kits / party / "audit.jsonl", job)) {
                sum.sent += count.rounds().sent;
                sum.received += count.rounds().received;
            }
        }
        return sum;
    }
    /// The coordinator, its clients and all trails count the same bytes, to the last one.
    void expect_one_count(const CoordinatorResult& result, const std::vector<ClientResult>& clients) const {
        ClientResult sum;
        for (const ClientResult& client : clients) {
            sum.bytes_up += client.bytes_up;
            sum.bytes_down += client.bytes_down;
            sum.bytes_overhead += client.bytes_overhead;
        }
        EXPECT_EQ(sum.bytes_up, result.bytes_up);
        EXPECT_EQ(sum.bytes_down, result.bytes_down);
        EXPECT_EQ(sum.bytes_overhead, result.bytes_overhead);
        EXPECT_GT(result.bytes_overhead, 0);
        const auto centre = recorded_rounds({"coordinator"}, result.job);
        EXPECT_EQ(centre.received, result.bytes_up);
        EXPECT_EQ(centre.sent, result.bytes_down);
        const auto sites = recorded_rounds(names, result.job);
        EXPECT_EQ(sites.sent, result.bytes_up);
        EXPECT_EQ(sites.received, result.bytes_down);
    }
    std::vector<std::size_t> everybody() const {
        std::vector<std::size_t> all(data.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        return all;
    }
};

/// What a simulation of the same clients gives.
struct Expected {
    SimulationResult result;
    std::vector<Matrix<double>> personal;
};
inline Expected simulated(const TestFederation& federation, const std::vector<std::size_t>& members,
                          const JobOptions& job, std::optional<SavedMerge> resume = {}) {
    Expected expected;
    SimulationOptions options{.job = job};
    options.resume = std::move(resume);
    for (const std::size_t k : members) options.names.push_back(federation.names[k]);
    options.save_state = resolve_job(job).aggregate == Aggregate::stack;
    options.on_personal = [&](Index, const Matrix<double>& core) {
        expected.personal.push_back(Matrix<double>::copy(core.view()));
    };
    expected.result = simulate(federation.source(members), std::move(options));
    return expected;
}

inline bool same_numbers(const Matrix<double>& a, const Matrix<double>& b) {
    return a.rows() == b.rows() && a.cols() == b.cols() && std::equal(a.data(), a.data() + a.size(), b.data());
}

/// Client k in this process, over real sockets.
inline ClientResult attend(const TestFederation& federation, std::size_t k, ClientOptions options = {}) {
    if (!options.deadline) options.deadline = 600s;  // the machine may be busy
    Log log({}, {});
    Client client(federation.kit(federation.names[k]), federation.tensor(k), std::move(options), log);
    return client.run();
}

inline CoordinatorOptions job_options(const JobOptions& job) {
    return {.spec = {resolve_job(job), {}}, .min_clients = {}, .deadline = 600s, .on_features = {}, .on_state = {}};
}

/// The real binary as a process of its own.
class Process {
  public:
    Process(std::vector<std::string> arguments, const std::filesystem::path& output,
            const std::vector<std::string>& environment = {})
        : output_(output) {
        arguments.insert(arguments.begin(), testing::couplet_binary());
        std::vector<char*> argv;
        for (std::string& word : arguments) argv.push_back(word.data());
        argv.push_back(nullptr);
        std::vector<std::string> variables = environment;
        for (char** entry = ::environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
        std::vector<char*> envp;
        for (std::string& entry : variables) envp.push_back(entry.data());
        envp.push_back(nullptr);
        const int out = ::open(output.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
        const std::string errors = output.string() + ".err";
        const int err = ::open(errors.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(out, STDOUT_FILENO);
            ::dup2(err, STDERR_FILENO);
            ::execve(argv.front(), argv.data(), envp.data());
            ::_exit(127);
        }
        ::close(out);
        ::close(err);
    }
    ~Process() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        wait();
    }
    Process(Process&& other) noexcept : output_(other.output_), pid_(std::exchange(other.pid_, -1)) {}
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Exit status, or 128 + the signal that ended it.
    int wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    /// Whether it ends by itself; it is killed if not.
    bool ends() const {
        if (eventually([this] { return is_over(); }, 25ms)) return true;
        signal(SIGKILL);
        return false;
    }
    void signal(int number) const { ::kill(pid_, number); }
    pid_t pid() const { return pid_; }
    std::string out() const { return slurp(output_); }
    std::string err() const { return slurp(output_.string() + ".err"); }
    /// Waits until stderr says it; false when it has ended without.
    bool says(const std::string& text) const {
        const auto said = [&] { return err().find(text) != std::string::npos; };
        return eventually([&] { return said() || is_over(); }, 25ms) && said();
    }

  private:
    bool is_over() const {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    }
    static std::string slurp(const std::filesystem::path& file) {
        std::ifstream stream(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    std::filesystem::path output_;
    pid_t pid_ = -1;
};

inline Process start_coordinator(const TestFederation& federation, std::vector<std::string> flags,
                                 const std::vector<std::string>& environment = {}) {
    flags.insert(flags.begin(), {"coordinator", "--kit", (federation.kits / "coordinator").string(), "--json"});
    return Process(flags, federation.kits / "coordinator.out", environment);
}
inline Process start_client(const TestFederation& federation, std::size_t k,
                            const std::vector<std::string>& environment = {}, std::vector<std::string> flags = {}) {
    // Made-up patients, too few for most jobs: policies have tests of their own.
    if (std::find(flags.begin(), flags.end(), "--policy") == flags.end()) {
        flags.insert(flags.end(), {"--policy", "off"});
    }
    flags.insert(flags.begin(), {"client", "--kit", (federation.kits / federation.names[k]).string(), "--data",
                                 federation.file(k).string(), "--json", "--deadline", "600s"});
    return Process(flags, federation.kits / (federation.names[k] + ".out"), environment);
}

/// The cores that a party has written are those of the simulation, bit for bit.
inline void expect_files(const TestFederation& federation, const Expected& expected,
                         const std::vector<std::size_t>& members) {
    const auto features_of = [&](const std::string& party) {
        return to_train(to_double(load_model(federation.kits / party / "features.npz")));
    };
    EXPECT_TRUE(same_bits(features_of("coordinator"), expected.result.features->train));
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::string& name = federation.names[members[i]];
        EXPECT_TRUE(same_bits(features_of(name), expected.result.features->train)) << name;
        const auto personal = to_double(load_model(federation.kits / name / "personal.npz"));
        const Shape& shape = personal.cores.front().shape();
        const auto core = Matrix<double>::copy({personal.cores.front().data(), shape[1], shape[2]});
        EXPECT_TRUE(same_numbers(core, expected.personal[i])) << name;
    }
}

}  // namespace couplet::net
