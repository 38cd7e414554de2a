#include "couplet/data/data_file.hpp"
#include "couplet/data/ehr.hpp"
#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::DataTest;
using testing::refusal;
using testing::values_of;

class SyntheaTest : public DataTest {
  protected:
    SyntheaFiles files_{put("patients.csv", "Id,AGE\nbo,1\nal,2\ncy,3\ndi,4\n"),
                        put("conditions.csv",
                            "START,PATIENT,CODE,DESCRIPTION\n"
                            "1,al,100,\"Asthma, mild\"\n"
                            "2,al,100,\"Asthma, mild\"\n"
                            "3,al,100,\"Asthma, mild\"\n"
                            "4,al,22,Flu\n"
                            "5,bo,22,Flu\n"
                            "6,cy,100,Asthma again\n"
                            "7,di,7,Rare\n"),
                        put("medications.csv",
                            "PATIENT,DESCRIPTION,CODE\n"
                            "al,Pill,5\n"
                            "bo,Pill,5\n"
                            "cy,Spray,6\n"
                            "di,Pill,5\n")};
};

TEST_F(SyntheaTest, JoinsConditionsAndMedications) {
    const Dataset data = load_synthea(files_, {.conditions = 2, .medications = 2});
    // Both conditions have two patients: the smaller code first. di has no frequent condition.
    EXPECT_EQ(data.tensor.labels()[1], (ModeLabels{"condition", {"Flu", "Asthma, mild"}}));
    EXPECT_EQ(data.tensor.labels()[2], (ModeLabels{"medication", {"Pill", "Spray"}}));
    EXPECT_EQ(data.tensor.labels()[0], (ModeLabels{"patient", {}}));
    ASSERT_EQ(data.tensor.shape(), (Shape{3, 2, 2}));
    EXPECT_EQ(values_of(data.tensor), (std::vector<double>{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1}));
    EXPECT_EQ(data.available, 4);
    EXPECT_EQ(data.records, 11);
}

TEST_F(SyntheaTest, AcceptsTheOlderHeader) {
    files_.patients = put("old.csv", "ID\nal\nbo\ncy\ndi\n");
    EXPECT_EQ(load_synthea(files_, {.conditions = 3, .medications = 2}).tensor.shape(), (Shape{4, 3, 2}));
}

TEST_F(SyntheaTest, NamesWhatIsWrong) {
    const auto refused = [&](SyntheaOptions options = {.conditions = 1, .medications = 1}) {
        return refusal([&] { load_synthea(files_, options); });
    };
    EXPECT_EQ(refused({.conditions = 9, .medications = 1}),
              path("conditions.csv") +
                  ": 3 different conditions; expected at least the 9 asked for, and that at least "
                  "1. Ask for a number from 1 to 3, or check that the file is complete.");
    EXPECT_NE(refused({.conditions = 1, .medications = 3}).find("2 different medications"), std::string::npos);
    put("patients.csv", "Id\nal\nbo\ncy\n");
    EXPECT_EQ(refused(), path("conditions.csv") +
                             ": line 8, column 2 ('PATIENT') holds 'di'; expected a patient of the "
                             "file of patients. Use files of one export.");
    put("patients.csv", "Id\nal\nal\n");
    EXPECT_EQ(refused(), path("patients.csv") +
                             ": line 3, column 1 ('Id') holds 'al'; expected a patient who is not on an earlier line");
    put("patients.csv", "NAME\nal\n");
    EXPECT_EQ(refused(),
              path("patients.csv") +
                  ": columns 'NAME'; expected a column 'ID'. Use the file as it was published, or rename the "
                  "column that holds it.");
    put("patients.csv", "Id\nal\nbo\ncy\ndi\n");
    put("medications.csv", "PATIENT,DESCRIPTION\nal,Pill\n");
    EXPECT_EQ(refused(), path("medications.csv") +
                             ": columns 'PATIENT', 'DESCRIPTION'; expected a column 'CODE'. Use the file as it was "
                             "published, or rename the column that holds it.");
    put("medications.csv", "PATIENT,DESCRIPTION,CODE\ndi,Pill,5\n");
    EXPECT_NE(refused().find("no patient with a frequent condition"), std::string::npos);
    put("medications.csv", "PATIENT,DESCRIPTION,CODE\ndi,Pill,\n");
    EXPECT_NE(refused().find("line 2, column 3 ('CODE') holds ''; expected a code"), std::string::npos);
    put("medications.csv", "PATIENT,DESCRIPTION,CODE\ndi,na\xEFve,1\n");
    EXPECT_NE(refused().find("expected UTF-8 text"), std::string::npos);
}

TEST_F(SyntheaTest, ReadsAPublishedExport) {
    COUPLET_NEEDS_DATA();
    const SyntheaFiles files{find_data_file(DataFile::synthea_patients), find_data_file(DataFile::synthea_conditions),
                             find_data_file(DataFile::synthea_medications)};
    const Dataset data = load_synthea(files);
    EXPECT_EQ(data.available, 1462);
    EXPECT_EQ(data.records, 7040 + 6048);
    EXPECT_EQ(data.tensor.shape(), (Shape{1269, 40, 40}));
    const Dataset all = load_synthea(files, {.conditions = 118, .medications = 96});
    EXPECT_EQ(all.tensor.shape(), (Shape{1306, 118, 96}));
    EXPECT_EQ(std::count(all.tensor.labels()[1].entries.begin(), all.tensor.labels()[1].entries.end(),
                         "Acute bronchitis (disorder)"),
              1);
}

}  // namespace
}  // namespace couplet
