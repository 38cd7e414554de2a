#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "couplet/wire/message.hpp"

namespace couplet::net {

/// What passes between two parties of a job: application messages, as framed, without the bytes of gRPC and TLS. One
/// that is sent again because a connection broke counts once. Both ends and their audit trails come to the same.
class MessageCount {
  public:
    struct Bytes {
        double sent = 0;
        double received = 0;
    };
    void add(bool sent, wire::Kind kind, const wire::Route& route, double bytes);

    /// Questions, answers and features.
    const Bytes& rounds() const noexcept { return rounds_; }
    /// Everything else: greetings with the names of columns, the job, its start, reports, last words.
    const Bytes& others() const noexcept { return others_; }

  private:
    Bytes rounds_;
    Bytes others_;
    std::set<std::tuple<bool, wire::Kind, std::uint32_t, std::uint32_t>> known_;
};

/// What a trail says of this job, by the other party: a process that continues a job counts on from there.
std::map<std::string, MessageCount> counted_messages(const std::filesystem::path& trail, const std::string& job);

}  // namespace couplet::net
