#include "job_options.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "command.hpp"
#include "couplet/core/error.hpp"

namespace couplet::cli {
namespace {

class JobOptionsTest : public ::testing::Test {
  protected:
    JobOptionsTest() {
        add_job_flags(app_, flags_);
        add_data_flags(app_, flags_);
    }
    void parse(const std::string& line) {
        std::istringstream words(line);
        app_.parse({std::istream_iterator<std::string>(words), {}});
    }

    Command app_;
    JobFlags flags_;
};

TEST_F(JobOptionsTest, FillTheJob) {
    parse("--aggregate subspace --rank 7 --eps2 0.5 --sketch gram --passes 2 --scale-clients norm --heldout 0.25");
    EXPECT_EQ(flags_.job.aggregate, Aggregate::subspace);
    EXPECT_EQ(flags_.job.rank, 7);
    EXPECT_EQ(flags_.job.eps2, 0.5);
    EXPECT_EQ(flags_.job.sketch, Sketch::gram);
    EXPECT_EQ(flags_.job.passes, 2);
    EXPECT_EQ(flags_.preparation(), (Preparation{true, 0.25}));
    EXPECT_NO_THROW(refuse_idle_flags(app_, resolve_job(flags_.job)));
}

TEST_F(JobOptionsTest, ALowerRankThanWasAskedForIsTold) {
    const std::vector<Index> ranks = {1, 4, 1};
    EXPECT_NE(lower_rank_note(resolve_job({.rank = 3}), ranks).find("rank 1 and not 3"), std::string::npos);
    EXPECT_EQ(lower_rank_note(resolve_job({.rank = 1}), ranks), "");
    EXPECT_EQ(lower_rank_note(resolve_job({.rank = 3, .eps = 0.1}), ranks), "");
    EXPECT_EQ(lower_rank_note(resolve_job({.rank = 3, .eps1 = 0.0, .eps2 = 0.0}), ranks), "");
    EXPECT_EQ(lower_rank_note(resolve_job({.aggregate = Aggregate::subspace, .rank = 3}), ranks), "");
    EXPECT_EQ(lower_rank_note(resolve_job({.rank = 3}), {}), "");
}

TEST_F(JobOptionsTest, FlagsOfAnotherAggregateAreRefused) {
    parse("--rank 3 --passes 2 --save-state s.npz --resume r.npz");
    EXPECT_EQ(flags_.save_state, "s.npz");
    EXPECT_EQ(flags_.resume, "r.npz");
    EXPECT_THROW(refuse_idle_flags(app_, resolve_job(flags_.job)), InputError);
    EXPECT_THROW(refuse_given(app_, {"--rank"}, "x", "y"), InputError);
    EXPECT_NO_THROW(refuse_given(app_, {"--eps"}, "x", "y"));
}

TEST_F(JobOptionsTest, WeightsBelongToPlainConsensus) {
    add_consensus_flags(app_, flags_);
    flags_.job.network = Network::decentralized;
    const auto refusal = [&](const std::string& line) -> std::string {
        flags_.job.consensus.reset();
        parse(line);
        try {
            refuse_idle_consensus(app_, resolve_job(flags_.job));
        } catch (const InputError& error) {
            return error.parts().where + " " + error.parts().found;
        }
        return "";
    };
    EXPECT_EQ(refusal("--rank 3 --aggregate average --weights metropolis"), "");
    EXPECT_EQ(refusal("--rank 3 --aggregate subspace --weights metropolis --consensus plain"), "");
    EXPECT_EQ(refusal("--rank 3 --aggregate subspace --weights metropolis"), "--weights given with --consensus tree");
    for (const std::string engine : {"auto", "chebyshev", "finite-time", "tree"}) {
        EXPECT_EQ(refusal("--rank 3 --aggregate average --weights metropolis --consensus " + engine),
                  "--weights given with --consensus " + engine);
        EXPECT_EQ(refusal("--rank 3 --aggregate average --consensus " + engine), "");
    }
    EXPECT_EQ(refusal("--rank 3 --aggregate stack --iterations 3"), "--iterations given with --aggregate stack");
}

TEST_F(JobOptionsTest, WrongWordsAndNumbersAreRefused) {
    EXPECT_THROW(parse("--aggregate sum"), InputError);
    EXPECT_THROW(parse("--rank 0"), InputError);
    EXPECT_THROW(parse_fraction("--heldout", "1"), InputError);
    EXPECT_EQ(parse_fraction("--heldout", "0.5"), 0.5);
}

TEST(ParseBytes, TakesUnits) {
    EXPECT_EQ(parse_bytes("--bytes", "5000"), 5000);
    EXPECT_EQ(parse_bytes("--bytes", "100kB"), 100'000);
    EXPECT_EQ(parse_bytes("--bytes", "1.5MB"), 1'500'000);
    EXPECT_EQ(parse_bytes("--bytes", "64KiB"), 65536);
    for (const char* wrong : {"", "kB", "-5", "5kb", "5 kB", "1e5", "0", "1e99GB", "1..5"}) {
        EXPECT_THROW(parse_bytes("--bytes", wrong), InputError) << wrong;
    }
}

}  // namespace
}  // namespace couplet::cli
