#pragma once

#include <map>
#include <mutex>
#include <string>

#include "couplet/net/certificates.hpp"
#include "doorman.hpp"
#include "gate.hpp"

namespace grpc {
class ServerContextBase;
}

namespace couplet::net {

/// Who calls, as far as its certificate tells.
struct Caller {
    std::string name;
    Role role = Role::client;
    std::string serial = {};   ///< empty without TLS
    std::string address = {};  ///< HOST:PORT
};

/// Where the calls of a coordinator come in, of whatever service: nobody gets further without a name.
class Entrance {
  public:
    /// Without `secure` callers are who they say; loopback only.
    Entrance(Doorman& doorman, Gate& gate, bool secure) : doorman_(doorman), gate_(gate), secure_(secure) {}

    /// Who calls: from the certificate, never from a message. Throws InputError for whoever must not come in.
    Caller identify(const grpc::ServerContextBase& context);
    /// For a call that holds a thread: a place of that certificate, or of all those together who were not let in.
    Doorman::Place place_for(const Caller& caller);
    Doorman::Place place_for_refusal();

  private:
    void limit_rate(const std::string& caller, const std::string& serial, const std::string& peer);
    CertificateInfo read(const std::string& certificate);

    Doorman& doorman_;
    Gate& gate_;
    bool secure_;
    std::mutex mutex_;
    std::map<std::string, CertificateInfo> known_;  ///< certificates that were read, by their text
};

}  // namespace couplet::net
