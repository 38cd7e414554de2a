#include "couplet/data/data_file.hpp"
#include "couplet/data/ehr.hpp"
#include "couplet/linalg/products.hpp"
#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::DataTest;
using testing::refusal;
using testing::values_of;
using CmsTest = DataTest;

// count, patient, diagnosis, procedure, medication. Diagnosis 5 has most records but one patient.
const std::string records =
    "1,7,5,1,10\n"
    "2,7,5,2,10\n"
    "1,7,5,3,11\n"
    "1,2,6,1,11\n"
    "1,9,6,1,11\n"
    "1,4,8,1,12\n";

TEST_F(CmsTest, CountsRecordsOfDiagnosisAndMedication) {
    const std::string file = put("c.csv", records);
    const Dataset clipped = load_cms(file, {.diagnoses = 2, .medications = 2});
    EXPECT_EQ(clipped.tensor.shape(), (Shape{3, 2, 2}));
    // Patients 2, 7, 9; diagnoses 5, 6; medications 11 (3 records), 10.
    EXPECT_EQ(values_of(clipped.tensor), (std::vector<double>{0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 0}));
    EXPECT_EQ(clipped.tensor.labels()[1], (ModeLabels{"diagnosis", {"5", "6"}}));
    EXPECT_EQ(clipped.tensor.labels()[2], (ModeLabels{"medication", {"11", "10"}}));
    EXPECT_EQ(clipped.available, 4);
    EXPECT_EQ(clipped.records, 6);
    EXPECT_TRUE(clipped.labels.empty());
    const Dataset summed = load_cms(file, {.diagnoses = 2, .medications = 2, .duplicates = Duplicates::sum});
    EXPECT_EQ(values_of(summed.tensor), (std::vector<double>{0, 0, 1, 0, 1, 3, 0, 0, 0, 0, 1, 0}));
}

TEST_F(CmsTest, CanRankCodesByPatients) {
    const Dataset data =
        load_cms(put("c.csv", records), {.diagnoses = 1, .medications = 1, .frequent_by = FrequentBy::patients});
    EXPECT_EQ(data.tensor.labels()[1].entries, (std::vector<std::string>{"6"}));
    EXPECT_EQ(data.tensor.shape(), (Shape{2, 1, 1}));
}

TEST_F(CmsTest, NamesWhatIsWrong) {
    const auto refused = [&](const std::string& text, CmsOptions options = {.diagnoses = 1, .medications = 1}) {
        const std::string file = put("c.csv", text);
        return refusal([&] { load_cms(file, options); }).substr(file.size());
    };
    EXPECT_EQ(refused("1,2,3\n"),
              ": line 1 has 3 columns; expected 5: count, patient, diagnosis, procedure, medication. "
              "Use the file as it was published.");
    EXPECT_EQ(refused("1,1,1,1,1\n1,1,0,1,1\n"),
              ": line 2, column 3 holds '0'; expected a whole number from 1 to 1000000000");
    EXPECT_NE(refused("1,1,1,x,1\n").find("line 1, column 4 holds 'x'"), std::string::npos);
    EXPECT_EQ(
        refused(records, {.diagnoses = 4, .medications = 1}),
        ": 3 different diagnoses; expected at least the 4 asked for, and that at least 1. Ask for a number from 1 "
        "to 3, or check that the file is complete.");
    EXPECT_NE(refused(records, {.diagnoses = 1, .medications = 9}).find("3 different medications"), std::string::npos);
    EXPECT_NE(refused("").find("0 different diagnoses"), std::string::npos);
    EXPECT_TRUE(refused("").ends_with(". Check that the file is complete."));
    EXPECT_EQ(refused("1,1,1,1,2\n1,2,1,1,3\n1,3,2,1,9\n1,3,3,1,9\n1,4,4,1,9\n"),
              ": no record with a frequent diagnosis and a frequent medication; expected at least one. Ask for more "
              "diagnoses or medications.");
}

TEST_F(CmsTest, ReadsThePublishedFile) {
    COUPLET_NEEDS_DATA();
    const auto file = find_data_file(DataFile::cms);
    const Dataset data = load_cms(file);
    EXPECT_EQ(data.records, 136255);
    EXPECT_EQ(data.available, 1000);
    EXPECT_EQ(data.tensor.shape(), (Shape{547, 40, 40}));
    EXPECT_EQ(squared_norm<double>(data.tensor.view().unfold(1)), 6857);  // all ones
    EXPECT_GT(squared_norm<double>(load_cms(file, {.duplicates = Duplicates::sum}).tensor.view().unfold(1)), 6857);
    EXPECT_NE(refusal([&] { load_cms(file, {.diagnoses = 500}); }).find("495 different diagnoses"), std::string::npos);
    EXPECT_EQ(load_cms(file, {.diagnoses = 495, .medications = 40}).tensor.shape()[1], 495);
}

}  // namespace
}  // namespace couplet
