#include <sys/stat.h>

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

/// What components are is in tests/explain; here is what the verb says, refuses and leaves behind. Two sites of 12
/// patients follow two patterns, "a and e" and "b and d without c", the first with twice the strength. A patient of the
/// south, s3, has far more of the second than anybody else.
class ExplainTest : public CliTest {
  protected:
    ExplainTest() {
        for (const std::string site : {"north", "south"}) {
            put(site + ".csv", records(site));
            ok({"table", site + ".csv", "--wide", "--patient", "p", "-o", site});
        }
        ok({"simulate", tensor("north"), tensor("south"), "--rank", "2", "-o", "result"});
    }
    static std::string tensor(const std::string& site) { return site + "/tensor.npy"; }
    static std::string records(const std::string& site) {
        constexpr std::array first{0.8, 0.0, 0.0, 0.0, 0.6, 0.0};
        constexpr std::array second{0.0, 0.65, -0.45, 0.55, 0.0, 0.0};
        std::string text = "p,a,b,c,d,e,f\n";
        for (int i = 0; i < 12; ++i) {
            const double turn = 1.7 * i + (site == "north" ? 0 : 0.9);
            const double u = 6 * std::cos(turn);
            const double v = site == "south" && i == 3 ? 9 : std::sin(2.3 * turn);
            text += site.substr(0, 1) + std::to_string(i);
            for (std::size_t j = 0; j < first.size(); ++j) {
                text += "," + std::to_string(u * first[j] + v * second[j] +
                                             0.02 * std::sin(7.0 * i + 3.0 * static_cast<double>(j)));
            }
            text += "\n";
        }
        return text;
    }
    Outcome ok(const std::vector<std::string>& arguments) const {
        Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 0) << run.err;
        return run;
    }
    Outcome explain(const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{"explain", "result"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return couplet(arguments);
    }
    Json told(std::vector<std::string> more) const {
        more.emplace_back("--json");
        const Outcome run = explain(more);
        EXPECT_EQ(run.status, 0) << run.err;
        return run.status == 0 ? run.json() : Json();
    }
    void refused(const std::vector<std::string>& more, const std::string& message) const {
        const auto before = files();
        const Outcome run = explain(more);
        EXPECT_EQ(run.status, 2) << run.out;
        EXPECT_EQ(run.out, "");
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(files(), before) << run.err;
    }
    unsigned permissions(const std::string& name) const {
        struct stat facts {};
        EXPECT_EQ(::stat(path(name).c_str(), &facts), 0) << name;
        return facts.st_mode & 0777U;
    }
};

/// "2 with 5" would say nothing.
TEST_F(ExplainTest, OfWhatABareNumberIsTheNumberIsSaid) {
    ok({"simulate", "--synthetic", "40x6x5:rank=2", "--clients", "2", "--rank", "2", "-o", "unnamed"});
    const std::string text = ok({"explain", "unnamed"}).out;
    EXPECT_NE(text.find(" of mode 2 with index "), std::string::npos) << text;
    put("years.csv", "p,2019,2020,2021,2022\na,1,2,3,9\nb,2,2,1,7\nc,5,1,1,3\nd,1,7,2,1\n");
    ok({"table", "years.csv", "--wide", "--patient", "p", "-o", "years"});
    ok({"simulate", "--split", "2", "years/tensor.npy", "--rank", "2", "-o", "by_year"});
    const std::string years = ok({"explain", "by_year"}).out;
    EXPECT_NE(years.find("  feature 2022\n"), std::string::npos) << years;
}

TEST_F(ExplainTest, ASiteWhoseCoreIsMissingIsNamed) {
    std::filesystem::remove(path("result/personal_1.npz"));
    refused({}, "result: personal cores of 1 of 2 sites: no personal_1.npz");
}

