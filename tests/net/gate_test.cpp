#include "gate.hpp"

#include <netinet/tcp.h>
#include <poll.h>

#include <mutex>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

/// A gate in front of a service that keeps what it is handed.
class GateTest : public NetTest {
  protected:
    ~GateTest() override {
        gate_.reset();
        for (const int number : callers_) ::close(number);
        for (const int number : handed_) ::close(number);
    }
    void open(GateOptions options = {}) {
        options.listen = "127.0.0.1:" + std::to_string(port_);
        options.parties = 2;
        options.revoked = path("revoked.txt");
        gate_ = std::make_unique<Gate>(std::move(options), log_);
        gate_->open([this](int number) {
            const std::lock_guard lock(mutex_);
            handed_.push_back(number);
        });
    }
    int call(const std::string& text) {
        const int number = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(port_));
        EXPECT_EQ(::connect(number, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        EXPECT_EQ(::send(number, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
        callers_.push_back(number);
        return number;
    }
    std::string address_of(int number) {
        sockaddr_in address{};
        socklen_t size = sizeof(address);
        ::getsockname(number, reinterpret_cast<sockaddr*>(&address), &size);
        return "ipv4:127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    std::size_t handed() {
        const std::lock_guard lock(mutex_);
        return handed_.size();
    }
    static bool is_ended(int number, std::chrono::milliseconds patience = 10min) {
        pollfd entry{number, POLLIN, 0};
        char byte = 0;
        return ::poll(&entry, 1, static_cast<int>(patience.count())) > 0 && ::recv(number, &byte, 1, MSG_DONTWAIT) <= 0;
    }
    template <class F>
    static bool soon(F happens) {
        return eventually(happens);
    }

    int port_ = free_port();
    std::vector<std::string> lines_;
    Log log_{{}, [this](std::string_view line) { lines_.emplace_back(line); }};
    std::mutex mutex_;
    std::vector<int> handed_;
    std::vector<int> callers_;
    std::unique_ptr<Gate> gate_;
};

TEST_F(GateTest, HandsOverWhoSpeaksAndKeepsWhoDoesNot) {
    open();
    call("");
    call("hello");
    EXPECT_TRUE(soon([&] { return handed() == 1; }));
    std::array<char, 8> buffer{};
    EXPECT_EQ(::recv(handed_[0], buffer.data(), buffer.size(), 0), 5) << "nothing of it was taken away";
    EXPECT_EQ(gate_->trouble(), "");
    int no_delay = 0;
    socklen_t size = sizeof(no_delay);
    EXPECT_EQ(::getsockopt(handed_[0], IPPROTO_TCP, TCP_NODELAY, &no_delay, &size), 0);
    EXPECT_EQ(no_delay, 1) << "small messages do not wait for each other";
}

TEST_F(GateTest, AFloodOfTheSilentEndsItsOwnOldest) {
    open();
    const int first = call("");
    for (int i = 0; i < 200; ++i) call("");
    EXPECT_TRUE(is_ended(first));
    call("hello");
    EXPECT_TRUE(soon([&] { return handed() == 1; }));
}

/// Whoever is there is counted once, and nobody who is not.
TEST_F(GateTest, AFewCallersAreNotTooMany) {
    open();
    const int silent = call("");
    for (std::size_t spoken = 1; spoken <= 20; ++spoken) {
        call("hello");
        ASSERT_TRUE(soon([&] { return handed() == spoken; }));
    }
    EXPECT_FALSE(is_ended(silent, 100ms));
    gate_.reset();
    for (const std::string& line : lines_) EXPECT_EQ(line.find("connections ended"), std::string::npos) << line;
}

/// It is gone at once: until its time was up it would be looked at over and over.
TEST_F(GateTest, WhoHangsUpWithoutAWordIsForgotten) {
    open();
    const int caller = call("");
    const int other = call("");
    ::shutdown(caller, SHUT_WR);
    EXPECT_TRUE(is_ended(caller));
    EXPECT_FALSE(is_ended(other, 100ms));
    EXPECT_EQ(handed(), 0U);
}

TEST_F(GateTest, ARevokedCertificateLosesItsConnectionsAtOnce) {
    std::set<std::string> told;
    open({.on_revoked = [&](const std::set<std::string>& serials) {
        const std::lock_guard lock(mutex_);
        told = serials;
    }});
    const int mine = call("x");
    const int other = call("x");
    ASSERT_TRUE(soon([&] { return handed() == 2; }));
    gate_->admit(address_of(mine), "a", "AA");
    gate_->admit(address_of(other), "b", "BB");
    std::ofstream(path("revoked.txt")) << "# list\nAA a\n";
    EXPECT_TRUE(is_ended(mine));
    EXPECT_FALSE(is_ended(other, 300ms));
    EXPECT_TRUE(soon([&] {
        const std::lock_guard lock(mutex_);
        return told == std::set<std::string>{"AA"};
    }));
    // One that was let in before the list had changed and is named after.
    gate_->admit(address_of(other), "b", "AA");
    EXPECT_TRUE(is_ended(other));
}

/// It may name whoever is connected: nobody is until it can be read again. What it says need not change for that.
TEST_F(GateTest, AListThatCannotBeReadEndsEverybodyUntilItCan) {
    std::atomic<bool> told = false;
    open({.on_unreadable = [&] { told = true; }});
    const int mine = call("x");
    const int other = call("x");
    ASSERT_TRUE(soon([&] { return handed() == 2; }));
    gate_->admit(address_of(mine), "a", "AA");
    gate_->admit(address_of(other), "b", "BB");
    const auto list = path("revoked.txt");
    std::ofstream(path("new.txt")) << "AA a\n";
    std::filesystem::permissions(path("new.txt"), std::filesystem::perms(0664));
    std::filesystem::rename(path("new.txt"), list);
    EXPECT_TRUE(is_ended(mine));
    EXPECT_TRUE(is_ended(other));
    EXPECT_TRUE(soon([&] { return told.load(); }));
    EXPECT_EQ(gate_->trouble(),
              "nobody is let in: " + list.string() +
                  ": permissions 664: its group may change it; expected a file that others cannot write. Run: chmod "
                  "go-w " +
                  list.string());
    EXPECT_TRUE(is_ended(call("x")));
    EXPECT_EQ(handed(), 2U) << "nobody comes in meanwhile";
    std::filesystem::permissions(list, std::filesystem::perms(0644));
    ASSERT_TRUE(soon([&] { return gate_->trouble().empty(); }));
    const int again = call("x");
    const int revoked = call("x");
    ASSERT_TRUE(soon([&] { return handed() == 4; }));
    gate_->admit(address_of(again), "b", "BB");
    gate_->admit(address_of(revoked), "a", "AA");
    EXPECT_TRUE(is_ended(revoked));
    EXPECT_FALSE(is_ended(again, 300ms));
    std::filesystem::permissions(list, std::filesystem::perms(0664));
    EXPECT_TRUE(is_ended(again)) << "whoever may change it may have";
    gate_.reset();
    const auto lines = log_.tail();
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [](const std::string& line) {
                                return line.find("all connections ended, and nobody is let in: ") != std::string::npos;
                            }),
              2)
        << "once for each time";
}

TEST_F(GateTest, WhoSendsWhatNobodyAskedForIsEnded) {
    open();
    const std::string much(70 << 10, 'x');
    const int stranger = call(much);
    EXPECT_TRUE(is_ended(stranger));
    const int useful = call("x");
    const int idle = call("x");
    ASSERT_TRUE(soon([&] { return handed() == 3; }));
    for (const int number : {useful, idle}) gate_->admit(address_of(number), "a", "AA");
    // Both are read, and only of one anything comes of it.
    const auto pass = [&](int number, int reader) {
        if (::send(number, much.data(), much.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(much.size())) return false;
        std::vector<char> buffer(much.size());
        for (std::size_t left = much.size(); left > 0;) {
            const ssize_t count = ::recv(reader, buffer.data(), left, 0);
            if (count <= 0) return false;
            left -= static_cast<std::size_t>(count);
        }
        return true;
    };
    for (int i = 0; i < 90; ++i) {
        ASSERT_TRUE(pass(useful, handed_[1]));
        gate_->credit(address_of(useful).substr(5), much.size());
    }
    for (int i = 0; i < 90 && pass(idle, handed_[2]); ++i) continue;
    EXPECT_TRUE(is_ended(idle));
    EXPECT_FALSE(is_ended(useful, 300ms));
    const auto lines = log_.tail();
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.find("a connection of a ended: ") != std::string::npos;
    }));
    gate_->dismiss(address_of(useful));
    EXPECT_TRUE(is_ended(useful));
}

