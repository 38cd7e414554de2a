#include "couplet/table/build.hpp"

#include <fmt/format.h>

#include <cmath>

#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;
using BuildTest = TableTest;

const TableOptions coded{.patient = {"p"}, .modes = {"c"}};

std::vector<double> values(const Tensor<double>& x) { return {x.elements().begin(), x.elements().end()}; }

TEST_F(BuildTest, LabelsTravelWithTheTensorAndSizesAreThoseOfTheSchema) {
    put("t.csv", "p,c,name\n2,x,Asthma\n1,y,Cough\n");
    const Vocabulary schema{
        {{"c", TermKind::codes, {{"y", "Cough", "", 0}, {"x", "Asthma", "", 0}, {"w", "Rare", "", 0}}}}, 0};
    TableOptions options = coded;
    options.schema = schema;
    for (const TableLayout layout : {TableLayout::sparse, TableLayout::dense}) {
        options.layout = layout;
        const std::string out = layout == TableLayout::sparse ? "sparse" : "dense";
        build({"t.csv"}, options, {}, out);
        const Tensor<double> x = tensor(out);
        EXPECT_EQ(x.shape(), (Shape{2, 3}));
        EXPECT_EQ(values(x), (std::vector<double>{1, 0, 0, 0, 1, 0}));
        EXPECT_EQ(x.labels()[1].entries, (std::vector<std::string>{"Cough", "Asthma", "Rare"}));
    }
}

TEST_F(BuildTest, CsvTsvNdjsonAndTheirKinGiveTheSame) {
    put("a.csv", "p,c,d,v\n1,x,2024-01-05,1.5\n2,y,2024-02-05,2\n1,x,2024-01-09,2.5\n");
    put("b.csv", "v;d;p;c\n1,5;5.1.2024;1;x\n2;5.2.2024;2;y\n2,5;9.1.2024;1;x\n");
    put("c.tsv", "p\tc\td\tv\n1\tx\t20240105\t1.5\n2\ty\t20240205\t2\n1\tx\t20240109\t2.5\n");
    put("d.ndjson",
        "{\"p\":1,\"c\":\"x\",\"d\":\"2024-01-05T08:00:00\",\"v\":1.5}\n{\"p\":2,\"c\":\"y\",\"d\":\"2024-02-05\","
        "\"v\":2}\n"
        "{\"p\":1,\"c\":\"x\",\"d\":\"2024-01-09\",\"v\":2.5}\n");
    const TableOptions options{.patient = {"p"}, .modes = {"code=c", "month=d@month"}, .values = {"v"}};
    TableOptions german = options;
    german.dates = DateOrder::day_first;
    german.decimal = ',';
    build({"a.csv"}, options, {}, "1");
    build({"b.csv"}, german, {.decimal = ','}, "2");
    build({"c.tsv"}, options, {}, "3");
    build({"d.ndjson"}, options, {}, "4");
    const std::vector<double> expected{2, 0, 0, 0, 0, 0, 0, 2};
    for (const char* out : {"1", "2", "3", "4"}) {
        EXPECT_EQ(values(tensor(out)), expected) << out;
        EXPECT_EQ(tensor(out).labels(), tensor("1").labels());
    }
}

TEST_F(BuildTest, EveryRuleOfACell) {
    put("t.csv", "p,c,v,d\n1,x,5,2024-03-01\n1,x,1,2024-01-01\n2,x,7,2024-01-01\n1,x,,2024-09-09\n");
    const auto first = [&](CellRule rule, const char* out) {
        build({"t.csv"}, {.patient = {"p"}, .modes = {"c"}, .values = {"v"}, .times = {"d"}, .rule = rule}, {}, out);
        return values(tensor(out))[0];
    };
    EXPECT_EQ(first(CellRule::presence, "a"), 1);
    EXPECT_EQ(first(CellRule::count, "b"), 3);
    EXPECT_EQ(first(CellRule::sum, "c"), 6);
    EXPECT_EQ(first(CellRule::mean, "d"), 3);
    EXPECT_EQ(first(CellRule::last, "e"), 5);
}

