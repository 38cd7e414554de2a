#include "couplet/table/cell_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"

namespace couplet {

CellRule parse_cell_rule(std::string_view name) {
    for (const CellRule rule : {CellRule::presence, CellRule::count, CellRule::sum, CellRule::mean, CellRule::last}) {
        if (to_string(rule) == name) return rule;
    }
    throw InputError({"`aggregate`", shown(name), "presence, count, sum, mean or last", ""});
}

std::string_view to_string(CellRule rule) noexcept {
    switch (rule) {
        case CellRule::presence:
            return "presence";
        case CellRule::count:
            return "count";
        case CellRule::sum:
            return "sum";
        case CellRule::mean:
            return "mean";
        case CellRule::last:
            return "last";
    }
    return "";
}

/// A cell in the making: `weight` is the number of events (mean) or the time of the last (last), `rest` what rounding
/// has left out of a sum so far.
struct CellStore::Cell {
    CellKey key;
    double value = 0;
    double weight = 0;
    double rest = 0;

    double sum() const noexcept { return value + rest; }
};

namespace {

/// Spreads the bits of all parts (splitmix64's finaliser over a running sum).
struct KeyHash {
    std::size_t operator()(const CellKey& key) const noexcept {
        std::uint64_t h = key.patient;
        for (const std::uint32_t code : key.codes) {
            h = h * 0x9E3779B97F4A7C15ULL + code;
            h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ULL;
            h ^= h >> 27;
        }
        return static_cast<std::size_t>(h);
    }
};

/// A file that only its descriptor knows: it goes with the process, however that ends.
class Run {
  public:
    explicit Run(const std::filesystem::path& folder) {
        std::string pattern = (folder / ".couplet-cells-XXXXXX").string();
        const int descriptor = ::mkstemp(pattern.data());
        if (descriptor >= 0) ::unlink(pattern.c_str());
        file_ = descriptor >= 0 ? ::fdopen(descriptor, "w+b") : nullptr;
        if (file_ == nullptr) fail(errno);
    }
    ~Run() {
        if (file_ != nullptr) std::fclose(file_);
    }
    Run(Run&& other) noexcept : file_(std::exchange(other.file_, nullptr)), cells_(other.cells_) {}
    Run& operator=(Run&&) = delete;

    template <class Cell>
    void write(const std::vector<Cell>& cells) {
        if (std::fwrite(cells.data(), sizeof(Cell), cells.size(), file_) != cells.size() || std::fflush(file_) != 0) {
            fail(errno);
        }
        cells_ = cells.size();
    }
    /// Cells [first, first + count).
    template <class Cell>
    void read(std::size_t first, std::size_t count, std::vector<Cell>& cells) const {
        cells.resize(std::min(count, cells_ - first));
        const auto bytes = static_cast<ssize_t>(cells.size() * sizeof(Cell));
        // pread: several cursors may read one file.
        for (ssize_t done = 0; done < bytes;) {
            const ssize_t got =
                ::pread(::fileno(file_), reinterpret_cast<char*>(cells.data()) + done,
                        static_cast<std::size_t>(bytes - done), static_cast<off_t>(first * sizeof(Cell)) + done);
            if (got <= 0) fail(got < 0 ? errno : EIO);
            done += got;
        }
    }

  private:
    [[noreturn]] static void fail(int code) {
        throw RunError({"temporary file beside the output", std::generic_category().message(code),
                        "room for the cells of a large table", "Free some disk space, or choose another folder."});
    }
    std::FILE* file_ = nullptr;
    std::size_t cells_ = 0;
};

/// What rounding leaves out of a sum is kept apart (Neumaier 1974): 1e16, 1 and -1e16 are 1.
template <class Cell>
void add_up(Cell& before, const Cell& later) {
    const double sum = before.value + later.value;
    const bool larger = std::abs(before.value) >= std::abs(later.value);
    const double lost = larger ? (before.value - sum) + later.value : (later.value - sum) + before.value;
    before.value = sum;
    if (std::isfinite(lost)) before.rest += lost + later.rest;
}

/// Adds what came later to what came before.
template <class Cell>
void combine(CellRule rule, Cell& before, const Cell& later) {
    switch (rule) {
        case CellRule::presence:
            return;
        case CellRule::count:
        case CellRule::sum:
            add_up(before, later);
            return;
        case CellRule::mean:
            add_up(before, later);
            before.weight += later.weight;
            return;
        case CellRule::last:
            if (later.weight > before.weight || (later.weight == before.weight && later.value > before.value)) {
                before = later;
            }
            return;
    }
}

}  // namespace

struct CellStore::State {
    CellRule rule;
    std::filesystem::path folder;
    std::size_t most_cells;
    std::unordered_map<CellKey, Cell, KeyHash> open = {};
    std::vector<Run> runs = {};
    std::vector<Cell> rest = {};  ///< sorted, after close()

