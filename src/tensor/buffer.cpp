#include "couplet/tensor/buffer.hpp"

#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>

namespace couplet {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Smaller blocks are the allocator's business, which keeps them itself.
constexpr std::size_t large = 2 * huge_page;
constexpr std::size_t most_kept = std::size_t{256} << 20;

// A sanitizer is to see what is used after it was given back.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool keeps = false;
#else
constexpr bool keeps = true;
#endif

std::size_t rounded(std::size_t bytes) { return (bytes + 64) / 64 * 64; }

/// Large blocks that nobody uses now. Whoever finds the lock taken goes without: a child of fork() may find it taken
/// for good.
class Kept {
  public:
    /// A block of at least `bytes` and not much more, or null, and then as much is let go of as is allocated instead:
    /// what is used and what is kept are together never more than what was once used.
    void* take(std::size_t bytes) noexcept {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return nullptr;
        Block* best = nullptr;
        for (Block& block : blocks_) {
            const bool fits = block.memory != nullptr && block.bytes >= bytes && block.bytes <= bytes + bytes / 4;
            if (fits && (best == nullptr || block.bytes < best->bytes)) best = &block;
        }
        if (best == nullptr) {
            let_go(bytes);
            return nullptr;
        }
        void* memory = best->memory;
        bytes_ -= best->bytes;
        *best = {};
        return memory;
    }

    bool keep(void* memory, std::size_t bytes) noexcept {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock || bytes_ + bytes > most_kept) return false;
        const auto room = std::ranges::find(blocks_, nullptr, &Block::memory);
        if (room == blocks_.end()) return false;
        *room = {memory, bytes};
        bytes_ += bytes;
        // The pages stay as they are until the kernel needs some.
        ::madvise(memory, bytes / huge_page * huge_page, MADV_FREE);
        return true;
    }

    std::size_t bytes() noexcept {
        const std::lock_guard lock(mutex_);
        return bytes_;
    }

  private:
    struct Block {
        void* memory = nullptr;
        std::size_t bytes = 0;
    };
    /// Of at least so many bytes, or of all; the largest first.
    void let_go(std::size_t bytes) noexcept {
        for (std::size_t gone = 0; gone < bytes && bytes_ > 0;) {
            Block& block = *std::ranges::max_element(blocks_, {}, &Block::bytes);
            std::free(block.memory);
            gone += block.bytes;
            bytes_ -= block.bytes;
            block = {};
        }
    }

    std::mutex mutex_;
    std::array<Block, 16> blocks_ = {};
    std::size_t bytes_ = 0;
};

/// Never taken down: buffers of static objects may outlive it otherwise.
Kept& kept() {
    static Kept& all = *new Kept;
    return all;
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
    const bool is_large = bytes >= large;
    if (keeps && is_large) {
        if (void* memory = kept().take(bytes)) return memory;
    }
    void* memory = nullptr;
    if (::posix_memalign(&memory, is_large ? huge_page : 64, rounded(bytes)) != 0) throw std::bad_alloc();
    // Whether the kernel follows the advice is its business.
    if (is_large) ::madvise(memory, rounded(bytes) / huge_page * huge_page, MADV_HUGEPAGE);
    return memory;
}

void release_memory(void* memory, std::size_t bytes) noexcept {
    if (keeps && bytes >= large && kept().keep(memory, bytes)) return;
    std::free(memory);
}

std::size_t kept_memory() noexcept { return kept().bytes(); }

}  // namespace couplet
