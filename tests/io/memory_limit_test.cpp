#include "couplet/io/memory_limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "couplet/io/npz.hpp"

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

TEST(MemoryLimit, IsWhatCompressedArraysAreHeldTo) {
    const Index free = memory_limit();
    EXPECT_LE(NpzLimits{}.max_inflated_bytes, free / 4);
    Index limited = 0;
    {
        const Limited here(RLIMIT_AS, rlim_t{1} << 30);
        limited = NpzLimits{}.max_inflated_bytes;
    }
    EXPECT_LE(limited, Index{1} << 28);
    EXPECT_GT(limited, 0);
}

}  // namespace
}  // namespace couplet
