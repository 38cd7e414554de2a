#include "notary.hpp"

#include <chrono>
#include <map>
#include <set>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

std::int64_t now_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string_view view_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Certificates that were looked at: each is shown with every sum.
struct Register {
    Kit kit;
    Credentials credentials;
    std::set<std::string> revoked;
    std::map<std::string, std::string> names;

    std::string name_of(const std::string& certificate) {
        if (const auto found = names.find(certificate); found != names.end()) return found->second;
        const std::string who = "certificate of a client";
        check_certificate(certificate, credentials.authority, now_seconds(), who);
        const CertificateInfo info = read_certificate(certificate, who);
        if (info.identity.federation != kit.identity.federation || info.identity.role != Role::client) {
            throw InputError({who, to_uri(info.identity), "one of a client of this federation", ""});
        }
        if (revoked.contains(info.serial)) {
            throw InputError({who, "that of " + info.identity.name + ", which was revoked", "a valid one", ""});
        }
        return names[certificate] = info.identity.name;
    }
};

}  // namespace

Notary make_notary(const Kit& kit, const Credentials& credentials) {
    const auto serials = load_revoked(kit.file("revoked.txt"));
    auto known = std::make_shared<Register>(
        Register{kit, credentials, std::set<std::string>(serials.begin(), serials.end()), {}});
    Notary notary;
    notary.certificate = credentials.own.certificate;
    notary.sign = [known](Bytes text) {
        const std::string signature = sign_text(known->credentials.own.key, view_of(text));
        return Signature(signature.begin(), signature.end());
    };
    notary.name_of = [known](const std::string& certificate) { return known->name_of(certificate); };
    notary.verify = [](const std::string& certificate, Bytes text, const Signature& signature) {
        return is_signed(certificate, view_of(text), std::string(signature.begin(), signature.end()));
    };
    return notary;
}

}  // namespace couplet::net