TEST_F(BuildTest, WideTables) {
    put("w.csv", "id,age [years],sex,smoker\nb,50,m,1\na,,f,0\nc,20,m,1\n");
    build({"w.csv"}, {.patient = {"id"}, .modes = {"body=age,sex"}, .wide = true});
    const Tensor<double> x = tensor();
    EXPECT_EQ(x.labels()[1].entries, (std::vector<std::string>{"age", "sex=f", "sex=m"}));
    EXPECT_EQ(x.labels()[1].units, (std::vector<std::string>{"years", "", ""}));
    EXPECT_EQ(x.data()[0], 50);
    EXPECT_TRUE(std::isnan(x.data()[3]));
    EXPECT_EQ(get("out/patients.csv"), "row,patient\n1,b\n2,a\n3,c\n");
    build({"w.csv"}, {.patient = {"id"}, .modes = {"body=sex:category", "habit=smoker"}, .wide = true}, {}, "two");
    EXPECT_EQ(values(tensor("two")), (std::vector<double>{0, 1, 0, 0, 0, 1}));
}

/// Somebody whose sex is missing is not known to be neither.
TEST_F(BuildTest, AMissingCategoryIsNotKnownInAnyOfItsValues) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const auto expect = [&](const char* out, const std::vector<double>& expected) {
        const auto found = values(tensor(out));
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]))) << out << i;
        }
    };
    // Also in front of the first value, which tells what the column holds, and in a second file.
    put("w.csv", "id,sex,born\n1,NA,2001-05-01\n2,m,.\n3,,2002-01-01\n");
    put("v.csv", "id,sex,born\n4,f,2001-01-01\n5,null,2001-01-01\n");
    TableOptions options{.patient = {"id"}, .modes = {"sex,born:year"}, .wide = true};
    const TableReport report = build({"w.csv", "v.csv"}, options, {}, "all");
    EXPECT_EQ(report.missing, 8);
    EXPECT_EQ(report.entries, 6);
    expect("all", {nan, nan, 1, 0, 0, 1, nan, nan, nan, nan, 0, 1, 1, 0, 1, 0, nan, nan, 1, 0});
    // A value of the schema that nobody here has is no more known than the others.
    options.schema = Vocabulary{{{"feature", TermKind::columns, {{"sex=m"}, {"sex=x"}, {"born=2002"}}}}, 0};
    options.modes = {"feature=sex,born:year"};
    build({"w.csv"}, options, {}, "given");
    expect("given", {nan, nan, 0, 1, 0, nan, nan, nan, 1});
    // Where several modes are multiplied too, and where a column is looked at in two ways.
    put("t.csv", "id,sex,seen\n1,m,2001-01-01\n2,,2001-01-01\n3,f,\n");
    build({"t.csv"}, {.patient = {"id"}, .modes = {"a=sex:category", "b=seen:year,seen:category"}, .wide = true}, {},
          "two");
    expect("two", {0, 0, 1, 1, nan, nan, nan, nan, nan, nan, 0, 0});
}

TEST_F(BuildTest, PatientsWithoutEntriesAndCellsWithoutEvents) {
    put("t.csv", "p,c\n1,x\n2,y\n");
    const Vocabulary schema{{{"c", TermKind::codes, {{"x", "x", "", 0}, {"w", "w", "", 0}}}}, 0};
    TableOptions options = coded;
    options.schema = schema;
    EXPECT_EQ(build({"t.csv"}, options, {}, "a").without, 1);
    options.keep_empty = true;
    options.absent_nan = true;
    const TableReport report = build({"t.csv"}, options, {}, "b");
    EXPECT_EQ(report.patients, 2);
    EXPECT_EQ(report.missing, 3);
    EXPECT_EQ(report.unknown_events, 1);
    EXPECT_EQ(get("b/unknown.csv"), "mode,code,label,events\nc,y,,1\n");
    EXPECT_TRUE(std::isnan(tensor("b").data()[1]));
}

