#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/net/kit.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// A record that the peer it speaks for has not signed: nobody honest passes it on.
class ForgedRecord final : public InputError {
  public:
    using InputError::InputError;
};

/// Signs what a peer says of itself, and checks that what is passed on was said by whom it speaks for. A signature is
/// for one job. May be used by several threads.
class RecordSeal {
  public:
    RecordSeal(const Kit& kit, const Credentials& credentials, const wire::JobId& job);

    /// Signs a record of this peer.
    void seal(wire::PeerRecord& record);
    /// Throws InputError that names the peer unless it has signed the record, with a certificate that counts;
    /// ForgedRecord where it has not signed it at all.
    void check(const wire::PeerRecord& record);
    /// Records of these certificates count no more.
    void revoke(const std::set<std::string>& serials);

  private:
    std::string text_of(const wire::PeerRecord& record) const;
    CertificateInfo look_at(const std::string& certificate, const std::string& who);

    Identity self_;
    std::vector<PeerAddress> peers_;
    Credentials credentials_;
    wire::JobId job_;
    std::mutex mutex_;
    std::map<std::string, CertificateInfo> known_;  ///< certificates that were checked
    std::set<std::string> revoked_;
    wire::PeerRecord last_;  ///< that was sealed: every neighbour gets the same
};

}  // namespace couplet::net
