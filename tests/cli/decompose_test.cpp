#include <limits>

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

using DecomposeTest = CliTest;

TEST_F(DecomposeTest, JsonHasTheContractsKeysAndTypes) {
    save("X.npy", smooth<double>({9, 8, 7, 6}));
    const Outcome run = couplet({"decompose", "X.npy", "--eps", "0.01", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.err, "");
    const Json json = run.json();
    EXPECT_EQ(json["shape"], Json({9, 8, 7, 6}));
    ASSERT_EQ(json["ranks"].size(), 5U);
    EXPECT_EQ(json["ranks"].front(), 1);
    EXPECT_EQ(json["ranks"].back(), 1);
    EXPECT_TRUE(json["rel_error"].is_number_float());
    EXPECT_LE(json["rel_error"].get<double>(), 0.01);
    Index numbers = 0;
    for (std::size_t n = 0; n < 4; ++n) {
        numbers += json["ranks"][n].get<Index>() * json["shape"][n].get<Index>() * json["ranks"][n + 1].get<Index>();
    }
    EXPECT_DOUBLE_EQ(json["compression"].get<double>(), 9.0 * 8 * 7 * 6 / static_cast<double>(numbers));
    EXPECT_TRUE(json["method"] == "gram" || json["method"] == "qr" || json["method"] == "random");
    for (const char* phase : {"read", "compute", "write"})
        EXPECT_TRUE(json["seconds"][phase].is_number_float()) << phase;
    EXPECT_EQ(json["seconds"]["write"], 0.0);
    EXPECT_FALSE(json.contains("output"));
    EXPECT_EQ(files(), std::vector<std::string>{"X.npy"});
}

TEST_F(DecomposeTest, HumanOutputIsATableOnStdout) {
    save("X.npy", smooth<float>({5, 4, 3}));
    const Outcome run = couplet({"decompose", "X.npy", "-o", "M.npz"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.err, "");
    EXPECT_EQ(run.out.substr(0, run.out.find('\n')), "tensor          5 x 4 x 3, float32, 240 bytes");
    for (const char* name : {"\nranks ", "\nrelative error ", "(asked: 0.01)", "\ncompression ", "\nmethod ",
                             "\nwritten         M.npz\n", "\ntime            read "}) {
        EXPECT_NE(run.out.find(name), std::string::npos) << name << " in\n" << run.out;
    }
}

TEST_F(DecomposeTest, CoresThatAreMoreThanTheTensorAreSaidToBe) {
    save("X.npy", smooth<double>({2, 2}));
    const std::string out = couplet({"decompose", "X.npy", "--eps", "0"}).out;
    EXPECT_NE(out.find("4 numbers become 8, 2x as many"), std::string::npos) << out;
    save("Y.npy", smooth<double>({20, 20, 20}));
    const std::string fewer = couplet({"decompose", "Y.npy", "--max-rank", "1"}).out;
    EXPECT_NE(fewer.find("8,000 numbers become 60, 133.3x fewer"), std::string::npos) << fewer;
}

/// decompose -> reconstruct stays within eps, for each format and element type.
TEST_F(DecomposeTest, RoundTripStaysWithinTheError) {
    const Tensor<double> x = smooth<double>({7, 6, 5});
    save("double.npy", x);
    save("float.npy", smooth<float>({7, 6, 5}));
    EXPECT_EQ(python("x = np.load('double.npy')\n"
                     "np.save('fortran.npy', np.asfortranarray(x))\n"
                     "with open('text.tns', 'w') as f:\n"
                     "    for i in np.ndindex(x.shape): f.write(' '.join(str(j + 1) for j in i) + f' {x[i]!r}\\n')\n"
                     "np.savetxt('table.csv', x.reshape(7, 30), delimiter=',', fmt='%.17g', comments='',"
                     " header=','.join(f'c{j}' for j in range(30)))\n"),
              "");
    for (const std::string name : {"double.npy", "float.npy", "fortran.npy", "text.tns"}) {
        for (const char* eps : {"0.3", "1e-3", "1e-6", "0"}) {
            const Outcome run = couplet({"decompose", name, "--eps", eps, "-o", "M.npz", "--force", "--json"});
            ASSERT_EQ(run.status, 0) << run.err;
            const Outcome back = couplet({"reconstruct", "M.npz", "-o", "Y.npy", "--force", "--json"});
            ASSERT_EQ(back.status, 0) << back.err;
            const double rounding = name == "float.npy" ? 1e-6 : 1e-13;
            const double error = relative_difference(x, load("Y.npy"));
            EXPECT_LE(error, std::stod(eps) + rounding) << name << " eps " << eps;
            // An upper estimate, and a close one.
            const double said = run.json()["rel_error"].get<double>();
            EXPECT_GE(said, error - rounding) << name << " eps " << eps;
            EXPECT_LE(said, 1.001 * error + rounding) << name << " eps " << eps;
        }
    }
    const Outcome table = couplet({"decompose", "table.csv", "--eps", "1e-3", "-o", "M.npz", "--force", "--json"});
    ASSERT_EQ(table.status, 0) << table.err;
    EXPECT_EQ(table.json()["shape"], Json({7, 30}));
    ASSERT_EQ(couplet({"reconstruct", "M.npz", "-o", "Y.npy", "--force"}).status, 0);
    const Tensor<double> y = load("Y.npy");
    Tensor<double> reshaped(x.shape());
    ASSERT_EQ(y.size(), x.size());
    std::copy_n(y.data(), y.size(), reshaped.data());
    EXPECT_LE(relative_difference(x, reshaped), 1e-3);
}

TEST_F(DecomposeTest, DefaultsFollowTheContract) {
    save("X.npy", smooth<double>({12, 11, 10}));
    const Json neither = couplet({"decompose", "X.npy", "--json"}).json();
    const Json explicit_eps = couplet({"decompose", "X.npy", "--json", "--eps", "1e-2"}).json();
    EXPECT_EQ(neither["ranks"], explicit_eps["ranks"]);
    EXPECT_LE(neither["rel_error"].get<double>(), 1e-2);

    const Json rank_only = couplet({"decompose", "X.npy", "--json", "--max-rank", "4"}).json();
    EXPECT_EQ(rank_only["ranks"], Json({1, 4, 4, 1})) << "only --max-rank: no other cut";

    const Json both = couplet({"decompose", "X.npy", "--json", "--max-rank", "1", "--eps", "1e-3"}).json();
    EXPECT_EQ(both["ranks"], Json({1, 1, 1, 1}));
    EXPECT_EQ(both["rank_limited"], true);
    EXPECT_GT(both["rel_error"].get<double>(), 1e-3);
    EXPECT_NE(couplet({"decompose", "X.npy", "--max-rank", "1", "--eps", "1e-3"}).out.find("cut by --max-rank first"),
              std::string::npos);
}

TEST_F(DecomposeTest, RepeatReportsTheMedian) {
    save("X.npy", smooth<double>({6, 5, 4}));
    for (const std::size_t count : {2U, 3U}) {
        const Json json = couplet({"decompose", "X.npy", "--json", "--repeat", std::to_string(count)}).json();
        auto runs = json["runs"].get<std::vector<double>>();
        ASSERT_EQ(runs.size(), count);
        std::sort(runs.begin(), runs.end());
        EXPECT_DOUBLE_EQ(json["seconds"]["compute"].get<double>(), count == 3 ? runs[1] : (runs[0] + runs[1]) / 2);
    }
}

TEST_F(DecomposeTest, EveryMethodKeepsTheError) {
    save("X.npy", smooth<double>({20, 15, 12}));
    for (const char* method : {"auto", "gram", "qr", "random"}) {
        const Outcome run =
            couplet({"decompose", "X.npy", "--json", "--method", method, "--eps", "1e-3", "--seed", "7"});
        ASSERT_EQ(run.status, 0) << run.err;
        EXPECT_LE(run.json()["rel_error"].get<double>(), 1e-3) << method;
        EXPECT_EQ(run.json()["seed"], 7);
    }
}

TEST_F(DecomposeTest, ResultDoesNotDependOnThreads) {
    save("X.npy", smooth<double>({60, 50, 40}));
    for (const char* threads : {"1", "2"}) {
        ASSERT_EQ(
            couplet({"decompose", "X.npy", "--eps", "1e-4", "--threads", threads, "-o", std::string(threads) + ".npz"})
                .status,
            0);
    }
    EXPECT_EQ(get("1.npz"), get("2.npz"));
}

TEST_F(DecomposeTest, NumpyReadsTheModel) {
    const Tensor<double> x = smooth<double>({6, 5, 4});
    save("X.npy", x);
    ASSERT_EQ(couplet({"decompose", "X.npy", "--eps", "1e-3", "-o", "M.npz"}).status, 0);
    EXPECT_EQ(python("m = np.load('M.npz', allow_pickle=False)\n"
                     "x = np.load('X.npy')\n"
                     "y = m['core_1']\n"
                     "for n in range(2, 4): y = np.tensordot(y, m[f'core_{n}'], 1)\n"
                     "print(y.shape, np.linalg.norm(x - y.reshape(x.shape)) <= 1e-3 * np.linalg.norm(x))\n"),
              "(1, 6, 5, 4, 1) True\n");
}

/// The file is mapped and never copied; what a run adds to that is bounded by the part it keeps.
TEST_F(DecomposeTest, PeakMemoryStaysBelowOneAndAHalfTensors) {
    constexpr Index megabytes = 64;
    Tensor<double> x({256, 256, megabytes * 2});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i * 2654435761 % 1000003);
    save("X.npy", x);
    const std::string peak = python(
        "import os, subprocess, sys\n"
        "p = subprocess.Popen(['" +
        couplet_binary() +
        "', 'decompose', 'X.npy', '--max-rank', '20'], stdout=subprocess.DEVNULL)\n"
        "print(os.wait4(p.pid, 0)[2].ru_maxrss // 1024)\n");
    // 16 MiB for the program and its libraries; a sanitizer keeps books of its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(std::stol(peak), megabytes * 3 / 2 + 16);
#endif
}

TEST_F(DecomposeTest, LabelsTravelFromTableToModel) {
    put("table.csv", "a,b,c\n1,2,3\n4,5,6\n7,8,10\n");
    ASSERT_EQ(couplet({"decompose", "table.csv", "-o", "M.npz"}).status, 0);
    EXPECT_EQ(couplet({"info", "M.npz", "--json"}).json()["labels"],
              couplet({"info", "table.csv", "--json"}).json()["labels"]);
    EXPECT_NE(couplet({"info", "M.npz"}).out.find("'a', 'b', 'c'"), std::string::npos);
}

TEST_F(DecomposeTest, WhatToDoAboutMissingValuesIsSaid) {
    auto x = smooth<double>({3, 4});
    x.data()[5] = std::numeric_limits<double>::quiet_NaN();
    save("gap.npy", x);
    const Outcome run = couplet({"decompose", "gap.npy"});
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("couplet simulate --missing impute"), std::string::npos) << run.err;
}