/// A schema may come from another site's manifest: how many of its patients had what is not repeated as this site's.
TEST_F(BuildTest, CountsOfASchemaAreNotThoseOfTheSite) {
    put("t.csv", "p,c\n1,x\n2,x\n");
    TableOptions options = coded;
    options.schema = Vocabulary{{{"c", TermKind::codes, {{"x", "Asthma", "", 90, 30}, {"w", "Gout", "", 7, 5}}}}, 100};
    const TableReport report = build({"t.csv"}, options);
    const auto& terms = report.vocabulary.modes[0].terms;
    EXPECT_EQ(terms[0].patients, 2);
    EXPECT_EQ(terms[1].patients, 0);
    EXPECT_FALSE(terms[0].label_patients);
    EXPECT_FALSE(terms[1].label_patients);
    EXPECT_EQ(report.vocabulary.patients, 2);
    EXPECT_EQ(get("out/manifest.json").find("label_patients"), std::string::npos);
}

TEST_F(BuildTest, KnownFormsNeedNoColumns) {
    put("condition_occurrence.csv",
        "condition_occurrence_id,person_id,condition_concept_id,condition_start_date\n1,7,11,2020-01-01\n2,8,0,2020-01-"
        "01\n");
    put("drug_exposure.csv",
        "drug_exposure_id,person_id,drug_concept_id,drug_exposure_start_date\n1,7,22,2020-01-01\n");
    TableOptions options;
    options.name_of = [](const std::string&, const std::string& code) { return code == "11" ? "Asthma" : ""; };
    const TableReport report = build({"condition_occurrence.csv", "drug_exposure.csv"}, options);
    EXPECT_EQ(report.vocabulary.modes[0].name, "condition");
    EXPECT_EQ(report.vocabulary.modes[0].terms[0].label, "Asthma");
    EXPECT_EQ(report.vocabulary.modes[1].terms[0].label, "22");
    ASSERT_EQ(report.unknown.size(), 1U);
    EXPECT_EQ(report.unknown[0].label, "no matching concept");
    // Bulk exports come in parts.
    const std::string condition = R"({"resourceType":"Condition","subject":{"reference":"Patient/)";
    put("Condition.000.ndjson", condition + "1\"},\"code\":{\"coding\":[{\"code\":\"x\"}]}}\n");
    put("Condition.001.ndjson", condition + "2\"},\"code\":{\"coding\":[{\"code\":\"x\"}]}}\n");
    EXPECT_EQ(build({"Condition.000.ndjson", "Condition.001.ndjson"}, {}, {}, "fhir").patients, 2);
}

TEST_F(BuildTest, BadTablesAreRefusedByLineAndColumn) {
    const auto said = [&](std::string_view text, const TableOptions& options) {
        put("t.csv", text);
        return refusal({"t.csv"}, options);
    };
    const auto has = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    has(said("p,c\n1,x\n2\n", coded), "line 3 has 1 fields; expected 2 as on line 1");
    has(said("p,c\n1,x\n,y\n", coded), "t.csv, line 3, column 1 (p): no patient");
    has(said("p,c\n1,\n", coded), "t.csv, line 2, column 2 (c): no code");
    has(said("p,c\n", coded), "no records");
    has(said("", coded), "an empty file");
    has(said("p;c\n1;x\n", {.patient = {"q"}, .modes = {"c"}}), "no column 'q' among 'p', 'c'");
    has(said("p,c,d\n1,x,2023-02-29\n", {.patient = {"p"}, .modes = {"c", "d@month"}}),
        "t.csv, line 2, column 3 (d): '2023-02-29'; expected a date that exists");
    has(said("p,c,v,u\n1,x,5,mg/dL\n2,x,5,mmol/L\n",
             {.patient = {"p"}, .modes = {"c"}, .values = {"v"}, .units = {"u"}}),
        "t.csv, line 3, column 4 (u): 'mmol/L' of 'x'; expected 'mg/dL'");
    has(said("p,c,v\n1,x,five\n", {.patient = {"p"}, .modes = {"c"}, .values = {"v"}}),
        "t.csv, line 2, column 3 (v): 'five'");
    has(said("id,a\n1,2\n2,3\n1,4\n", {.patient = {"id"}, .wide = true}),
        "t.csv, line 4, column 1 (id): the patient '1' again; expected every patient once; the first time was on "
        "line 2");
    has(said("id,a\n1,2\n2,x\n", {.patient = {"id"}, .wide = true}),
        "t.csv, line 3, column 2 (a): 'x'; expected a number");
    has(said("p,c\n1,a\n2,b\n3,c\n", {.patient = {"p"}, .modes = {"c"}, .most_codes = 2}),
        "t.csv, line 4, column 2 (c): more than 2 different codes");
    has(said("a,b\n1,2\n", {}), "a table of no known form");
    has(said("p,c\n1,x\n", {.patient = {"p"}, .modes = {"other:c"}}), "a table 'other'");
    has(said("p,c\n1,x\n", {.patient = {"p"}, .modes = {"c", "c"}}), "two modes of one name");
    has(said("p,c\n1,x\n", {.patient = {"p"}, .modes = {"c"}, .rule = CellRule::sum}), "a column with values");
}

TEST_F(BuildTest, WhatWouldBeWrongWithoutAWordIsRefused) {
    const auto said = [&](std::string_view text, const TableOptions& options) {
        put("t.csv", text);
        return refusal({"t.csv"}, options);
    };
    const auto has = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    // Identifiers would travel with the schema.
    has(said("p,c\n1,x\n", {.patient = {"p"}, .modes = {"p"}}), "identifies the patients");
    has(said("p,c\n1,x\n", {.patient = {"p"}, .modes = {"c/p"}}), "identifies the patients");
    has(said("p,c\n1,x\n", {.patient = {"p"}, .modes = {"m=p,c"}, .wide = true}), "identifies the patients");
    std::string names = "id,name,born\n";
    for (int i = 0; i < 30; ++i) names += fmt::format("{0},Person {0},{1}\n", i, 1950 + i % 3);
    has(said(names, {.patient = {"id"}, .wide = true}), "column 2 (name): 30 different values of 30 patients");
    // Two units of one thing would be added up.
    has(said("p,sex,sex=f\n1,f,10\n2,m,20\n", {.patient = {"p"}, .wide = true}),
        "'sex=f', which is another column's, too");
    has(said("p,w [kg],w [g]\n1,3,4\n", {.patient = {"p"}, .wide = true}), "two columns called 'w'");
    has(said("p,w\n1,3\n", {.patient = {"p"}, .modes = {"w,w"}, .wide = true}), "twice the columns called 'w'");
    has(said("p,c,v\n1,x,1e308\n1,x,1e308\n2,y,1\n",
             {.patient = {"p"}, .modes = {"c"}, .values = {"v"}, .rule = CellRule::sum}),
        "more than a number can hold");
    // A postcode is no number.
    has(said("p,zip\n1,12345\n2,01234\n", {.patient = {"p"}, .wide = true}), "line 3, column 2 (zip): '01234'");
}

TEST_F(BuildTest, CodesWithZerosInFrontStayCodes) {
    put("w.csv", "p,zip\n1,01234\n2,12345\n3,01234\n");
    build({"w.csv"}, {.patient = {"p"}, .wide = true});
    EXPECT_EQ(tensor().labels()[1].entries, (std::vector<std::string>{"zip=01234", "zip=12345"}));
}

