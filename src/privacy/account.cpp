#include "couplet/privacy/account.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr std::string_view head = "couplet privacy account 1";

std::string short_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
}

std::string exact_number(double value) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return std::string(text, end.ptr);
}

/// The next word of a line, cut off its front.
std::string_view take_word(std::string_view& line) {
    const auto end = std::min(line.find(' '), line.size());
    const auto word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
}

bool can_be_kept(const PrivacyAccount::Entry& entry) {
    return entry.rho > 0 && std::isfinite(entry.rho) && !entry.data.empty() && !entry.job.empty();
}

}  // namespace

PrivacyAccount PrivacyAccount::parse(std::string_view text, const std::string& where) {
    PrivacyAccount account;
    int number = 0;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::string at = where + " line " + std::to_string(++number);
        if (number == 1) {
            if (line != head) throw InputError({at, "'" + std::string(line) + "'", std::string(head), ""});
            continue;
        }
        Entry entry;
        const auto rho = take_word(line);
        const auto parsed = std::from_chars(rho.data(), rho.data() + rho.size(), entry.rho);
        entry.data = take_word(line);
        entry.job = std::string(line);
        if (parsed.ec != std::errc{} || parsed.ptr != rho.data() + rho.size() || !can_be_kept(entry)) {
            throw InputError({at, "no entry of an account", "rho, data and job",
                              "Restore the file from a backup: what was spent must not be forgotten."});
        }
        account.entries_.push_back(std::move(entry));
    }
    if (number == 0) throw InputError({where, "an empty file", std::string(head), "Restore it from a backup."});
    return account;
}

std::string PrivacyAccount::text() const {
    std::string result = std::string(head) + "\n";
    for (const Entry& entry : entries_) result += exact_number(entry.rho) + " " + entry.data + " " + entry.job + "\n";
    return result;
}

double PrivacyAccount::spent_rho(std::string_view data) const {
    double sum = 0;
    for (const Entry& entry : entries_) sum += entry.data == data ? entry.rho : 0;
    return sum;
}

double PrivacyAccount::spent_epsilon(std::string_view data, double delta) const {
    const double rho = spent_rho(data);
    return epsilon_of_gaussian_rho(rho, delta);
}

void PrivacyAccount::spend(const Entry& entry, PrivacyGuarantee budget) {
    if (!can_be_kept(entry)) {
        throw InputError({"privacy budget", "a job that spends a rho of " + exact_number(entry.rho),
                          "a positive number",
                          "The job's `dp_epsilon` and `clip` must be of a size that can be counted."});
    }
    if (std::find(entries_.begin(), entries_.end(), entry) != entries_.end()) return;
    const double after = epsilon_of_gaussian_rho(spent_rho(entry.data) + entry.rho, budget.delta);
    if (after > budget.epsilon * (1 + 1e-9)) {
        throw InputError({"privacy budget",
                          "epsilon " + short_number(after) + " after this job, " +
                              short_number(spent_epsilon(entry.data, budget.delta)) + " before it",
                          "at most " + short_number(budget.epsilon) + " at delta " + short_number(budget.delta),
                          "The data set has been asked enough; a larger budget is the policy's to grant."});
    }
    entries_.push_back(entry);
}

}  // namespace couplet
