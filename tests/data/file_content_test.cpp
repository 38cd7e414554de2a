#include "couplet/data/file_content.hpp"

#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::refusal;
using FileContentTest = testing::DataTest;

TEST_F(FileContentTest, IsThePublishedHash) {
    const auto content = [](std::string_view text) { return content_of(std::as_bytes(std::span(text))); };
    // Test vectors of the FNV's authors.
    EXPECT_EQ(content(""), (FileContent{0, 0xcbf29ce484222325}));
    EXPECT_EQ(content("a"), (FileContent{1, 0xaf63dc4c8601ec8c}));
    EXPECT_EQ(content("foobar"), (FileContent{6, 0x85944171f73967e8}));
}

TEST_F(FileContentTest, TellsFilesApart) {
    const FileContent one = content_of(std::filesystem::path(put("a.csv", "1,2\n")));
    EXPECT_EQ(content_of(std::filesystem::path(put("b.csv", "1,2\n"))), one);
    EXPECT_NE(content_of(std::filesystem::path(put("a.csv", "1,3\n"))), one);
    EXPECT_EQ(one.bytes, 4);
    EXPECT_EQ(content_of(std::filesystem::path(put("empty.csv", ""))).bytes, 0);
    EXPECT_NE(refusal([&] { content_of(std::filesystem::path(path("nowhere.csv"))); }).find("nowhere.csv"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet
