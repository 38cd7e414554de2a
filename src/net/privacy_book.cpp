#include "couplet/net/privacy_book.hpp"

#include <limits>
#include <utility>

#include "couplet/io/file_lock.hpp"
#include "couplet/net/kit.hpp"

namespace couplet::net {
namespace {

constexpr std::uintmax_t largest_file = 64 << 20;

PrivacyGuarantee unlimited(double delta) { return {std::numeric_limits<double>::infinity(), delta}; }

/// What was spent of a data set and of those that share patients with it, as if it were one.
PrivacyAccount together(const PrivacyAccount& account, const std::string& data, const std::set<std::string>& related,
                        double delta) {
    PrivacyAccount one;
    for (const auto& entry : account.entries()) {
        if (entry.data == data) one.spend(entry, unlimited(delta));
        if (entry.data != data && related.contains(entry.data)) {
            one.spend({data, entry.job + " on " + entry.data, entry.rho}, unlimited(delta));
        }
    }
    return one;
}

}  // namespace

PrivacyBook::PrivacyBook(std::filesystem::path file) : file_(std::move(file)), account_(read()) {}

PrivacyAccount PrivacyBook::read() const {
    if (!std::filesystem::exists(file_)) return {};
    return PrivacyAccount::parse(read_text(file_, largest_file), file_.string());
}

void PrivacyBook::spend(const std::string& data, const std::string& job, const NoisePlan& noise,
                        PrivacyGuarantee budget, const std::set<std::string>& related) {
    const FileLock lock(file_.string() + ".lock");
    account_ = read();
    if (budget.epsilon == 0) budget = unlimited(noise.guarantee.delta);
    const PrivacyAccount::Entry entry{data, job, noise.rho};
    together(account_, data, related, budget.delta).spend(entry, budget);
    account_.spend(entry, unlimited(budget.delta));
    write_text(file_, account_.text(), 0600);
}

void PrivacyBook::require_room(const std::string& data, const std::string& job, const NoisePlan& noise,
                               PrivacyGuarantee budget, const std::set<std::string>& related) const {
    if (budget.epsilon == 0) return;
    together(read(), data, related, budget.delta).spend({data, job, noise.rho}, budget);
}

double PrivacyBook::epsilon_with(const std::string& data, const std::string& job, const NoisePlan& noise,
                                 const std::set<std::string>& related) const {
    const double delta = noise.guarantee.delta;
    PrivacyAccount all = together(read(), data, related, delta);
    all.spend({data, job, noise.rho}, unlimited(delta));
    return all.spent_epsilon(data, delta);
}

double PrivacyBook::mu_with(const std::string& data, const std::string& job, const NoisePlan& noise,
                            const std::set<std::string>& related) const {
    PrivacyAccount all = together(read(), data, related, noise.guarantee.delta);
    all.spend({data, job, noise.rho}, unlimited(noise.guarantee.delta));
    return mu_of_rho(all.spent_rho(data));
}

double PrivacyBook::spent_epsilon(const std::string& data, double delta, const std::set<std::string>& related) const {
    return together(account_, data, related, delta).spent_epsilon(data, delta);
}

}  // namespace couplet::net
