#include "sum_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "couplet/core/error.hpp"
#include "couplet/io/file_lock.hpp"
#include "couplet/net/kit.hpp"

namespace couplet::net {
namespace {

using Json = nlohmann::ordered_json;

// A line per job, of all that a kit ever takes part in.
constexpr std::uintmax_t largest_file = 64 << 20;

Json record_json(const std::string& job, const SumRecord& record) {
    return {{"job", job},
            {"sums", record.sums},
            {"told", wire::to_hex(record.told)},
            {"counts", wire::to_hex(record.counts)},
            {"cohort", record.cohort}};
}

Key parse_key(const std::string& digits) {
    Key key{};
    for (std::size_t half = 0; half < 2; ++half) {
        const wire::JobId bytes =
            wire::parse_job_id(std::string_view(digits).substr(std::min(digits.size(), 32 * half), 32));
        std::copy(bytes.begin(), bytes.end(), key.begin() + static_cast<std::ptrdiff_t>(16 * half));
    }
    return key;
}

SumRecord parse_record(const Json& json) {
    return {.sums = json.at("sums"),
            .told = parse_key(json.at("told")),
            .counts = parse_key(json.at("counts")),
            .cohort = json.at("cohort").get<std::set<Party>>()};
}

}  // namespace

SumMemory::SumMemory(std::filesystem::path file) : file_(std::move(file)) { read(); }

void SumMemory::read() {
    if (!std::filesystem::exists(file_)) return;
    try {
        const Json json = Json::parse(read_text(file_, largest_file));
        for (const Json& one : json) records_[one.at("job").get<std::string>()] = parse_record(one);
    } catch (const Json::exception& error) {
        throw InputError({file_.string(), error.what(), "what this client wrote",
                          "It says which sums were answered; without it the same could be asked again."});
    }
}

SumRecord SumMemory::of(const wire::JobId& job) const {
    const auto found = records_.find(wire::to_hex(job));
    return found == records_.end() ? SumRecord{} : found->second;
}

void SumMemory::keep(const wire::JobId& job, const SumRecord& record) {
    const FileLock lock(file_.string() + ".lock");
    read();
    SumRecord& known = records_[wire::to_hex(job)];
    if (known.sums >= record.sums) {
        throw InputError({"this kit", fmt::format("another process that has answered sum {} of the job", known.sums),
                          "each sum once", "Run one client on a kit at a time."});
    }
    known = record;
    Json json = Json::array();
    for (const auto& [id, one] : records_) json.push_back(record_json(id, one));
    write_text(file_, json.dump() + "\n", 0600);
}

}  // namespace couplet::net
