#include "couplet/wire/message.hpp"

#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

TEST(JobIdTest, IsReadBackFromItsDigits) {
    JobId job{};
    for (std::size_t i = 0; i < job.size(); ++i) job[i] = static_cast<std::uint8_t>(17 * i);
    EXPECT_EQ(to_hex(job), "00112233445566778899aabbccddeeff");
    EXPECT_EQ(parse_job_id(to_hex(job)), job);
}

TEST(JobIdTest, RefusesAnythingElse) {
    for (const char* text : {"", "00", "00112233445566778899aabbccddeefg", "00112233445566778899aabbccddeeff0"}) {
        EXPECT_NE(refusal([&] { parse_job_id(text); }).find("32 hexadecimal digits"), std::string::npos) << text;
    }
}

TEST(KindTest, FollowsTheBody) {
    EXPECT_EQ((Message{{}, Join{}}).kind(), Kind::join);
    EXPECT_EQ((Message{{}, Refusal{}}).kind(), Kind::refusal);
    EXPECT_EQ((Message{{}, some_upload()}).kind(), Kind::upload);
    EXPECT_EQ((Message{{}, some_features()}).kind(), Kind::features);
    EXPECT_EQ(to_string(Kind::upload), "upload");
}

}  // namespace
}  // namespace couplet::wire
