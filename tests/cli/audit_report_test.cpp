#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class AuditReportTest : public CliTest {
  protected:
    AuditReportTest() {
        python("np.save('a<b>.npy', (np.random.default_rng(3).random((60, 12, 15)) < 0.05).astype(float))");
    }
};

TEST_F(AuditReportTest, SaysTheSameInEveryForm) {
    const std::vector<std::string> common{"audit", "a<b>.npy", "--rank", "20", "--force", "-o", "leaks.html"};
    auto as_json = common;
    as_json.insert(as_json.end(), {"--json", "--quiet"});
    const Json json = couplet(as_json).json();
    const std::string text = couplet(common).out;
    const std::string page = get("leaks.html");
    for (const Json& finding : json["findings"]) {
        int most = 0;
        for (const char* attack : {"direct", "ica", "rank_one", "rare_rows", "lattice"}) {
            if (finding.contains(attack)) most = std::max(most, finding[attack]["recovered"].get<int>());
        }
        const std::string recovered =
            std::to_string(most) + " of " + std::to_string(finding["ica"]["patients"].get<int>());
        EXPECT_NE(text.find(recovered), std::string::npos) << recovered;
        EXPECT_NE(page.find(recovered), std::string::npos) << recovered;
        EXPECT_NE(page.find(finding["sentence"].get<std::string>()), std::string::npos);
        EXPECT_NE(page.find("<tr class=\"" + finding["verdict"].get<std::string>() + "\""), std::string::npos);
    }
    // The answer comes first: what was found, then the modes in order, then the table.
    const std::string summary = json["summary"];
    EXPECT_EQ(summary.rfind("Records of patients can be rebuilt by whoever receives ", 0), 0U) << summary;
    EXPECT_EQ(text.rfind(summary.substr(0, 50), 0), 0U) << text.substr(0, 200);
    EXPECT_LT(text.find("The modes, the one that shows least first"), text.find("membership  small cells"));
    ASSERT_FALSE(json["ranking"].empty());
    EXPECT_EQ(json["ranking"].back()["verdict"], json["verdict"]) << "the worst comes last";
    EXPECT_LT(page.find(summary), page.find("<table"));
    EXPECT_LT(page.find("<ol>"), page.find("<table"));
    EXPECT_NE(text.find("not tried"), std::string::npos);
    EXPECT_NE(page.find("Not tried"), std::string::npos);
    // The name of a file is no markup.
    EXPECT_EQ(page.find("a<b>"), std::string::npos);
    EXPECT_NE(page.find("a&lt;b&gt;.npy"), std::string::npos);
}

}  // namespace
}  // namespace couplet::testing
