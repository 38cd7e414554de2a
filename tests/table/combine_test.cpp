#include "combine.hpp"

#include "couplet/tensor/any_label.hpp"
#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;
using CombineTest = TableTest;

std::vector<std::string> codes(const ModeTerms& mode) {
    std::vector<std::string> list;
    for (const Term& term : mode.terms) list.push_back(term.code);
    return list;
}

TEST_F(CombineTest, FrequentCodesComeFirstAndPatientsAreCountedOnce) {
    put("t.csv", "p,c\n1,x\n1,x\n1,x\n1,y\n2,y\n2,9\n3,10\n");
    const std::vector<TableInput> tables{file_input(path("t.csv"), {})};
    Gathered all = gather_events(tables, {.patient = {"p"}, .modes = {"c"}}, folder_, {});
    const Placement placed = place_terms(all, {});
    EXPECT_EQ(codes(placed.vocabulary.modes[0]), (std::vector<std::string>{"y", "9", "x", "10"}));
    EXPECT_EQ(placed.vocabulary.modes[0].terms[0].patients, 2);
    EXPECT_EQ(placed.vocabulary.modes[0].terms[2].patients, 1);
    const Placement cut = place_terms(all, {.top = {2}});
    EXPECT_EQ(codes(cut.vocabulary.modes[0]).size(), 2U);
    EXPECT_EQ(cut.cut_terms, 2);
    EXPECT_THROW(place_terms(all, {.top = {1, 2}}), InputError);
}

