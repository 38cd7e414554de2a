#include "inputs.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet::testing {
namespace {

class InputsTest : public CliTest {
  protected:
    template <class F>
    static std::string refusal(F&& f) {
        try {
            f();
        } catch (const InputError& error) {
            return error.what();
        }
        return "nothing thrown";
    }
};

TEST_F(InputsTest, NpyFilesAreMapped) {
    save("X.npy", smooth<double>({4, 5}));
    const TensorFile file = cli::read_tensor(path("X.npy"));
    EXPECT_TRUE(file.is_mapped());
    EXPECT_EQ(file.shape(), (Shape{4, 5}));
}

TEST_F(InputsTest, FirstOfSeveralNonFiniteElementsIsNamed) {
    // One in each of several blocks that threads read in any order.
    Tensor<float> x = Tensor<float>::zeros({4, 1 << 18});
    for (Index i = 1; i < 4; ++i) x.data()[i * (Index{1} << 18) + 7] = INFINITY;
    save("X.npy", x);
    const std::string file = path("X.npy");
    EXPECT_EQ(refusal([&] { cli::read_tensor(file); }).find(file + ": Inf at index (1, 7)"), 0U);
}

TEST_F(InputsTest, NaNIsRefusedWithWhatHelpsAndInfinityAlways) {
    Tensor<double> x = smooth<double>({3, 4});
    x.data()[5] = NAN;
    save("holes.npy", x);
    const std::string holes = path("holes.npy");
    EXPECT_EQ(refusal([&] { cli::read_tensor(holes, "Use this."); }),
              holes + ": NaN at index (1, 1), counted from 0; expected finite numbers only. Use this.");
    EXPECT_NE(refusal([&] { cli::read_tensor(holes); }).find("Replace or remove"), std::string::npos);
    EXPECT_EQ(refusal([&] { cli::require_complete(x.view(), "x", "Use this."); }).find("x: NaN at index (1, 1)"), 0U);
    EXPECT_EQ(cli::read_incomplete_tensor(holes).shape(), (Shape{3, 4}));
    x.data()[9] = -INFINITY;
    save("wild.npy", x);
    const std::string wild = path("wild.npy");
    EXPECT_EQ(refusal([&] { cli::read_incomplete_tensor(wild); }),
              wild +
                  ": -Inf at index (2, 1), counted from 0; expected finite numbers, or NaN for what is not known. Only "
                  "NaN stands for a missing entry.");
    x.data()[5] = INFINITY;
    save("first.npy", x);
    EXPECT_EQ(refusal([&] { cli::read_tensor(path("first.npy"), "Use this."); }).find("Use this."), std::string::npos);
}

TEST_F(InputsTest, TensorsAreNoModels) {
    for (const char* name : {"X.npy", "X.csv", "X.csv.gz", "X.tns", "X.tns.gz"}) {
        EXPECT_NE(refusal([&] { cli::read_model(name); }).find("a tensor, by its name"), std::string::npos) << name;
    }
}

TEST_F(InputsTest, PairsAgreeInTypeAndModes) {
    Model<float> a{.first_mode = 2, .cores = {}, .labels = {}};
    a.cores.push_back(smooth<float>({3, 4, 1}));
    Model<double> b{.first_mode = 2, .cores = {}, .labels = {}};
    b.cores.push_back(smooth<double>({3, 4, 1}));
    Model<double> c{.first_mode = 2, .cores = {}, .labels = {}};
    c.cores.push_back(smooth<double>({2, 4, 1}));
    save_model(path("a.npz"), a, false);
    save_model(path("b.npz"), b, false);
    save_model(path("c.npz"), c, false);
    EXPECT_TRUE(std::holds_alternative<cli::ModelPair<float>>(cli::read_model_pair(path("a.npz"), path("a.npz"))));
    EXPECT_TRUE(std::holds_alternative<cli::ModelPair<double>>(cli::read_model_pair(path("a.npz"), path("b.npz"))));
    EXPECT_NE(refusal([&] {
                  cli::read_model_pair(path("a.npz"), path("c.npz"));
              }).find("features 4 with first rank 2; expected features 4 with first rank 3 as in "),
              std::string::npos);
}

}  // namespace
}  // namespace couplet::testing
