#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "couplet/secure/secure_client.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// What a client has helped to read, by job, in one file of its kit: never again is the same asked of it, not even
/// after its process was killed, nor of a job that is long over.
class SumMemory {
  public:
    /// Throws InputError for a file that cannot be read: it must not count as empty.
    explicit SumMemory(std::filesystem::path file);

    SumRecord of(const wire::JobId& job) const;
    /// Durable when this returns.
    void keep(const wire::JobId& job, const SumRecord& record);

  private:
    std::filesystem::path file_;
    std::map<std::string, SumRecord> records_;
};

}  // namespace couplet::net
