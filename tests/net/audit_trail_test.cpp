#include "audit_trail.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class AuditTrailTest : public NetTest {
  protected:
    std::vector<nlohmann::json> lines() const {
        std::vector<nlohmann::json> result;
        std::ifstream stream(path("audit.jsonl"));
        for (std::string line; std::getline(stream, line);)
            result.push_back(nlohmann::json::parse(line, nullptr, false));
        return result;
    }
    std::string text() const { return read_text(path("audit.jsonl")); }
};

TEST(Sha256Test, IsTheOneThatEverybodyKnows) {
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    Sha256 pieces;
    pieces.add("a");
    pieces.add("bc");
    EXPECT_EQ(pieces.finish(), sha256("abc"));
}

TEST_F(AuditTrailTest, EveryLineKnowsTheOneBefore) {
    AuditTrail trail(path("audit.jsonl"));
    trail.write("job", {{"rank", 3}});
    trail.write("ended", {{"outcome", "done"}});
    const auto all = lines();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0]["event"], "job");
    EXPECT_EQ(all[0]["rank"], 3);
    EXPECT_EQ(all[0]["previous"], "");
    EXPECT_EQ(all[1]["previous"], sha256(text().substr(0, text().find('\n'))));
    EXPECT_EQ(first_broken_line(path("audit.jsonl")), std::nullopt);
    struct stat about {};
    ::stat(path("audit.jsonl").c_str(), &about);
    EXPECT_EQ(about.st_mode & 0777, 0600U);
    // Another run appends, and a change shows.
    AuditTrail(path("audit.jsonl")).write("job", {{"rank", 4}});
    EXPECT_EQ(first_broken_line(path("audit.jsonl")), std::nullopt);
    std::string changed = text();
    changed.replace(changed.find("\"rank\":3"), 8, "\"rank\":5");
    std::ofstream(path("audit.jsonl")) << changed;
    EXPECT_EQ(first_broken_line(path("audit.jsonl")), 2U);
    EXPECT_EQ(
        broken_trail_text(path("audit.jsonl")),
        path("audit.jsonl").string() + ": line 2 does not follow from the one before: lines were changed or taken out");
}

/// Whoever changed a line may have made it anything: that is told, and nothing else happens.
TEST_F(AuditTrailTest, ALineOfAnotherKindIsBroken) {
    for (const char* line : {R"({"previous": 5})", R"({"previous": null})", R"({"previous": [""]})", R"({})", "[1, 2]",
                             "7", R"("text")"}) {
        std::filesystem::remove(path("audit.jsonl"));
        AuditTrail(path("audit.jsonl")).write("job", {{"rank", 3}});
        std::ofstream(path("audit.jsonl"), std::ios::app) << line << "\n";
        EXPECT_EQ(first_broken_line(path("audit.jsonl")), 2U) << line;
        EXPECT_NE(broken_trail_text(path("audit.jsonl")).find("audit.jsonl: line 2 does not follow"),
                  std::string::npos);
    }
}

TEST_F(AuditTrailTest, ParametersAreWrittenAsItsReadersWriteThem) {
    AuditTrail trail(path("audit.jsonl"), [](std::string_view name) { return fmt::format("<{}>", name); });
    trail.write("ended", {{"outcome", "failed"}, {"reason", "no `rank`"}});
    trail.write_once("a", "refused", {{"doubts", {{{"reason", "see `scale_clients`"}}}}});
    trail.write_once("a", "refused", {{"doubts", {{{"reason", "see `scale_clients`"}}}}});
    const auto all = lines();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0]["reason"], "no <rank>");
    EXPECT_EQ(all[1]["doubts"][0]["reason"], "see <scale_clients>");
    EXPECT_EQ(first_broken_line(path("audit.jsonl")), std::nullopt);
}

