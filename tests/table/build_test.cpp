#include "couplet/table/build.hpp"

#include <cmath>

#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;
using BuildTest = TableTest;

const TableOptions coded{.patient = "p", .modes = {"c"}};

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
    const TableOptions options{.patient = "p", .modes = {"code=c", "month=d@month"}, .values = {"v"}};
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
        build({"t.csv"}, {.patient = "p", .modes = {"c"}, .values = {"v"}, .times = {"d"}, .rule = rule}, {}, out);
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
    build({"w.csv"}, {.patient = "id", .modes = {"body=age,sex"}, .wide = true});
    const Tensor<double> x = tensor();
    EXPECT_EQ(x.labels()[1].entries, (std::vector<std::string>{"age", "sex=f", "sex=m"}));
    EXPECT_EQ(x.labels()[1].units, (std::vector<std::string>{"years", "", ""}));
    EXPECT_EQ(x.data()[0], 50);
    EXPECT_TRUE(std::isnan(x.data()[3]));
    EXPECT_EQ(get("out/patients.csv"), "row,patient\n1,b\n2,a\n3,c\n");
    build({"w.csv"}, {.patient = "id", .modes = {"body=sex:category", "habit=smoker"}, .wide = true}, {}, "two");
    EXPECT_EQ(values(tensor("two")), (std::vector<double>{0, 1, 0, 0, 0, 1}));
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
    has(said("p;c\n1;x\n", {.patient = "q", .modes = {"c"}}), "no column 'q' among 'p', 'c'");
    has(said("p,c,d\n1,x,2023-02-29\n", {.patient = "p", .modes = {"c", "d@month"}}),
        "t.csv, line 2, column 3 (d): '2023-02-29'; expected a date that exists");
    has(said("p,c,v,u\n1,x,5,mg/dL\n2,x,5,mmol/L\n", {.patient = "p", .modes = {"c"}, .values = {"v"}, .units = {"u"}}),
        "t.csv, line 3, column 4 (u): 'mmol/L' of 'x'; expected 'mg/dL'");
    has(said("p,c,v\n1,x,five\n", {.patient = "p", .modes = {"c"}, .values = {"v"}}),
        "t.csv, line 2, column 3 (v): 'five'");
    has(said("id,a\n1,2\n2,3\n1,4\n", {.patient = "id", .wide = true}),
        "t.csv, line 4, column 1 (id): the patient '1' again; expected every patient once; the first time was on "
        "line 2");
    has(said("id,a\n1,2\n2,x\n", {.patient = "id", .wide = true}),
        "t.csv, line 3, column 2 (a): 'x'; expected a number");
    has(said("p,c\n1,a\n2,b\n3,c\n", {.patient = "p", .modes = {"c"}, .most_codes = 2}),
        "t.csv, line 4, column 2 (c): more than 2 different codes");
    has(said("a,b\n1,2\n", {}), "a table of no known form");
    has(said("p,c\n1,x\n", {.patient = "p", .modes = {"other:c"}}), "a table 'other'");
    has(said("p,c\n1,x\n", {.patient = "p", .modes = {"c", "c"}}), "two modes of one name");
    has(said("p,c\n1,x\n", {.patient = "p", .modes = {"c"}, .rule = CellRule::sum}), "a column with values");
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
