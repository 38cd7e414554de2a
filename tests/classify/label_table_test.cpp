#include "couplet/classify/label_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "couplet/io/npy.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using Texts = std::vector<std::string>;

class LabelTableTest : public ::testing::Test {
  protected:
    LabelTableTest() {
        std::string pattern = ::testing::TempDir() + "couplet-labels-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~LabelTableTest() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path put(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return folder_ / name;
    }
    LabelTable read(const std::string& text, const LabelColumns& columns = {}, Index rows = -1) const {
        return read_label_table(put("labels.csv", text), columns, rows);
    }
    std::string refused(const std::string& text, const LabelColumns& columns = {}) const {
        return support::message_of([&] { read(text, columns); });
    }
    std::filesystem::path folder_;
};

TEST_F(LabelTableTest, ColumnsAreFoundByTheirNames) {
    const LabelTable two = read("patient,died\np1,yes\np2,no\n");
    EXPECT_EQ(two.patients, (Texts{"p1", "p2"}));
    EXPECT_EQ(two.values, (Texts{"yes", "no"}));
    const LabelTable semicolons = read("ID;age;Class\n7;60;a\n8;61;b\n");
    EXPECT_EQ(semicolons.patients, (Texts{"7", "8"}));
    EXPECT_EQ(semicolons.values, (Texts{"a", "b"}));
    const LabelTable table = read("row,patient,label\n1,x,0\n2,y,1\n");
    EXPECT_EQ(table.values, (Texts{"0", "1"}));
    const LabelTable chosen = read("who,age,died\nx,60,0\ny,61,1\n", {.label = "died", .patient = "who"});
    EXPECT_EQ(chosen.patients, (Texts{"x", "y"}));
    EXPECT_EQ(chosen.values, (Texts{"0", "1"}));
}

TEST_F(LabelTableTest, OneColumnHasAHeaderOrNotAsItsRowsTell) {
    EXPECT_EQ(read("outcome\na\nb\n", {}, 2).values, (Texts{"a", "b"}));
    EXPECT_EQ(read("a\nb\n", {}, 1).values, (Texts{"b"}));
    EXPECT_EQ(read("b\na\nb\n", {}, 3).values, (Texts{"b", "a", "b"}));
    EXPECT_EQ(read("1\n0\n", {}, 2).values, (Texts{"1", "0"}));
    EXPECT_TRUE(read("b\na\nb\n", {}, 3).patients.empty());
    EXPECT_EQ(read("label\n\"say \"\"ah\"\"\"\n\"\"\n\"b\"\n", {}, 3).values, (Texts{"say \"ah\"", "", "b"}));
    // A header is never a label, also where a label is missing.
    EXPECT_EQ(read("label\na\nb\n", {}, 3).values, (Texts{"a", "b"}));
    EXPECT_EQ(read("diagnosis\na\nb\na\nb\n", {}, 5).values, (Texts{"a", "b", "a", "b"}));
    EXPECT_EQ(read("label\na\n\nb\n", {}, 3).values, (Texts{"a", "", "b"}));
    EXPECT_EQ(read("a\n\na\n", {}, 3).values, (Texts{"a", "", "a"}));
    EXPECT_EQ(read("label\na\nb\n\n", {}, 2).values, (Texts{"a", "b"}));
    EXPECT_EQ(read("label\na\n\n", {}, 2).values, (Texts{"a", ""}));
    EXPECT_EQ(read("died\n\"yes\"\nno\n", {.label = "died"}, 2).values, (Texts{"yes", "no"}));
    // A number is a label: one line too many is one too many, and shifts nobody.
    EXPECT_EQ(read("1\n0\n1\n", {}, 2).values, (Texts{"1", "0", "1"}));
    EXPECT_EQ(read("7\n0\n1\n", {}, 2).values, (Texts{"7", "0", "1"}));
    const auto either = support::message_of([&] { read("severe\nwell\nill\nwell\n\n", {}, 4); });
    EXPECT_NE(either.find("'severe', that may be a header or a label"), std::string::npos) << either;
    EXPECT_EQ(read("severe\nwell\nill\n\n", {.label = "severe"}, 3).values, (Texts{"well", "ill", ""}));
}