/// A crash in the middle of a line: what is there stays, and the next line says what it was.
TEST_F(AuditTrailTest, GoesOnAfterALineThatWasCutOff) {
    AuditTrail(path("audit.jsonl")).write("job", {{"rank", 3}});
    std::ofstream(path("audit.jsonl"), std::ios::app) << "{\"event\":\"se";
    AuditTrail(path("audit.jsonl")).write("ended", {});
    const auto all = lines();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_TRUE(all[1].is_discarded());
    EXPECT_EQ(all[2]["previous"], sha256("{\"event\":\"se"));
    EXPECT_EQ(first_broken_line(path("audit.jsonl")), std::nullopt);
}

TEST_F(AuditTrailTest, RepetitionIsCountedAndNobodyFillsTheDisk) {
    AuditTrail trail(path("audit.jsonl"));
    for (int i = 0; i < 5; ++i) trail.write_once("a", "sent", {{"kind", "hello"}});
    trail.write_once("b", "sent", {{"kind", "hello"}});
    EXPECT_EQ(lines().size(), 2U);
    EXPECT_EQ(trail.unwritten(), (std::map<std::string, std::size_t>{{"a", 4}}));
    for (int i = 0; i < 20'000; ++i) trail.write_once("c", "sent", {{"number", i}});
    EXPECT_EQ(complaint([&] {
                  trail.write_once("c", "sent", {{"number", 20'000}});
              }),
              "c: more than 20000 different messages; expected no more than can be recorded. Start the job again.");
    EXPECT_EQ(lines().size(), 20'002U) << "nothing of it went on unrecorded";
    trail.write_once("c", "sent", {{"number", 7}});
    trail.write_once("b", "sent", {{"kind", "upload"}});
    EXPECT_EQ(lines().size(), 20'003U) << "others go on";
    EXPECT_EQ(trail.unwritten().at("c"), 1U);
}

/// A disk that was full: the same message comes again, and is recorded then.
TEST_F(AuditTrailTest, WhatCouldNotBeWrittenIsNotTakenForWritten) {
    AuditTrail trail(path("audit.jsonl"));
    std::filesystem::rename(path("audit.jsonl"), path("aside"));
    std::filesystem::create_directory(path("audit.jsonl"));
    EXPECT_NE(complaint([&] { trail.write_once("a", "received", {{"kind", "upload"}}); }), "");
    std::filesystem::remove(path("audit.jsonl"));
    std::filesystem::rename(path("aside"), path("audit.jsonl"));
    trail.write_once("a", "received", {{"kind", "upload"}});
    EXPECT_EQ(lines().size(), 1U);
    EXPECT_TRUE(trail.unwritten().empty());
}

/// Longer than what is looked at first, and longer than that again.
TEST_F(AuditTrailTest, LongLinesAreFoundWhole) {
    AuditTrail trail(path("audit.jsonl"));
    for (const int length : {1, 5000, 4096, 300'000, 70'000, 2}) {
        trail.write("job", {{"roster", std::string(static_cast<std::size_t>(length), 'x')}});
    }
    EXPECT_EQ(lines().size(), 6U);
    EXPECT_EQ(first_broken_line(path("audit.jsonl")), std::nullopt);
}

/// Two processes with one kit.
TEST_F(AuditTrailTest, SeveralWritersKeepOneChain) {
    std::vector<std::thread> writers;
    for (int k = 0; k < 4; ++k) {
        writers.emplace_back([&, k] {
            AuditTrail trail(path("audit.jsonl"));
            for (int i = 0; i < 25; ++i) trail.write("sent", {{"writer", k}, {"number", i}});
        });
    }
    for (auto& writer : writers) writer.join();
    EXPECT_EQ(lines().size(), 100U);
    EXPECT_EQ(first_broken_line(path("audit.jsonl")), std::nullopt);
}

TEST_F(AuditTrailTest, WhatCannotBeWrittenIsAnError) {
    EXPECT_NE(complaint([&] { AuditTrail(path("nowhere") / "audit.jsonl"); }).find("nothing goes on unrecorded"),
              std::string::npos);
    if (!std::filesystem::exists("/dev/full")) return;
    std::filesystem::create_symlink("/dev/full", path("audit.jsonl"));
    EXPECT_NE(complaint([&] { AuditTrail(path("audit.jsonl")).write("job", {}); }).find("No space left"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet::net
