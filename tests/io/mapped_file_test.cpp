#include "couplet/io/mapped_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "io_test_support.hpp"

namespace couplet {
namespace {

using testing::refusal;

class MappedFileTest : public testing::IoTest {
  protected:
    std::string refusal_of(const std::string& name) {
        return refusal(path(name), [&] { const MappedFile file(path(name)); });
    }
};

std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(MappedFileTest, GivesTheBytes) {
    put("x", "some bytes");
    MappedFile file(path("x"));
    EXPECT_EQ(text_of(file), "some bytes");
    const MappedFile moved = std::move(file);
    EXPECT_EQ(text_of(moved), "some bytes");
    EXPECT_TRUE(MappedFile(put("empty", "")).bytes().empty());
}

TEST_F(MappedFileTest, ReleasedPagesComeBack) {
    std::string content(5 * 4096 + 17, 'a');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>('a' + i % 26);
    const MappedFile file(put("x", content));
    file.expect_stream();
    EXPECT_EQ(text_of(file), content);
    for (const auto& [first, count] :
         {std::pair<Index, Index>{0, 1 << 20}, {100, 9000}, {-1, 5}, {7, -1}, {1 << 30, 1}}) {
        file.release(first, count);
        EXPECT_EQ(text_of(file), content);
    }
}

TEST_F(MappedFileTest, RefusesWhatIsNoFile) {
    EXPECT_EQ(refusal_of("missing"),
              "no such file; expected an existing file. Check the spelling and the current folder.");
    std::filesystem::create_directory(path("folder"));
    EXPECT_EQ(refusal_of("folder"), "a folder; expected a regular file. Save the data to a file first.");
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    EXPECT_EQ(refusal_of("pipe"), "a pipe; expected a regular file. Save the data to a file first.");
    EXPECT_EQ(refusal("/dev/null", [] { const MappedFile file("/dev/null"); }),
              "a device; expected a regular file. Save the data to a file first.");
}

TEST_F(MappedFileTest, RefusesAnUnreadableFile) {
    put("x", "secret");
    std::filesystem::permissions(path("x"), std::filesystem::perms::none);
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    // Permissions do not bind root: look as nobody does.
    constexpr uid_t nobody = 65534;
    const bool root = ::geteuid() == 0;
    if (root) {
        ASSERT_EQ(::seteuid(nobody), 0);
    }
    const std::string message = refusal_of("x");
    if (root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    EXPECT_EQ(message, "a file that may not be read; expected a readable file. Check its permissions.");
}

}  // namespace
}  // namespace couplet
