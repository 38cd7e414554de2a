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
        EXPECT_EQ(refusal([&] { parse_job_id(text); }),
                  "job: '" + std::string(text) + "'; expected 32 hexadecimal digits");
    }
    const std::string digits(31, '0');
    for (const char* outside : {"/", ":", "`", "g", "A", "F"}) {
        EXPECT_NE(refusal([&] { parse_job_id(outside + digits); }), "") << outside << " first of a pair";
        EXPECT_NE(refusal([&] { parse_job_id(digits + outside); }), "") << outside << " second of a pair";
    }
    EXPECT_EQ(parse_job_id("09af" + std::string(28, '0'))[0], 0x09);
    EXPECT_EQ(parse_job_id("09af" + std::string(28, '0'))[1], 0xaf);
}

TEST(KindTest, FollowsTheBody) {
    EXPECT_EQ((Message{{}, Join{}}).kind(), Kind::join);
    EXPECT_EQ((Message{{}, Refusal{}}).kind(), Kind::refusal);
    EXPECT_EQ((Message{{}, some_upload()}).kind(), Kind::upload);
    EXPECT_EQ((Message{{}, some_features()}).kind(), Kind::features);
    EXPECT_EQ(to_string(Kind::upload), "upload");
    EXPECT_EQ(to_string(Kind::join), "join");
    EXPECT_EQ(to_string(Kind::sum_request), "request for a sum");
    EXPECT_EQ(to_string(Kind::bye), "last word");
    EXPECT_EQ(to_string(Kind::bulletin), "bulletin");
}

}  // namespace
}  // namespace couplet::wire
