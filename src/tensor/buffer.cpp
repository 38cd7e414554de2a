#include "couplet/tensor/buffer.hpp"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace couplet {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Smaller blocks are the allocator's business, which keeps them itself.
constexpr std::size_t large = 2 * huge_page;
constexpr std::size_t most_kept = std::size_t{256} << 20;

// A sanitizer is to see what is used after it was given back.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUPLET_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(COUPLET_SANITIZED)
constexpr bool keeps = false;
#else
constexpr bool keeps = true;
#endif

/// What is allocated for so many bytes. Large sizes that are close to each other are the same, so that a block of one
/// serves the other: eighths of a power of two, in whole huge pages. Sizes that are never kept are what they are.
std::size_t rounded(std::size_t bytes) {
    if (bytes < large || bytes > most_kept) return (bytes + 64) / 64 * 64;
    const std::size_t step = std::max(huge_page, std::bit_floor(bytes) / 8);
    return (bytes + step - 1) / step * step;
}

/// Large blocks that nobody uses now, and how much is in use. Whoever finds the lock taken goes without: a child of
/// fork() may find it taken for good.
class Kept {
  public:
    /// A block of so many bytes, or null; then so much is let go of that what is used and what is kept are together
    /// not more than what was once used.
    void* take(std::size_t bytes) noexcept {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return nullptr;
        const auto found = std::ranges::find(blocks_, bytes, &Block::bytes);
        if (found != blocks_.end()) return take_out(*found);
        const std::size_t used = used_ + bytes;
        const std::size_t most = std::max<std::size_t>(used, most_used_);
        while (bytes_ > 0 && used + bytes_ > most) std::free(take_out(enough_for(used + bytes_ - most)));
        return nullptr;
    }

    void count(std::size_t bytes) noexcept {
        const std::size_t used = used_ += bytes;
        for (std::size_t most = most_used_; used > most && !most_used_.compare_exchange_weak(most, used);) continue;
    }

    /// Of a block that is no longer used; false when it is the caller's to free. The oldest make room for it: what is
    /// wanted again and again stays.
    bool keep(void* memory, std::size_t bytes) noexcept {
        used_ -= bytes;
        if (!keeps || bytes > most_kept) return false;
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return false;
        auto room = std::ranges::find(blocks_, nullptr, &Block::memory);
        while (bytes_ + bytes > most_kept || room == blocks_.end()) {
            room = std::ranges::min_element(blocks_, {}, [](const Block& block) {
                return block.memory == nullptr ? ~std::uint64_t{0} : block.since;
            });
            std::free(take_out(*room));
        }
        *room = {memory, bytes, ++now_};
        bytes_ += bytes;
        // The pages stay as they are until the kernel needs some.
        ::madvise(memory, bytes, MADV_FREE);
        return true;
    }

    /// For an allocation that failed; gives up where the lock stays taken.
    void let_go_of_all() noexcept {
        constexpr int attempts = 100;
        for (int attempt = 0; attempt < attempts; ++attempt, ::sched_yield()) {
            const std::unique_lock lock(mutex_, std::try_to_lock);
            if (!lock) continue;
            while (bytes_ > 0) std::free(take_out(enough_for(bytes_)));
            return;
        }
    }

    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t most_used() const noexcept { return most_used_; }

  private:
    struct Block {
        void* memory = nullptr;
        std::size_t bytes = 0;
        std::uint64_t since = 0;
    };
    void* take_out(Block& block) noexcept {
        bytes_ -= block.bytes;
        return std::exchange(block, {}).memory;
    }
    /// The smallest block that is enough, or the largest.
    Block& enough_for(std::size_t bytes) noexcept {
        Block* best = &blocks_.front();
        for (Block& block : blocks_) {
            const bool suffices = block.bytes >= bytes;
            if (suffices ? best->bytes < bytes || block.bytes < best->bytes : block.bytes > best->bytes) best = &block;
        }
        return *best;
    }

    std::mutex mutex_;
    std::array<Block, 16> blocks_ = {};
    std::uint64_t now_ = 0;
    // Changed under the lock; looked at without it.
    std::atomic<std::size_t> bytes_{0};
    // Changed without it: for a moment a block may be counted twice, or not at all.
    std::atomic<std::size_t> used_{0};
    std::atomic<std::size_t> most_used_{0};
};

/// Never taken down: buffers of static objects may outlive it otherwise.
Kept& kept() {
    static Kept& all = *new Kept;
    return all;
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
    const bool is_large = bytes >= large;
    const std::size_t size = rounded(bytes);
    void* memory = keeps && is_large ? kept().take(size) : nullptr;
    if (memory == nullptr) {
        const std::size_t alignment = is_large ? huge_page : 64;
        if (::posix_memalign(&memory, alignment, size) != 0) {
            kept().let_go_of_all();
            if (::posix_memalign(&memory, alignment, size) != 0) throw std::bad_alloc();
        }
        // Whether the kernel follows the advice is its business. What was not asked for stays in small pages.
        if (is_large) ::madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
    }
    if (is_large) kept().count(size);
    return memory;
}

void release_memory(void* memory, std::size_t bytes) noexcept {
    if (bytes >= large && kept().keep(memory, rounded(bytes))) return;
    std::free(memory);
}

std::size_t kept_memory() noexcept { return kept().bytes(); }

std::size_t most_used_memory() noexcept { return kept().most_used(); }

}  // namespace couplet