TEST_F(LabelTableTest, RowsAreWhereTheTableSaysTheyAre) {
    const LabelTable table = read("row,label\n3,c\n1,a\n");
    EXPECT_EQ(table.rows, (std::vector<Index>{3, 1}));
    EXPECT_EQ(match_labels(table, "north", {}, 3).values, (Texts{"a", "", "c"}));
    EXPECT_EQ(match_labels(table, "north", {"x", "y", "z"}, 3).patients, (Texts{"x", "y", "z"}));
    EXPECT_THROW(match_labels(table, "north", {}, 2), InputError);
    EXPECT_THROW(match_labels(read("row,label\n1,c\n1,a\n"), "north", {}, 2), InputError);
    EXPECT_THROW(read("row,label\n0,c\n1,a\n"), InputError);
    const LabelTable named = read("row,patient,label\n2,q,b\n1,p,a\n");
    EXPECT_EQ(match_labels(named, "north", {}, 2).patients, (Texts{"p", "q"}));
    EXPECT_EQ(match_labels(named, "north", {"q", "p"}, 2).values, (Texts{"b", "a"}));
}

TEST_F(LabelTableTest, JsonObjectsHaveTheColumnsOfATable) {
    const auto file = put("l.ndjson", "{\"id\":\"q\",\"more\":{},\"state\":\"ill\"}\n{\"id\":\"p\",\"state\":null}\n");
    for (const LabelColumns& columns : {LabelColumns{}, LabelColumns{.label = "state"}}) {
        const LabelTable table = read_label_table(file, columns, 2);
        EXPECT_EQ(table.patients, (Texts{"q", "p"}));
        EXPECT_EQ(table.values, (Texts{"ill", ""}));
    }
}

TEST_F(LabelTableTest, AnIdentifierUnderAnotherNameIsAskedFor) {
    const LabelTable table = read("mrn,outcome\nq,1\np,0\n");
    const auto message = support::message_of([&] { match_labels(table, "north", {"p", "q"}, 2); });
    EXPECT_NE(message.find("`id_column`"), std::string::npos) << message;
    EXPECT_EQ(match_labels(read("mrn,outcome\nq,1\np,0\n", {.patient = "mrn"}), "north", {"p", "q"}, 2).values,
              (Texts{"0", "1"}));
    EXPECT_EQ(match_labels(table, "north", {}, 2).values, (Texts{"1", "0"}));
}

TEST_F(LabelTableTest, MissingLabelsAreEmpty) {
    EXPECT_EQ(read("patient,label\n1,\n2,NA\n3,nan\n4,?\n5,none\n6,.\n7,NULL\n8,n/a\n").values,
              (Texts{"", "", "", "", "none", "", "", ""}));
}

TEST_F(LabelTableTest, RefusalsNameTheColumn) {
    EXPECT_NE(refused("patient,age,sex\n1,2,3\n").find("`label_column`"), std::string::npos);
    EXPECT_NE(refused("patient,id,label\n1,2,3\n").find("`id_column`"), std::string::npos);
    EXPECT_NE(refused("patient,label\n1,a\n1,b\n").find("the identifier of line 2"), std::string::npos);
    EXPECT_NE(refused("patient,label\n1,a\n,b\n").find("no identifier"), std::string::npos);
    EXPECT_NE(refused("patient,label\n1,a\n", {.label = "died"}).find("died"), std::string::npos);
}

TEST_F(LabelTableTest, RefusalsNameNobody) {
    for (const auto& message : {refused("patient,label\nmaria,a\nmaria,b\n"), refused("maria,well,60\njuan,ill,61\n"),
                                refused("maria,well\njuan,ill\n", {.label = "died"}),
                                refused("maria,well\njuan,ill\n", {.label = "died", .patient = "who"})}) {
        EXPECT_NE(message.find("labels.csv"), std::string::npos) << message;
        for (const char* told : {"maria", "juan", "well"}) {
            EXPECT_EQ(message.find(told), std::string::npos) << message;
        }
    }
    EXPECT_NE(refused("maria,well,60\njuan,ill,61\n").find("3 columns without a known name"), std::string::npos);
    const auto headless = support::message_of([&] { read_patients(put("patients.csv", "1,maria\n2,juan\n"), 2); });
    EXPECT_NE(headless.find("no column patient"), std::string::npos) << headless;
    EXPECT_EQ(headless.find("maria"), std::string::npos) << headless;
    // A first line that surely has names is told.
    EXPECT_NE(refused("id,dead\n1,a\n", {.label = "died"}).find("'dead'"), std::string::npos);
}

TEST_F(LabelTableTest, ArraysOfNumbers) {
    Tensor<double> values({3});
    values.data()[0] = 1;
    values.data()[1] = std::nan("");
    values.data()[2] = 0;
    write_npy(folder_ / "y.npy", values.view(), false);
    EXPECT_EQ(read_label_table(folder_ / "y.npy", {}, 3).values, (Texts{"1", "", "0"}));
    values.data()[1] = INFINITY;
    write_npy(folder_ / "y.npy", values.view(), true);
    EXPECT_THROW(read_label_table(folder_ / "y.npy", {}, 3), InputError);
}

