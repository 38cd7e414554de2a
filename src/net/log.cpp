#include "couplet/net/log.hpp"

#include <fmt/chrono.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <utility>

namespace couplet::net {
namespace {

constexpr std::size_t tail_lines = 100;
constexpr std::size_t file_bytes = 5 << 20;
constexpr std::size_t old_files = 3;

std::string utc_now() {
    const auto now = std::chrono::system_clock::now();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                       milliseconds % 1000);
}

}  // namespace

struct Log::Sinks {
    std::mutex mutex;
    std::function<void(std::string_view)> lines;
    std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> tail =
        std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(tail_lines);
    spdlog::logger people{"people", tail};
    std::unique_ptr<spdlog::logger> programs;
};

Log::Log(const std::filesystem::path& file, std::function<void(std::string_view)> lines)
    : sinks_(std::make_unique<Sinks>()) {
    sinks_->lines = std::move(lines);
    sinks_->people.set_pattern("%H:%M:%S %v");
    if (file.empty()) return;
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file.string(), file_bytes, old_files);
    sinks_->programs = std::make_unique<spdlog::logger>("programs", std::move(sink));
    sinks_->programs->set_pattern("%v");
    sinks_->programs->flush_on(spdlog::level::info);
}

Log::~Log() = default;

void Log::write(bool warning, std::string_view event, std::string_view text, const Fields& fields) {
    const std::lock_guard lock(sinks_->mutex);
    const std::string line = warning ? fmt::format("warning: {}", text) : std::string(text);
    sinks_->people.info(line);
    if (sinks_->lines) sinks_->lines(line);
    if (!sinks_->programs) return;
    Fields object{{"time", utc_now()}, {"level", warning ? "warning" : "info"}, {"event", event}, {"text", text}};
    if (fields.is_object()) object.update(fields);
    sinks_->programs->info(object.dump(-1, ' ', false, Fields::error_handler_t::replace));
}

void Log::info(std::string_view event, std::string_view text, const Fields& fields) {
    write(false, event, text, fields);
}

void Log::warn(std::string_view event, std::string_view text, const Fields& fields) {
    write(true, event, text, fields);
}

std::vector<std::string> Log::tail() const {
    std::vector<std::string> lines = sinks_->tail->last_formatted();
    for (std::string& line : lines) {
        while (!line.empty() && line.back() == '\n') line.pop_back();
    }
    return lines;
}

}  // namespace couplet::net
