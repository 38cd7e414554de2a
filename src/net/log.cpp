#include "couplet/net/log.hpp"

#include <fmt/chrono.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/utf8.hpp"
#include "spelled_fields.hpp"

namespace couplet::net {
namespace {

constexpr std::size_t tail_lines = 100;
constexpr std::size_t file_bytes = 5 << 20;
constexpr std::size_t old_files = 3;

// Of what somebody else decides how often it happens: 20 lines at once, then so few that filling the files takes years.
constexpr double paced_burst = 20;
constexpr double paced_per_second = 1.0 / 600;
constexpr std::size_t most_kinds = 4096;
// Of one text, in bytes: others have a part in it, and a line of theirs must not be worth a thousand.
constexpr std::size_t longest_text = 8 << 10;

std::string utc_now() {
    const auto now = std::chrono::system_clock::now();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                       milliseconds % 1000);
}

/// Every text in it no longer than a line may be.
Log::Fields shortened_fields(const Log::Fields& fields) {
    if (fields.is_string()) return shortened(fields.get_ref<const std::string&>(), longest_text);
    Log::Fields all = fields;
    for (auto& field : all) {
        if (field.is_string() || field.is_structured()) field = shortened_fields(field);
    }
    return all;
}

}  // namespace

struct Log::Sinks {
    /// What may still be written of one kind, and what was not.
    struct Pace {
        double left = paced_burst;
        std::chrono::steady_clock::time_point filled = std::chrono::steady_clock::now();
        std::size_t unwritten = 0;
    };
    std::mutex mutex;
    std::map<std::string, Pace> paces;
    std::function<void(std::string_view)> lines;
    Spelling spelling;
    bool failed = false;  ///< to write a line, once
    std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> tail =
        std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(tail_lines);
    spdlog::logger people{"people", tail};
    std::unique_ptr<spdlog::logger> programs;
};

Log::Log(const std::filesystem::path& file, std::function<void(std::string_view)> lines, Spelling spelling)
    : sinks_(std::make_unique<Sinks>()) {
    sinks_->lines = std::move(lines);
    sinks_->spelling = std::move(spelling);
    sinks_->people.set_pattern("%H:%M:%S %v");
    if (file.empty()) return;
    try {
        auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file.string(), file_bytes, old_files);
        sinks_->programs = std::make_unique<spdlog::logger>("programs", std::move(sink));
    } catch (const spdlog::spdlog_ex& error) {
        throw RunError({file.string(), error.what(), "a log that can be written",
                        "Change the permissions or the owner of the file and of the kit."});
    }
    // A disk that is full costs the log a line; what must be written is in the audit trail.
    sinks_->programs->set_error_handler([sinks = sinks_.get()](const std::string& why) {
        if (std::exchange(sinks->failed, true)) return;
        if (sinks->lines) sinks->lines("warning: the log has gaps from here on: " + plain_text(why));
    });
    sinks_->programs->set_pattern("%v");
    sinks_->programs->flush_on(spdlog::level::info);
}

Log::~Log() = default;

void Log::write(bool warning, std::string_view event, std::string_view said, const Fields& fields) {
    const std::lock_guard lock(sinks_->mutex);
    const std::string text = shortened(spelled(said, sinks_->spelling), longest_text);
    // Others have a part in what it says: one line, and nothing that a terminal obeys.
    const std::string line = (warning ? "warning: " : "") + plain_text(text);
    sinks_->people.info(line);
    if (sinks_->lines) sinks_->lines(line);
    if (!sinks_->programs) return;
    Fields object{{"time", utc_now()}, {"level", warning ? "warning" : "info"}, {"event", event}, {"text", text}};
    if (fields.is_object()) object.update(shortened_fields(spelled_fields(fields, sinks_->spelling)));
    sinks_->programs->info(object.dump(-1, ' ', false, Fields::error_handler_t::replace));
}

void Log::info(std::string_view event, std::string_view text, const Fields& fields) {
    write(false, event, text, fields);
}

void Log::warn(std::string_view event, std::string_view text, const Fields& fields) {
    write(true, event, text, fields);
}

void Log::paced(const std::string& kind, std::string_view event, std::string_view text, const Fields& fields,
                bool warning) {
    std::size_t unwritten = 0;
    {
        const std::lock_guard lock(sinks_->mutex);
        const bool room = sinks_->paces.size() < most_kinds || sinks_->paces.contains(kind);
        auto& pace = sinks_->paces[room ? kind : std::string("others")];
        const auto now = std::chrono::steady_clock::now();
        const double seconds = std::chrono::duration<double>(now - pace.filled).count();
        pace.left = std::min(paced_burst, pace.left + seconds * paced_per_second);
        pace.filled = now;
        if (pace.left < 1) {
            ++pace.unwritten;
            return;
        }
        pace.left -= 1;
        unwritten = std::exchange(pace.unwritten, 0);
    }
    if (unwritten == 0) return write(warning, event, text, fields);
    Fields counted = fields.is_object() ? fields : Fields::object();
    counted["unwritten"] = unwritten;
    write(warning, event, fmt::format("{} (and {} like it before)", text, unwritten), counted);
}

const Spelling& Log::spelling() const noexcept { return sinks_->spelling; }

std::vector<std::string> Log::tail() const {
    std::vector<std::string> lines = sinks_->tail->last_formatted();
    for (std::string& line : lines) {
        while (!line.empty() && line.back() == '\n') line.pop_back();
    }
    return lines;
}

}  // namespace couplet::net
