#include "job_folder.hpp"

#include "net_test_support.hpp"
#include "spool.hpp"

namespace couplet::net {
namespace {

using JobFolderTest = NetTest;

FeaturesMessage some_features() {
    const auto x = random_tensor<double>({9, 5, 4}, 1);
    return {orthonormal_features(block_train(compress_client(x.view(), {0, 0, 3}).block.get())), 0.25, {}};
}

TEST_F(JobFolderTest, GivesBackWhatItWasGiven) {
    const JobFolder folder(path("new/job"));
    EXPECT_FALSE(folder.hello(2, "client c"));
    folder.keep_hello(2, {{}, Hello{{5, 4}, 9, 2}});
    EXPECT_EQ(folder.hello(2, "client c")->rows, 9);
    folder.remove_hello(2);
    EXPECT_FALSE(folder.hello(2, "client c"));
    const FeaturesMessage features = some_features();
    folder.keep_features(3, features);
    EXPECT_TRUE(same_bits(folder.features(3).features.train, features.features.train));
    EXPECT_EQ(folder.features(3).rel_error_bound, 0.25);
    folder.remove_features(3);
    EXPECT_THROW(folder.features(3), Error);
    folder.keep_centring(1, {{1, 2}, {3, 4}});
    EXPECT_EQ(folder.centring(1), (Centring{{1, 2}, {3, 4}}));
}

TEST_F(JobFolderTest, KnowsItsAnswersAndSweepsWhatACrashLeft) {
    const JobFolder folder(path("job"));
    const auto x = random_tensor<double>({9, 5, 4}, 1);
    const Upload upload = compress_client(x.view(), {0, 0, 3});
    save_message(folder.reply({2, 1, 0}), {{}, compress_client(x.view(), {0, 0, 3})});
    save_message(folder.reply({2, 3, 12}), {{}, wire::Refusal{"no"}});
    std::ofstream(path("job/.couplet-1-2.tmp")) << "half";
    std::ofstream(path("job/reply-x.msg")) << "else";
    EXPECT_EQ(folder.replies(), (std::set<ReplyId>{{2, 1, 0}, {2, 3, 12}}));
    EXPECT_FALSE(std::filesystem::exists(path("job/.couplet-1-2.tmp")));
    const MergeState state = folder.contribution(2, 0, "client a");
    EXPECT_EQ(state.ledger.rows, 9);
    EXPECT_EQ(state.block.rows(), upload.block->rows());
    EXPECT_NE(complaint([&] { folder.contribution(2, 1, "client b"); }).find("reply-2-1-1.msg"), std::string::npos);
    folder.remove_reply({2, 3, 12});
    folder.remove_reply({9, 9, 9});
    EXPECT_EQ(folder.replies().size(), 1U);
}

TEST_F(JobFolderTest, AJobThatIsForgottenIsNotContinued) {
    const JobFolder folder(path("job"));
    JobFile job;
    job.id = wire::parse_job_id("00112233445566778899aabbccddeeff");
    job.spec = {resolve_job({.rank = 3}), {}};
    job.roster = {"a"};
    folder.write(job);
    EXPECT_EQ(parse_job_file(read_text(path("job/job.json")), "job.json").id, job.id);
    folder.forget_job();
    EXPECT_FALSE(std::filesystem::exists(path("job/job.json")));
}

}  // namespace
}  // namespace couplet::net
