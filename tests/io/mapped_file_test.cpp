#include "couplet/io/mapped_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <sstream>

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

/// What the kernel says of the mapping that holds `data`: a line of /proc/self/smaps, without its name.
std::string about_mapping(const void* data, const std::string& field) {
    std::ifstream smaps("/proc/self/smaps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(data);
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        std::istringstream range(line);
        if (range >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= wanted && wanted < end;
        if (inside && line.starts_with(field + ":")) return line.substr(field.size() + 1);
    }
    return "";
}
Index resident_pages(const MappedFile& file) {
    return std::stol(about_mapping(file.bytes().data(), "Rss")) * 1024 / ::sysconf(_SC_PAGESIZE);
}

TEST_F(MappedFileTest, WholePagesOfWhatIsReleasedAreGivenBack) {
    const Index page = ::sysconf(_SC_PAGESIZE);
    const MappedFile file(put("x", std::string(static_cast<std::size_t>(8 * page + 17), 'a')));
    if (about_mapping(file.bytes().data(), "Rss").empty()) GTEST_SKIP() << "no /proc/self/smaps";
    const auto kept_after = [&](Index first, Index count) {
        EXPECT_EQ(text_of(file).size(), file.bytes().size());  // touches every page
        EXPECT_EQ(resident_pages(file), 9);
        file.release(first, count);
        return resident_pages(file);
    };
    EXPECT_EQ(kept_after(0, page), 8);
    EXPECT_EQ(kept_after(1, page), 9) << "no whole page";
    EXPECT_EQ(kept_after(1, 2 * page), 8) << "one whole page";
    EXPECT_EQ(kept_after(page, 3 * page), 6);
    EXPECT_EQ(kept_after(page - 1, 3 * page + 1), 6);
    EXPECT_EQ(kept_after(8 * page, 17), 8) << "the rest of the file is a whole page";
    EXPECT_EQ(kept_after(8 * page, 16), 9) << "not all of the rest";
    EXPECT_EQ(kept_after(0, 100 * page), 0);
    EXPECT_EQ(kept_after(0, 0), 9);
    EXPECT_EQ(kept_after(-1, 2 * page), 9);
    EXPECT_EQ(kept_after(9 * page, page), 9);
}

TEST_F(MappedFileTest, TellsTheKernelThatItReadsFromFrontToBack) {
    const MappedFile file(put("x", "some bytes"));
    const std::string before = about_mapping(file.bytes().data(), "VmFlags");
    if (before.empty()) GTEST_SKIP() << "no /proc/self/smaps";
    EXPECT_EQ(before.find(" sr"), std::string::npos);
    file.expect_stream();
    EXPECT_NE(about_mapping(file.bytes().data(), "VmFlags").find(" sr"), std::string::npos);
    MappedFile().expect_stream();
}

TEST_F(MappedFileTest, RefusesWhatIsNoFile) {
    EXPECT_EQ(refusal_of("missing"),
              "no such file; expected an existing file. Check the spelling and the current folder.");
    std::filesystem::create_directory(path("folder"));
    EXPECT_EQ(refusal_of("folder"), "a folder; expected a regular file. Name the files in it.");
    put("folder/labels.csv", "");
    for (const char* name : {"client_2.npy", "client_1.npy", ".client_0.npy"}) put(std::string("folder/") + name, "");
    EXPECT_EQ(refusal_of("folder"),
              "a folder; expected a regular file. Name the files in it, such as " + path("folder/client_1.npy"));
    put("folder/tensor.npy", "");
    EXPECT_EQ(refusal_of("folder"),
              "a folder; expected a regular file. Name the file in it: " + path("folder/tensor.npy"));
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
