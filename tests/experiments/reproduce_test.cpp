#include "couplet/experiments/reproduce.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "couplet/baselines/tune.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

using testing::LabTest;
using testing::refusal;

class ReproduceTest : public LabTest {
  protected:
    ReproduceOptions options(const std::vector<std::string>& names) {
        ReproduceOptions how{.experiments = find_experiments(names), .folder = out_, .settings = tiny()};
        how.on_result = [this](const ExperimentResult& result, bool reused) {
            heard_.push_back(result.name + (reused ? " reused" : ""));
        };
        how.on_note = [this](const std::string& note) { notes_.push_back(note); };
        return how;
    }
    std::string get(const std::string& name) const {
        std::ifstream stream(out_ / name);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    void put_out(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(out_);
        std::ofstream(out_ / name) << text;
    }

    std::filesystem::path out_ = folder_ / "new" / "report";
    std::vector<std::string> heard_;
    std::vector<std::string> notes_;
};

TEST_F(ReproduceTest, WritesNumbersAndPage) {
    const auto outcome = reproduce(options({"eps1"}));
    ASSERT_EQ(outcome.results.size(), 1U);
    EXPECT_TRUE(outcome.reused.empty());
    const auto json = nlohmann::json::parse(get("eps1.json"));
    EXPECT_EQ(json["parameters"]["seed"], 3);
    EXPECT_EQ(json["parameters"]["effort"], "tiny");
    EXPECT_EQ(json["result"]["rows"].size(), outcome.results[0].rows.size());
    EXPECT_EQ(get("eps1.csv").substr(0, 13), "figure,method");
    EXPECT_NE(get("report.html").find("id=\"eps1\""), std::string::npos);
}

TEST_F(ReproduceTest, FinishedExperimentsAreReusedAndStayInThePage) {
    reproduce(options({"eps1"}));
    const std::string before = get("eps1.json");
    const auto again = reproduce(options({"eps1", "heterogeneous"}));
    EXPECT_EQ(again.reused, std::vector<std::string>{"eps1"});
    EXPECT_EQ(get("eps1.json"), before);
    reproduce(options({"heterogeneous"}));
    EXPECT_NE(get("report.html").find("id=\"eps1\""), std::string::npos);
    auto forced = options({"eps1"});
    forced.force = true;
    EXPECT_TRUE(reproduce(forced).reused.empty());
    EXPECT_EQ(heard_,
              (std::vector<std::string>{"eps1", "eps1 reused", "heterogeneous", "heterogeneous reused", "eps1"}));
}

TEST_F(ReproduceTest, TheSameSeedGivesTheSameErrors) {
    const auto rse = [](const ReproduceOutcome& outcome) { return rows_of(outcome.results.front(), "rse"); };
    const auto once = rse(reproduce(options({"heterogeneous"})));
    auto forced = options({"heterogeneous"});
    forced.force = true;
    EXPECT_EQ(rse(reproduce(forced)), once);
}

TEST_F(ReproduceTest, OtherParametersAreRefusedUnlessForced) {
    reproduce(options({"eps1"}));
    auto other = options({"eps1"});
    other.settings.seed = 4;
    const std::string error = refusal([&] { reproduce(other); });
    EXPECT_NE(error.find("eps1.json"), std::string::npos) << error;
    EXPECT_NE(error.find("\"seed\":3"), std::string::npos) << error;
    EXPECT_NE(error.find("`force`"), std::string::npos) << error;
    other.force = true;
    EXPECT_EQ(refusal([&] { reproduce(other); }), "");
}

TEST_F(ReproduceTest, DataThatArrivesIsUsed) {
    const auto without = reproduce(options({"variances", "eps1"}));
    EXPECT_EQ(without.results.back().absent.size(), 1U);
    EXPECT_NE(get("report.html").find("Missing data. Diabetes"), std::string::npos);
    put_all();
    const auto with = reproduce(options({"variances", "eps1"}));
    EXPECT_EQ(with.reused, std::vector<std::string>{"eps1"});
    EXPECT_TRUE(with.results.back().absent.empty());
    EXPECT_FALSE(with.results.back().rows.empty());
}

TEST_F(ReproduceTest, WhatIsTunedOtherwiseIsComputedAgain) {
    auto how = options({"comparison"});
    how.settings.tuning_cache = folder_ / "tuning.json";
    const auto first = reproduce(how).results.front().tunings;
    ASSERT_FALSE(first.empty());
    for (const auto& tuning : first) EXPECT_EQ(tuning.parameters, "");  // nothing is tuned with so little effort
    EXPECT_NE(get("report.html").find("its defaults, not tuned"), std::string::npos);
    EXPECT_EQ(reproduce(how).reused, std::vector<std::string>{"comparison"});
    const Method method = parse_method(first[0].method);
    const Tuning better = tuning_grid(method).front();
    save_tuning(how.settings.tuning_cache, {method, first[0].rank, Loss::square, first[0].found_for}, better, 0.5, 3);
    const auto again = reproduce(how);
    EXPECT_TRUE(again.reused.empty());
    const std::string parameters = describe(resolve_tuning(method, better, first[0].rank));
    EXPECT_EQ(again.results.front().tunings[0].parameters, parameters);
    EXPECT_NE(get("report.html").find(parameters), std::string::npos);
    EXPECT_EQ(reproduce(how).reused, std::vector<std::string>{"comparison"});
    // Gone: kept, since it was better than the defaults.
    std::filesystem::remove(how.settings.tuning_cache);
    EXPECT_EQ(reproduce(how).reused, std::vector<std::string>{"comparison"});
}

TEST_F(ReproduceTest, WhatIsTunedOtherwiseIsKeptWhenItsDataIsGone) {
    put_diabetes(120);
    auto how = options({"heldout"});
    how.settings.tuning_cache = folder_ / "tuning.json";
    const auto first = reproduce(how).results.front();
    const auto used = std::find_if(first.tunings.begin(), first.tunings.end(),
                                   [](const MethodTuning& tuning) { return tuning.data == "Diabetes"; });
    ASSERT_NE(used, first.tunings.end());
    const Method method = parse_method(used->method);
    save_tuning(how.settings.tuning_cache, {method, used->rank, Loss::square, used->found_for},
                tuning_grid(method).front(), 0.5, 3);
    std::filesystem::remove(folder_ / "diabetes_012_health_indicators_BRFSS2015.csv");
    const auto again = reproduce(how);
    EXPECT_EQ(again.reused, std::vector<std::string>{"heldout"});
    EXPECT_EQ(again.results.front().rows, first.rows);
}

TEST_F(ReproduceTest, ResultsSayFromWhichFilesTheyCome) {
    put_diabetes(120);
    reproduce(options({"heldout", "eps1"}));
    const auto data = nlohmann::json::parse(get("heldout.json"))["data"];
    ASSERT_EQ(data.size(), 3U) << data;  // nothing of synthetic data
    EXPECT_TRUE(data["ECG"].is_null());
    EXPECT_TRUE(data["CMS records"].is_null());
    const std::filesystem::path file = folder_ / "diabetes_012_health_indicators_BRFSS2015.csv";
    EXPECT_EQ(data["Diabetes"]["file"], file.string());
    EXPECT_EQ(data["Diabetes"]["bytes"], std::filesystem::file_size(file));
    EXPECT_EQ(data["Diabetes"]["fnv1a"].get<std::string>().size(), 16U);
    EXPECT_EQ(data["Diabetes"]["rows"], 120);
    EXPECT_TRUE(nlohmann::json::parse(get("eps1.json"))["data"].empty());
}

TEST_F(ReproduceTest, ResultsFromAnotherFileAreRefusedUnlessForced) {
    put_diabetes(120);
    reproduce(options({"variances"}));
    const std::string before = get("variances.json");
    put_diabetes(121);
    const std::string error = refusal([&] { reproduce(options({"variances"})); });
    for (const char* part :
         {"variances.json: a result from another Diabetes file", "expected one from ", "BRFSS2015.csv (", "`force`"}) {
        EXPECT_NE(error.find(part), std::string::npos) << error;
    }
    EXPECT_EQ(get("variances.json"), before);
    // One that was not asked for is left out of the page.
    reproduce(options({"eps1"}));
    EXPECT_EQ(get("report.html").find("id=\"variances\""), std::string::npos);
    auto forced = options({"variances"});
    forced.force = true;
    EXPECT_TRUE(reproduce(forced).reused.empty());
    EXPECT_EQ(reproduce(options({"variances"})).reused, std::vector<std::string>{"variances"});
    reproduce(options({"eps1"}));
    EXPECT_NE(get("report.html").find("id=\"variances\""), std::string::npos);
    // Where the file lies does not matter.
    std::filesystem::create_directory(folder_ / "diabetes");
    std::filesystem::rename(folder_ / "diabetes_012_health_indicators_BRFSS2015.csv",
                            folder_ / "diabetes" / "diabetes_012_health_indicators_BRFSS2015.csv");
    EXPECT_EQ(reproduce(options({"variances"})).reused, std::vector<std::string>{"variances"});
}

TEST_F(ReproduceTest, ResultsThatDoNotSayFromWhichFileAreRefused) {
    put_diabetes(120);
    reproduce(options({"variances", "eps1"}));
    for (const char* name : {"variances.json", "eps1.json"}) {
        auto json = nlohmann::ordered_json::parse(get(name));
        json.erase("data");
        put_out(name, json.dump());
    }
    EXPECT_NE(refusal([&] {
                  reproduce(options({"variances"}));
              }).find("a result that does not say from which Diabetes file; expected one from "),
              std::string::npos);
    // Generated data has no file.
    EXPECT_EQ(reproduce(options({"eps1"})).reused, std::vector<std::string>{"eps1"});
    for (const char* data : {"7", "[]", "{\"Diabetes\": 7}", "{\"Diabetes\": {\"bytes\": \"x\"}}"}) {
        auto json = nlohmann::ordered_json::parse(get("variances.json"));
        json["data"] = nlohmann::ordered_json::parse(data);
        put_out("variances.json", json.dump());
        EXPECT_NE(refusal([&] { reproduce(options({"variances"})); }).find("`force`"), std::string::npos) << data;
    }
}

TEST_F(ReproduceTest, ResultsOutliveTheirDataButAreNotLostForOther) {
    put_diabetes(120);
    const auto with = reproduce(options({"scalability"}));
    EXPECT_EQ(with.results.front().absent.size(), 1U);
    std::filesystem::remove(folder_ / "diabetes_012_health_indicators_BRFSS2015.csv");
    const auto without = reproduce(options({"scalability"}));
    EXPECT_EQ(without.reused, std::vector<std::string>{"scalability"});
    EXPECT_EQ(without.results.front().rows, with.results.front().rows);
    put_ecg(60);
    const std::string error = refusal([&] { reproduce(options({"scalability"})); });
    EXPECT_NE(error.find("a result with Diabetes, which is not there now, and without ECG, which is"),
              std::string::npos)
        << error;
    put_diabetes(120);
    const auto both = reproduce(options({"scalability"}));
    EXPECT_TRUE(both.reused.empty());
    EXPECT_TRUE(both.results.front().absent.empty());
}

TEST_F(ReproduceTest, WhatIsMissingIsSaidOfTheFolderOfToday) {
    reproduce(options({"variances"}));
    auto elsewhere = options({"variances"});
    elsewhere.settings.data = folder_ / "elsewhere";
    std::filesystem::create_directory(folder_ / "elsewhere");
    const auto again = reproduce(elsewhere);
    ASSERT_EQ(again.reused, std::vector<std::string>{"variances"});
    ASSERT_EQ(again.results.front().absent.size(), 1U);
    EXPECT_NE(again.results.front().absent.front().find("elsewhere: neither"), std::string::npos);
}

TEST_F(ReproduceTest, FilesThatAreNotThePublishedOnesAreNoted) {
    put_all();
    const std::string note = "Diabetes: " + (folder_ / "diabetes_012_health_indicators_BRFSS2015.csv").string() +
                             " has 120 rows; the published file has 253,680.";
    const auto once = reproduce(options({"variances", "classification", "eps1"}));
    EXPECT_EQ(notes_, std::vector<std::string>{note});
    for (const ExperimentResult& result : once.results) {
        EXPECT_EQ(std::count(result.findings.begin(), result.findings.end(), note), result.name == "eps1" ? 0 : 1)
            << result.name;
    }
    EXPECT_NE(get("report.html").find("has 120 rows; the published file has 253,680."), std::string::npos);
    reproduce(options({"variances"}));
    EXPECT_EQ(heard_.back(), "variances reused");
    EXPECT_EQ(notes_, (std::vector<std::string>{note, note}));
}

TEST_F(ReproduceTest, ForeignFilesAreLeftAlone) {
    put_out("notes.txt", "mine");
    put_out("eps1.json", "{\"mine\": 1}");
    EXPECT_NE(refusal([&] { reproduce(options({"eps1"})); }).find("eps1.json"), std::string::npos);
    EXPECT_EQ(get("eps1.json"), "{\"mine\": 1}");
    // Of another experiment it does not matter.
    EXPECT_EQ(refusal([&] { reproduce(options({"heterogeneous"})); }), "");
    put_out("eps1.json", "");
    EXPECT_NE(refusal([&] { reproduce(options({"eps1"})); }).find("another making"), std::string::npos);
    std::filesystem::remove(out_ / "eps1.json");
    put_out("eps1.csv", "a,b\n");
    EXPECT_NE(refusal([&] { reproduce(options({"eps1"})); }).find("eps1.csv"), std::string::npos);
    std::filesystem::remove(out_ / "eps1.csv");
    put_out("report.html", "<html>mine</html>");
    EXPECT_NE(refusal([&] { reproduce(options({"eps1"})); }).find("report.html"), std::string::npos);
    EXPECT_EQ(get("report.html"), "<html>mine</html>");
    auto forced = options({"eps1"});
    forced.force = true;
    reproduce(forced);
    EXPECT_EQ(get("notes.txt"), "mine");
    EXPECT_NE(get("report.html").find("couplet reproduce"), std::string::npos);
}

TEST_F(ReproduceTest, WhatIsWrongIsSaidBeforeAnythingIsComputed) {
    auto untunable = options({"eps1", "comparison"});
    untunable.settings.tuning_cache = folder_ / "broken.json";
    std::ofstream(untunable.settings.tuning_cache) << "{";
    EXPECT_NE(refusal([&] { reproduce(untunable); }).find("broken.json"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(out_));
    put("ecg.csv", "1,2,3\n");
    const std::string damaged = refusal([&] { reproduce(options({"eps1", "scalability"})); });
    EXPECT_NE(damaged.find("ecg.csv"), std::string::npos) << damaged;
    EXPECT_NE(damaged.find("Kaggle"), std::string::npos) << damaged;
    EXPECT_TRUE(heard_.empty());
    put_out("x", "");
    auto file = options({"eps1"});
    file.folder = out_ / "x";
    EXPECT_NE(refusal([&] { reproduce(file); }).find("a folder"), std::string::npos);
    auto none = options({"eps1"});
    none.settings.repeats = 0;
    EXPECT_NE(refusal([&] { reproduce(none); }).find("`repeats`"), std::string::npos);
}

}  // namespace
}  // namespace couplet
