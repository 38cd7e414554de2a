#include "couplet/experiments/data_library.hpp"

#include "experiment_test_support.hpp"

namespace couplet {
namespace {

using testing::LabTest;
using testing::refusal;

TEST_F(LabTest, SyntheticDataIsDrawnBySeed) {
    DataLibrary library({}, Effort::tiny);
    const auto a = library.open(DataId::synthetic3, 1);
    const auto b = library.open(DataId::synthetic3, 2);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->dataset.tensor.shape(), (Shape{48, 8, 7}));
    EXPECT_NE(a->dataset.tensor.data()[0], b->dataset.tensor.data()[0]);
    EXPECT_EQ(library.open(DataId::synthetic3, 2), b);
    EXPECT_EQ(a->split(5).clients(), 5);
    EXPECT_EQ(library.open(DataId::synthetic4, 1)->dataset.tensor.shape().order(), 4);
    EXPECT_EQ(library.absent(DataId::synthetic3), "");
}

TEST_F(LabTest, TheFullSizesAreThePapers) {
    DataLibrary library({}, Effort::full);
    EXPECT_EQ(library.open(DataId::synthetic3, 0)->dataset.tensor.shape(), (Shape{200, 30, 30}));
    EXPECT_EQ(library.open(DataId::synthetic4, 0)->dataset.tensor.shape(), (Shape{200, 20, 20, 20}));
    EXPECT_EQ(library.open(DataId::synthetic3, 0)->rank, 20);
}

TEST_F(LabTest, AbsentFilesAreAskedForInWords) {
    DataLibrary library(folder_, Effort::tiny);
    EXPECT_EQ(library.open(DataId::diabetes, 0), nullptr);
    const std::string what = library.absent(DataId::diabetes);
    for (const char* part : {"Diabetes", "diabetes_012_health_indicators_BRFSS2015.csv", "Kaggle"}) {
        EXPECT_NE(what.find(part), std::string::npos) << what;
    }
    EXPECT_THROW(DataLibrary(folder_ / "nowhere", Effort::tiny), InputError);
}

TEST_F(LabTest, DamagedFilesAreNamedWithTheirSource) {
    DataLibrary library(folder_, Effort::tiny);
    put("diabetes_012_health_indicators_BRFSS2015.csv", "HighBP,HighChol\n1,0\n");
    std::string error = refusal([&] { library.open(DataId::diabetes, 0); });
    for (const char* part : {"BRFSS2015.csv", "Diabetes_012", "Kaggle"}) {
        EXPECT_NE(error.find(part), std::string::npos) << error;
    }
    put("ecg.csv", "1,2,3\n");
    error = refusal([&] { library.open(DataId::ecg, 0); });
    for (const char* part : {"ecg.csv", "140", "Kaggle"}) EXPECT_NE(error.find(part), std::string::npos) << error;
    put_ecg(5);  // too few beats
    error = refusal([&] { library.open(DataId::ecg, 0); });
    for (const char* part : {"ecg.csv", "40", "5", "Kaggle"}) EXPECT_NE(error.find(part), std::string::npos) << error;
    put("cms1k_dense.csv", "1,2,3,4,x\n");
    error = refusal([&] { library.open(DataId::cms, 0); });
    for (const char* part : {"cms1k_dense.csv", "FedGTF-EF"}) EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST_F(LabTest, EffortHasANameForTheReport) {
    EXPECT_EQ(to_string(Effort::full), "full");
    EXPECT_EQ(to_string(Effort::quick), "quick");
    EXPECT_EQ(data_title(DataId::cms), "CMS records");
}

}  // namespace
}  // namespace couplet