TEST_F(ExplainTest, NamesWhatEachComponentIsMadeOf) {
    const Json json = told({});
    EXPECT_EQ(json["result"], "result");
    EXPECT_EQ(json["rotation"], "varimax");
    EXPECT_EQ(json["share_of"], "data");
    EXPECT_GT(json["explained"], 0.99);
    ASSERT_EQ(json["sites"].size(), 2U);
    EXPECT_EQ(json["sites"][1]["name"], "south");
    EXPECT_EQ(json["sites"][1]["patients"], 12);
    ASSERT_EQ(json["components"].size(), 2U);
    const Json& first = json["components"][0];
    EXPECT_EQ(first["number"], 1);
    EXPECT_EQ(first["title"], "a, e");
    EXPECT_EQ(first["entries"][0]["labels"], Json({"a"}));
    EXPECT_NEAR(first["entries"][0]["weight"], 0.8, 0.02);
    EXPECT_EQ(json["components"][1]["title"], "b, d, no c");
    EXPECT_GT(first["share"], json["components"][1]["share"]) << "largest first";
    EXPECT_NEAR(first["share"].get<double>() + json["components"][1]["share"].get<double>(), json["explained"], 1e-6);
    EXPECT_EQ(first["sites"][0]["name"], "north");
    EXPECT_FALSE(first.contains("stability")) << "nothing was drawn again";
    EXPECT_FALSE(json.contains("patient"));
    EXPECT_FALSE(json.contains("drift"));
    EXPECT_FALSE(json.contains("output"));

    const Outcome shown = explain({});
    ASSERT_EQ(shown.status, 0) << shown.err;
    for (const char* part : {"1. a, e", "2. b, d, no c", "(north ", "made of  +0.80  a", "% of the data"})
        EXPECT_NE(shown.out.find(part), std::string::npos) << part << " in\n" << shown.out;
    EXPECT_EQ(shown.out.find("stability"), std::string::npos);
}

TEST_F(ExplainTest, RotationAndEntriesAreAsAsked) {
    const Json plain = told({"--rotate", "none", "--entries", "2"});
    EXPECT_EQ(plain["rotation"], "none");
    EXPECT_EQ(plain["components"][0]["entries"].size(), 2U);
    EXPECT_NEAR(plain["explained"], told({})["explained"].get<double>(), 1e-9) << "turning leaves the fit as it is";
    refused({"--rotate", "promax"}, "--rotate: 'promax'; expected one of varimax, none");
    refused({"--entries", "0"}, "--entries: 0; expected a whole number from 1 to 1000");
}

TEST_F(ExplainTest, AFewEntriesAreShownAndAllAreTold) {
    put("wide.csv", "p,a,b,c,d,e,f,g,h\nx,1,2,3,4,5,6,7,8\ny,2,1,4,3,6,5,8,7\nz,1,1,2,2,3,3,5,5\n");
    ok({"table", "wide.csv", "--wide", "--patient", "p", "-o", "wide"});
    ok({"simulate", "wide/tensor.npy", "--rank", "1", "-o", "one"});
    EXPECT_EQ(ok({"explain", "one", "--json"}).json()["components"][0]["entries"].size(), 8U);
    const std::string out = ok({"explain", "one"}).out;
    EXPECT_EQ(std::count(out.begin(), out.end(), '+'), 6) << out;
    EXPECT_EQ(out.find("(wide "), std::string::npos) << "one site has no shares beside the whole's\n" << out;
}

