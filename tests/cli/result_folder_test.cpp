#include "result_folder.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/data_print.hpp"

namespace couplet::testing {
namespace {

class ResultFolderTest : public CliTest {
  protected:
    static Features features() {
        std::vector<Tensor<double>> cores;
        cores.push_back(smooth<double>({2, 3, 1}));
        return {TensorTrain<double>(std::move(cores)), {2, 1}, true};
    }
    static Matrix<double> personal() {
        auto matrix = Matrix<double>::zeros(4, 2);
        matrix(3, 1) = 5;
        return matrix;
    }
    bool exists(const std::string& name) { return std::filesystem::exists(path(name)); }
};

TEST_F(ResultFolderTest, IsNotLeftBehindEmpty) {
    { const cli::ResultFolder folder(path("a/b"), false); }
    EXPECT_EQ(files(), std::vector<std::string>{});
    save("x.npy", smooth<double>({4, 3, 2}));
    const Outcome run =
        couplet({"simulate", "x.npy", "x.npy", "--rank", "99", "--aggregate", "average", "-o", "result/of"});
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_EQ(files(), std::vector<std::string>{"x.npy"});
}

TEST_F(ResultFolderTest, HoldsPersonalAndFeatureCores) {
    {
        cli::ResultFolder folder(path("a/b"), false);
        folder.add_personal(0, personal(), {"patient", {"only one"}}, {{"client", 1}});
        folder.finish(features(), {{"marker", {"x", "y", "z"}}}, {{"rse", 0.5}});
    }
    const auto one = to_double(load_model(path("a/b/personal_1.npz")));
    ASSERT_TRUE(one.is_personal());
    EXPECT_EQ(one.cores[0].shape(), (Shape{1, 4, 2}));
    EXPECT_EQ(one.cores[0].data()[7], 5);
    EXPECT_EQ(one.metadata["features_print"], features_print(features().train));
    EXPECT_EQ(one.labels[0].name, "patient");
    EXPECT_TRUE(one.labels[0].entries.empty());
    const auto shared = to_double(load_model(path("a/b/features.npz")));
    ASSERT_TRUE(shared.is_features());
    EXPECT_EQ(shared.labels[0].entries[2], "z");
    EXPECT_EQ(shared.metadata["rse"], 0.5);
    EXPECT_EQ(shared.metadata["sigma"], Json({2.0, 1.0}));
}

TEST_F(ResultFolderTest, NothingIsLeftOfAnUnfinishedResult) {
    {
        cli::ResultFolder folder(path("r"), false);
        folder.add_personal(0, personal(), {}, Json::object());
        folder.add_personal(1, personal(), {}, Json::object());
        EXPECT_FALSE(exists("r/personal_1.npz"));
        put("r/personal_2.npz", "of another program");
        EXPECT_THROW(folder.finish(features(), {}, Json::object()), InputError);
    }
    EXPECT_FALSE(exists("r/personal_1.npz"));
    EXPECT_EQ(get("r/personal_2.npz"), "of another program");
    EXPECT_FALSE(exists("r/features.npz"));
}

TEST_F(ResultFolderTest, IsWrittenByOneRunAtATime) {
    {
        cli::ResultFolder first(path("a"), true);
        EXPECT_THROW(cli::ResultFolder(path("a"), true), RunError);
        first.add_personal(0, personal(), {}, {{"client", 1}});
        first.finish(features(), {}, {{"rse", 0.5}});
    }
    EXPECT_TRUE(exists("a/personal_1.npz") && exists("a/features.npz"));
    EXPECT_NO_THROW(cli::ResultFolder(path("a"), true));
}

TEST_F(ResultFolderTest, AFileThatAnotherPutThereIsLeftAlone) {
    std::filesystem::create_directories(path("a"));
    {
        cli::ResultFolder folder(path("a"), false);
        std::ofstream(path("a/personal_1.npz")) << "of another program";
        folder.add_personal(0, personal(), {}, {{"client", 1}});
        EXPECT_THROW(folder.finish(features(), {}, Json::object()), InputError);
    }
    EXPECT_TRUE(exists("a/personal_1.npz"));
}

TEST_F(ResultFolderTest, InputsAreNotReplaced) {
    {
        cli::ResultFolder folder(path("a"), false);
        folder.finish(features(), {}, {{"rse", 0.5}});
    }
    try {
        cli::ResultFolder(path("a"), true, {path("b.npy"), path("a/../a/features.npz")});
        FAIL() << "an input would be replaced";
    } catch (const InputError& error) {
        EXPECT_EQ(error.parts().found, "a file that is also an input");
    }
}

TEST_F(ResultFolderTest, OldResultsAreReplacedOnlyWhenAsked) {
    std::filesystem::create_directory(path("r"));
    for (const char* name : {"r/features.npz", "r/personal_7.npz", "r/notes.txt", "r/personal_x.npz"}) put(name, "old");
    EXPECT_THROW(cli::ResultFolder(path("r"), false), InputError);
    cli::ResultFolder folder(path("r"), true);
    folder.add_personal(0, personal(), {}, Json::object());
    folder.finish(features(), {}, Json::object());
    EXPECT_FALSE(exists("r/personal_7.npz"));
    EXPECT_TRUE(exists("r/notes.txt") && exists("r/personal_x.npz") && exists("r/personal_1.npz"));
}

TEST_F(ResultFolderTest, AFileInTheWayIsRefused) {
    put("r", "a file");
    EXPECT_THROW(cli::ResultFolder(path("r"), true), InputError);
}

}  // namespace
}  // namespace couplet::testing