TEST_F(DecomposeTest, ZeroTensorsAndVectorsWork) {
    save("zero.npy", Tensor<double>::zeros({3, 4, 5}));
    const Json zero = couplet({"decompose", "zero.npy", "--json"}).json();
    EXPECT_EQ(zero["ranks"], Json({1, 1, 1, 1}));
    EXPECT_EQ(zero["rel_error"], 0.0);
    save("vector.npy", smooth<double>({9}));
    const Json vector = couplet({"decompose", "vector.npy", "--json"}).json();
    EXPECT_EQ(vector["ranks"], Json({1, 1}));
}

/// 4 x 10^11 cells and 400 entries: what the dense tensor would take is never asked for. The model gives the entries
/// back.
TEST_F(DecomposeTest, ASparseFileStaysSparse) {
    std::string text;
    for (int e = 0; e < 400; ++e) {
        text += std::to_string(1 + e) + " " + std::to_string(1 + e % 4 * 9000) + " " +
                std::to_string(1 + e % 3 * 30000) + " " + std::to_string(1 + e % 7) + "\n";
    }
    put("x.tns", text);
    const Outcome run = couplet({"decompose", "x.tns", "--max-rank", "12", "--json", "-o", "m.npz"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["shape"], Json({400, 27001, 60001}));
    EXPECT_LE(run.json()["rel_error"].get<double>(), 1e-4);
    const std::string words = couplet({"decompose", "x.tns", "--max-rank", "3"}).out;
    EXPECT_NE(words.find("400 entries"), std::string::npos) << words;
    put("bad.tns", text + "3 4 nan\n");
    EXPECT_NE(couplet({"decompose", "bad.tns", "--max-rank", "3"}).err.find("line 401"), std::string::npos);
    put("nan.tns", text + "3 4 5 nan\n");
    const Outcome refused = couplet({"decompose", "nan.tns", "--max-rank", "3", "-o", "n.npz"});
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.err.find("NaN at index (2, 3, 4)"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(path("n.npz")));
}

}  // namespace
}  // namespace couplet::testing
