#include "couplet/table/vocabulary.hpp"

#include "couplet/io/schema_file.hpp"
#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;
using VocabularyTest = TableTest;

Vocabulary site(std::vector<Term> terms, Index patients = 100) {
    return {{{"condition", TermKind::codes, std::move(terms)}}, patients};
}

std::vector<std::string> codes(const ModeTerms& mode) {
    std::vector<std::string> list;
    for (const Term& term : mode.terms) list.push_back(term.code);
    return list;
}

TEST_F(VocabularyTest, IsASchemaWhereverOneIsRead) {
    Vocabulary vocabulary = site({{"1", "Asthma", "", 5}, {"2", "Asthma", "", 3}, {"8480-6", "Systolic", "mmHg", 9}});
    vocabulary.modes.push_back({"month", TermKind::time, {{"2024-01", "2024-01", "", 0}}});
    save_vocabulary(path("v.json"), vocabulary, false);
    const Schema schema = load_schema(path("v.json"));
    EXPECT_EQ(schema.modes[0].entries, (std::vector<std::string>{"Asthma (1)", "Asthma (2)", "Systolic"}));
    EXPECT_EQ(schema.modes[0].units, (std::vector<std::string>{"", "", "mmHg"}));
    EXPECT_EQ(schema, schema_of(vocabulary));
    const Vocabulary back = load_vocabulary(path("v.json"));
    EXPECT_EQ(codes(back.modes[0]), (std::vector<std::string>{"1", "2", "8480-6"}));
    EXPECT_EQ(back.modes[0].terms[2], vocabulary.modes[0].terms[2]);
    EXPECT_EQ(back.modes[1], vocabulary.modes[1]);
    EXPECT_EQ(back.patients, 100);
}

TEST_F(VocabularyTest, LabelsAreCodesWhereThereAreNone) {
    put("s.json", R"({"modes": [{"name": "c", "labels": ["a", "b"]}]})");
    EXPECT_EQ(codes(load_vocabulary(path("s.json")).modes[0]), (std::vector<std::string>{"a", "b"}));
    for (const char* bad :
         {R"({"modes": [{"size": 3}]})", R"({"modes": [{"labels": ["a"], "codes": []}]})",
          R"({"modes": [{"labels": ["a", "b"], "codes": ["1", "1"]}]})",
          R"({"modes": [{"labels": ["a"], "kind": "odd"}]})", R"({"modes": [{"labels": ["a"], "patients": [-1]}]})",
          R"({"modes": [{"labels": ["a"]}], "patients": "many"})", "[]", "x"}) {
        put("bad.json", bad);
        EXPECT_THROW(load_vocabulary(path("bad.json")), InputError) << bad;
    }
    EXPECT_THROW(load_vocabulary(path("missing.json")), InputError);
}

TEST(ProposeTest, SmallCellsStayAtHome) {
    Vocabulary mine = site({{"1", "a", "", 50}, {"2", "b", "", 10}, {"3", "c", "", 9}});
    mine.modes.push_back({"month", TermKind::time, {{"2024-01", "2024-01", "", 20}}});
    const Proposal told = propose(mine, 10);
    EXPECT_EQ(codes(told.vocabulary.modes[0]), (std::vector<std::string>{"1", "2"}));
    EXPECT_EQ(told.withheld, (std::vector<Index>{1, 0}));
    EXPECT_EQ(told.vocabulary.modes[1].terms[0].patients, 0);
    EXPECT_EQ(vocabulary_json(told.vocabulary).dump().find("\"c\""), std::string::npos);
    EXPECT_THROW(propose(mine, 51), InputError);
}

TEST(ProposeTest, NoLabelBinOrDifferenceTellsOfAFew) {
    // 97 of 100 are told: the other three would be their difference.
    Vocabulary mine{{{"feature", TermKind::columns, {{"sex=M", "sex=M", "", 97}, {"sex=F", "sex=F", "", 3}}}}, 100};
    mine.modes[0].terms[0].label = "M, called Maria by one";
    mine.modes[0].terms[0].label_patients = 1;
    mine.modes.push_back({"day", TermKind::time, {}});
    for (const auto& [day, patients] :
         {std::pair{"2024-01-01", 1}, {"2024-01-02", 30}, {"2024-01-03", 0}, {"2024-01-04", 12}, {"2024-01-05", 2}}) {
        mine.modes[1].terms.push_back({day, day, "", patients});
    }
    const Vocabulary told = propose(mine, 10).vocabulary;
    EXPECT_EQ(told.patients, 100);
    EXPECT_EQ(told.modes[0].terms, (std::vector<Term>{{"sex=M", "sex=M", "", 90}}));
    EXPECT_EQ(codes(told.modes[1]), (std::vector<std::string>{"2024-01-02", "2024-01-03", "2024-01-04"}));
    mine.modes[0].terms[0].label_patients = 50;
    EXPECT_EQ(propose(mine, 10).vocabulary.modes[0].terms[0].label, "M, called Maria by one");
}

