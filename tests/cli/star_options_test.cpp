#include "star_options.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet::cli {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
    try {
        parse_carried_job(arguments);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(CarriedJob, TakesTheFlagsOfACoordinatorsJob) {
    const CarriedJob job = parse_carried_job({"--rank", "5", "--aggregate=subspace", "--seed", "7", "--heldout=0.25"});
    EXPECT_EQ(job.job.rank, 5);
    EXPECT_EQ(job.job.aggregate, Aggregate::subspace);
    EXPECT_EQ(job.job.seed, 7U);
    EXPECT_EQ(job.preparation.heldout, 0.25);
    EXPECT_FALSE(job.missing);
    EXPECT_FALSE(job.schema);
    EXPECT_EQ(parse_carried_job({}).job.eps, 0.1);
}

TEST(CarriedJob, FillsMissingEntriesForAFixedRankOnly) {
    const CarriedJob job = parse_carried_job({"--rank=3", "--missing=impute"});
    EXPECT_TRUE(job.missing);
    EXPECT_TRUE(job.job.refit);
    EXPECT_NE(refusal({"--eps=0.1", "--missing=impute"}).find("`missing`"), std::string::npos);
    EXPECT_NE(refusal({"--rank=3", "--missing=impute", "--heldout=0.2"}).find("`heldout`"), std::string::npos);
}

TEST(CarriedJob, MasksSumsAndSaysWhatIsNotPromised) {
    EXPECT_FALSE(parse_carried_job({"--rank", "3"}).shield);
    const CarriedJob secure = parse_carried_job({"--rank", "3", "--secure", "--dp-epsilon", "2", "--clip", "5"});
    ASSERT_TRUE(secure.shield);
    EXPECT_EQ(secure.job.aggregate, Aggregate::subspace);
    EXPECT_EQ(secure.shield->guarantee->epsilon, 2);
    EXPECT_EQ(secure.shield->clip, 5);
    EXPECT_EQ(secure.shield->noise, NoisePlace::distributed);
    EXPECT_FALSE(parse_carried_job({"--rank", "3", "--secure", "--policy", "off"}).shield->policy);
    EXPECT_THROW(parse_carried_job({"--rank", "3", "--dp-epsilon", "2"}), InputError);
    EXPECT_THROW(parse_carried_job({"--rank", "3", "--secure", "--aggregate", "stack"}), InputError);
    EXPECT_THROW(parse_carried_job({"--rank", "3", "--secure", "--scale-clients", "norm"}), InputError);
    EXPECT_THROW(parse_carried_job({"--eps", "0.1", "--secure"}), InputError);
}

TEST(CarriedJob, RefusesInNobodysWords) {
    const std::string mistyped = refusal({"--rnk=3"});
    EXPECT_NE(mistyped.find("no flag of a job on Flower or NVIDIA FLARE; expected one of"), std::string::npos)
        << mistyped;
    EXPECT_NE(mistyped.find("Did you mean `rank`?"), std::string::npos) << mistyped;
    // One that the command line has: its help would say so.
    const std::string centred = refusal({"--rank=3", "--centre"});
    EXPECT_NE(centred.find("are not carried by the engines"), std::string::npos) << centred;
    EXPECT_EQ(centred.find("couplet coordinator"), std::string::npos) << centred;
    EXPECT_NE(refusal({"--rank=0"}).find("`rank`"), std::string::npos);
    EXPECT_NE(refusal({"--network=decentralized"}), "");
    EXPECT_NE(refusal({"stray"}), "");
    EXPECT_NE(refusal({"--aggregate=average", "--rank=3", "--heldout=0.2"}).find("`heldout`"), std::string::npos);
}

}  // namespace
}  // namespace couplet::cli