TEST_F(BuildTest, AZeroThatWasMeasuredIsKnown) {
    put("t.csv", "p,c,v\n1,a,0\n2,b,7\n1,b,3\n");
    TableOptions options{.patient = {"p"}, .modes = {"c"}, .values = {"v"}, .absent_nan = true};
    const TableReport report = build({"t.csv"}, options);
    EXPECT_EQ(report.missing, 1);
    const Tensor<double> x = tensor();  // b first: two patients have it
    EXPECT_EQ(x.data()[1], 0);
    EXPECT_TRUE(std::isnan(x.data()[3]));
}

TEST_F(BuildTest, WhoHasOnlyZerosHasARow) {
    put("t.csv", "ID,T,V\np1,k,0\np1,m,4\np2,k,2\np3,k,0\n");
    TableOptions options{.patient = {"ID"}, .modes = {"T"}, .values = {"V"}};
    EXPECT_EQ(build({"t.csv"}, options, {}, "zero").patients, 3);
    EXPECT_EQ(values(tensor("zero")), (std::vector<double>{0, 4, 2, 0, 0, 0}));
    options.absent_nan = true;
    EXPECT_EQ(build({"t.csv"}, options, {}, "nan").missing, 2);
    const std::vector<double> x = values(tensor("nan"));
    EXPECT_EQ((std::vector<double>{x[0], x[1], x[2], x[4]}), (std::vector<double>{0, 4, 2, 0}));
    EXPECT_TRUE(std::isnan(x[3]) && std::isnan(x[5]));
}

TEST_F(BuildTest, TheLastIsThatOfTheLatestTimeWhateverTheOrder) {
    const std::string head = "p,c,v,d\n2,x,9,2020-01-01\n";
    const std::string early = "1,x,1,2024-01-01T23:00:00+05:00\n";  // 18:00 in UTC
    const std::string late = "1,x,2,2024-01-01T19:00:00Z\n";
    const std::string tied = "1,x,1.5,2024-01-01T19:00:00Z\n";
    const TableOptions options{
        .patient = {"p"}, .modes = {"c"}, .values = {"v"}, .times = {"d"}, .rule = CellRule::last};
    int number = 0;
    for (const std::string& rows : {early + late + tied, tied + late + early, late + early + tied}) {
        put("t.csv", head + rows);
        const std::string out = std::to_string(number++);
        build({"t.csv"}, options, {}, out);
        EXPECT_EQ(values(tensor(out)), (std::vector<double>{2, 9})) << rows;
    }
    put("t.csv", head + "1,x,1,2024-01-01Tgarbage\n");
    EXPECT_NE(refusal({"t.csv"}, options).find("line 3, column 4 (d): '2024-01-01Tgarbage'"), std::string::npos);
}

