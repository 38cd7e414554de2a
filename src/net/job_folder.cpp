#include "job_folder.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "couplet/net/kit.hpp"
#include "spool.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;

std::string hello_name(Index place) { return fmt::format("hello-{}.msg", place); }
std::string features_name(std::uint32_t attempt) { return fmt::format("features-{}.msg", attempt); }
std::string centring_name(std::uint32_t attempt) { return fmt::format("centring-{}.msg", attempt); }
std::string resumed_name(std::size_t i) { return fmt::format("resumed-{}.msg", i); }

void discard(const fs::path& path) noexcept {
    std::error_code ignored;
    fs::remove(path, ignored);
}

}  // namespace

FeaturesMessage copy_of(const FeaturesMessage& message) {
    return {message.features.clone(), message.rel_error_bound, message.filling};
}

JobFolder::JobFolder(fs::path folder) : folder_(std::move(folder)) { fs::create_directories(folder_); }

void JobFolder::write(const JobFile& job) const { write_text(folder_ / "job.json", job_file_text(job), 0600); }

void JobFolder::forget_job() const noexcept { discard(folder_ / "job.json"); }

std::optional<Hello> JobFolder::hello(Index place, const std::string& who) const {
    const fs::path path = folder_ / hello_name(place);
    if (!fs::exists(path)) return std::nullopt;
    return load_body<Hello>(path, who);
}

void JobFolder::keep_hello(Index place, const wire::Message& hello) const {
    save_message(folder_ / hello_name(place), hello);
}

void JobFolder::remove_hello(Index place) const noexcept { discard(folder_ / hello_name(place)); }

fs::path JobFolder::reply(const ReplyId& id) const {
    return folder_ / fmt::format("reply-{}-{}-{}.msg", id.attempt, id.step, id.place);
}

fs::path JobFolder::refusal(Index place) const { return folder_ / fmt::format("refusal-{}.msg", place); }

std::set<ReplyId> JobFolder::replies() const {
    std::set<ReplyId> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(".couplet-")) fs::remove(entry.path());
        unsigned attempt = 0;
        unsigned step = 0;
        long place = 0;
        if (std::sscanf(name.c_str(), "reply-%u-%u-%ld.msg", &attempt, &step, &place) == 3) {
            found.insert({attempt, step, place});
        }
    }
    return found;
}

void JobFolder::remove_reply(const ReplyId& id) const noexcept { discard(reply(id)); }

MergeState JobFolder::contribution(std::uint32_t attempt, Index place, const std::string& who) const {
    Upload upload = load_body<Upload>(reply({attempt, 1, place}), who);
    const Ledger ledger{1, upload.rows, upload.norm2, upload.svd_tail2, upload.tt_tail2, 0};
    return {std::move(upload.block).take(), ledger};
}

FeaturesMessage JobFolder::features(std::uint32_t attempt) const {
    return load_body<FeaturesMessage>(folder_ / features_name(attempt), "features");
}

void JobFolder::keep_features(std::uint32_t attempt, const FeaturesMessage& features) const {
    save_message(folder_ / features_name(attempt), {{}, copy_of(features)});
}

void JobFolder::remove_features(std::uint32_t attempt) const noexcept { discard(folder_ / features_name(attempt)); }

Centring JobFolder::centring(std::uint32_t attempt) const {
    return load_body<wire::CentringRequest>(folder_ / centring_name(attempt), "centring").centring;
}

void JobFolder::keep_centring(std::uint32_t attempt, const Centring& centring) const {
    save_message(folder_ / centring_name(attempt), {{}, wire::CentringRequest{centring, true}});
}

MergeState JobFolder::resumed(std::size_t i) const {
    return load_body<MergeState>(folder_ / resumed_name(i), "saved merge");
}

void JobFolder::keep_resumed(std::size_t i, MergeState state) const {
    save_message(folder_ / resumed_name(i), {{}, std::move(state)});
}

}  // namespace couplet::net
