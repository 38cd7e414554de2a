#include "couplet/io/staged_files.hpp"

#include <sys/wait.h>

#include <chrono>
#include <future>
#include <thread>

#include "io_test_support.hpp"

namespace couplet {
namespace {

class StagedFilesTest : public testing::IoTest {
  protected:
    static void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path().filename());
        std::sort(found.begin(), found.end());
        return found;
    }
    std::string read(const std::string& name) const {
        std::ifstream file(folder_ / name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
};

TEST_F(StagedFilesTest, AppearTogetherOrNotAtAll) {
    {
        StagedFiles files(folder_);
        write(files.add("a"), "1");
        write(files.add("b"), "2");
        EXPECT_EQ(names().size(), 1u) << "only their own folder";
        EXPECT_TRUE(names().front().starts_with(".couplet-" + std::to_string(::getpid()) + "-")) << names().front();
    }
    EXPECT_TRUE(names().empty());
    {
        StagedFiles files(folder_);
        write(files.add("a"), "1");
        write(files.add("b"), "2");
        files.commit(false);
    }
    EXPECT_EQ(names(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(read("b"), "2");
}

TEST_F(StagedFilesTest, ATakenNameLeavesWhatWasThere) {
    write(folder_ / "b", "old");
    {
        StagedFiles files(folder_);
        write(files.add("a"), "1");
        write(files.add("b"), "2");
        EXPECT_THROW(files.commit(false), InputError);
    }
    EXPECT_EQ(names(), std::vector<std::string>{"b"});
    EXPECT_EQ(read("b"), "old");
    write(folder_ / "c", "stale");
    {
        StagedFiles files(folder_);
        write(files.add("a"), "1");
        write(files.add("b"), "2");
        files.commit(true, {folder_ / "c"});
    }
    EXPECT_EQ(names(), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(read("b"), "2");
}

/// Once a process ends nothing gets a name any more. In a child, as this one goes on.
TEST_F(StagedFilesTest, NothingIsMovedOnceTheProcessEnds) {
    StagedFiles files(folder_);
    write(files.add("a"), "1");
    const pid_t child = ::fork();
    if (child == 0) {
        std::promise<void> held;
        std::promise<void> ended;
        std::thread([&] {
            {
                const CommitTogether together;
                held.set_value();
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                write(folder_ / "b", "in time");
            }
            ended.get_future().wait();
            files.commit(true);
        }).detach();
        held.get_future().wait();
        end_commits();
        const bool waited = read("b") == "in time";
        ended.set_value();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ::_exit(waited && !std::filesystem::exists(folder_ / "a") ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace couplet
