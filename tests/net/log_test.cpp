#include "couplet/net/log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class LogTest : public NetTest {};

TEST_F(LogTest, SpeaksToPeopleProgramsAndThePage) {
    std::vector<std::string> lines;
    {
        Log log(path("log.jsonl"), [&](std::string_view line) { lines.emplace_back(line); });
        log.info("joined", "client a joined", {{"client", "a"}});
        log.warn("refused", "bytes \xff and \"quotes\"");
        const auto tail = log.tail();
        ASSERT_EQ(tail.size(), 2U);
        EXPECT_EQ(tail[0].substr(8), " client a joined");
    }
    EXPECT_EQ(lines[0], "client a joined");
    EXPECT_EQ(lines[1].find("warning: bytes"), 0U);
    std::ifstream file(path("log.jsonl"));
    std::string line;
    ASSERT_TRUE(std::getline(file, line));
    const auto first = nlohmann::json::parse(line);
    EXPECT_EQ(first["event"], "joined");
    EXPECT_EQ(first["client"], "a");
    EXPECT_EQ(first["level"], "info");
    EXPECT_EQ(first["time"].get<std::string>().size(), 24U);
    ASSERT_TRUE(std::getline(file, line));
    EXPECT_EQ(nlohmann::json::parse(line)["level"], "warning");
}

/// What parties tell each other names parameters as no interface does; who reads it here has one.
TEST_F(LogTest, ParametersAreWrittenAsItsReadersWriteThem) {
    std::vector<std::string> lines;
    const Spelling shouted = [](std::string_view name) { return fmt::format("<{}>", name); };
    Log log(
        path("log.jsonl"), [&](std::string_view line) { lines.emplace_back(line); }, shouted);
    log.warn("refused", "use `late` merge", {{"reason", "no `rank`"}});
    log.paced("a", "refused", "`secure` alone");
    EXPECT_EQ(lines, (std::vector<std::string>{"warning: use <late> merge", "warning: <secure> alone"}));
    EXPECT_TRUE(log.tail()[0].ends_with("use <late> merge")) << log.tail()[0];
    EXPECT_EQ(log.spelling()("rank"), "<rank>");
    const std::string written = read_text(path("log.jsonl"));
    EXPECT_NE(written.find(R"("text":"use <late> merge","reason":"no <rank>")"), std::string::npos) << written;
    EXPECT_EQ(written.find('`'), std::string::npos) << written;
}

/// Others have a part in what is said: nobody writes lines of its own, or to the terminal.
TEST_F(LogTest, OneLineIsOneLine) {
    std::vector<std::string> lines;
    Log log(path("log.jsonl"), [&](std::string_view line) { lines.emplace_back(line); });
    log.warn("refused",
             "gone\n12:00:00 client b is done\x1b[2J\xc2\x9b"
             "31m \xff");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0], "warning: gone?12:00:00 client b is done?[2J?31m ?");
    ASSERT_EQ(log.tail().size(), 1U);
    EXPECT_NE(log.tail()[0].find(lines[0]), std::string::npos);
    const std::string written = read_text(path("log.jsonl"));
    EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 1);
    EXPECT_EQ(written.find('\x1b'), std::string::npos);
}

/// Nor lines that are worth a thousand, wherever in them it has its part.
TEST_F(LogTest, LongTextsAreCutOff) {
    std::vector<std::string> lines;
    Log log(path("log.jsonl"), [&](std::string_view line) { lines.emplace_back(line); });
    const std::string much(1 << 20, 'x');
    log.warn("refused", "begins " + much, {{"client", much}, {"members", {"a", much}}, {"bytes", 7}});
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines[0].starts_with("warning: begins xxx") && lines[0].ends_with("xxx...")) << lines[0].size();
    EXPECT_LT(lines[0].size(), 9000U);
    EXPECT_LT(log.tail()[0].size(), 9000U);
    const std::string written = read_text(path("log.jsonl"));
    EXPECT_LT(written.size(), 30'000U);
    const auto line = nlohmann::json::parse(written);
    EXPECT_EQ(line["members"].size(), 2U);
    EXPECT_EQ(line["members"][0], "a");
    EXPECT_EQ(line["bytes"], 7);
}

TEST_F(LogTest, RemembersTheLastHundredLines) {
    Log log({}, {});
    for (int i = 0; i < 150; ++i) log.info("x", std::to_string(i));
    const auto tail = log.tail();
    ASSERT_EQ(tail.size(), 100U);
    EXPECT_EQ(tail.front().substr(9), "50");
    EXPECT_EQ(tail.back().substr(9), "149");
}

/// Whoever can cause lines does not push out what others have said.
TEST_F(LogTest, WhatOthersRepeatIsCountedAndNotWritten) {
    Log log(path("log.jsonl"), {});
    log.info("important", "what an operator must find");
    for (int i = 0; i < 100'000; ++i) log.paced("strangers", "refused", "a stranger");
    log.paced("another", "refused", "of another kind");
    EXPECT_LT(std::filesystem::file_size(path("log.jsonl")), 10'000U);
    const auto tail = log.tail();
    EXPECT_EQ(tail.size(), 22U);
    EXPECT_NE(tail.front().find("what an operator must find"), std::string::npos);
    EXPECT_NE(tail.back().find("of another kind"), std::string::npos);
    for (int i = 0; i < 10'000; ++i) log.paced("kind " + std::to_string(i), "refused", "kinds without end");
    EXPECT_LT(std::filesystem::file_size(path("log.jsonl")), 5U << 20);
}

}  // namespace
}  // namespace couplet::net
