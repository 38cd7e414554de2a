#pragma once

#include <filesystem>
#include <string>

#include "couplet/privacy/account.hpp"
#include "couplet/privacy/noise.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet::net {

/// What jobs have spent of the privacy of a client's data sets, in a file of its kit.
class PrivacyBook {
  public:
    /// Throws InputError for a file that cannot be read: it must not count as empty.
    explicit PrivacyBook(std::filesystem::path file);

    /// Books the job before anything of it is released; durable when this returns. `budget` of epsilon 0: none. Throws
    /// InputError, and books nothing, when the job would exceed it. A job that is booked already is not booked twice.
    void spend(const std::string& data, const std::string& job, const NoisePlan& noise, PrivacyGuarantee budget);
    const PrivacyAccount& account() const noexcept { return account_; }

  private:
    std::filesystem::path file_;
    PrivacyAccount account_;
};

/// Names a data set by its content: hash of shape and numbers.
std::string data_fingerprint(const Tensor<double>& x);

}  // namespace couplet::net
