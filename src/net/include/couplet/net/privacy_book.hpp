#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "couplet/privacy/account.hpp"
#include "couplet/privacy/noise.hpp"

namespace couplet::net {

/// What jobs have spent of the privacy of a client's data sets, in a file of its kit.
class PrivacyBook {
  public:
    /// Throws InputError for a file that cannot be read: it must not count as empty.
    explicit PrivacyBook(std::filesystem::path file);

    /// Books the job before anything of it is released; durable when this returns, also beside other processes of the
    /// kit. `budget` of epsilon 0: none. Throws InputError, and books nothing, when the job would exceed it. A job that
    /// is booked already is not booked twice. `related` are data sets that share patients with this one: what was spent
    /// of them was spent of those patients.
    void spend(const std::string& data, const std::string& job, const NoisePlan& noise, PrivacyGuarantee budget,
               const std::set<std::string>& related = {});
    /// The same without booking.
    void require_room(const std::string& data, const std::string& job, const NoisePlan& noise, PrivacyGuarantee budget,
                      const std::set<std::string>& related = {}) const;
    /// Of everything so far, by whichever process.
    double spent_epsilon(const std::string& data, double delta, const std::set<std::string>& related = {}) const;
    /// The same with this job, as the file says now.
    double epsilon_with(const std::string& data, const std::string& job, const NoisePlan& noise,
                        const std::set<std::string>& related = {}) const;
    /// What is spent with this job, as the mu of Gaussian differential privacy, as the file says now.
    double mu_with(const std::string& data, const std::string& job, const NoisePlan& noise,
                   const std::set<std::string>& related = {}) const;
    /// As it was read or written last.
    const PrivacyAccount& account() const noexcept { return account_; }

  private:
    PrivacyAccount read() const;

    std::filesystem::path file_;
    PrivacyAccount account_;
};

}  // namespace couplet::net
