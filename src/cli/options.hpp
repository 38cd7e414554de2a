#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet::cli {

class Command;

/// Flags that every verb takes, before or after its name.
struct Globals {
    bool json = false;
    bool quiet = false;
    bool force = false;
    std::uint64_t seed = 0;
    std::optional<int> threads = {};
};

inline constexpr const char* globals_group = "Options of every verb";

void add_globals(Command& app, Globals& globals);

/// A required file to read. `name` stands for it in the help.
void add_input(Command& app, const std::string& name, std::string& value, const std::string& description);

/// -o, --output: a file to write, whose name must end in `extension`.
void add_output(Command& app, const std::string& extension, bool required, std::string& value,
                const std::string& description);

/// --eps: a relative error, 0 <= eps < 1.
void add_eps(Command& app, std::optional<double>& value, const std::string& description);

/// --max-rank: a whole number, at least 1.
void add_max_rank(Command& app, std::optional<Index>& value, const std::string& description);

/// A whole number from `least` to `most`.
struct Count {
    std::string option;  ///< "--repeat"
    std::string letter;  ///< stands for it in the help
    Index least = 1;
    Index most = std::numeric_limits<Index>::max();
    std::string remedy = {};
};
void add_count(Command& app, const Count& count, Index& value, const std::string& description);

/// One of a few words: an option when the name starts with "--", otherwise a required argument. The shells complete
/// the words.
void add_choice(Command& app, const std::string& name, const std::vector<std::string>& words, std::string& value,
                const std::string& description);

/// An option whose text goes through `take`; `standard` is shown as its default.
void add_text(Command& app, const std::string& name, const std::string& type, const std::string& standard,
              const std::string& description, std::function<void(const std::string&)> take);

/// The checks behind the above; they throw InputError that names `option`.
double parse_eps(const std::string& option, std::string_view text);
/// 0 <= fraction < 1.
double parse_fraction(const std::string& option, std::string_view text);
Index parse_count(const Count& count, std::string_view text);
std::uint64_t parse_seed(std::string_view text);
std::string parse_choice(const std::string& name, const std::vector<std::string>& words, const std::string& text);

}  // namespace couplet::cli
