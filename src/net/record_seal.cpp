#include "record_seal.hpp"

#include <fmt/format.h>

#include <chrono>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

// Certificates of every peer, renewed several times within a job.
constexpr std::size_t most_known = 4 * static_cast<std::size_t>(wire::most_peers);

std::int64_t now_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

RecordSeal::RecordSeal(const Kit& kit, const Credentials& credentials, const wire::JobId& job)
    : self_(kit.identity), peers_(kit.peers), credentials_(credentials), job_(job) {
    const auto serials = load_revoked(kit.file("revoked.txt"));
    revoked_.insert(serials.begin(), serials.end());
}

std::string RecordSeal::text_of(const wire::PeerRecord& record) const {
    return "couplet record " + wire::to_hex(job_) + " " + wire::signed_bytes(record);
}

void RecordSeal::seal(wire::PeerRecord& record) {
    const std::lock_guard lock(mutex_);
    if (last_.incarnation != record.incarnation || last_.version != record.version) {
        last_ = record;
        last_.signature = sign_text(credentials_.own.key, text_of(record));
        last_.certificate = credentials_.own.certificate;
    }
    record.signature = last_.signature;
    record.certificate = last_.certificate;
}

CertificateInfo RecordSeal::look_at(const std::string& certificate, const std::string& who) {
    if (const auto found = known_.find(certificate); found != known_.end()) return found->second;
    check_certificate(certificate, credentials_.authority, now_seconds(), who);
    if (known_.size() >= most_known) known_.clear();
    return known_[certificate] = read_certificate(certificate, who);
}

void RecordSeal::check(const wire::PeerRecord& record) {
    if (record.peer < 0 || record.peer >= static_cast<Index>(peers_.size())) {
        throw InputError({"record", fmt::format("one of peer {}", record.peer + 1),
                          fmt::format("one of {} provisioned peers", peers_.size()), ""});
    }
    const std::string& name = peers_[static_cast<std::size_t>(record.peer)].name;
    const std::string who = "record of peer " + name;
    if (record.signature.empty() || record.certificate.empty()) {
        throw ForgedRecord({who, "no signature", "that of " + name, ""});
    }
    const std::lock_guard lock(mutex_);
    const CertificateInfo info = look_at(record.certificate, who);
    if (info.identity != Identity{self_.federation, Role::peer, name}) {
        throw ForgedRecord({who, "signed by " + to_uri(info.identity), "by " + name + " itself", ""});
    }
    if (revoked_.contains(info.serial)) {
        throw InputError({who, "signed with a certificate that was revoked", "a valid one", ""});
    }
    if (!is_signed(record.certificate, text_of(record), record.signature)) {
        throw ForgedRecord({who, "a signature that does not fit what it says", "that of " + name, ""});
    }
}

void RecordSeal::revoke(const std::set<std::string>& serials) {
    const std::lock_guard lock(mutex_);
    revoked_ = serials;
}

}  // namespace couplet::net
