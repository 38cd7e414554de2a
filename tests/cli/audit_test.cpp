#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class AuditTest : public CliTest {
  protected:
    AuditTest() {
        // Records in which few features are set: what a client sends shows them.
        python(
            "r = np.random.default_rng(3); x = (r.random((120, 12, 15)) < 0.05).astype(float)\n"
            "np.save('x.npy', x[:90]); np.save('others.npy', x[90:]); np.save('wrong.npy', x[:, :, :7])\n"
            "for k in range(3): np.save(f'c{k}.npy', x[30 * k:30 * k + 30])");
    }
    void refused(const std::vector<std::string>& arguments, const std::string& message) {
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 2) << run.err;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(run.out, "");
    }
};

TEST_F(AuditTest, FindsThePatientsOfPlainMessages) {
    const Outcome run = couplet({"audit", "c0.npy", "c1.npy", "c2.npy", "--rank", "20", "--json", "--quiet"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["verdict"], "patients");
    EXPECT_EQ(json["client"], "c0.npy");
    EXPECT_EQ(json["clients"], 3);
    EXPECT_EQ(json["patients"], 24);
    EXPECT_EQ(json["patients_total"], 72);
    EXPECT_EQ(json["controls"], 18);
    const Json& message = json["findings"][0];
    EXPECT_EQ(message["mode"], "stack");
    EXPECT_EQ(message["verdict"], "patients");
    EXPECT_GT(message["ica"]["recovered"], 10);
    EXPECT_EQ(message["ica"]["controls_recovered"], 0);
    EXPECT_EQ(json["findings"].size(), 13U);
    EXPECT_EQ(json["left_out"], 0);
}

TEST_F(AuditTest, WritesAPageAndKeepsAnOldOne) {
    const Outcome run = couplet({"audit", "--split", "3", "x.npy", "--rank", "4", "-o", "leaks.html"});
    ASSERT_EQ(run.status, 0) << run.err;
    for (const char* part : {"stack / coordinator", "recovered", "membership", "small cells", "guarantee"}) {
        EXPECT_NE(run.out.find(part), std::string::npos) << part << " in\n" << run.out;
    }
    const std::string page = get("leaks.html");
    EXPECT_EQ(page.rfind("<!doctype html>", 0), 0U);
    EXPECT_NE(page.find("<title>What leaks: client 1</title>"), std::string::npos);
    EXPECT_NE(page.find("coordinator with a client"), std::string::npos);
    EXPECT_EQ(couplet({"audit", "--split", "3", "x.npy", "--rank", "4", "-o", "leaks.html"}).status, 2);
    refused({"audit", "x.npy", "--rank", "4", "-o", "leaks.pdf"}, ".html");
}

TEST_F(AuditTest, TakesControlsFromAFile) {
    const Outcome run =
        couplet({"audit", "x.npy", "--rank", "4", "--controls", "others.npy", "--client", "1", "--json", "--quiet"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["controls"], 30);
    EXPECT_EQ(run.json()["patients"], 90);
    EXPECT_EQ(run.json()["skipped"].size(), 1U);
    refused({"audit", "x.npy", "--rank", "4", "--controls", "wrong.npy"}, "wrong.npy");
}

TEST_F(AuditTest, SaysWhatWasNotTestedAndWhoIsNoControl) {
    const Outcome run =
        couplet({"audit", "--split", "3", "x.npy", "--rank", "2", "--heldout", "0", "--json", "--quiet"});
    ASSERT_EQ(run.status, 0) << run.err;
    for (const Json& finding : run.json()["findings"]) {
        EXPECT_EQ(finding["sentence"].get<std::string>().find("no attack here succeeded"), std::string::npos)
            << finding;
        EXPECT_NE(finding["verdict"], "features-only");
    }
    refused({"audit", "c0.npy", "c1.npy", "c2.npy", "--rank", "4", "--controls", "c1.npy"},
            "c1.npy: no record that could be a control");
    python("np.save('mixed.npy', np.concatenate([np.load('others.npy'), np.load('c1.npy')[:4]]))");
    const Outcome mixed = couplet({"audit", "c0.npy", "c1.npy", "--rank", "4", "--controls", "mixed.npy", "--json"});
    ASSERT_EQ(mixed.status, 0) << mixed.err;
    EXPECT_EQ(mixed.json()["controls"], 30);
    EXPECT_EQ(mixed.json()["controls_left_out"], 4);
}

TEST_F(AuditTest, RefusesDataThatNobodyCanAttack) {
    python(
        "np.save('zero.npy', np.zeros((20, 3, 4))); x = np.load('x.npy'); x[0, 0, 0] = 1e160; np.save('huge.npy', x)");
    refused({"audit", "zero.npy", "--rank", "2"}, "empty records only");
    refused({"audit", "huge.npy", "--rank", "2"}, "1e160");
}

TEST_F(AuditTest, TheSeedDecides) {
    const std::vector<std::string> arguments{"audit", "--split", "3", "x.npy", "--rank", "4", "--json", "--quiet"};
    auto other = arguments;
    other.insert(other.end(), {"--seed", "1"});
    EXPECT_EQ(couplet(arguments).out, couplet(arguments).out);
    EXPECT_NE(couplet(arguments).json()["findings"], couplet(other).json()["findings"]);
}

TEST_F(AuditTest, RefusesWhatMeansNothing) {
    refused({"audit", "x.npy"}, "--rank: missing");
    refused({"audit", "x.npy", "--rank", "4", "--client", "2"}, "--client: 2; expected 1 to 1");
    refused({"audit", "--rank", "4"}, "no clients");
    refused({"audit", "x.npy", "wrong.npy", "--rank", "4"}, "wrong.npy");
}

}  // namespace
}  // namespace couplet::testing
