#include "couplet/net/site_memory.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/net/kit.hpp"
#include "notary.hpp"
#include "sum_memory.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_journal = std::uintmax_t{1} << 32;  // bases of any size
constexpr unsigned for_the_owner = 0600;
constexpr const char* identity_file = "identity.key";
constexpr const char* journal_prefix = "sum-";
constexpr const char* journal_suffix = ".journal";

Key key_from(const std::string& bytes, const fs::path& file) {
    Key key;
    if (bytes.size() < key.size()) {
        throw InputError({file.string(), std::to_string(bytes.size()) + " bytes", "what this site wrote", ""});
    }
    std::copy_n(bytes.begin(), key.size(), key.begin());
    return key;
}

bool is_journal(const fs::path& file) {
    const std::string name = file.filename().string();
    return name.starts_with(journal_prefix) && name.ends_with(journal_suffix);
}

/// Nobody tells a site that a job has failed. Secrets of jobs that have not moved for a day go, and so do those of all
/// but the latest few: a server that begins jobs and drops them leaves no more behind.
void forget_abandoned(const fs::path& folder, const fs::path& own) {
    constexpr std::size_t most_others = 8;
    std::vector<std::pair<fs::file_time_type, fs::path>> others;
    std::error_code failed;
    for (const auto& file : fs::directory_iterator(folder, failed)) {
        if (!is_journal(file.path()) || file.path() == own) continue;
        const auto moved = file.last_write_time(failed);
        if (!failed) others.emplace_back(moved, file.path());
    }
    std::sort(others.begin(), others.end(), std::greater<>());
    const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (i >= most_others || others[i].first < yesterday) fs::remove(others[i].second, failed);
    }
}

std::string text_of(const Key& key) { return {key.begin(), key.end()}; }

// A certificate that nobody signed: the name, then the key.
std::string unsigned_certificate(const std::string& name, const Key& verifying) { return name + text_of(verifying); }

}  // namespace

SiteMemory::SiteMemory(fs::path folder) : folder_(std::move(folder)) {
    std::error_code failed;
    fs::create_directories(folder_, failed);
    if (!fs::is_directory(folder_)) {
        throw InputError(
            {folder_.string(), "no folder that can be made", "a place for what this site must remember", ""});
    }
}

fs::path SiteMemory::journal(const wire::JobId& job) const {
    return folder_ / (journal_prefix + wire::to_hex(job) + journal_suffix);
}

wire::SecureTools SiteMemory::tools(const wire::JobId& job, Notary notary) const {
    const fs::path file = journal(job);
    forget_abandoned(folder_, file);
    const auto sums = std::make_shared<SumMemory>(folder_ / "sums.json");
    wire::SecureTools tools{.notary = std::move(notary), .record = sums->of(job)};
    if (fs::exists(file)) {
        const std::string written = read_text(file, largest_journal);
        tools.journal.root = key_from(written, file);
        tools.journal.requests = written.substr(tools.journal.root.size());
    }
    tools.on_record = [sums, job](const SumRecord& record) { sums->keep(job, record); };
    tools.on_step = [file](const wire::SumJournal& steps) {
        write_text(file, text_of(steps.root) + steps.requests, for_the_owner);
    };
    return tools;
}

void SiteMemory::forget_steps(const wire::JobId& job) const {
    std::error_code ignored;
    fs::remove(journal(job), ignored);
}

Notary SiteMemory::own_notary(const std::string& name) const {
    const fs::path file = folder_ / identity_file;
    if (!fs::exists(file)) write_text(file, text_of(Secret::random().bytes()), for_the_owner);
    const auto identity = std::make_shared<couplet::Identity>(Secret(key_from(read_text(file), file)));
    Notary notary = trusting_notary();
    notary.certificate = unsigned_certificate(name, identity->verifying());
    notary.sign = [identity](Bytes text) { return identity->sign(text); };
    return notary;
}

Notary trusting_notary() {
    const auto key_of = [](const std::string& certificate) {
        const std::size_t length = Key{}.size();
        if (certificate.size() < length)
            throw InputError({"certificate", "none", "the name of a site and its key", ""});
        return key_from(certificate.substr(certificate.size() - length), "certificate");
    };
    Notary notary;
    notary.name_of = [key_of](const std::string& certificate) {
        key_of(certificate);
        return certificate.substr(0, certificate.size() - Key{}.size());
    };
    notary.verify = [key_of](const std::string& certificate, Bytes text, const Signature& signature) {
        return verify_signature(key_of(certificate), text, signature);
    };
    return notary;
}

Notary kit_notary(const fs::path& folder) {
    const Kit kit = load_kit(folder);
    return make_notary(kit, load_credentials(kit, kit.identity.role));
}

}  // namespace couplet::net
