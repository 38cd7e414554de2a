#include "couplet/data/hidden.hpp"
#include "couplet/experiments/scale.hpp"
#include "experiment_test_support.hpp"

namespace couplet {
namespace {

class MissingTest : public testing::LabTest {};

TEST_F(MissingTest, ImputationBeatsZeros) {
    put_all();
    const auto result = run("missing");
    EXPECT_EQ(result.figures.size(), 10U);
    EXPECT_GE(find_row(result, "federations_order3", "ctt-star", "imputed", 30)->y.mean, 1);
    EXPECT_LT(find_row(result, "zeroed_ours_order3", "ctt-star", "30% zero", 2)->y.mean,
              find_row(result, "zeroed_order3", "printed-star", "30% zero", 2)->y.mean);
    const Row* zeros = find_row(result, "hidden_order3", "ctt-star", "zeros", 30);
    const Row* imputed = find_row(result, "hidden_order3", "ctt-star", "imputed", 30);
    ASSERT_TRUE(zeros && imputed);
    EXPECT_LT(imputed->y.mean, zeros->y.mean);
    // Without holes both are the federation itself.
    EXPECT_NEAR(find_row(result, "truth_order3", "ctt-star", "zeros", 0)->y.mean,
                find_row(result, "truth_order3", "ctt-star", "imputed", 0)->y.mean, 1e-9);
}

/// Squared error of a federation's model against the truth, over all entries and over those that are NaN in `holes`.
std::pair<double, double> against_truth(const Tensor<double>& truth, const Tensor<double>& holes,
                                        const MemorySource& source, const JobOptions& job) {
    std::vector<double> model;
    std::vector<Matrix<double>> personal;
    SimulationOptions how{.job = job};
    how.job.precision = Precision::f64;  // as every completion
    how.on_personal = [&](Index, const Matrix<double>& a) { personal.push_back(Matrix<double>::copy(a.view())); };
    const auto result = simulate(source, std::move(how));
    const auto& train = result.features->train;
    const auto w = Matrix<double>::adopt(train.full().release(), train.left_rank(), truth.size() / truth.shape()[0]);
    for (const auto& a : personal) {
        for (Index i = 0; i < a.rows(); ++i) {
            for (Index j = 0; j < w.cols(); ++j) {
                double sum = 0;
                for (Index r = 0; r < w.rows(); ++r) sum += a(i, r) * w(r, j);
                model.push_back(sum);
            }
        }
    }
    double error2 = 0;
    double norm2 = 0;
    double hidden_error2 = 0;
    double hidden_norm2 = 0;
    for (Index i = 0; i < truth.size(); ++i) {
        const double x = truth.data()[i];
        const double error = x - model[static_cast<std::size_t>(i)];
        error2 += error * error;
        norm2 += x * x;
        if (!std::isnan(holes.data()[i])) continue;
        hidden_error2 += error * error;
        hidden_norm2 += x * x;
    }
    return {error2 / norm2, hidden_norm2 > 0 ? hidden_error2 / hidden_norm2 : 0};
}

TEST_F(MissingTest, RowsAreErrorsAgainstTheZerosAndTheTruth) {
    const auto result = run("missing");
    DataLibrary library(folder_, Effort::tiny);
    struct Case {
        DataId id;
        const char* order;
    };
    for (const auto& [id, name] : {Case{DataId::synthetic3, "order3"}, Case{DataId::synthetic4, "order4"}}) {
        const std::string order = name;
        const auto data = library.open(id, 3);
        const Tensor<double>& truth = data->dataset.tensor;
        for (const double fraction : {0.0, 0.3}) {
            auto zeroed = Tensor<double>::copy(truth.view());
            auto holes = Tensor<double>::copy(truth.view());
            hide_entries(zeroed.view(), {.fraction = fraction, .as = MissingAs::zero, .seed = 3});
            hide_entries(holes.view(), {.fraction = fraction, .seed = 3});
            const MemorySource two(split_rows(zeroed.view(), 2));
            const std::string variant = fraction == 0 ? "0% zero" : "30% zero";
            EXPECT_EQ(at(result, "zeroed_" + order, "printed-star", variant, 2),
                      simulate(two, {.job = testing::printed_star_job(data->rank)}).rse);
            EXPECT_EQ(at(result, "zeroed_ours_" + order, "ctt-star", variant, 2),
                      simulate(two, {.job = testing::couplet_star_job(data->rank)}).rse);
            const MemorySource four(split_rows(zeroed.view(), 4));
            for (const char* method : {"printed-star", "ctt-star"}) {
                const JobOptions job = method == std::string_view("ctt-star") ? testing::couplet_star_job(data->rank)
                                                                              : testing::printed_star_job(data->rank);
                const auto [all, hidden] = against_truth(truth, holes, four, job);
                EXPECT_NEAR(at(result, "truth_" + order, method, "zeros", 100 * fraction), all, 1e-9) << method;
                if (fraction == 0) continue;
                EXPECT_NEAR(at(result, "hidden_" + order, method, "zeros", 30), hidden, 1e-9) << method;
            }
        }
        // Nothing is hidden at 0%, and only imputation runs more than one federation.
        EXPECT_EQ(find_row(result, "hidden_" + order, "ctt-star", "zeros", 0), nullptr);
        EXPECT_EQ(find_row(result, "federations_" + order, "ctt-star", "zeros", 30), nullptr);
        EXPECT_LE(at(result, "federations_" + order, "ctt-star", "imputed", 30), 5 + 1);
    }
    const auto text = [&](const char* figure, const char* method, const char* variant) {
        return short_number(at(result, figure, method, variant, 30));
    };
    ASSERT_EQ(result.findings.size(), 2U);
    EXPECT_TRUE(result.findings[1].starts_with("Order 4: ")) << result.findings[1];
    expect_said(result.findings[0], "Order 3: with 30% missing imputation leaves an RSE of " +
                                        text("hidden_order3", "ctt-star", "imputed") + " on the hidden entries after " +
                                        text("federations_order3", "ctt-star", "imputed") +
                                        " federations, Couplet on zeros " + text("hidden_order3", "ctt-star", "zeros") +
                                        ", the CTT of Zhang et al. 2024 on zeros " +
                                        text("hidden_order3", "printed-star", "zeros") + ".");
}

}  // namespace
}  // namespace couplet
