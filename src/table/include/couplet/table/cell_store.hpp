#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// What the events of one cell become.
enum class CellRule { presence, count, sum, mean, last };
CellRule parse_cell_rule(std::string_view name);
std::string_view to_string(CellRule rule) noexcept;

/// At most so many modes may come from one table of events.
inline constexpr std::size_t most_event_modes = 3;

struct CellKey {
    std::uint32_t patient = 0;
    std::array<std::uint32_t, most_event_modes> codes{};
    friend auto operator<=>(const CellKey&, const CellKey&) = default;
};

/// Events gathered by cell. Memory stays below `budget`: what exceeds it is sorted and put aside in a file without a
/// name in `folder`, and merged when the cells are asked for.
class CellStore {
  public:
    CellStore(CellRule rule, std::filesystem::path folder, std::size_t budget = std::size_t{96} << 20);
    ~CellStore();
    CellStore(CellStore&&) noexcept;
    CellStore& operator=(CellStore&&) noexcept;

    /// `time` decides which is last; of equal times the larger value, so that the order of the calls does not matter.
    /// Throws RunError when the disk is full.
    void add(const CellKey& key, double value, double time);
    /// No more events.
    void close();
    /// Calls f(key, value) for every cell in the order of the keys; may be called several times after close().
    void for_each(const std::function<void(const CellKey&, double)>& f) const;
    /// Reads the cells in the order of the keys, one at a time.
    class Cursor;
    Cursor cursor() const;
    Index runs() const noexcept;

  private:
    struct Cell;
    struct State;
    std::unique_ptr<State> state_;
};

class CellStore::Cursor {
  public:
    Cursor(Cursor&&) noexcept;
    ~Cursor();
    /// The next cell; false at the end.
    bool next(CellKey& key, double& value);

  private:
    friend class CellStore;
    struct State;
    explicit Cursor(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace couplet
