#include "couplet/classify/predictions.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "matrices.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

class PredictionsTest : public ::testing::Test {
  protected:
    PredictionsTest() {
        std::string pattern = ::testing::TempDir() + "couplet-predictions-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
        evaluation_.labels = {0, 1, 1};
        evaluation_.site = {0, 0, 1};
        evaluation_.fold = {0, 1, 0};
        evaluation_.classes = 2;
        Matrix<double> p(3, 2);
        for (Index i = 0; i < 3; ++i) {
            p(i, 1) = (1 + static_cast<double>(i)) / 7;
            p(i, 0) = 1 - p(i, 1);
        }
        evaluation_.outcomes.push_back({Arm::federated, ModelKind::logistic, std::move(p), {0, 0, 1}});
    }
    ~PredictionsTest() override { fs::remove_all(folder_); }
    std::string read(const fs::path& file) const {
        std::ostringstream text;
        text << std::ifstream(file).rdbuf();
        return text.str();
    }
    fs::path folder_;
    Evaluation evaluation_;
    const std::vector<std::string> classes_{"no", "yes, twice"};
    const std::vector<PredictionSite> sites_{{{"p,1", "p2"}, {0, 3}}, {{}, {0}}};
};

TEST_F(PredictionsTest, OneFileASiteForItsOwnerAlone) {
    const fs::path out = folder_ / "deep" / "out";
    const auto files = write_predictions(out, evaluation_, sites_, classes_, false);
    EXPECT_EQ(files, prediction_files(out, 2));
    EXPECT_EQ(read(files[0]),
              "row,patient,label,fold,arm,model,predicted,p_no,\"p_yes, twice\"\n"
              "1,\"p,1\",no,1,federated,logistic,no,0.8571428571428572,0.14285714285714285\n"
              "4,p2,\"yes, twice\",2,federated,logistic,no,0.7142857142857143,0.2857142857142857\n");
    EXPECT_EQ(read(files[1]),
              "row,label,fold,arm,model,predicted,p_no,\"p_yes, twice\"\n"
              "1,\"yes, twice\",1,federated,logistic,\"yes, twice\",0.5714285714285714,0.42857142857142855\n");
    for (const fs::path& file : files) {
        EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    }
}

TEST_F(PredictionsTest, NothingIsReplacedWithoutAWordOrHalfWritten) {
    std::ofstream(folder_ / "predictions_2.csv") << "mine";
    EXPECT_THROW(write_predictions(folder_, evaluation_, sites_, classes_, false), InputError);
    EXPECT_FALSE(fs::exists(folder_ / "predictions_1.csv"));
    EXPECT_EQ(read(folder_ / "predictions_2.csv"), "mine");
    std::ofstream(folder_ / "predictions_3.csv") << "of a larger federation";
    write_predictions(folder_, evaluation_, sites_, classes_, true);
    EXPECT_NE(read(folder_ / "predictions_2.csv"), "mine");
    EXPECT_FALSE(fs::exists(folder_ / "predictions_3.csv"));
    EXPECT_THROW(write_predictions(folder_ / "predictions_1.csv", evaluation_, sites_, classes_, true), InputError);
    const std::vector<PredictionSite> others{{{}, {0}}, {{}, {0, 1}}};
    EXPECT_THROW(write_predictions(folder_ / "x", evaluation_, others, classes_, true), InputError);
}

}  // namespace
}  // namespace couplet