TEST_F(LabelTableTest, PatientsOfATable) {
    EXPECT_EQ(read_patients(put("patients.csv", "row,patient\n1,b\n2,a\n"), 2), (Texts{"b", "a"}));
    EXPECT_THROW(read_patients(folder_ / "patients.csv", 3), InputError);
    EXPECT_THROW(read_patients(put("patients.csv", "row,patient\n1,b\n2,b\n"), 2), InputError);
    EXPECT_THROW(read_patients(put("patients.csv", "row,name\n1,b\n2,c\n"), 2), InputError);
}

TEST_F(LabelTableTest, IdentifiersDecideWhateverTheOrder) {
    const LabelTable table{"t.csv", {"a", "b", "c"}, {"p1", "p2", "p3"}};
    const SiteLabels labels = match_labels(table, "north", {"p3", "p9", "p1"}, 3);
    EXPECT_EQ(labels.values, (Texts{"c", "", "a"}));
    EXPECT_EQ(labels.patients, (Texts{"p3", "p9", "p1"}));
    EXPECT_EQ(match_labels(table, "north", {}, 3).patients, table.patients);
    EXPECT_TRUE(match_labels(table, "north", {}, 3).unchecked) << "in the order of the table, and that is said";
    EXPECT_FALSE(labels.unchecked);
    EXPECT_EQ(match_labels({.source = "t.csv", .values = {"a", "b"}, .alone = true}, "north", {"p3", "p9"}, 2).values,
              (Texts{"a", "b"}));
    const auto message = support::message_of([&] { match_labels(table, "north", {"q1"}, 1); });
    EXPECT_NE(message.find("none of the 1 patients of north"), std::string::npos);
    const LabelTable alone{.source = "t.csv", .values = {"a", "b", "c"}, .alone = true};
    const auto count = support::message_of([&] { match_labels(alone, "north", {}, 4); });
    EXPECT_NE(count.find("3 labels; expected 4, one per index"), std::string::npos) << count;
}

TEST_F(LabelTableTest, CodesThatAreNoPlainNumbersStayApart) {
    // Two codes of SNOMED CT that are the same double; 1E2 is a code and no hundred; zeros in front belong to a code.
    const Texts snomed{"900000000000207008", "900000000000207009", "73211009"};
    const ClassCoding codes = code_classes(snomed);
    EXPECT_EQ(codes.names, (Texts{"73211009", "900000000000207008", "900000000000207009"}));
    EXPECT_NE(codes.code(snomed[0]), codes.code(snomed[1]));
    EXPECT_EQ(code_classes(Texts{"1E2", "100"}).names, (Texts{"100", "1E2"}));
    EXPECT_EQ(code_classes(Texts{"1", "01", "1."}).names, (Texts{"1", "01"}));
    EXPECT_EQ(code_classes(Texts{"0x10", "16"}).names, (Texts{"16", "0x10"}));
    EXPECT_EQ(code_classes(Texts{"1.0", "2.0"}).names, (Texts{"1.0", "2.0"})) << "as the table spells them";
}

TEST_F(LabelTableTest, NumbersAreClassesByValueAndTextByText) {
    const ClassCoding numbers = code_classes(Texts{"10", "2.0", "2", "", "-0", "0"});
    EXPECT_EQ(numbers.names, (Texts{"0", "2", "10"}));
    EXPECT_EQ(numbers.code("2.0"), 1);
    EXPECT_EQ(numbers.code("-0"), 0);
    EXPECT_EQ(numbers.code(""), -1);
    EXPECT_EQ(numbers.code("2.00"), 1);
    const ClassCoding words = code_classes(Texts{"yes", "no", "10"});
    EXPECT_EQ(words.names, (Texts{"10", "no", "yes"}));
    EXPECT_EQ(words.code("yes"), 2);
    EXPECT_THROW(words.code("perhaps"), InputError);
    const ClassCoding mixed = code_classes(Texts{"1.0", "unknown", "1", "0.50", "-3"});
    EXPECT_EQ(mixed.names, (Texts{"-3", "0.50", "1", "unknown"}));
    EXPECT_EQ(mixed.code("1.0"), 2);
    EXPECT_THROW(code_classes(Texts{"1", "1.0", ""}), InputError);
    EXPECT_THROW(code_classes(Texts{"", ""}), InputError);
    Texts ages;
    for (int i = 0; i < 30; ++i) ages.push_back(std::to_string(i) + ".5");
    const auto message = support::message_of([&] { code_classes(ages); });
    EXPECT_NE(message.find("measurement"), std::string::npos);
}

}  // namespace
}  // namespace couplet