TEST_F(BuildTest, UnitsAreThoseOfCodesAndNoneIsOne) {
    const auto said = [&](std::string_view text, const TableOptions& options) {
        put("t.csv", text);
        return refusal({"t.csv"}, options);
    };
    const auto has = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    TableOptions options{.patient = {"p"}, .modes = {"month=d@month", "c"}, .values = {"v"}, .units = {"u"}};
    has(said("p,d,c,v,u\n1,2024-01-01,x,5,mg\n2,2024-02-01,x,5,g\n", options), "'g' of 'x'; expected 'mg'");
    put("t.csv", "p,d,c,v,u\n1,2024-01-01,x,5,mg\n2,2024-01-01,y,5,g\n");
    build({"t.csv"}, options, {}, "made");
    EXPECT_EQ(tensor("made").labels()[2].units, (std::vector<std::string>{"mg", "g"}));
    options.modes = {"c"};
    has(said("p,c,v,u\n1,x,5,mg\n2,x,5,\n", options), "no unit of 'x'; expected 'mg'");
    has(said("p,c,v,u\n1,x,5,\n2,x,5,\n", options), "no unit in the column 'u'");
    options.modes = {"month=d@month"};
    has(said("p,d,v,u\n1,2024-01-01,5,mg\n2,2024-02-01,5,g\n", options), "'g' of 'v'; expected 'mg'");
    has(said("p,c,v,u\n1,x,5,mg\n", {.patient = {"p"}, .modes = {"c"}, .units = {"u"}}), "a unit of no value");
    has(said("p,c,v,u\n1,x,5,mg\n", {.patient = {"p"}, .modes = {"c"}, .values = {"labs:v"}}),
        "`value`: a table 'labs'; expected one of the tables t");
    put("n.ndjson",
        "{\"p\":\" 1 \",\"c\":\"x\",\"v\":1}\n{\"p\":\"1\",\"c\":\" x\",\"v\":3}\n{\"p\":2,\"c\":\"x\",\"v\":3}\n");
    options = {.patient = {"p"}, .modes = {"c"}, .values = {"v"}, .units = {"uu"}};
    has(refusal({"n.ndjson"}, options), "no unit in the column 'uu'");
    options.units.clear();
    build({"n.ndjson"}, options, {}, "json");
    EXPECT_EQ(values(tensor("json")), (std::vector<double>{2, 3}));
}

TEST_F(BuildTest, SitesMustMeanTheSameByAnEntry) {
    put("t.csv", "p,c,v,u\n1,x,5,mg\n1,x,7,mg\n2,x,5,mg\n");
    const auto made = [&](std::optional<CellRule> rule, bool unit, const char* out) {
        TableOptions options{.patient = {"p"}, .modes = {"c"}, .values = {"v"}, .rule = rule};
        if (unit) options.units = {"u"};
        build({"t.csv"}, options, {}, out);
        return tensor(out).labels()[1].units;
    };
    using Units = std::vector<std::string>;
    EXPECT_EQ(made({}, true, "mean"), (Units{"mg"}));
    EXPECT_EQ(made({}, false, "bare"), (Units{"mean"}));
    EXPECT_EQ(made(CellRule::sum, true, "sum"), (Units{"sum of mg"}));
    EXPECT_EQ(made(CellRule::last, true, "last"), (Units{"last mg"}));
    EXPECT_EQ(made(CellRule::count, false, "count"), (Units{"events"}));
    EXPECT_EQ(made(CellRule::presence, false, "presence"), (Units{}));
    TableOptions options{.patient = {"p"}, .modes = {"c"}, .values = {"v"}};
    options.schema = load_vocabulary(path("mean"));
    EXPECT_NE(refusal({"t.csv"}, options).find("c: 'x' in 'mean'; expected 'mg', as in the schema"), std::string::npos);
    options.units = {"u"};
    options.rule = CellRule::sum;
    EXPECT_NE(refusal({"t.csv"}, options).find("'x' in 'sum of mg'"), std::string::npos);
    // A schema without units leaves them to the site.
    put("s.json", R"({"modes": [{"name": "c", "labels": ["x"]}]})");
    options.schema = load_vocabulary(path("s.json"));
    build({"t.csv"}, options, {}, "adopted");
    EXPECT_EQ(tensor("adopted").labels()[1].units, (Units{"sum of mg"}));
}

TEST_F(BuildTest, EventsWithoutANumberAreCountedAndTheOrderOfFilesIsNone) {
    put("a.csv", "p,c\n1,x\n");
    put("b.csv", "p,e,v\n1,y,\n1,y,3\n1,z,\n");
    TableOptions options{.patient = {"p"}, .modes = {"a:c", "b:e"}, .values = {"b:v"}};
    for (const auto& files : {std::vector<std::string>{"a.csv", "b.csv"}, {"b.csv", "a.csv"}}) {
        EXPECT_NE(refusal(files, options).find("`aggregate`: values in b and none in a"), std::string::npos);
    }
    EXPECT_EQ(build({"b.csv"}, {.patient = {"p"}, .modes = {"e"}, .values = {"v"}}).without_value, 2);
}

