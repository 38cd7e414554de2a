#include "cli_test_support.hpp"

/// Everything that must be refused: status 2, a message that names file, finding and remedy, nothing on stdout, and no
/// file made or changed.
namespace couplet::testing {
namespace {

class BadInputTest : public CliTest {
  protected:
    /// Every verb that reads a tensor refuses it with the same words.
    void expect_refused(const std::string& name, const std::string& message) {
        put("old.npz", "an older result");
        const auto before = files();
        for (const bool json : {false, true}) {
            std::vector<std::string> arguments{"decompose", name, "-o", "M.npz"};
            if (json) arguments.push_back("--json");
            const Outcome run = couplet(arguments);
            EXPECT_EQ(run.status, 2) << name;
            EXPECT_EQ(run.result(), "") << name;
            EXPECT_EQ(run.err.find("couplet decompose: " + name + ": "), 0U) << run.err;
            EXPECT_NE(run.err.find(message), std::string::npos) << "expected \"" << message << "\" in: " << run.err;
            EXPECT_NE(run.err.find("; expected "), std::string::npos) << run.err;
            EXPECT_EQ(run.err.find('\n'), run.err.size() - 1) << "one line: " << run.err;
            EXPECT_EQ(files(), before);
        }
        EXPECT_EQ(couplet({"ranks", name}).status, 2);
        const Outcome forced = couplet({"decompose", name, "-o", "old.npz", "--force"});
        EXPECT_EQ(forced.status, 2);
        EXPECT_EQ(get("old.npz"), "an older result");
        EXPECT_EQ(files(), before);
    }
    static std::string zeros(std::size_t count) { return std::string(count, '\0'); }
};

TEST_F(BadInputTest, MissingFile) { expect_refused("nowhere.npy", "no such file"); }

TEST_F(BadInputTest, Folder) {
    std::filesystem::create_directory(path("folder.npy"));
    expect_refused("folder.npy", "a folder");
}

/// It is what the user wrote, and no option.
TEST_F(BadInputTest, AFolderCalledLikeAnOption) {
    std::filesystem::create_directory(path("seed"));
    expect_refused("seed", "a folder");
    std::filesystem::create_directory(path("max_rank"));
    expect_refused("max_rank", "a folder");
}

TEST_F(BadInputTest, EmptyFile) {
    put("X.npy", "");
    expect_refused("X.npy", "X.npy: ");
}

TEST_F(BadInputTest, TruncatedFile) {
    put("X.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }\n", zeros(95)));
    expect_refused("X.npy", "165 bytes, while the header promises 166 bytes for shape 3x4");
}

TEST_F(BadInputTest, TruncatedHeader) {
    put("X.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }\n", "").substr(0, 30));
    expect_refused("X.npy", "X.npy: ");
}

TEST_F(BadInputTest, WrongMagic) {
    put("X.npy", "PK\x03\x04 this is no array at all");
    expect_refused("X.npy", "X.npy: ");
}

TEST_F(BadInputTest, HeaderThatPromisesTerabytes) {
    put("X.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n", zeros(64)));
    expect_refused("X.npy", "X.npy: ");
    put("X.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 9999999999, 9), }\n", zeros(64)));
    expect_refused("X.npy", "X.npy: ");
}

TEST_F(BadInputTest, ElementTypes) {
    for (const char* type : {"|O", "<c16", ">f8", ">f4", "<i8", "<U3"}) {
        put("X.npy",
            npy(std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (2, 2), }\n", zeros(64)));
        expect_refused("X.npy", type);
    }
}

TEST_F(BadInputTest, NanAndInfinityNameTheFirstIndex) {
    for (const auto& [value, name] :
         {std::pair{NAN, "NaN"}, std::pair{INFINITY, "Inf"}, std::pair{-INFINITY, "-Inf"}}) {
        Tensor<double> x = smooth<double>({3, 4, 5});
        x.data()[1 * 20 + 2 * 5 + 3] = value;
        x.data()[2 * 20] = value;
        save("X.npy", x);
        expect_refused("X.npy", std::string(name) + " at index (1, 2, 3)");
        save("X.npy", smooth<float>({3, 4, 5}));
    }
    // Far into a large file, which threads read in parts.
    Tensor<float> large = smooth<float>({100, 100, 101});
    large.data()[99 * 10100 + 98 * 101 + 97] = NAN;
    save("X.npy", large);
    expect_refused("X.npy", "NaN at index (99, 98, 97)");
}

TEST_F(BadInputTest, EmptyTensorsAndModesOfSizeZero) {
    put("X.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }\n", ""));
    expect_refused("X.npy", "0");
    put("X.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0, 4), }\n", ""));
    expect_refused("X.npy", "0");
    put("X.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", zeros(8)));
    expect_refused("X.npy", "X.npy: ");
}

TEST_F(BadInputTest, TextThatIsNoTensor) {
    put("X.csv", "a,b\n1,2\n3\n");
    expect_refused("X.csv", "X.csv: ");
    put("X.tns", "1 1 two\n");
    expect_refused("X.tns", "X.tns: ");
    put("X.txt", "1 2 3\n");
    expect_refused("X.txt", "a name that does not say what the file is");
}

TEST_F(BadInputTest, ModelsThatAreNone) {
    put("M.npz", "PK\x03\x04 and then nothing of use");
    put("T.npz", "");
    for (const std::string name : {"M.npz", "T.npz", "nowhere.npz"}) {
        for (const char* verb : {"reconstruct", "round"}) {
            std::vector<std::string> arguments{verb, name, "-o", verb[2] == 'c' ? "Y.npy" : "Y.npz"};
            if (verb[2] != 'c') arguments.insert(arguments.end(), {"--eps", "0.1"});
            const Outcome run = couplet(arguments);
            EXPECT_EQ(run.status, 2) << run.err;
            EXPECT_EQ(run.out, "");
            EXPECT_EQ(run.err.find(std::string("couplet ") + verb + ": " + name + ": "), 0U) << run.err;
        }
        for (const char* verb : {"norm", "info"}) EXPECT_EQ(couplet({verb, name}).status, 2) << verb << " " << name;
    }
    EXPECT_EQ(files(), (std::vector<std::string>{"M.npz", "T.npz"}));
}

}  // namespace
}  // namespace couplet::testing
