#include "couplet/table/table_spec.hpp"

#include "table_test_support.hpp"

namespace couplet {
namespace {

using testing::TableTest;
using TableSpecTest = TableTest;

TEST(EventModeTest, Parses) {
    EXPECT_EQ(parse_event_mode("CODE"), (EventMode{"code", "", "CODE", "", {}}));
    EXPECT_EQ(parse_event_mode("condition=conditions:CODE/DESCRIPTION"),
              (EventMode{"condition", "conditions", "CODE", "DESCRIPTION", {}}));
    EXPECT_EQ(parse_event_mode("month=DATE@month"), (EventMode{"month", "", "DATE", "", TimeBin::month}));
    for (const char* bad : {"", "a=", "t:", "DATE@decade", "CODE/"})
        EXPECT_THROW(parse_event_mode(bad), InputError) << bad;
}

TEST(WideModeTest, Parses) {
    using Kind = WideColumn::Kind;
    const WideMode mode = parse_wide_mode("body=bmi,sex:category,born:year,seen:since=born,x:number");
    EXPECT_EQ(mode.name, "body");
    EXPECT_EQ(mode.columns, (std::vector<WideColumn>{{"bmi", Kind::detect},
                                                     {"sex", Kind::category},
                                                     {"born", Kind::bin, TimeBin::year},
                                                     {"seen", Kind::since, TimeBin::year, "born"},
                                                     {"x", Kind::number}}));
    EXPECT_TRUE(parse_wide_mode("all=*").columns.empty());
    EXPECT_EQ(parse_wide_mode("seen:since=2020-01-01").columns.front().since, "2020-01-01");
    EXPECT_EQ(parse_wide_mode("a").name, "feature");
    for (const char* bad : {"a=b,,c", "a=b:colour", "a=b:since=", "a,b,size=c"})
        EXPECT_THROW(parse_wide_mode(bad), InputError) << bad;
}

TEST_F(TableSpecTest, KnowsFormsByTheirColumns) {
    const auto form = [&](const std::string& name, const std::string& header) {
        return known_form(*open_records(put(name, header + "\n"), {}));
    };
    const auto synthea = form("conditions.csv", "START,STOP,PATIENT,ENCOUNTER,CODE,DESCRIPTION");
    ASSERT_TRUE(synthea);
    EXPECT_EQ(synthea->mode, "condition");
    EXPECT_EQ(synthea->time, "START");
    EXPECT_EQ(synthea->value, "");
    EXPECT_EQ(form("observations.csv", "DATE,PATIENT,CODE,DESCRIPTION,VALUE,UNITS")->value, "VALUE");
    EXPECT_EQ(form("allergies.csv", "START,PATIENT,CODE,DESCRIPTION")->mode, "allergy");
    const auto omop = form("x.csv", "DRUG_EXPOSURE_ID,PERSON_ID,DRUG_CONCEPT_ID,DRUG_EXPOSURE_START_DATE");
    ASSERT_TRUE(omop);
    EXPECT_EQ(omop->mode, "medication");
    EXPECT_EQ(omop->patient, "PERSON_ID");
    EXPECT_EQ(omop->time, "DRUG_EXPOSURE_START_DATE");
    EXPECT_EQ(omop->unmapped, "0");
    EXPECT_FALSE(form("other.csv", "a,b,c"));
}

}  // namespace
}  // namespace couplet
