#include "couplet/data/data_file.hpp"

#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::DataTest;
using testing::refusal;

/// Sets COUPLET_DATA for one test and puts it back.
class DataFileTest : public DataTest {
  protected:
    DataFileTest() {
        if (const char* value = ::getenv("COUPLET_DATA")) before_ = value;
        ::unsetenv("COUPLET_DATA");
    }
    ~DataFileTest() override {
        if (before_) {
            ::setenv("COUPLET_DATA", before_->c_str(), 1);
        } else {
            ::unsetenv("COUPLET_DATA");
        }
    }
    std::optional<std::string> before_;
};

TEST_F(DataFileTest, LooksInTheFolderAndItsSubfolder) {
    const std::string packed = put("ecg/ecg.csv.gz", "");
    EXPECT_EQ(find_data_file(DataFile::ecg, folder_), packed);
    const std::string plain = put("ecg/ecg.csv", "");
    EXPECT_EQ(find_data_file(DataFile::ecg, folder_), plain);
    EXPECT_EQ(find_data_file(DataFile::ecg, folder_ / "ecg"), plain);
    const std::string flat = put("ecg.csv.gz", "");
    EXPECT_EQ(find_data_file(DataFile::ecg, folder_), flat);
    EXPECT_EQ(find_data_file(DataFile::ecg, put("mine.txt", "")), path("mine.txt"));
}

TEST_F(DataFileTest, UsesTheEnvironmentOnlyWithoutAPlace) {
    const std::string patients = put("synthea_1k/patients.csv", "");
    ::setenv("COUPLET_DATA", folder_.c_str(), 1);
    EXPECT_EQ(find_data_file(DataFile::synthea_patients), patients);
    std::filesystem::create_directories(folder_ / "other");
    EXPECT_NE(refusal([&] { find_data_file(DataFile::synthea_patients, folder_ / "other"); }), "nothing thrown");
}

TEST_F(DataFileTest, SaysWhereToGetTheFile) {
    EXPECT_EQ(refusal([] { find_data_file(DataFile::ecg); }),
              "ecg.csv: no folder to look in: COUPLET_DATA is not set; expected the file or its folder. Name it with "
              "`data`, or set COUPLET_DATA; it is on Kaggle as devavratatripathy/ecg-dataset.");
    EXPECT_EQ(
        refusal([&] { find_data_file(DataFile::diabetes, path("nowhere")); }),
        path("nowhere") +
            ": no such file or folder; expected the folder of diabetes_012_health_indicators_BRFSS2015.csv. Check "
            "the path; it is on Kaggle as alexteboul/diabetes-health-indicators-dataset.");
    ::setenv("COUPLET_DATA", folder_.c_str(), 1);
    EXPECT_EQ(refusal([] { find_data_file(DataFile::cms); }),
              "COUPLET_DATA=" + folder_.string() +
                  ": neither cms1k_dense.csv nor cms1k_dense.csv.gz, here or in cms_synpuf/; expected one of them. Put "
                  "the file there; it is in the FedGTF-EF repository on GitHub.");
    for (const DataFile file :
         {DataFile::synthea_patients, DataFile::synthea_conditions, DataFile::synthea_medications})
        EXPECT_NE(refusal([&] { find_data_file(file); }).find("Synthea's generator"), std::string::npos);
    EXPECT_NE(refusal([] { find_data_file(DataFile::ecg_classes); }).find("ECG5000"), std::string::npos);
}

TEST_F(DataFileTest, KnowsTheRowsOfFilesThatAreTheSameForAll) {
    EXPECT_EQ(published_rows(DataFile::ecg), 4998);
    EXPECT_EQ(published_rows(DataFile::ecg_classes), 4998);
    EXPECT_EQ(published_rows(DataFile::diabetes), 253680);
    EXPECT_EQ(published_rows(DataFile::cms), 136255);
    EXPECT_EQ(published_rows(DataFile::synthea_patients), std::nullopt);
}

}  // namespace
}  // namespace couplet
