#include "couplet/io/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include "couplet/io/npz.hpp"
#include "io_test_support.hpp"

namespace couplet {
namespace {

/// A soft limit while it lives.
class Limited {
  public:
    Limited(int resource, rlim_t bytes) : resource_(resource) {
        ::getrlimit(resource, &before_);
        const rlimit now{std::min(bytes, before_.rlim_max), before_.rlim_max};
        ::setrlimit(resource, &now);
    }
    ~Limited() { ::setrlimit(resource_, &before_); }
    Limited(const Limited&) = delete;
    Limited& operator=(const Limited&) = delete;

  private:
    int resource_;
    rlimit before_{};
};

TEST(MemoryLimit, IsAtMostThatOfTheMachineAndOfTheProcess) {
    const Index free = memory_limit();
    EXPECT_GT(free, 0);
    EXPECT_LE(free, Index{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
    const rlim_t least = std::min<rlim_t>(rlim_t{1} << 30, static_cast<rlim_t>(free));
    for (const int resource : {RLIMIT_AS, RLIMIT_DATA}) {
        Index limited = 0;
        {
            const Limited here(resource, least);
            limited = memory_limit();
        }
        EXPECT_EQ(limited, static_cast<Index>(least));
    }
    EXPECT_EQ(memory_limit(), free);
}

using MemoryLimitTest = testing::IoTest;

TEST_F(MemoryLimitTest, IsWhatCompressedArraysAreHeldToBeforeTheyAreExpanded) {
    python("np.savez_compressed('x.npz', a=np.zeros(40 * 10**6))\n");
    const std::string bytes = get("x.npz");
    EXPECT_LT(bytes.size(), 1U << 20);
    EXPECT_NO_THROW(NpzReader(testing::bytes_of(bytes), "x.npz").header("a"));
    std::string said;
    {
        const Limited here(RLIMIT_AS, rlim_t{1} << 30);
        said = testing::refusal("x.npz", [&] { NpzReader(testing::bytes_of(bytes), "x.npz"); });
    }
    EXPECT_EQ(said.find("compressed arrays that expand to 320000128 bytes or more; expected at most 268435456"), 0U)
        << said;
}

}  // namespace
}  // namespace couplet
