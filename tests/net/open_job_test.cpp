#include "open_job.hpp"

#include "job_folder.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class OpenJobTest : public NetTest {
  protected:
    OpenJobTest() {
        kit_.folder = path("");
        kit_.identity = {"", Role::coordinator, "coordinator"};
        kit_.listen = "127.0.0.1:5000";
        kit_.roster = {"a", "b", "c"};
    }
    /// Begins a job and leaves it as it is.
    JobFile begin(const CoordinatorOptions& options) {
        JobFile job = open_job(kit_, options);
        JobFolder(kit_.file("job")).write(job);
        return job;
    }
    void change(const std::function<void(JobFile&)>& how) {
        JobFile job = parse_job_file(read_text(path("job/job.json")), "job.json");
        how(job);
        JobFolder(path("job")).write(job);
    }
    std::string checked(const std::function<void(CoordinatorOptions&)>& how) {
        CoordinatorOptions options = job_options({.aggregate = Aggregate::subspace, .rank = 3});
        how(options);
        return complaint([&] { check_options(kit_, options); });
    }
    Kit kit_;
    CoordinatorOptions options_ = job_options({.rank = 3});
};

TEST_F(OpenJobTest, AnUnfinishedJobGoesOnWithItsFlagsAlone) {
    const JobFile first = begin(options_);
    EXPECT_EQ(open_job(kit_, options_).id, first.id);
    CoordinatorOptions other = job_options({.rank = 4});
    EXPECT_NE(complaint([&] { open_job(kit_, other); }).find("a job with other flags"), std::string::npos);
    change([](JobFile& job) { job.phase = Phase::closed; });
    const JobFile next = open_job(kit_, other);
    EXPECT_NE(next.id, first.id);
    EXPECT_TRUE(std::filesystem::exists(path("job.old/job.json")));
    EXPECT_FALSE(std::filesystem::exists(path("job/job.json")));
}

TEST_F(OpenJobTest, AClosedJobGoesOnForThoseWhoLackItsResult) {
    const JobFile first = begin(options_);
    change([](JobFile& job) {
        job.phase = Phase::closed;
        job.members = {0, 1};
        job.result = 1;
        job.reports[0] = {};
    });
    EXPECT_EQ(open_job(kit_, options_).id, first.id) << "b has not reported";
    change([](JobFile& job) { job.reports[1] = {}; });
    options_.late_merge = true;
    EXPECT_EQ(open_job(kit_, options_).id, first.id) << "c may still be merged";
    options_.late_merge = false;
    EXPECT_NE(open_job(kit_, options_).id, first.id);
}

TEST_F(OpenJobTest, ClientsMayBeAddedAtTheEndOfTheRoster) {
    begin(options_);
    kit_.roster.push_back("d");
    EXPECT_EQ(open_job(kit_, options_).roster.size(), 4U);
    kit_.roster = {"b", "a", "c"};
    EXPECT_NE(complaint([&] { open_job(kit_, options_); }).find("a job of other clients"), std::string::npos);
}

TEST_F(OpenJobTest, NothingChangesBeforeItIsAgreedTo) {
    begin(options_);
    change([](JobFile& job) { job.phase = Phase::closed; });
    options_.on_job = [](const std::string&) { throw InputError({"-o", "files of another job", "free", ""}); };
    EXPECT_THROW(open_job(kit_, options_), InputError);
    EXPECT_TRUE(std::filesystem::exists(path("job/job.json")));
    EXPECT_FALSE(std::filesystem::exists(path("job.old")));
}

TEST_F(OpenJobTest, OptionsThatContradictEachOtherAreRefused) {
    EXPECT_EQ(checked([](auto&) {}), "");
    EXPECT_NE(checked([](auto& how) { how.min_clients = 4; }).find("a number from 1 to 3"), std::string::npos);
    EXPECT_NE(checked([](auto& how) { how.min_clients = 0; }).find("`min_clients`"), std::string::npos);
    EXPECT_NE(checked([](auto& how) {
                  how.spec.shield.emplace();
                  how.insecure = true;
              }).find("given with `secure`"),
              std::string::npos);
    EXPECT_NE(checked([](auto& how) {
                  how.spec.centring.scale = true;
                  how.late_merge = true;
              }).find("`scale`"),
              std::string::npos);
    kit_.listen = "0.0.0.0:5000";
    EXPECT_NE(checked([](auto& how) { how.insecure = true; }).find("a loopback address"), std::string::npos);
    kit_.roster = {"a", "b"};
    EXPECT_NE(checked([](auto& how) { how.spec.shield.emplace(); }).find("2 clients on the roster"), std::string::npos);
}

TEST_F(OpenJobTest, FilledEntriesAreExact) {
    options_.spec.job.precision = Precision::f32;
    options_.spec.missing.emplace();
    check_options(kit_, options_);
    EXPECT_EQ(options_.spec.job.precision, Precision::f64);
}

}  // namespace
}  // namespace couplet::net
