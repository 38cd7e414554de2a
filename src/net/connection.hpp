#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "couplet/net/client.hpp"
#include "exchange.hpp"

namespace couplet::net {

/// Where and as whom to connect.
struct Target {
    std::string address;  ///< HOST:PORT
    Identity self;
    std::optional<Credentials> credentials;  ///< nothing: no TLS
    std::filesystem::path revoked = {};      ///< serial numbers of coordinators that are none any more
};
/// Reads the kit's certificates; without TLS the coordinator must be on this machine.
Target make_target(const Kit& kit, Role role, bool insecure);

/// One stream to the coordinator. Nothing is sent before its certificate was looked at, nor once it is on the list of
/// the revoked.
class Connection final : public FrameStream {
  public:
    using Capture = std::function<void(std::span<const char>)>;
    Connection(const Target& target, Capture capture);
    ~Connection() override;

    /// False when there is no connection; reason() says why. Throws RunError when whoever answers is no coordinator, or
    /// one whose certificate was revoked.
    bool open();
    /// Throws RunError when the coordinator's certificate was revoked meanwhile: a list that is put into the kit ends
    /// what began before.
    void require_unrevoked() const;
    bool write(const v1::Frame& frame) override;
    bool read(v1::Frame& frame) override;
    /// Why it ended; call after a read or write has failed.
    std::string reason();
    /// Of the coordinator's certificate, once open; empty without TLS.
    const std::string& serial() const noexcept;
    /// The coordinator has let this client in before: nothing that ends a connection is about its certificate.
    void let_in();
    /// Says that nothing more comes, and waits until the other end has heard everything and ends the stream.
    void finish();
    /// Makes open, reads and writes fail; from any thread.
    void cancel();

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace couplet::net