TEST_F(GateTest, EndsAllConnectionsOfACertificate) {
    open();
    const int first = call("x");
    const int second = call("x");
    const int other = call("x");
    ASSERT_TRUE(soon([&] { return handed() == 3; }));
    for (const int number : {first, second}) gate_->admit(address_of(number), "a", "AA");
    gate_->admit(address_of(other), "b", "BB");
    gate_->dismiss_all("AA");
    EXPECT_TRUE(is_ended(first));
    EXPECT_TRUE(is_ended(second));
    EXPECT_FALSE(is_ended(other, 300ms));
}

/// Nobody would be let in, or anybody: it is said before the first comes.
TEST_F(GateTest, RefusesAListOfTheRevokedThatAnybodyMayChange) {
    std::ofstream(path("revoked.txt")) << "AA a\n";
    std::filesystem::permissions(path("revoked.txt"), std::filesystem::perms(0646));
    EXPECT_EQ(complaint([&] { open(); }), path("revoked.txt").string() +
                                              ": permissions 646: anybody may change it; expected a file that others "
                                              "cannot write. Run: chmod go-w " +
                                              path("revoked.txt").string());
}

TEST_F(GateTest, SaysThatAnAddressIsTaken) {
    open();
    EXPECT_NE(complaint([&] {
                  Gate({.listen = "127.0.0.1:" + std::to_string(port_), .revoked = path("revoked.txt")}, log_);
              }).find("the address cannot be used: Address already in use"),
              std::string::npos);
}

