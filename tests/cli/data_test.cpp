#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class DataTest : public CliTest {
  protected:
    /// Runs data with the words of `line` and -o out --json.
    Outcome data(std::vector<std::string> arguments, const std::vector<std::string>& environment = {}) {
        arguments.insert(arguments.begin(), "data");
        for (const char* word : {"-o", "out", "--json"}) arguments.emplace_back(word);
        return couplet(arguments, environment);
    }
    Json manifest() { return Json::parse(get("out/manifest.json")); }
};

TEST_F(DataTest, SyntheticWritesClientsAndManifest) {
    const Outcome run = data({"synthetic", "10x4x3:rank=2", "--clients", "3", "--seed", "7"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["kind"], "synthetic");
    EXPECT_EQ(json["clients"], 3);
    EXPECT_EQ(json["shape"], Json({10, 4, 3}));
    EXPECT_EQ(json["shapes"], Json({{4, 4, 3}, {3, 4, 3}, {3, 4, 3}}));
    EXPECT_EQ(json["files"], Json({"client_1.npy", "client_2.npy", "client_3.npy"}));
    EXPECT_EQ(json["labels"], false);
    EXPECT_EQ(json["seed"], 7);
    EXPECT_EQ(load("out/client_2.npy").shape(), (Shape{3, 4, 3}));
    EXPECT_EQ(manifest()["clients"].size(), 3U);
    EXPECT_EQ(manifest()["spec"], "10x4x3:rank=2,density=0.4,personal=uniform,noise=0,patients=total");
}

TEST_F(DataTest, DefaultIsFourClientsAndTheSeedDecides) {
    ASSERT_EQ(data({"synthetic", "8x3x3"}).json()["clients"], 4);
    const std::string first = get("out/client_1.npy");
    const Outcome again = data({"synthetic", "8x3x3"});
    EXPECT_EQ(again.status, 2);
    EXPECT_NE(again.err.find("--force"), std::string::npos) << again.err;
    ASSERT_EQ(data({"synthetic", "8x3x3", "--force"}).status, 0);
    EXPECT_EQ(get("out/client_1.npy"), first);
    ASSERT_EQ(data({"synthetic", "8x3x3", "--force", "--seed", "1"}).status, 0);
    EXPECT_NE(get("out/client_1.npy"), first);
}

TEST_F(DataTest, HiddenEntriesAreNanOrZero) {
    ASSERT_EQ(data({"synthetic", "40x6x5", "--missing", "0.3", "--clients", "2"}).status, 0);
    EXPECT_NE(manifest()["spec"].get<std::string>().find("missing=0.3 as nan"), std::string::npos);
    EXPECT_NEAR(std::stod(python("print(np.isnan(np.load('out/client_2.npy')).mean())")), 0.3, 0.1);
    const std::string holes = python("print(np.isnan(np.load('out/client_2.npy')).astype(int).tolist())");
    ASSERT_EQ(
        data({"synthetic", "40x6x5", "--missing", "0.3", "--missing-as", "zero", "--clients", "4", "--force"}).status,
        0);
    // The same patients, dealt to four clients: the same holes.
    EXPECT_EQ(python("x = np.concatenate([np.load(f'out/client_{k}.npy') for k in (3, 4)]); y = x == 0\n"
                     "h = np.array(" +
                     holes + ", bool)\nprint(bool((y[h]).all()))"),
              "True\n");
    for (const char* fraction : {"1", "-0.1", "x"}) {
        const Outcome run = data({"synthetic", "8x3x3", "--missing", fraction, "--force"});
        EXPECT_EQ(run.status, 2);
        EXPECT_NE(run.err.find("--missing"), std::string::npos) << run.err;
    }
}

TEST_F(DataTest, EcgFromAFileWithLabels) {
    std::string csv;
    for (int beat = 0; beat < 6; ++beat) {
        for (int i = 0; i < 140; ++i) csv += std::to_string(beat + 0.01 * i) + ",";
        csv += beat % 2 == 0 ? "0.0\n" : "1.0\n";
    }
    put("ecg.csv", csv);
    const Outcome run =
        data({"ecg", "--data", "ecg.csv", "--count", "5", "--clients", "2", "--points", "7", "--embedding", "lag"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["shape"], Json({5, 7, 140}));
    EXPECT_EQ(run.json()["available"], 6);
    EXPECT_EQ(run.json()["labels"], true);
    EXPECT_TRUE(std::filesystem::exists(path("out/labels_2.npy")));
    // The folder of the environment variable serves as well.
    const Outcome other = data({"ecg", "--count", "all", "--force"}, {"COUPLET_DATA=."});
    ASSERT_EQ(other.status, 0) << other.err;
    EXPECT_EQ(other.json()["shape"], Json({6, 110, 140}));
}

TEST_F(DataTest, EhrFromCmsKeepsTheMostFrequentCodes) {
    put("cms.csv", "1,1,1,1,1\n1,1,2,1,2\n1,2,1,1,1\n1,3,1,1,2\n1,3,3,1,1\n");
    const Outcome run = data({"ehr", "--data", "cms.csv", "--top", "2x2", "--clients", "2", "--shuffle"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["shape"], Json({3, 2, 2}));
    EXPECT_EQ(manifest()["spec"], "source=cms,top=2x2,duplicates=clip,frequent_by=records, shuffled");
}

TEST_F(DataTest, RefusalsNameTheArgument) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"synthetic"}, "SPEC: missing"},
        {{"synthetic", "10"}, "a shape of one mode"},
        {{"synthetic", "3x4x4"}, "client"},
        {{"ecg", "10x4"}, "SPEC: given with data ecg"},
        {{"ecg", "--top", "3x3"}, "--top: given with data ecg; expected it with data ehr only"},
        {{"ecg", "--data", "nowhere"}, "nowhere: no such file or folder"},
        {{"diabetes", "--count", "0", "--data", "x"}, "--count: 0"},
        {{"ehr", "--top", "40"}, "--top: '40'"},
        {{"ehr", "--source", "synthea", "--duplicates", "sum"}, "--duplicates: given with --source synthea"},
        {{"eeg"}, "Did you mean ecg?"}};
    for (const auto& [arguments, message] : cases) {
        const Outcome run = data(arguments, {"COUPLET_DATA="});
        EXPECT_EQ(run.status, 2) << message;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(run.result(), "");
    }
}

