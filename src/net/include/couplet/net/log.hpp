#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/spelling.hpp"

namespace couplet::net {

/// What happened, for people and for programs: a line for whoever watches, an object a line in a file that rotates, and
/// the last lines in memory. Texts are cut off after 8 KiB. May be used by several threads.
class Log {
  public:
    using Fields = nlohmann::ordered_json;

    /// `file` may be empty: no file. `lines` may be empty; it is called by one thread at a time. `spelling`: how those
    /// who read any of it write parameters.
    Log(const std::filesystem::path& file, std::function<void(std::string_view)> lines, Spelling spelling = {});
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    /// `event` is a word for programs, `text` a sentence for people.
    void info(std::string_view event, std::string_view text, const Fields& fields = {});
    void warn(std::string_view event, std::string_view text, const Fields& fields = {});
    /// What others can cause as often as they like: of each `kind` the first twenty are written, then one
    /// every ten minutes that says how many there were meanwhile, so that nobody pushes out what was written before.
    void paced(const std::string& kind, std::string_view event, std::string_view text, const Fields& fields = {},
               bool warning = true);
    /// The last hundred lines, "12:34:56 text".
    std::vector<std::string> tail() const;
    /// For what they read elsewhere, such as a status page.
    const Spelling& spelling() const noexcept;

  private:
    void write(bool warning, std::string_view event, std::string_view text, const Fields& fields);
    struct Sinks;
    std::unique_ptr<Sinks> sinks_;
};

}  // namespace couplet::net