    std::vector<Cell> sorted() {
        std::vector<Cell> cells;
        cells.reserve(open.size());
        for (const auto& [key, cell] : open) cells.push_back(cell);
        open.clear();
        std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.key < b.key; });
        return cells;
    }
};

CellStore::CellStore(CellRule rule, std::filesystem::path folder, std::size_t budget)
    : state_(std::make_unique<State>(State{.rule = rule,
                                           .folder = std::move(folder),
                                           // A node of the table, its bucket, and the cell again while it is sorted.
                                           .most_cells = std::max<std::size_t>(1, budget / (96 + sizeof(Cell)))})) {}
CellStore::~CellStore() = default;
CellStore::CellStore(CellStore&&) noexcept = default;
CellStore& CellStore::operator=(CellStore&&) noexcept = default;

void CellStore::add(const CellKey& key, double value, double time) {
    State& state = *state_;
    if (state.rule == CellRule::presence || state.rule == CellRule::count) value = 1;
    const double weight = state.rule == CellRule::last ? time : 1;
    const Cell cell{key, value, weight};
    const auto [at, fresh] = state.open.try_emplace(key, cell);
    if (!fresh) return combine(state.rule, at->second, cell);
    if (state.open.size() < state.most_cells) return;
    state.runs.emplace_back(state.folder);
    state.runs.back().write(state.sorted());
}

void CellStore::close() { state_->rest = state_->sorted(); }

Index CellStore::runs() const noexcept { return static_cast<Index>(state_->runs.size()); }

/// Merges the runs and what is in memory, of equal keys the earlier run first.
struct CellStore::Cursor::State {
    struct Source {
        const Run* run = nullptr;  ///< null: in memory
        std::vector<Cell> buffer = {};
        std::size_t at = 0;
        std::size_t next_cell = 0;
        const std::vector<Cell>* memory = nullptr;

        const Cell* peek() {
            if (run == nullptr) return at < memory->size() ? &(*memory)[at] : nullptr;
            if (at == buffer.size()) {
                constexpr std::size_t block = 4096;
                run->read(next_cell, block, buffer);
                next_cell += buffer.size();
                at = 0;
            }
            return at < buffer.size() ? &buffer[at] : nullptr;
        }
    };
    CellRule rule;
    std::vector<Source> sources = {};
};

CellStore::Cursor::Cursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
CellStore::Cursor::Cursor(Cursor&&) noexcept = default;
CellStore::Cursor::~Cursor() = default;

bool CellStore::Cursor::next(CellKey& key, double& value) {
    const Cell* least = nullptr;
    for (auto& source : state_->sources) {
        const Cell* head = source.peek();
        if (head != nullptr && (least == nullptr || head->key < least->key)) least = head;
    }
    if (least == nullptr) return false;
    Cell cell{least->key};
    bool first = true;
    for (auto& source : state_->sources) {
        const Cell* head = source.peek();
        if (head == nullptr || head->key != cell.key) continue;
        if (first) {
            cell = *head;
            first = false;
        } else {
            combine(state_->rule, cell, *head);
        }
        ++source.at;
    }
    key = cell.key;
    value = state_->rule == CellRule::mean ? cell.sum() / cell.weight : cell.sum();
    return true;
}

CellStore::Cursor CellStore::cursor() const {
    auto state = std::make_unique<Cursor::State>(Cursor::State{.rule = state_->rule});
    for (const Run& run : state_->runs) state->sources.push_back({.run = &run});
    state->sources.push_back({.memory = &state_->rest});
    return Cursor(std::move(state));
}

void CellStore::for_each(const std::function<void(const CellKey&, double)>& f) const {
    Cursor at = cursor();
    CellKey key;
    for (double value = 0; at.next(key, value);) f(key, value);
}

}  // namespace couplet