TEST_F(VocabularyTest, LabelsDifferWhateverTheyAre) {
    const Vocabulary one = site({{"x", "A", "", 0}, {"y", "A", "", 0}, {"z", "A (x)", "", 0}});
    EXPECT_EQ(schema_of(one).modes[0].entries, (std::vector<std::string>{"A (x) (x)", "A (y)", "A (x) (z)"}));
    Vocabulary named = site({{"x", "A", "", 7}});
    named.modes[0].terms[0].label_patients = 3;
    EXPECT_EQ(parse_vocabulary(vocabulary_json(named), "v"), named);
    put("v.json", R"({"modes": [{"labels": ["a"], "patients": [9223372036854775807]}]})");
    EXPECT_THROW(load_vocabulary(path("v.json")), InputError);
}

TEST(MergeTest, UnionIntersectionAndTopWhateverTheOrder) {
    const Vocabulary a = site({{"1", "Asthma", "", 5}, {"2", "Cough", "", 40}});
    const Vocabulary b = site({{"3", "Fever", "", 40}, {"1", "asthma", "", 50}}, 30);
    const std::vector<std::string> names{"a.json", "b.json"};
    const Vocabulary both = merge_vocabularies(std::vector{a, b}, names, {});
    EXPECT_EQ(codes(both.modes[0]), (std::vector<std::string>{"1", "2", "3"}));
    EXPECT_EQ(both.modes[0].terms[0], (Term{"1", "asthma", "", 55}));
    EXPECT_EQ(both.patients, 130);
    EXPECT_EQ(merge_vocabularies(std::vector{b, a}, names, {}), both);
    EXPECT_EQ(codes(merge_vocabularies(std::vector{a, b}, names, {.rule = MergeRule::every}).modes[0]),
              (std::vector<std::string>{"1"}));
    EXPECT_EQ(codes(merge_vocabularies(std::vector{a, b}, names, {.top = {2}}).modes[0]),
              (std::vector<std::string>{"1", "2"}));
}

TEST(MergeTest, RefusesWhatDoesNotBelongTogether) {
    const std::vector<std::string> names{"a.json", "b.json"};
    const Vocabulary a = site({{"1", "Glucose", "mg/dL", 5}});
    const auto said = [&](const Vocabulary& b, const MergeOptions& options) {
        try {
            merge_vocabularies(std::vector{a, b}, names, options);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(said(site({{"1", "Glucose", "mmol/L", 5}}), {}).find("b.json: 'Glucose' in 'mmol/L'"), std::string::npos)
        << said(site({{"1", "Glucose", "mmol/L", 5}}), {});
    EXPECT_NE(said(site({{"1", "Glucose", "", 5}}), {}).find("'Glucose' in no unit"), std::string::npos);
    EXPECT_NE(said(site({{"2", "x", "", 5}}), {.rule = MergeRule::every}).find("no condition that all sites have"),
              std::string::npos);
    EXPECT_NE(said(site({{"1", "x", "mg/dL", 5}}), {.top = {1, 2, 3}}).find("`top`"), std::string::npos);
    Vocabulary other = site({{"1", "x", "", 5}});
    other.modes[0].name = "drug";
    EXPECT_NE(said(other, {}).find("modes drug"), std::string::npos);
    EXPECT_THROW(merge_vocabularies({}, {}, {}), InputError);
}

TEST(MergeTest, TimeIsInItsOwnOrder) {
    const auto time = [](std::vector<std::string> labels) {
        Vocabulary one{{{"month", TermKind::time, {}}}, 0};
        for (const std::string& label : labels) one.modes[0].terms.push_back({label, label, "", 0});
        return one;
    };
    const std::vector<std::string> names{"a", "b"};
    const auto both = merge_vocabularies(std::vector{time({"2024-02", "2024-03"}), time({"2023-12", "2024-02"})}, names,
                                         {.top = {1}});
    EXPECT_EQ(codes(both.modes[0]), (std::vector<std::string>{"2023-12", "2024-01", "2024-02", "2024-03"}));
    EXPECT_THROW(merge_vocabularies(std::vector{time({"2024-02"}), time({"2024"})}, names, {}), InputError);
    EXPECT_THROW(merge_vocabularies(std::vector{time({"1801-01-01"}), time({"2199-01-01"})}, names, {}), InputError);
}

TEST(CodeLessTest, NumbersAsNumbers) {
    EXPECT_TRUE(code_less("9", "10"));
    EXPECT_FALSE(code_less("10", "9"));
    EXPECT_TRUE(code_less("a", "b"));
}

}  // namespace
}  // namespace couplet
