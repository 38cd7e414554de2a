#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

using InfoTest = CliTest;

TEST_F(InfoTest, Tensor) {
    Tensor<double> x = Tensor<double>::zeros({2, 3});
    x.data()[1] = 3;
    x.data()[5] = -4;
    save("X.npy", x);
    const Outcome run = couplet({"info", "X.npy", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    const Json expected{{"kind", "tensor"}, {"dtype", "float64"},     {"order", 2},  {"shape", {2, 3}},
                        {"numbers", 6},     {"fortran_order", false}, {"norm", 5.0}, {"min", -4.0},
                        {"max", 3.0},       {"nonzeros", 2},          {"nan", 0},    {"inf", 0}};
    for (const auto& [key, value] : expected.items()) EXPECT_EQ(json[key], value) << key;
    EXPECT_DOUBLE_EQ(json["mean"].get<double>(), -1.0 / 6);
    EXPECT_EQ(json["bytes"], static_cast<Index>(std::filesystem::file_size(path("X.npy"))));
}

/// 10^15 cells of which three are stored.
TEST_F(InfoTest, SparseFilesAreNotMadeDense) {
    put("x.tns", "100000 100000 100000 4\n1 1 1 -3\n5 1 2 1\n");
    const Outcome run = couplet({"info", "x.tns", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    const Json expected{{"shape", {100000, 100000, 100000}}, {"nonzeros", 3}, {"min", -3.0}, {"max", 4.0}};
    for (const auto& [key, value] : expected.items()) EXPECT_EQ(json[key], value) << key;
    EXPECT_DOUBLE_EQ(json["norm"].get<double>(), std::sqrt(26.0));
    EXPECT_DOUBLE_EQ(json["mean"].get<double>(), 2e-15);
}

TEST_F(InfoTest, CountsNanAndInfinityInsteadOfFailing) {
    Tensor<float> x = smooth<float>({3, 3});
    x.data()[0] = NAN;
    x.data()[1] = INFINITY;
    x.data()[2] = -INFINITY;
    save("X.npy", x);
    const Outcome run = couplet({"info", "X.npy", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["nan"], 1);
    EXPECT_EQ(run.json()["inf"], 2);
    EXPECT_TRUE(run.json()["norm"].is_number());
    const std::string words = couplet({"info", "X.npy"}).out;
    EXPECT_NE(words.find("1 NaN, 2 Inf"), std::string::npos);
    EXPECT_NE(words.find("--missing impute"), std::string::npos) << words;
}

TEST_F(InfoTest, WithoutAFiniteNumberThereIsNoRange) {
    Tensor<double> x = smooth<double>({2, 2});
    for (double& value : x.elements()) value = INFINITY;
    save("X.npy", x);
    const std::string out = couplet({"info", "X.npy"}).out;
    EXPECT_NE(out.find("min, mean, max  none: no number is finite"), std::string::npos) << out;
    EXPECT_NE(out.find("norm            none: no number is finite"), std::string::npos) << out;
    const Json json = couplet({"info", "X.npy", "--json"}).json();
    for (const char* key : {"norm", "min", "max", "mean"}) EXPECT_TRUE(json[key].is_null()) << key;
}

TEST_F(InfoTest, AModelLargerThanItsTensorSaysSo) {
    save("X.npy", smooth<double>({2, 2}));
    ASSERT_EQ(couplet({"decompose", "X.npy", "--eps", "0", "-o", "M.npz"}).status, 0);
    const Outcome run = couplet({"info", "M.npz"});
    EXPECT_NE(run.out.find("2x as many as the tensor"), std::string::npos) << run.out;
}

TEST_F(InfoTest, FortranOrderIsSaid) {
    python("np.save('F.npy', np.asfortranarray(np.arange(6.0).reshape(2, 3)))");
    EXPECT_EQ(couplet({"info", "F.npy", "--json"}).json()["fortran_order"], true);
    EXPECT_NE(couplet({"info", "F.npy"}).out.find("Fortran order"), std::string::npos);
}

TEST_F(InfoTest, ModelsOfAllKinds) {
    save("X.npy", smooth<double>({5, 4, 3}));
    ASSERT_EQ(couplet({"decompose", "X.npy", "--eps", "0.1", "-o", "M.npz"}).status, 0);
    const Json model = couplet({"info", "M.npz", "--json"}).json();
    EXPECT_EQ(model["kind"], "model");
    EXPECT_EQ(model["shape"], Json({5, 4, 3}));
    EXPECT_EQ(model["ranks"].size(), 4U);
    EXPECT_LE(model["metadata"]["rel_error"].get<double>(), 0.1);
    EXPECT_NEAR(model["norm"].get<double>(), couplet({"norm", "M.npz", "--json"}).json()["norm"].get<double>(), 1e-12);

    Model<double> personal;
    personal.cores.push_back(Tensor<double>::zeros({1, 2, 2}));
    personal.cores.front().data()[0] = 3;
    personal.cores.front().data()[3] = 4;
    save_model(path("personal.npz"), personal, false);
    const Json core = couplet({"info", "personal.npz", "--json"}).json();
    EXPECT_EQ(core["kind"], "personal");
    EXPECT_EQ(core["ranks"], Json({1, 2}));
    EXPECT_NE(couplet({"info", "personal.npz"}).out.find("1 2 (R_0 ... R_1)"), std::string::npos);
    EXPECT_NE(couplet({"info", "M.npz"}).out.find(" (R_0 ... R_3)"), std::string::npos);
    EXPECT_DOUBLE_EQ(core["norm"].get<double>(), 5);
}

TEST_F(InfoTest, ControlCharactersOfAFileStayOffTheTerminal) {
    Model<double> model;
    model.cores.push_back(smooth<double>({1, 2, 1}));
    model.labels = {{"\x1b[2Jmode", {"a\x07", "b"}}};
    model.metadata = {{"key\x1b[31m", "value\x1b[0m\x7f"}};
    save_model(path("M.npz"), model, false);
    const Outcome run = couplet({"info", "M.npz"});
    ASSERT_EQ(run.status, 0) << run.err;
    for (const char c : run.out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << run.out;
}

TEST_F(InfoTest, ASavedMergeNamesItsClientsAndFeatures) {
    put("a.csv", "age [years],bmi\n50,22\n61,25\n40,30\n");
    put("b.csv", "bmi,age [years]\n22,51\n25,60\n");
    ASSERT_EQ(couplet({"simulate", "a.csv", "b.csv", "--rank", "1", "--save-state", "s.npz", "-o", "r"}).status, 0);
    const Outcome run = couplet({"info", "s.npz", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["kind"], "merge");
    EXPECT_TRUE(run.json()["clients"][1]["name"].get<std::string>().ends_with("/b.csv"));
    EXPECT_EQ(run.json()["clients"][1]["rows"], 2);
    EXPECT_EQ(run.json()["labels"][0]["entries"], Json::array({"age", "bmi"}));
    EXPECT_EQ(run.json()["labels"][0]["units"], Json::array({"years", ""}));
    EXPECT_NE(couplet({"info", "s.npz"}).out.find("mode 2"), std::string::npos);
    const std::string features = couplet({"info", "r/features.npz"}).out;
    EXPECT_NE(features.find("mode 2"), std::string::npos) << "core_2 is of mode 2";
    EXPECT_NE(features.find("1 1 (R_1 ... R_2)"), std::string::npos) << features;
    python("np.savez('t.npz', tensor=np.ones((3, 2)), labels_2=np.array(['u', 'v']))");
    EXPECT_EQ(couplet({"info", "t.npz", "--json"}).json()["kind"], "tensor");
}

TEST_F(InfoTest, ANormBeyondTheLargestNumberIsNotToldAsOne) {
    python("np.save('x.npy', np.full((4, 4), 1e308))");
    const Outcome run = couplet({"info", "x.npy"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("beyond the largest number, 1.8e308"), std::string::npos) << run.out;
    EXPECT_TRUE(couplet({"info", "x.npy", "--json"}).json()["norm"].is_null());
}

}  // namespace
}  // namespace couplet::testing
