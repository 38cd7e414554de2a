#include "refusal_words.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

const InputError few({policy_name, "a job in which 5 patients take part", "at least 6 (min_patients)", ""});

TEST(RefusalWords, AreTheWholeReasonWhereRowsAreSeenAnyway) {
    EXPECT_EQ(words_for_coordinator(few, false), few.what());
}

TEST(RefusalWords, TellNoFiguresOfThePatientsWhereOnlySumsAreSeen) {
    EXPECT_EQ(words_for_coordinator(few, true),
              "this site's policy: refused (min_patients); the client's own log says why");
    for (const char* key : {"(max_rank_share)", "(max_directions_share)", "(any_cohort)"}) {
        const InputError error({policy_name, "17 patients", std::string("fewer ") + key, ""});
        EXPECT_EQ(words_for_coordinator(error, true).find("17"), std::string::npos) << key;
    }
    const InputError data({"client", "NaN of patient 17", "numbers", ""});
    EXPECT_EQ(words_for_coordinator(data, true), "client: refused; the client's own log says why");
}

TEST(RefusalWords, TellWhatIsOfTheCoordinatorsOwnDoing) {
    const InputError sums({policy_name, "a job of 9 sums", "at most 8 (max_sums)", ""});
    EXPECT_EQ(words_for_coordinator(sums, true), sums.what());
    const InputError broken({"coordinator", "sum 5 of the job", "4", ""});
    EXPECT_EQ(words_for_coordinator(broken, true), broken.what());
}

}  // namespace
}  // namespace couplet::net
