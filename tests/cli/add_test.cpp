#include "arithmetic_support.hpp"

namespace couplet::testing {
namespace {

using AddTest = ArithmeticTest;

TEST_F(AddTest, AgreesWithTheDenseSum) {
    const Outcome run = couplet({"add", "a.npz", "b.npz", "-o", "S.npz", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["shape"], Json({5, 4, 3}));
    EXPECT_EQ(run.json()["output"], "S.npz");
    ASSERT_EQ(couplet({"reconstruct", "S.npz", "-o", "S.npy"}).status, 0);
    Tensor<double> sum(a_.shape());
    for (Index i = 0; i < sum.size(); ++i) sum.data()[i] = a_.data()[i] + b_.data()[i];
    EXPECT_LE(relative_difference(sum, load("S.npy")), 1e-13);
}

TEST_F(AddTest, SumIsFloatOnlyWhenBothAre) {
    save("f.npy", smooth<float>({5, 4, 3}));
    ASSERT_EQ(couplet({"decompose", "f.npy", "-o", "f.npz"}).status, 0);
    ASSERT_EQ(couplet({"add", "f.npz", "f.npz", "-o", "ff.npz"}).status, 0);
    ASSERT_EQ(couplet({"add", "f.npz", "a.npz", "-o", "fa.npz"}).status, 0);
    EXPECT_EQ(couplet({"info", "ff.npz", "--json"}).json()["dtype"], "float32");
    EXPECT_EQ(couplet({"info", "fa.npz", "--json"}).json()["dtype"], "float64");
}

TEST_F(AddTest, OtherModesAreRefusedWithBothNames) {
    save("c.npy", smooth<double>({5, 4, 2}));
    ASSERT_EQ(couplet({"decompose", "c.npy", "-o", "c.npz"}).status, 0);
    const auto before = files();
    const Outcome run = couplet({"add", "a.npz", "c.npz", "-o", "S.npz"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(
        run.err,
        "couplet add: c.npz: modes 5 x 4 x 2; expected modes 5 x 4 x 3 as in a.npz. Only models of tensors of one "
        "shape go together.\n");
    EXPECT_EQ(files(), before);
}

TEST_F(AddTest, OtherNamesAreRefusedWithBoth) {
    name_modes();
    const auto before = files();
    for (const std::string verb : {"add", "dot"}) {
        const auto said = [&](const std::string& other) {
            std::vector<std::string> words{verb, "named.npz", other};
            if (verb == "add") words.insert(words.end(), {"-o", "S.npz"});
            const Outcome run = couplet(words);
            EXPECT_EQ(run.status, 2) << other;
            EXPECT_EQ(run.out, "");
            return run.err;
        };
        for (const auto& [other, found] : {std::pair{"renamed.npz", "'pulse'"}, {"swapped.npz", "'bmi', 'age'"}}) {
            const std::string text = said(other);
            EXPECT_EQ(text.find("couplet " + verb + ": " + other + ": "), 0U) << text;
            for (const char* part : {found, "as in named.npz", "same names in the same order"}) {
                EXPECT_NE(text.find(part), std::string::npos) << part << ": " << text;
            }
        }
    }
    EXPECT_EQ(files(), before);
    EXPECT_EQ(couplet({"dot", "named.npz", "named.npz"}).status, 0);
    EXPECT_EQ(couplet({"dot", "named.npz", "bare.npz"}).status, 0) << "what has no names contradicts none";
}

TEST_F(AddTest, OutputIsRequired) {
    const Outcome run = couplet({"add", "a.npz", "b.npz"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.err,
              "couplet add: --output: missing; expected couplet add A.npz B.npz -o FILE.npz [options]. See couplet add "
              "--help.\n");
}

}  // namespace
}  // namespace couplet::testing