TEST_F(BuildTest, APatientWithoutANumberWasMetAllTheSame) {
    put("t.csv", "p,c,v\n1,x,\n2,x,3\n");
    TableOptions options{.patient = {"p"}, .modes = {"c"}, .values = {"v"}};
    const TableReport report = build({"t.csv"}, options, {}, "a");
    EXPECT_EQ(report.patients, 1);
    EXPECT_EQ(report.without, 1);
    EXPECT_EQ(report.vocabulary.patients, 2);
    options.keep_empty = true;
    build({"t.csv"}, options, {}, "b");
    EXPECT_EQ(get("b/patients.csv"), "row,patient\n1,1\n2,2\n");
    EXPECT_EQ(values(tensor("b")), (std::vector<double>{0, 3}));
    put("t.csv", "p,c,v\n1,x,\n");
    EXPECT_NE(refusal({"t.csv"}, options), "") << "no code has a number";
}

TEST_F(BuildTest, WhatAColumnHoldsIsNotSaidByItsFirstRow) {
    put("w.csv", "p,age,sex\n1,NA,\n2,35,m\n3,41,f\n");
    build({"w.csv"}, {.patient = {"p"}, .wide = true}, {}, "made");
    EXPECT_EQ(tensor("made").labels()[1].entries, (std::vector<std::string>{"age", "sex=f", "sex=m"}));
    EXPECT_TRUE(std::isnan(tensor("made").data()[0]));
    EXPECT_TRUE(std::isnan(tensor("made").data()[1]));
    put("w.csv", "p,age\n1,unknown\n2,35\n3,41\n");
    EXPECT_NE(refusal({"w.csv"}, {.patient = {"p"}, .wide = true}).find("column 2 (age): 'unknown' among 2 numbers"),
              std::string::npos);
    put("a.csv", "p,w [kg]\n1,3\n");
    put("b.csv", "p,w [g]\n2,3\n");
    put("c.csv", "p,w [kg],h\n2,3,4\n");
    const auto said = [&](const char* second) { return refusal({"a.csv", second}, {.patient = {"p"}, .wide = true}); };
    EXPECT_NE(said("b.csv").find("b.csv: 'w' in 'g'; expected 'kg' as in the first file"), std::string::npos);
    EXPECT_NE(said("c.csv").find("c.csv: a column 'h'"), std::string::npos);
    EXPECT_NE(
        refusal({"a.csv"}, {.patient = {"p"}, .modes = {"w", "w"}, .wide = true}).find("two modes called 'feature'"),
        std::string::npos);
}

TEST_F(BuildTest, ASchemaOfOtherColumnsIsRefused) {
    put("a.csv", "p,age\n1,30\n");
    put("b.csv", "p,bmi\n1,22\n");
    const TableReport a = build({"a.csv"}, {.patient = {"p"}, .wide = true}, {}, "a");
    const TableOptions options{.patient = {"p"}, .wide = true, .schema = a.vocabulary};
    EXPECT_NE(refusal({"b.csv"}, options).find("no feature that this site has"), std::string::npos);
}

TEST_F(BuildTest, ALabelIsThatOfMostPatients) {
    std::string text = "p,c,t\n0,x,Asthma of Maria\n";
    for (int i = 1; i < 30; ++i) text += fmt::format("{},x,Asthma\n", i);
    put("t.csv", text);
    const TableReport report = build({"t.csv"}, {.patient = {"p"}, .modes = {"c/t"}});
    EXPECT_EQ(report.vocabulary.modes[0].terms[0].label, "Asthma");
    EXPECT_EQ(report.vocabulary.modes[0].terms[0].label_patients, 29);
    EXPECT_EQ(get("out/manifest.json").find("Maria"), std::string::npos);
}

