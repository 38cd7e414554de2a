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
    /// Durable when this returns, also beside other processes of the kit. Throws InputError when one of them has helped
    /// to read as much already: only one of both may answer.
    void keep(const wire::JobId& job, const SumRecord& record);

  private:
    void read();

    std::filesystem::path file_;
    std::map<std::string, SumRecord> records_;
};

}  // namespace couplet::net
