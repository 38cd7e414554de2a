#include "gather.hpp"

#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;

class GatherTest : public TableTest {
  protected:
    Gathered events(const std::string& name, const TableOptions& options) const {
        const std::vector<TableInput> tables{file_input(path(name), {})};
        return gather_events(tables, options, folder_, {});
    }
};

TEST_F(GatherTest, NumbersPatientsAndCodesAsTheyCome) {
    put("t.csv", "p,c,v\nb,x,1\na,y,2\nb,x,3\n");
    const Gathered all = events("t.csv", {.patient = {"p"}, .modes = {"c"}, .values = {"v"}});
    EXPECT_EQ(all.patients.size(), 2U);
    EXPECT_EQ(all.patients[0], "b");
    EXPECT_EQ(all.modes[0].book.codes[1], "y");
    EXPECT_EQ(all.modes[0].book.facts[0].events, 2);
    EXPECT_EQ(all.records, (std::vector<Index>{3}));
    std::vector<double> values;
    all.blocks[0].cells.for_each([&](const CellKey&, double value) { values.push_back(value); });
    EXPECT_EQ(values, (std::vector<double>{2, 2}));  // means
}

/// How many records there are is not known before the last one.
TEST_F(GatherTest, SaysHowManyRecordsWereRead) {
    std::string text = "p,c\n";
    for (int i = 0; i < 70'000; ++i) text += std::to_string(i % 10) + ",x\n";
    put("t.csv", text);
    const std::vector<TableInput> tables{file_input(path("t.csv"), {})};
    std::vector<std::pair<std::int64_t, std::int64_t>> heard;
    const Gathered all =
        gather_events(tables, {.patient = {"p"}, .modes = {"c"}}, folder_,
                      [&](const ProgressEvent& event) { heard.emplace_back(event.done, event.total); });
    EXPECT_EQ(heard, (std::vector<std::pair<std::int64_t, std::int64_t>>{{1 << 16, 0}}));
    EXPECT_EQ(all.records, (std::vector<Index>{70'000}));
}

TEST_F(GatherTest, WideRowsKeepTheirKinds) {
    put("w.csv", "id,age [years],sex,born,seen\n1,50,m,1970-05-01,2020-05-01\n2,,f,1980-01-01,\n");
    const std::vector<TableInput> tables{file_input(path("w.csv"), {})};
    const Gathered all = gather_wide(
        tables, {.patient = {"id"}, .modes = {"m=age,sex,born:year,seen:since=born"}, .wide = true}, folder_, {});
    const CodeBook& book = all.modes[0].book;
    std::vector<std::string> codes;
    for (std::size_t i = 0; i < book.codes.size(); ++i) codes.push_back(book.codes[i]);
    EXPECT_EQ(codes, (std::vector<std::string>{"age", "sex=m", "born=1970", "seen", "sex=f", "born=1980"}));
    EXPECT_EQ(book.facts[0].unit, "years");
    EXPECT_EQ(book.facts[0].events, 1);
    EXPECT_EQ(book.facts[3].unit, "days");
    EXPECT_TRUE(all.in_order);
}

TEST_F(GatherTest, DatesThatNobodyAskedForAreNoCategories) {
    const auto said = [&](const char* first, const char* second, const std::string& modes) -> std::string {
        put("w.csv", std::string("id,age,seen\n1,50,") + first + "\n2,40,\n3,41," + second + "\n4,42," + first + "\n");
        const std::vector<TableInput> tables{file_input(path("w.csv"), {})};
        try {
            TableOptions options{.patient = {"id"}, .wide = true};
            if (!modes.empty()) options.modes = {modes};
            gather_wide(tables, options, folder_, {});
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    for (const auto& [first, second] : {std::pair{"13/05/2020", "01/06/2020"},
                                        {"3.5.2020", "14.5.2020"},
                                        {"12/31/2020", "01/02/2020"},
                                        {"2020-05-13", "2020-06-01"}}) {
        const std::string found = said(first, second, "");
        EXPECT_NE(found.find(std::string("dates, like '") + first), std::string::npos) << found;
        EXPECT_NE(found.find("seen:year"), std::string::npos) << found;
        EXPECT_EQ(said(first, second, "m=age,seen:category"), "");
    }
    EXPECT_EQ(said("13/05/2020", "unknown date", ""), "") << "not all are dates";
}

TEST_F(GatherTest, TablesMayCallThePatientDifferently) {
    put("dx.csv", "pid,c\n1,x\n2,y\n");
    put("rx.csv", "person,d\n1,u\n3,v\n");
    const std::vector<TableInput> tables{file_input(path("dx.csv"), {}), file_input(path("rx.csv"), {})};
    const std::vector<std::string> modes{"dx:c", "rx:d"};
    const Gathered all = gather_events(tables, {.patient = {"dx:pid", "rx:person"}, .modes = modes}, folder_, {});
    EXPECT_EQ(all.patients.size(), 3U);
    EXPECT_THROW(gather_events(tables, {.patient = {"dx:pid"}, .modes = modes}, folder_, {}), InputError);
    EXPECT_THROW(gather_events(tables, {.patient = {"pid", "lab:person"}, .modes = modes}, folder_, {}), InputError);
}

TEST_F(GatherTest, EmptyCodesAreSkippedAndCountedWhereThatIsAskedFor) {
    put("t.csv", "p,c\n1,x\n2,\n1,\n");
    const std::vector<TableInput> tables{file_input(path("t.csv"), {})};
    EXPECT_THROW(gather_events(tables, {.patient = {"p"}, .modes = {"c"}}, folder_, {}), InputError);
    const Gathered all = gather_events(tables, {.patient = {"p"}, .modes = {"c"}, .skip_empty = true}, folder_, {});
    EXPECT_EQ(all.without_code, 2);
    EXPECT_EQ(all.patients.size(), 1U) << "of whom nothing is said";
}

TEST_F(GatherTest, CodesAreThoseOfTheMapAndWhatItLacksIsCounted) {
    put("t.csv", "p,c,name\n1,l1,own\n2,l2,own\n1,l3,other\n2,l3,other\n");
    auto map = std::make_shared<CodeMap>();
    map->add("", "l1", {"E11", "Diabetes"}, "map");
    map->add("c", "l2", {"E11", ""}, "map");
    const std::vector<TableInput> tables{file_input(path("t.csv"), {})};
    const Gathered all = gather_events(tables, {.patient = {"p"}, .modes = {"c/name"}, .map = map}, folder_, {});
    const CodeBook& book = all.modes[0].book;
    ASSERT_EQ(book.codes.size(), 2U);
    EXPECT_EQ(book.codes[0], "E11");
    EXPECT_EQ(book.codes[1], "l3");
    EXPECT_EQ(book.facts[0].labels.best(2).label, "Diabetes");
    EXPECT_EQ(all.mapped_events, 2);
    EXPECT_EQ(all.unmapped_events, 2);
    EXPECT_EQ(all.unmapped, std::set<std::string>{"l3"});
}

}  // namespace
}  // namespace couplet
