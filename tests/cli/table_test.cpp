#include <sys/stat.h>

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

/// What a table becomes is in tests/table; here is what the verb says, refuses and leaves behind.
class TableTest : public CliTest {
  protected:
    TableTest() {
        put("labs.csv",
            "ID,CODE,NAME,DATE,RESULT,UNIT\n"
            "p1,k,Potassium,2024-01-20,5,mmol/L\n"
            "p1,k,Potassium,2024-01-03,4,mmol/L\n"
            "p1,na,Sodium,2024-02-01,140,mmol/L\n"
            "p2,k,Potassium,2024-02-11,3.5,mmol/L\n"
            "p2,rare,Rare thing,2024-02-12,7,g/L\n"
            "p3,na,Sodium,2024-03-01,,mmol/L\n");
    }
    /// couplet table labs.csv by code, with more flags, into a folder.
    Outcome labs(const std::string& output, const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{"table", "labs.csv", "--patient", "ID", "--modes", "test=CODE/NAME"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        arguments.insert(arguments.end(), {"-o", output});
        return couplet(arguments);
    }
    /// The message, of a run that was refused before it wrote anything.
    std::string refused(const std::vector<std::string>& more) const {
        const Outcome run = labs("refused", more);
        EXPECT_EQ(run.status, 2) << run.out;
        EXPECT_EQ(run.out, "");
        EXPECT_FALSE(std::filesystem::exists(path("refused"))) << run.err;
        return run.err;
    }
    std::vector<double> entries(const std::string& file) const {
        const Tensor<double> tensor = load(file);
        return {tensor.data(), tensor.data() + tensor.size()};
    }
    Json schema(const std::string& folder) const { return Json::parse(get(folder + "/schema.json")); }
};

TEST_F(TableTest, SaysWhatWasReadAndWhatItBecame) {
    const Outcome run = labs("out", {"--value", "RESULT", "--unit", "UNIT", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["shape"], Json({2, 3}));
    EXPECT_EQ(json["modes"], Json::parse(R"([{"name":"test","size":3,"met":3}])"));
    EXPECT_EQ(json["tables"], Json({"labs.csv"}));
    EXPECT_EQ(json["records"], Json({6}));
    EXPECT_EQ(json["patients"], 2);
    EXPECT_EQ(json["without"], 1) << "of p3 nothing is known";
    EXPECT_EQ(json["entries"], 4);
    EXPECT_EQ(json["missing"], 0);
    EXPECT_EQ(json["withdrawn"], 0);
    EXPECT_EQ(json["without_value"], 1);
    EXPECT_EQ(json["unknown_terms"], 0);
    EXPECT_EQ(json["unknown"], Json::array());
    EXPECT_EQ(json["similar"], Json::array());
    EXPECT_EQ(json["file"], "tensor.npy");
    EXPECT_EQ(json["output"], "out");
    EXPECT_EQ(entries("out/tensor.npy"), (std::vector<double>{4.5, 140, 0, 3.5, 0, 7}));
    EXPECT_EQ(schema("out")["modes"][0]["labels"], Json({"Potassium", "Sodium", "Rare thing"}));
    EXPECT_EQ(schema("out")["modes"][0]["units"], Json({"mmol/L", "mmol/L", "g/L"}));

    const Outcome shown = labs("shown", {"--value", "RESULT"});
    ASSERT_EQ(shown.status, 0) << shown.err;
    for (const char* part :
         {"labs.csv: 6 records", "1 events without a number do not count", "2; 1 of whom nothing counts are left out",
          "4 (66.7% of the tensor)", "shown/tensor.npy", "patients.csv (stays here)"}) {
        EXPECT_NE(shown.out.find(part), std::string::npos) << part << " in\n" << shown.out;
    }
    EXPECT_EQ(shown.out.find("left out  "), std::string::npos) << "nothing was cut\n" << shown.out;
    EXPECT_EQ(shown.out.find("unknown"), std::string::npos) << shown.out;
}

TEST_F(TableTest, IdentifiersAreInOneFileThatNobodyElseReads) {
    ASSERT_EQ(labs("out", {}).status, 0);
    EXPECT_EQ(get("out/patients.csv"), "row,patient\n1,p1\n2,p2\n3,p3\n");
    struct stat facts {};
    ASSERT_EQ(::stat(path("out/patients.csv").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
    for (const char* shared : {"out/schema.json", "out/manifest.json"})
        EXPECT_EQ(get(shared).find("p1"), std::string::npos);
}

TEST_F(TableTest, WhatACellBecomes) {
    const auto cells = [&](const std::vector<std::string>& more) {
        const Outcome run = labs("cells", more);
        EXPECT_EQ(run.status, 0) << run.err;
        auto values = entries("cells/tensor.npy");
        std::filesystem::remove_all(path("cells"));
        return values;
    };
    EXPECT_EQ(cells({}), (std::vector<double>{1, 1, 0, 1, 0, 1, 0, 1, 0})) << "presence";
    EXPECT_EQ(cells({"--aggregate", "count"}), (std::vector<double>{2, 1, 0, 1, 0, 1, 0, 1, 0}));
    EXPECT_EQ(cells({"--aggregate", "sum", "--value", "RESULT"}), (std::vector<double>{9, 140, 0, 3.5, 0, 7}));
    EXPECT_EQ(cells({"--aggregate", "last", "--value", "RESULT", "--time", "DATE"}),
              (std::vector<double>{5, 140, 0, 3.5, 0, 7}))
        << "by date, not by line";
    EXPECT_EQ(cells({"--value", "RESULT", "--keep-empty"}), (std::vector<double>{4.5, 140, 0, 3.5, 0, 7, 0, 0, 0}))
        << "p3 has a row of zeros";
}

TEST_F(TableTest, AnAbsentEntryIsZeroOrNotKnown) {
    const Outcome run = labs("out", {"--value", "RESULT", "--absent", "nan", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["entries"], 4);
    EXPECT_EQ(run.json()["missing"], 2);
    EXPECT_TRUE(std::isnan(entries("out/tensor.npy")[2]));
    const Outcome shown = labs("shown", {"--value", "RESULT", "--absent", "nan"});
    EXPECT_NE(shown.out.find("; 2 not known (NaN)"), std::string::npos) << shown.out;
}

TEST_F(TableTest, RareCodesAreCutAndCounted) {
    const Outcome run = labs("out", {"--top", "2", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["cut_terms"], 1);
    EXPECT_EQ(run.json()["shape"], Json({3, 2}));
    const Outcome shown = labs("shown", {"--top", "2"});
    EXPECT_NE(shown.out.find("1 rarer codes (--top)"), std::string::npos) << shown.out;
}

TEST_F(TableTest, CodesThatTheSchemaLacksAreNamed) {
    ASSERT_EQ(labs("first", {}).status, 0);
    std::string table = "ID,CODE,NAME\nq1,k,Potassium\nq1,new0,A\x1b[2J\nq1,new0,A\x1b[2J\nq2,new1,B\n";
    for (int i = 2; i < 9; ++i) table += "q1,new" + std::to_string(i) + ",\n";
    put("second.csv", table);
    const std::vector<std::string> arguments{"table",          "second.csv", "--patient",         "ID", "--modes",
                                             "test=CODE/NAME", "--schema",   "first/schema.json", "-o"};
    auto as_json = arguments;
    as_json.insert(as_json.end(), {"json", "--json"});
    const Outcome run = couplet(as_json);
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["shape"], Json({1, 3})) << "the schema's, whatever was met";
    EXPECT_EQ(json["modes"][0]["met"], 1);
    EXPECT_EQ(json["without"], 1);
    EXPECT_EQ(json["unknown_terms"], 9);
    EXPECT_EQ(json["unknown_events"], 10);
    EXPECT_EQ(json["unknown"].size(), 9U);
    EXPECT_EQ(json["unknown"][0], Json({{"mode", "test"}, {"code", "new0"}, {"label", "A\x1b[2J"}, {"events", 2}}));
    EXPECT_EQ(get("json/unknown.csv").find("mode,code,label,events\ntest,new0,"), 0U);

    auto as_text = arguments;
    as_text.emplace_back("text");
    const Outcome shown = couplet(as_text);
    ASSERT_EQ(shown.status, 0) << shown.err;
    std::string flat;  // as one line: the layout breaks it where the terminal ends
    for (const char c : shown.out) {
        if (c != ' ' && c != '\n') flat += c;
    }
    EXPECT_EQ(shown.out.find('\x1b'), std::string::npos) << "a label moves no cursor";
    EXPECT_NE(flat.find("3,1ofthemhere"), std::string::npos) << shown.out;
    EXPECT_NE(flat.find("10eventsof9codes:new0A?[2J(2),new1B(1)"), std::string::npos) << shown.out;
    EXPECT_NE(flat.find(",new7(1),...;allinunknown.csv"), std::string::npos) << "eight are named\n" << shown.out;
}

TEST_F(TableTest, ReadsOtherSeparatorsDecimalsAndHeaders) {
    put("german.csv", "ID;CODE;W\np9;k;1,5\np8;k;2\n");
    const std::vector<std::string> german{"--patient", "ID", "--modes", "test=E:CODE", "--value", "W"};
    const auto read = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
        arguments.insert(arguments.end(), german.begin(), german.end());
        arguments.insert(arguments.end(), more.begin(), more.end());
        return couplet(arguments);
    };
    const Outcome run = read({"table", "E=german.csv"}, {"--decimal", "comma", "--json", "-o", "out"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(entries("out/tensor.npy"), (std::vector<double>{2, 1.5})) << "rows in the order of the identifiers";
    const Outcome wrong = read({"table", "E=german.csv"}, {"-o", "wrong"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_NE(wrong.err.find("german.csv, line 2, column 3 (W): '1,5'; expected a number. Use --decimal comma"),
              std::string::npos)
        << wrong.err;
    EXPECT_FALSE(std::filesystem::exists(path("wrong")));
    EXPECT_EQ(read({"table", "E=german.csv"}, {"--decimal", "comma", "--separator", "semicolon", "-o", "named"}).status,
              0);
    EXPECT_EQ(read({"table", "E=german.csv"}, {"--decimal", "comma", "--separator", ";", "-o", "itself"}).status, 0);
    EXPECT_EQ(read({"table", "E=german.csv"}, {"--decimal", "comma", "--separator", "tab", "-o", "tab"}).status, 2);

    put("bare.csv", "a,x\nb,y\n");
    const Outcome bare =
        couplet({"table", "bare.csv", "--no-header", "--patient", "1", "--modes", "c=2", "-o", "bare"});
    ASSERT_EQ(bare.status, 0) << bare.err;
    EXPECT_EQ(get("bare/patients.csv"), "row,patient\n1,a\n2,b\n");
}

TEST_F(TableTest, DatesAreReadInTheOrderThatIsSaid) {
    put("dates.csv", "ID,DATE\np1,02/03/2024\n");
    const auto month = [&](const std::string& dates) {
        const Outcome run = couplet(
            {"table", "dates.csv", "--patient", "ID", "--modes", "m=DATE@month", "--dates", dates, "-o", dates});
        EXPECT_EQ(run.status, dates == "iso" ? 2 : 0) << run.err;
        return run.status == 0 ? schema(dates)["modes"][0]["labels"][0].get<std::string>() : run.err;
    };
    EXPECT_EQ(month("day-first"), "2024-03");
    EXPECT_EQ(month("month-first"), "2024-02");
    EXPECT_NE(month("iso").find("'02/03/2024'"), std::string::npos);
}

TEST_F(TableTest, LatinLettersAndConceptNamesBecomeLabels) {
    put("latin.csv", "ID,CODE,NAME\np1,k,K\xe4se\n");
    ASSERT_EQ(couplet({"table", "latin.csv", "--patient", "ID", "--modes", "CODE/NAME", "--encoding", "latin-1", "-o",
                       "latin"})
                  .status,
              0);
    EXPECT_EQ(schema("latin")["modes"][0]["labels"][0], "K\xc3\xa4se");
    put("CONCEPT.csv", "concept_id\tconcept_name\n1\tOne\n3\tThree\n");
    put("condition_occurrence.csv", "person_id,condition_concept_id\nz,1\nz,2\ny,1\n");
    const Outcome run = couplet({"table", "condition_occurrence.csv", "--concepts", "CONCEPT.csv", "-o", "omop"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(schema("omop")["modes"][0]["labels"], Json({"One", "2"}))
        << "a concept that is not listed keeps its number";
}

TEST_F(TableTest, WarnsOfCodesThatDifferByCapitals) {
    put("similar.csv", "ID,CODE\np1,a\np2,A\n");
    const Outcome run = couplet({"table", "similar.csv", "--patient", "ID", "--modes", "CODE", "--json", "-o", "out"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find("warning: codes that look alike count as two: 'A' and 'a' (but for capitals or blanks)"),
              std::string::npos)
        << run.err;
    EXPECT_EQ(run.json()["similar"], Json::parse(R"([{"mode":"code","codes":["A","a"],"why":"capitals or blanks"}])"));
}

TEST_F(TableTest, AWideTableHasARowPerPatientInItsOwnOrder) {
    put("wide.csv", "ID,bmi,sex\nb,20,m\na,30,f\n");
    const Outcome run = couplet(
        {"table", "wide.csv", "--wide", "--patient", "ID", "--modes", "body=bmi,sex:category", "--json", "-o", "out"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["shape"], Json({2, 3}));
    EXPECT_EQ(get("out/patients.csv"), "row,patient\n1,b\n2,a\n");
    EXPECT_EQ(entries("out/tensor.npy")[0], 20);
}

TEST_F(TableTest, TheLayoutIsTheSmallerOneOrTheOneThatIsAskedFor) {
    const Outcome sparse = labs("out", {"--layout", "sparse", "--json"});
    ASSERT_EQ(sparse.status, 0) << sparse.err;
    EXPECT_EQ(sparse.json()["file"], "tensor.tns");
    EXPECT_EQ(load("out/tensor.tns").shape(), Shape({3, 3}));
    const Outcome dense = labs("out", {"--layout", "dense", "--json", "--force"});
    ASSERT_EQ(dense.status, 0) << dense.err;
    EXPECT_EQ(dense.json()["file"], "tensor.npy");
    EXPECT_FALSE(std::filesystem::exists(path("out/tensor.tns"))) << "the old tensor is not left beside the new one";
}

TEST_F(TableTest, FlagsThatMeanNothingTogetherAreRefused) {
    ASSERT_EQ(labs("first", {}).status, 0);
    const auto says = [&](const std::vector<std::string>& more, const std::string& message) {
        const std::string err = refused(more);
        EXPECT_NE(err.find(message), std::string::npos) << err << "should say " << message;
    };
    says({"--aggregate", "presence", "--value", "RESULT"},
         "--value: given with --aggregate presence; expected it with --aggregate sum, mean or last. Leave it out.");
    says({"--aggregate", "count", "--unit", "UNIT"}, "--unit: given with --aggregate count");
    says({"--time", "DATE"}, "--time: given with no --aggregate last; expected both");
    says({"--schema", "first/schema.json", "--top", "2"}, "--top: given with --schema; expected one or the other");
    for (const auto& [flag, value] : std::vector<std::pair<std::string, std::string>>{{"--value", "RESULT"},
                                                                                      {"--unit", "UNIT"},
                                                                                      {"--time", "DATE"},
                                                                                      {"--aggregate", "sum"},
                                                                                      {"--absent", "nan"},
                                                                                      {"--concepts", "labs.csv"},
                                                                                      {"--top", "2"}}) {
        says({"--wide", flag, value}, flag + ": given with --wide; expected it with tables of events only");
    }
    says({"--aggregate", "median"}, "--aggregate: 'median'; expected one of presence, count, sum, mean, last");
    says({"--separator", "xx"}, "--separator: 'xx'; expected auto, comma, semicolon, tab, bar, space or one character");
    says({"--separator", "\""}, "--separator: ");
    says({"--top", "0"}, "--top: 0; expected a whole number from 1");
    says({"--top", "2x2"}, "--top: 2 numbers; expected one, or one for each of the 1 modes");
    says({"--max-codes", "2"}, "line 6, column 2 (CODE): more than 2 different codes");
    says({"--value", "NAME"}, "labs.csv, line 2, column 3 (NAME): 'Potassium'; expected a number");
}

TEST_F(TableTest, WhatIsReadIsNeverReplacedAndNothingIsReadTwice) {
    const std::string before = get("labs.csv");
    std::filesystem::create_directory(path("site"));
    put("site/patients.csv", before);
    const std::vector<std::string> modes{"--patient", "ID", "--modes", "CODE"};
    const auto run = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
        arguments.insert(arguments.end(), modes.begin(), modes.end());
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = couplet(arguments);
        EXPECT_EQ(outcome.status, 2) << outcome.out;
        return outcome.err;
    };
    EXPECT_NE(run({"table", "site/patients.csv"}, {"-o", "site", "--force"})
                  .find("--output: site, where site/patients.csv would be replaced; expected another folder than that "
                        "of the tables. Choose another output folder."),
              std::string::npos);
    EXPECT_EQ(get("site/patients.csv"), before);
    EXPECT_NE(run({"table", "labs.csv", "./labs.csv"}, {"-o", "twice"})
                  .find("FILE: ./labs.csv twice; expected every file once. Leave one out."),
              std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path("twice")));

    ASSERT_EQ(labs("out", {}).status, 0);
    const std::string manifest = get("out/manifest.json");
    const Outcome again = labs("out", {"--aggregate", "count"});
    EXPECT_EQ(again.status, 2);
    EXPECT_NE(again.err.find("the file exists; expected a folder without a table. Choose another output folder, or use "
                             "--force to replace it."),
              std::string::npos)
        << again.err;
    EXPECT_EQ(get("out/manifest.json"), manifest);
    ASSERT_EQ(labs("out", {"--aggregate", "count", "--force"}).status, 0);
    EXPECT_NE(get("out/manifest.json"), manifest);
    EXPECT_NE(run({"table", "labs.csv"}, {"--schema", "out/schema.json", "-o", "out", "--force"}).find("--output: out"),
              std::string::npos)
        << "nor is a schema that was read";
}

}  // namespace
}  // namespace couplet::testing
