#pragma once

#include <filesystem>
#include <string>

#include "couplet/io/made_folder.hpp"
#include "couplet/net/client.hpp"
#include "couplet/net/coordinator.hpp"
#include "session.hpp"

namespace couplet::cli {

/// The fields of `simulate --json` that a party of a network knows; `output` is the folder written to.
Json coordinator_json(const net::CoordinatorResult& result, const std::string& output);
Json client_json(const net::ClientResult& result, const std::string& output);

/// What speaks against a certificate, where anything does.
void add_doubts(Json& json, const std::vector<net::Doubt>& doubts);

/// For people.
std::string coordinator_text(const net::CoordinatorResult& result, const std::string& output);
std::string client_text(const net::ClientResult& result, const std::string& output);
std::string status_text(const net::StatusReport& status);

/// Where a party of a job writes features.npz and personal.npz. A file of the same job is replaced: a restart writes it
/// again. One of another job is replaced only with --force.
class JobOutput {
  public:
    /// Makes the folder; it goes again where nothing is written. `files` are the names to be written.
    JobOutput(std::filesystem::path folder, std::vector<std::string> files, bool force);
    /// Results of other jobs go into a folder of the job's name; returns that, or nothing where none were in the way.
    std::string put_aside(const std::string& job) const;
    /// Throws InputError when a file of another job is in the way.
    void require_free(const std::string& job) const;
    std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

  private:
    MadeFolder folder_;
    std::vector<std::string> files_;
    bool force_;
};

}  // namespace couplet::cli