TEST_F(DataTest, TextForPeopleNamesTheFolder) {
    const Outcome run = couplet({"data", "synthetic", "9x3x3", "--clients", "2", "-o", "out"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("9 x 3 x 3 (synthetic)"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("4 to 5 patients each"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("out/client_1.npy ... client_2.npy"), std::string::npos) << run.out;
}

TEST_F(DataTest, HospitalsAreTablesInFoldersOfTheirOwn) {
    const Outcome run = couplet({"data", "hospitals", "--count", "90", "--seed", "2", "-o", "made", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["patients"], 90);
    EXPECT_EQ(json["gaps"], 0.2);
    ASSERT_EQ(json["sites"].size(), 3U);
    for (const auto& site : json["sites"]) {
        for (const auto& file : site["files"]) {
            EXPECT_TRUE(std::filesystem::exists(
                path("made/" + site["name"].get<std::string>() + "/" + file.get<std::string>())));
        }
    }
    const Outcome table =
        couplet({"table", "made/west/diagnoses.csv", "made/west/prescriptions.csv", "--patient", "patient_id",
                 "--modes", "condition=diagnoses:diagnosis/text", "medication=prescriptions:medication/text", "--map",
                 "made/west/codes.csv", "-o", "west", "--json"});
    ASSERT_EQ(table.status, 0) << table.err;
    EXPECT_EQ(table.json()["unmapped_events"], 0);
    EXPECT_TRUE(table.json()["any"].get<bool>());
    EXPECT_EQ(couplet({"data", "hospitals", "-o", "made"}).status, 2) << "what is there stays";
    EXPECT_EQ(couplet({"data", "hospitals", "--clients", "4", "-o", "other"}).status, 2);
}

}  // namespace
}  // namespace couplet::testing
