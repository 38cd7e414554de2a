#include "options.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet::testing {
namespace {

template <class F>
std::string refusal(F&& f) {
    try {
        f();
    } catch (const InputError& error) {
        return error.what();
    }
    return "nothing thrown";
}

TEST(Options, EpsIsANumberBelowOne) {
    for (const auto& [text, value] : {std::pair{"0", 0.0}, {"0.5", 0.5}, {"1e-12", 1e-12}, {"0.999999", 0.999999}}) {
        EXPECT_EQ(cli::parse_eps("--eps", text), value);
    }
    for (const char* text : {"-1", "-1e-9", "1", "1.5", "nan", "inf", "-inf", "1e999"}) {
        EXPECT_EQ(
            refusal([&] { cli::parse_eps("--eps", text); }),
            std::string("--eps: ") + text +
                "; expected a number from 0 up to, but not including, 1. It is the relative error allowed: 0.01 is "
                "one percent.");
    }
    for (const char* text : {"", "x", "0.1x", "0,1"}) {
        EXPECT_EQ(refusal([&] { cli::parse_eps("--eps", text); }).find("--eps: '" + std::string(text) + "'; expected"),
                  0U);
    }
}

TEST(Options, CountsAreWholeNumbersInARange) {
    const cli::Count count{"--repeat", "N", 1, 100, "Try 3."};
    EXPECT_EQ(cli::parse_count(count, "1"), 1);
    EXPECT_EQ(cli::parse_count(count, "100"), 100);
    for (const char* text : {"0", "-3", "2.5", "101", "99999999999999999999"}) {
        EXPECT_EQ(refusal([&] { cli::parse_count(count, text); }),
                  std::string("--repeat: ") + text + "; expected a whole number from 1 to 100. Try 3.");
    }
    EXPECT_EQ(refusal([&] { cli::parse_count(count, "ten"); }),
              "--repeat: 'ten'; expected a whole number from 1 to 100. Try 3.");
}

TEST(Options, SeedTakesAllOf64Bits) {
    EXPECT_EQ(cli::parse_seed("18446744073709551615"), 18446744073709551615ULL);
    for (const char* text : {"-1", "18446744073709551616", "1.0"}) {
        EXPECT_EQ(refusal([&] { cli::parse_seed(text); }).find(std::string("--seed: ") + text + "; expected"), 0U);
    }
}

TEST(Options, ChoicesSuggestTheNearest) {
    const std::vector<std::string> words{"auto", "gram", "qr"};
    EXPECT_EQ(cli::parse_choice("--method", words, "gram"), "gram");
    EXPECT_EQ(refusal([&] { cli::parse_choice("--method", words, "grma"); }),
              "--method: 'grma'; expected one of auto, gram, qr. Did you mean gram?");
    EXPECT_EQ(refusal([&] { cli::parse_choice("--method", words, "zzzz"); }),
              "--method: 'zzzz'; expected one of auto, gram, qr");
}

class OptionsTest : public CliTest {};

/// Through the real binary: status 2, the option named, nothing read or written.
TEST_F(OptionsTest, NumericOptionsAreChecked) {
    save("X.npy", smooth<double>({3, 4}));
    const auto before = files();
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"--eps", "-1"},     {"--eps", "nan"},      {"--eps", "1"},        {"--eps", "2"},      {"--eps", "abc"},
        {"--max-rank", "0"}, {"--max-rank", "-5"},  {"--max-rank", "1.5"}, {"--max-rank", "x"}, {"--repeat", "0"},
        {"--threads", "0"},  {"--threads", "9999"}, {"--seed", "-1"},      {"--method", "svd"}};
    for (const auto& [option, value] : wrong) {
        for (const bool joined : {false, true}) {
            std::vector<std::string> arguments{"decompose", "X.npy", "-o", "M.npz", "--json"};
            if (joined) {
                arguments.push_back(option + "=" + value);
            } else {
                arguments.insert(arguments.end(), {option, value});
            }
            const Outcome run = couplet(arguments);
            EXPECT_EQ(run.status, 2) << option << " " << value;
            EXPECT_EQ(run.result(), "");
            EXPECT_EQ(run.err.find("couplet decompose: " + option + ": "), 0U) << run.err;
            EXPECT_NE(run.err.find("; expected "), std::string::npos) << run.err;
            EXPECT_EQ(files(), before);
        }
    }
    EXPECT_EQ(couplet({"decompose", "X.npy", "--eps", "-1"}).err,
              "couplet decompose: --eps: -1; expected a number from 0 up to, but not including, 1. It is the relative "
              "error allowed: 0.01 is one percent.\n");
}

TEST_F(OptionsTest, LibraryChecksNameTheOption) {
    save("X.npy", smooth<double>({3, 4}));
    const Outcome run = couplet({"decompose", "X.npy", "--method", "gram", "--eps", "1e-9"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.err.find("couplet decompose: --method: gram with eps "), 0U) << run.err;
}

TEST_F(OptionsTest, GlobalFlagsWorkBeforeAndAfterTheVerb) {
    save("X.npy", smooth<double>({3, 4}));
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"--json", "--seed", "3", "--threads", "1", "--quiet", "decompose", "X.npy"},
             {"decompose", "X.npy", "--json", "--seed", "3", "--threads=1", "--quiet"},
             {"--json", "decompose", "--seed=3", "X.npy", "--json"}}) {
        const Outcome run = couplet(arguments);
        ASSERT_EQ(run.status, 0) << run.err;
        EXPECT_EQ(run.json()["seed"], 3);
    }
}

TEST_F(OptionsTest, OutputNamesSayWhatTheyAre) {
    save("X.npy", smooth<double>({3, 4}));
    const Outcome run = couplet({"decompose", "X.npy", "-o", "M"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.err, "couplet decompose: --output: 'M'; expected a name that ends in .npz. For example: -o M.npz\n");
}

}  // namespace
}  // namespace couplet::testing
