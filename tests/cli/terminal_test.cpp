#include "terminal.hpp"

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

TEST(Terminal, LocaleFollowsTheUsualOrder) {
    const std::vector<std::string> names{"LC_ALL", "LC_CTYPE", "LANG"};
    std::vector<std::string> old;
    for (const std::string& name : names)
        old.emplace_back(::getenv(name.c_str()) != nullptr ? ::getenv(name.c_str()) : "");
    const auto with = [&](const char* all, const char* ctype, const char* lang) {
        ::setenv("LC_ALL", all, 1);
        ::setenv("LC_CTYPE", ctype, 1);
        ::setenv("LANG", lang, 1);
        return cli::locale_is_utf8();
    };
    EXPECT_TRUE(with("", "", "en_GB.UTF-8"));
    EXPECT_TRUE(with("", "de_DE.utf8", "C"));
    EXPECT_FALSE(with("C", "en_GB.UTF-8", "en_GB.UTF-8"));
    EXPECT_FALSE(with("", "", "de_DE.ISO-8859-1"));
    EXPECT_FALSE(with("", "", ""));
    for (std::size_t i = 0; i < names.size(); ++i) ::setenv(names[i].c_str(), old[i].c_str(), 1);
}

TEST(Terminal, WritesEverything) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const std::string text(100000, 'x');
    cli::write_stdout(text);
    cli::write_stderr("word");
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), text);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "word");
}

TEST(TerminalDeathTest, NoBarAfterTheLast) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto draw = [] {
        cli::write_bar("bar ");
        cli::end_bars();
        cli::write_bar("late");
        cli::write_stderr("end");
        ::_exit(3);
    };
    EXPECT_EXIT(draw(), ::testing::ExitedWithCode(3), "^bar end$");
}

TEST(Terminal, ShowsWhatWouldActOnIt) {
    EXPECT_EQ(cli::visible("größe 3.npy"), "größe 3.npy");
    EXPECT_EQ(cli::visible("a\x1b[31mb\nc\x7f"), "a\\x1b[31mb\\x0ac\\x7f");
    EXPECT_EQ(cli::visible("\xc2\x9b"
                           "31m"),
              "\\xc2\\x9b31m")
        << "C1 controls are two bytes of UTF-8";
    EXPECT_EQ(cli::visible("\xe2\x80\xae"
                           "txt"),
              "\\xe2\\x80\\xaetxt")
        << "right to left";
    EXPECT_EQ(cli::visible("\xff!"), "\\xff!");
    EXPECT_EQ(cli::visible_lines("a\r\nb\n"), "a\\x0d\nb\n");
}

}  // namespace
}  // namespace couplet::testing