TEST_F(CombineTest, TablesAreMultipliedPatientByPatient) {
    put("a.csv", "p,c\n1,x\n1,y\n2,x\n");
    put("b.csv", "p,d\n1,u\n3,u\n1,v\n");
    const std::vector<TableInput> tables{file_input(path("a.csv"), {}), file_input(path("b.csv"), {})};
    Gathered all = gather_events(tables, {.patient = {"p"}, .modes = {"a:c", "b:d"}}, folder_, {});
    const Placement placed = place_terms(all, {});
    std::vector<PatientEntries> rows;
    for_each_patient(all, placed, Shape{2, 2},
                     [&](std::uint32_t, const PatientEntries& entries) { rows.push_back(entries); });
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0], (PatientEntries{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
    EXPECT_TRUE(rows[1].empty());
    EXPECT_TRUE(rows[2].empty());
}

TEST_F(CombineTest, EveryPatientHasTheLabelAnyInEveryMode) {
    put("a.csv", "p,c\n1,x\n1,y\n2,x\n");
    put("b.csv", "p,d\n1,u\n3,u\n1,v\n");
    const std::vector<TableInput> tables{file_input(path("a.csv"), {}), file_input(path("b.csv"), {})};
    Gathered all = gather_events(tables, {.patient = {"p"}, .modes = {"a:c", "b:d"}}, folder_, {});
    const Placement placed = place_terms(all, {.any = AnyLabel::automatic});
    EXPECT_EQ(codes(placed.vocabulary.modes[0]), (std::vector<std::string>{any_label, "x", "y"}));
    EXPECT_EQ(codes(placed.vocabulary.modes[1]), (std::vector<std::string>{any_label, "u", "v"}));
    EXPECT_EQ(placed.vocabulary.modes[0].terms[0].patients, 3);
    std::vector<PatientEntries> rows;
    for_each_patient(all, placed, Shape{3, 3},
                     [&](std::uint32_t, const PatientEntries& entries) { rows.push_back(entries); });
    EXPECT_EQ(rows[0].size(), 9U) << "(1, x, y) x (1, u, v)";
    EXPECT_EQ(rows[1], (PatientEntries{{0, 1}, {3, 1}}));
    EXPECT_EQ(rows[2], (PatientEntries{{0, 1}, {1, 1}}));
    // A schema has it or has not, wherever it stands; the code of the tables may not be called so.
    const Vocabulary schema{{{"c", TermKind::codes, {{"x", "X"}, {any_label, any_label}}},
                             {"d", TermKind::codes, {{any_label, any_label}, {"u", "U"}}}},
                            0};
    const Placement given = place_terms(all, {.schema = schema, .any = AnyLabel::automatic});
    EXPECT_EQ(given.any, (std::vector<std::int64_t>{1, 0}));
    rows.clear();
    for_each_patient(all, given, Shape{2, 2},
                     [&](std::uint32_t, const PatientEntries& entries) { rows.push_back(entries); });
    EXPECT_EQ(rows[0], (PatientEntries{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
    EXPECT_EQ(rows[2], (PatientEntries{{2, 1}, {3, 1}}));
    EXPECT_THROW(place_terms(all, {.schema = schema, .any = AnyLabel::off}), InputError);
}

TEST_F(CombineTest, TwoModesOfOneTableAreOpenOneAtATime) {
    put("t.csv", "p,c,d\n1,x,u\n1,y,v\n2,x,v\n");
    const std::vector<TableInput> tables{file_input(path("t.csv"), {})};
    Gathered all = gather_events(tables, {.patient = {"p"}, .modes = {"c", "d"}}, folder_, {});
    EXPECT_TRUE(place_terms(all, {.any = AnyLabel::automatic}).any.empty()) << "of one table";
    const Placement placed = place_terms(all, {.any = AnyLabel::on});
    std::vector<PatientEntries> rows;
    for_each_patient(all, placed, Shape{3, 3},
                     [&](std::uint32_t, const PatientEntries& entries) { rows.push_back(entries); });
    // (any, any), (any, v), (any, u), (x, any), (x, u), (y, any), (y, v): v is more frequent than u.
    EXPECT_EQ(rows[0], (PatientEntries{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {5, 1}, {6, 1}, {7, 1}}));
    EXPECT_EQ(rows[1], (PatientEntries{{0, 1}, {1, 1}, {3, 1}, {4, 1}}));
    all.rule = CellRule::count;
    EXPECT_TRUE(place_terms(all, {.any = AnyLabel::automatic}).any.empty());
    EXPECT_THROW(place_terms(all, {.any = AnyLabel::on}), InputError);
}

TEST_F(CombineTest, ASchemaDecidesAndTheRestIsNamed) {
    put("t.csv", "p,c\n1,x\n1,z\n1,z\n2,y\n");
    const std::vector<TableInput> tables{file_input(path("t.csv"), {})};
    Gathered all = gather_events(tables, {.patient = {"p"}, .modes = {"c"}}, folder_, {});
    const Vocabulary schema{{{"c", TermKind::codes, {{"y", "Y", "", 7}, {"w", "W", "", 7}, {"x", "X", "", 7}}}}, 0};
    const Placement placed = place_terms(all, {.schema = schema});
    EXPECT_EQ(codes(placed.vocabulary.modes[0]), (std::vector<std::string>{"y", "w", "x"}));
    EXPECT_EQ(placed.vocabulary.modes[0].terms[1].patients, 0);
    EXPECT_EQ(placed.vocabulary.modes[0].terms[2].patients, 1);
    ASSERT_EQ(placed.unknown.size(), 1U);
    EXPECT_EQ(placed.unknown[0].code, "z");
    EXPECT_EQ(placed.unknown_events, 2);
    Vocabulary other = schema;
    other.modes[0].name = "drug";
    EXPECT_THROW(place_terms(all, {.schema = other}), InputError);
}

TEST_F(CombineTest, TimeHasNoGaps) {
    put("t.csv", "p,d\n1,2024-01-31\n2,2024-04-01\n");
    const std::vector<TableInput> tables{file_input(path("t.csv"), {})};
    Gathered all = gather_events(tables, {.patient = {"p"}, .modes = {"month=d@month"}}, folder_, {});
    EXPECT_EQ(codes(place_terms(all, {}).vocabulary.modes[0]),
              (std::vector<std::string>{"2024-01", "2024-02", "2024-03", "2024-04"}));
    EXPECT_THROW(place_terms(all, {.most_codes = 3}), InputError);
}

}  // namespace
}  // namespace couplet