/// Whoever hands over for ever accepts nobody any more.
TEST_F(GateTest, NoticesThatItAcceptsNoMore) {
    std::promise<std::string> deaf;
    auto reason = deaf.get_future();
    std::promise<void> release;
    GateOptions options{.listen = "127.0.0.1:" + std::to_string(port_), .parties = 2, .revoked = path("revoked.txt")};
    options.on_deaf = [&](const std::string& why) { deaf.set_value(why); };
    options.pulse = 50ms;
    options.patience = 300ms;
    Gate gate(std::move(options), log_);
    gate.open([wait = release.get_future().share(), this](int number) {
        {
            const std::lock_guard lock(mutex_);
            handed_.push_back(number);
        }
        wait.wait();
    });
    call("x");
    EXPECT_NE(reason.get().find("is deaf: no connection was accepted for 0.3 s"), std::string::npos);
    EXPECT_NE(gate.trouble(), "");
    release.set_value();
    EXPECT_TRUE(soon([&] { return gate.trouble().empty(); })) << "it may come back";
}

TEST(PlainAddressTest, ReadsTheNamesOfGrpc) {
    EXPECT_EQ(plain_address("ipv4:127.0.0.1:80"), "127.0.0.1:80");
    EXPECT_EQ(plain_address("ipv6:%5B::1%5D:7"), "[::1]:7");
    EXPECT_EQ(plain_address("ipv6:[::1]:7"), "[::1]:7");
    EXPECT_EQ(plain_address("x:%zz"), "%zz");
}

}  // namespace
}  // namespace couplet::net
