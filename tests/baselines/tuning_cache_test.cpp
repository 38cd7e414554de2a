#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "couplet/baselines/tune.hpp"
#include "couplet/core/error.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

class TuningCache : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("couplet-tuning-" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }
    fs::path file() const { return folder_ / "deep" / "tuning.json"; }

    fs::path folder_;
    TuningKey key_{Method::dpsgd, 5, Loss::square, "8x3x2 K=2 norm=1.00000000e+00"};
};

TEST_F(TuningCache, GivesBackWhatWasSavedForThisKeyOnly) {
    EXPECT_FALSE(load_tuning(file(), key_).has_value());
    const Tuning tuning = resolve_tuning(Method::dpsgd, {.step = 0.1, .fibers = 33}, 5);
    save_tuning(file(), key_, tuning, 0.25, 100);
    EXPECT_EQ(load_tuning(file(), key_), tuning);
    for (int part = 0; part < 4; ++part) {
        TuningKey other = key_;
        if (part == 0) other.method = Method::fedgtf_ef;
        if (part == 1) other.rank = 6;
        if (part == 2) other.loss = Loss::logistic;
        if (part == 3) other.data = "8x3x2 K=2 norm=1.00000001e+00";
        EXPECT_FALSE(load_tuning(file(), other).has_value()) << part;
    }
}

TEST_F(TuningCache, ReplacesAnEntryAndKeepsTheOthers) {
    TuningKey other = key_;
    other.rank = 7;
    save_tuning(file(), key_, {.step = 0.1}, 0.3, 10);
    save_tuning(file(), other, {.step = 0.2}, 0.2, 10);
    save_tuning(file(), key_, {.step = 0.4}, 0.1, 10);
    EXPECT_EQ(load_tuning(file(), key_)->step, 0.4);
    EXPECT_EQ(load_tuning(file(), other)->step, 0.2);
}

TEST_F(TuningCache, RefusesFilesThatAreNone) {
    const auto write = [&](const char* text) {
        fs::create_directories(file().parent_path());
        std::ofstream(file()) << text;
    };
    for (const char* text : {"", "[", "[]", "{}", R"({"kind": "couplet tuning cache"})",
                             R"({"kind": "couplet tuning cache", "entries": 3})", R"({"kind": 1, "entries": []})"}) {
        write(text);
        EXPECT_THROW(load_tuning(file(), key_), InputError) << text;
        EXPECT_THROW(save_tuning(file(), key_, {}, 1, 1), InputError) << text;
    }
    const std::string front =
        R"({"kind": "couplet tuning cache", "entries": [{"key": {"method": "dpsgd", "rank": 5, "loss": "square",)"
        R"( "data": "8x3x2 K=2 norm=1.00000000e+00"})";
    for (const char* rest :
         {"}]}", R"(, "tuning": 3}]})", R"(, "tuning": {"step": "1"}}]})", R"(, "tuning": {"fibers": 1.5}}]})",
          R"(, "tuning": {"step": -1}}]})", R"(, "tuning": {"rho": 1}}]})"}) {
        write((front + rest).c_str());
        EXPECT_THROW(load_tuning(file(), key_), InputError) << rest;
    }
    write(R"({"kind": "couplet tuning cache", "entries": [1, {}, {"key": 2}]})");
    EXPECT_FALSE(load_tuning(file(), key_).has_value());
}

TEST_F(TuningCache, LivesWhereTheUserKeepsCaches) {
    const char* old_cache = std::getenv("XDG_CACHE_HOME");
    const char* old_home = std::getenv("HOME");
    const std::string cache = old_cache == nullptr ? "" : old_cache;
    const std::string home = old_home == nullptr ? "" : old_home;
    ::setenv("XDG_CACHE_HOME", "/caches", 1);
    EXPECT_EQ(default_tuning_cache(), "/caches/couplet/tuning.json");
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    ::setenv("HOME", "/home/somebody", 1);
    EXPECT_EQ(default_tuning_cache(), "/home/somebody/.cache/couplet/tuning.json");
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("HOME");
    EXPECT_THROW(default_tuning_cache(), InputError);
    if (old_cache != nullptr) ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    if (old_home != nullptr) ::setenv("HOME", home.c_str(), 1);
}

TEST_F(TuningCache, RefusalsSayWhatIsWrong) {
    const auto refusal = [&]() -> std::string {
        try {
            load_tuning(file(), key_);
        } catch (const InputError& error) {
            return error.parts().where + ": " + error.parts().found + "; " + error.parts().expected;
        }
        return "";
    };
    fs::create_directories(file().parent_path());
    std::ofstream(file()) << "[]";
    const std::string expected = "; a file written by couplet tune";
    EXPECT_EQ(refusal(), file().string() + ": something else" + expected);
    const std::string front =
        R"({"kind": "couplet tuning cache", "entries": [{"key": {"method": "dpsgd", "rank": 5, "loss": "square",)"
        R"( "data": "8x3x2 K=2 norm=1.00000000e+00"})";
    std::ofstream(file()) << front << "}]}";
    EXPECT_EQ(refusal(), file().string() + ": an entry without a tuning" + expected);
    std::ofstream(file()) << front << R"(, "tuning": {"fibers": 1.5}}]})";
    EXPECT_EQ(refusal(), file().string() + ": fibers = 1.5" + expected);
    std::ofstream(file()) << front << R"(, "tuning": {"step": "x"}}]})";
    EXPECT_EQ(refusal(), file().string() + ": step = \"x\"" + expected);
    std::ofstream(file()) << front << R"(, "tuning": {"step": 2, "fibers": 7}}]})";
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(load_tuning(file(), key_), resolve_tuning(Method::dpsgd, {.step = 2, .fibers = 7}, 5));
    fs::resize_file(file(), (std::uintmax_t{64} << 20) + 1);  // sparse
    EXPECT_EQ(refusal(), file().string() + ": more than 64 MiB" + expected);
    fs::remove(file());
    fs::create_directory(file());
    EXPECT_NE(refusal(), "");
}

TEST_F(TuningCache, KeepsErrorAndRoundsForTheReader) {
    save_tuning(file(), key_, {.step = 0.5}, 0.25, 17);
    std::ifstream stream(file());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (const char* part : {"\"kind\": \"couplet tuning cache\"", "\"rse\": 0.25", "\"rounds\": 17", "\"step\": 0.5",
                             "\"method\": \"dpsgd\"", "\"rank\": 5", "\"loss\": \"square\""}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
}

}  // namespace
}  // namespace couplet
