#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "couplet/privacy/gaussian.hpp"

namespace couplet {

/// What jobs have spent of the privacy of one data set at one client. All are Gaussian
/// releases, whose rhos add.
class PrivacyAccount {
  public:
    struct Entry {
        std::string data;  ///< fingerprint of the data set
        std::string job;
        double rho = 0;
        friend bool operator==(const Entry&, const Entry&) = default;
    };

    PrivacyAccount() = default;
    /// Reads what text() wrote. Throws InputError, naming `where` and the line, for anything else: an account that
    /// cannot be read must not count as empty.
    static PrivacyAccount parse(std::string_view text, const std::string& where);
    std::string text() const;

    double spent_rho(std::string_view data) const;
    /// Epsilon of everything so far at this delta.
    double spent_epsilon(std::string_view data, double delta) const;
    /// Throws InputError, and books nothing, when the job would exceed the budget or spends what is no number; a job
    /// that is booked already (it was interrupted and goes on) is not booked twice.
    void spend(const Entry& entry, PrivacyGuarantee budget);
    const std::vector<Entry>& entries() const noexcept { return entries_; }

  private:
    std::vector<Entry> entries_;
};

}  // namespace couplet