TEST_F(ExplainTest, WritesThreeFilesOrNone) {
    const Outcome run = explain({"-o", "page.html"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("page.html, page.json, page.csv"), std::string::npos) << run.out;
    EXPECT_EQ(get("page.html").rfind("<!DOCTYPE html>", 0), 0U);
    EXPECT_EQ(get("page.html").find("http://"), std::string::npos);
    Json json = told({"-o", "second.html"});
    EXPECT_EQ(json["output"], "second.html");
    json.erase("output");
    EXPECT_EQ(Json::parse(get("page.json")), json) << "what stdout says";
    EXPECT_NE(get("page.csv").find("a"), std::string::npos);
    EXPECT_NE(permissions("page.html"), 0600U) << "a page of no patient is for everybody";

    std::filesystem::remove(path("page.html"));
    std::filesystem::remove(path("page.csv"));
    const std::string kept = get("page.json");
    refused({"-o", "page.html"}, "page.json");
    EXPECT_EQ(get("page.json"), kept) << "one file that exists keeps the other two away";
    ASSERT_EQ(explain({"-o", "page.html", "--force", "--rotate", "none"}).status, 0);
    EXPECT_NE(get("page.json"), kept);
    refused({"-o", "page.pdf"}, ".html");
}

TEST_F(ExplainTest, ReplacesNothingThatItDidNotWrite) {
    ASSERT_EQ(couplet({"explain", "result", "-o", "page.html"}).status, 0);
    ASSERT_EQ(couplet({"explain", "result", "-o", "page.html", "--force"}).status, 0) << "its own files";
    for (const char* name : {"page.csv", "page.json"}) {
        const std::string own = get(name);
        put(name, "patient,age\n1,80\n");
        const Outcome outcome = couplet({"explain", "result", "-o", "page.html", "--force"});
        EXPECT_EQ(outcome.status, 2);
        EXPECT_NE(outcome.err.find(name), std::string::npos) << outcome.err;
        EXPECT_NE(outcome.err.find("page.html comes with page.json and page.csv"), std::string::npos) << outcome.err;
        EXPECT_EQ(get(name), "patient,age\n1,80\n");
        put(name, own);
    }
}

TEST_F(ExplainTest, TellsOfAPatientAtItsSiteAlone) {
    const std::vector<std::string> asked{"--patient", "s3", "--patients", "south/patients.csv"};
    const Json patient = told(asked)["patient"];
    EXPECT_EQ(patient["id"], "s3");
    EXPECT_EQ(patient["site"], "south") << "as the folder of the list is called";
    EXPECT_EQ(patient["unusual"].size(), 1U) << patient;
    EXPECT_EQ(patient["nearest"].size(), 5U);
    EXPECT_FALSE(patient["made_of"].empty());

    const Outcome shown = explain(asked);
    ASSERT_EQ(shown.status, 0) << shown.err;
    EXPECT_EQ(shown.out.find("patient  s3 at south\nunusual  +"), 0U) << shown.out;
    EXPECT_NE(shown.out.find(" deviations: b, d, no c\nmade of  "), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find(" of the typical distance)"), std::string::npos) << shown.out;
    const Outcome usual = explain({"--patient", "n4", "--patients", "north/patients.csv"});
    ASSERT_EQ(usual.status, 0) << usual.err;
    EXPECT_NE(usual.out.find("unusual  nothing\n"), std::string::npos) << usual.out;

    auto on_paper = asked;
    on_paper.insert(on_paper.end(), {"-o", "patient.html"});
    ASSERT_EQ(explain(on_paper).status, 0);
    for (const char* name : {"patient.html", "patient.json", "patient.csv"})
        EXPECT_EQ(permissions(name), 0600U) << name << " names a patient";
}

TEST_F(ExplainTest, WhosePatientsThoseAreIsNeverGuessed) {
    std::filesystem::copy_file(path("south/patients.csv"), path("list.csv"));
    refused({"--patient", "s3", "--patients", "list.csv"},
            "--site: none; expected whose patients those are, of north, south. Sites count from 1.");
    EXPECT_EQ(told({"--patient", "s3", "--patients", "list.csv", "--site", "2"})["patient"]["site"], "south");
    EXPECT_EQ(told({"--patient", "s3", "--patients", "south/patients.csv", "--site", "2"})["patient"]["site"], "south");
    refused({"--patient", "s3", "--patients", "south/patients.csv", "--site", "1"},
            "--patients: the patients of south; expected those of north, as --site says. Use --site 2.");
    refused({"--patient", "s3", "--patients", "list.csv", "--site", "0"}, "--site: 0; expected");
    refused({"--patient", "s3", "--patients", "list.csv", "--site", "3"}, "3");
    refused({"--patient", "nobody", "--patients", "south/patients.csv"}, "nobody");
}

TEST_F(ExplainTest, FlagsThatNeedEachOther) {
    refused({"--patient", "s3"}, "--patient: given without --patients; expected both");
    refused({"--patients", "south/patients.csv"}, "--patients: given without --patient; expected both");
    refused({"--site", "1"}, "--site: given without --patient; expected both");
    refused({"--resamples", "3"}, "--resamples: given without --data; expected both");
    refused({"--data", tensor("north"), tensor("south"), "--resamples", "0"}, "--resamples: 0; expected");
}

TEST_F(ExplainTest, TinyAndHugeDataHaveTheSameShares) {
    for (const std::string factor : {"1", "1e-200", "1e160"}) {
        python("for s in ('north', 'south'): np.save(s + '.npy', np.load(s + '/tensor.npy') * " + factor + ")");
        ok({"simulate", "north.npy", "south.npy", "--rank", "2", "--scale-clients", "norm", "-o", "x" + factor});
        const Json json =
            couplet({"explain", "x" + factor, "--data", "north.npy", "south.npy", "--resamples", "1", "--json"}).json();
        EXPECT_GT(json["explained"], 0.99) << factor;
        EXPECT_GT(json["components"][0]["share"], 0.5) << factor;
    }
}

TEST_F(ExplainTest, SaysHowStableComponentsAreOnTheDataOfTheResultAlone) {
    const Json json = told({"--data", tensor("north"), tensor("south"), "--resamples", "3"});
    EXPECT_EQ(json["resamples"], 3);
    const Json& first = json["components"][0];
    EXPECT_GT(first["stability"], 0.9);
    EXPECT_LE(first["least_stability"], first["stability"]);
    EXPECT_EQ(json, told({"--data", tensor("north"), tensor("south"), "--resamples", "3"})) << "the seed decides";
    const Outcome shown = explain({"--data", tensor("north"), tensor("south"), "--resamples", "3"});
    EXPECT_NE(shown.out.find(", at least "), std::string::npos) << shown.out;

    refused({"--data", tensor("north")}, "--data: 1 files; expected 2, one for each site of the result, in its order");
    refused({"--data", tensor("south"), tensor("north")}, "south/tensor.npy: a norm of ");
    put("short.csv", "p,a,b,c,d,e,f\nx,1,2,3,4,5,6\n");
    ok({"table", "short.csv", "--wide", "--patient", "p", "-o", "short"});
    refused(
        {"--data", tensor("north"), tensor("short")},
        "short/tensor.npy: 1 patients; expected 12, as south has. Give the tensors of the sites in the order of the "
        "result.");
}

TEST_F(ExplainTest, HeldOutPatientsMayBeInTheData) {
    ok({"simulate", tensor("north"), tensor("south"), "--rank", "2", "--heldout", "0.25", "-o", "held"});
    const Outcome run =
        couplet({"explain", "held", "--data", tensor("north"), tensor("south"), "--resamples", "1", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_LT(run.json()["sites"][0]["patients"], 12) << "those of a personal core";
    EXPECT_EQ(run.json()["gain"].size(), 2U) << run.out;
}

TEST_F(ExplainTest, SaysWhatChangedSinceAnOlderResult) {
    ok({"simulate", tensor("north"), tensor("south"), "--rank", "1", "-o", "older"});
    const Json drift = told({"--compare", "older"})["drift"];
    ASSERT_EQ(drift["changes"].size(), 2U);
    EXPECT_NEAR(drift["overlap"], 0.5, 0.05) << "one of the two directions";
    const Outcome grown = explain({"--compare", "older"});
    EXPECT_EQ(grown.out.find("pattern "), 0U) << grown.out;
    EXPECT_NE(grown.out.find(" new "), std::string::npos) << grown.out;
    EXPECT_EQ(grown.out.find(" gone "), std::string::npos) << grown.out;
    const Outcome shrunk = couplet({"explain", "older", "--compare", "result"});
    ASSERT_EQ(shrunk.status, 0) << shrunk.err;
    EXPECT_NE(shrunk.out.find(" gone "), std::string::npos) << shrunk.out;
    EXPECT_EQ(shrunk.out.find(" new "), std::string::npos) << shrunk.out;
    const Outcome same = explain({"--compare", "result"});
    EXPECT_NE(same.out.find("100% of the patterns' space was there before"), std::string::npos) << same.out;
    EXPECT_NE(same.out.find("1.00"), std::string::npos) << same.out;
    refused({"--compare", "nowhere"}, "nowhere");
}

TEST_F(ExplainTest, FeaturesThatLieAloneHaveNoShares) {
    std::filesystem::create_directory(path("lone"));
    std::filesystem::copy_file(path("result/features.npz"), path("lone/features.npz"));
    const Json json = ok({"explain", "lone/features.npz", "--json"}).json();
    EXPECT_TRUE(json["explained"].is_null());
    EXPECT_TRUE(json["components"][0]["share"].is_null());
    EXPECT_NE(ok({"explain", "lone"}).out.find("not known: no site's coordinates lie beside the features"),
              std::string::npos);
}

TEST_F(ExplainTest, NoInputIsReplacedAndNothingIsMadeUp) {
    std::filesystem::copy_file(path("south/patients.csv"), path("page.csv"));
    const std::string before = get("page.csv");
    refused({"--patient", "s3", "--patients", "page.csv", "--site", "2", "-o", "page.html", "--force"}, "page.csv");
    EXPECT_EQ(get("page.csv"), before);
    const Outcome nothing = couplet({"explain", "nowhere"});
    EXPECT_EQ(nothing.status, 2);
    EXPECT_NE(nothing.err.find("nowhere"), std::string::npos) << nothing.err;
    const Outcome json = couplet({"explain", "north", "--json"});
    EXPECT_EQ(json.status, 2);
    EXPECT_EQ(json.json()["error"]["expected"], "the result of a federation") << json.out;
}

}  // namespace
}  // namespace couplet::testing
