#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "couplet/core/progress.hpp"
#include "couplet/core/spelling.hpp"
#include "options.hpp"

namespace couplet::cli {

using Json = nlohmann::ordered_json;

/// Hears what a verb says where another program runs it in its own process, which has no terminal of ours.
struct Listener {
    ProgressSink progress = {};
    std::function<void(std::string_view)> note = {};
};

/// What a verb may know and do beyond its own options: the global flags, and the terminal or a listener.
class Session {
  public:
    /// `who` starts every line on stderr: "couplet decompose".
    Session(Globals globals, std::string who, std::optional<Listener> listener = {})
        : globals_(std::move(globals)), who_(std::move(who)), listener_(std::move(listener)) {}

    std::uint64_t seed() const noexcept { return globals_.seed; }
    bool force() const noexcept { return globals_.force; }

    /// Refuses, before the work starts, an output that could not be written at its end or that is an input, and has
    /// its temporary files removed on an interrupt. An empty path is no output.
    void claim_output(const std::string& path, std::span<const std::string> inputs) const;
    /// The listener's; otherwise draws a bar on stderr when that is a terminal, and is empty else and with --quiet.
    ProgressSink progress() const;
    /// A line for the listener, or on stderr, unless --quiet.
    void note(std::string_view text) const;
    /// How whoever hears this session writes a parameter of the library: a listener by its name, others as an option.
    Spelling spelling() const;
    /// The result: the object with --json, the text without.
    void print(const Json& json, std::string_view text) const;

  private:
    Globals globals_;
    std::string who_;
    std::optional<Listener> listener_;
};

}  // namespace couplet::cli
