#include "peer_run.hpp"

#include "peer_test_support.hpp"

namespace couplet::net {
namespace {

class PeerRunTest : public NetTest {
  protected:
    PeerOptions options() const {
        return peers_.options({.network = Network::decentralized, .rank = 2, .graph = "path"});
    }
    std::unique_ptr<PeerRun> run(PeerOptions how) {
        const Kit kit = peers_.kit(0);
        return std::make_unique<PeerRun>(kit, peers_.tensor(0), std::move(how), load_credentials(kit, Role::peer),
                                         log_);
    }
    std::string last_line() const {
        std::ifstream stream(peers_.kit(0).file("audit.jsonl"));
        std::string last;
        for (std::string line; std::getline(stream, line);) last = line;
        return last;
    }
    TestPeers peers_{path("kits"), population(3, {4, 3, 3}, 2, 0.7, 0.05, 4), "path"};
    Log log_{{}, {}};
};

TEST_F(PeerRunTest, OneThatIsStoppedEndsAndSaysSoInItsTrail) {
    const auto job = run(options());
    job->open();
    job->stop();
    const std::string why = complaint([&] { job->run(); });
    EXPECT_NE(why.find("peer a: stopped before the job was done"), std::string::npos) << why;
    job->record_failure(why);
    job->close();
    const auto line = nlohmann::json::parse(last_line());
    EXPECT_EQ(line["event"], "ended");
    EXPECT_EQ(line["reason"], why);
}

TEST_F(PeerRunTest, NothingIsOpenedForAJobThatTheSiteRefuses) {
    auto how = options();
    how.vet = [](const wire::Message&) { throw InputError({"this site's policy", "this job", "another", ""}); };
    const auto job = run(std::move(how));
    EXPECT_NE(complaint([&] { job->open(); }).find("this site's policy"), std::string::npos);
    EXPECT_EQ(last_line(), "") << "no job was begun";
    job->close();
}

TEST_F(PeerRunTest, TheKitIsHeldWhileItLives) {
    auto job = run(options());
    EXPECT_NE(complaint([&] { run(options()); }).find("another peer runs on this kit"), std::string::npos);
    job.reset();
    EXPECT_NO_THROW(run(options()));
}

}  // namespace
}  // namespace couplet::net