TEST_F(BuildTest, AColumnThatIdentifiesPatientsIsNoMode) {
    std::string text = "p,name\n";
    for (int i = 0; i < 25; ++i) text += fmt::format("{},Person {}\n", i, i);
    put("t.csv", text);
    EXPECT_NE(refusal({"t.csv"}, {.patient = {"p"}, .modes = {"name"}}).find("25 of name, each of one patient alone"),
              std::string::npos);
}

TEST_F(BuildTest, CodesOfTwoListsAndPatientsOfTwoServersAreNotOne) {
    const auto condition = [](const std::string& patient, const std::string& system) {
        return R"({"resourceType":"Condition","subject":{"reference":")" + patient +
               R"("},"code":{"coding":[{"code":"1","system":")" + system + R"("}]}})" + "\n";
    };
    put("Condition.0.ndjson", condition("http://a/Patient/1", "snomed"));
    put("Condition.1.ndjson", condition("http://a/Patient/2", "icd"));
    put("Condition.2.ndjson", condition("http://b/Patient/2", "snomed"));
    EXPECT_NE(refusal({"Condition.0.ndjson", "Condition.1.ndjson"}, {}).find("'1' of 'icd'"), std::string::npos);
    EXPECT_NE(refusal({"Condition.0.ndjson", "Condition.2.ndjson"}, {}).find("server 'http://b'"), std::string::npos);
    put("broken.ndjson", "{\"resourceType\":\n");
    EXPECT_NE(refusal({"broken.ndjson"}, {}).find("broken.ndjson, line 1: no JSON"), std::string::npos);
}

TEST_F(BuildTest, WhatASiteDoesNotMeasureIsNotKnown) {
    put("a.csv", "p,age,sex\n1,30,m\n2,40,f\n");
    put("b.csv", "p,sex,bmi\n1,m,22\n2,m,23\n");
    const TableReport a = build({"a.csv"}, {.patient = {"p"}, .wide = true}, {}, "a");
    const TableReport b = build({"b.csv"}, {.patient = {"p"}, .wide = true, .schema = a.vocabulary}, {}, "b");
    const std::vector<double> found = values(tensor("b"));
    EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[3]));
    EXPECT_EQ((std::vector<double>{found[1], found[2], found[4], found[5]}), (std::vector<double>{0, 1, 0, 1}));
    EXPECT_EQ(b.missing, 2);
    EXPECT_EQ(b.unknown.front().code, "bmi");
}

TEST_F(BuildTest, TheLastOfSeveralFilesIsInTheLastFile) {
    put("t.000.csv", "p,c,v\n2,x,9\n1,x,9\n1,x,1\n");
    put("t.001.csv", "p,c,v\n1,x,2\n");
    build({"t.000.csv", "t.001.csv"}, {.patient = {"p"}, .modes = {"c"}, .values = {"v"}, .rule = CellRule::last});
    EXPECT_EQ(values(tensor()), (std::vector<double>{2, 9}));
}

TEST_F(BuildTest, ATableLargerThanItsMemoryGivesTheSame) {
    // Enough cells for several runs of a store of 96 MiB would take long: cell_store_test tries small ones. Here: many
    // patients whose rows come in the order of their identifiers.
    std::string text = "p,c\n";
    for (int i = 999; i >= 0; --i) text += std::to_string(1000 + i) + ",c" + std::to_string(i % 7) + "\n";
    put("t.csv", text);
    build({"t.csv"}, coded);
    EXPECT_TRUE(get("out/patients.csv").starts_with("row,patient\n1,1000\n2,1001\n"));
    const Tensor<double> x = tensor();
    ASSERT_EQ(x.shape(), (Shape{1000, 7}));
    for (Index i = 0; i < 1000; ++i) {
        double sum = 0;
        for (Index c = 0; c < 7; ++c) sum += x.data()[i * 7 + c];
        EXPECT_EQ(sum, 1);
    }
}

}  // namespace
}  // namespace couplet
