#include "plausible.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

constexpr Index most_patients = Index{1} << 40;
constexpr double unit_tolerance = 1e-6;  // rounding of a norm that is 1

bool is_unit(double norm2) { return std::abs(norm2 - 1) <= unit_tolerance; }

}  // namespace

double rse_of(const wire::Report& report) noexcept { return report.norm2 > 0 ? report.error2 / report.norm2 : 0; }

void require_plausible_hello(const wire::JobSpec& spec, const Hello& hello, const std::string& who) {
    if (hello.rows > most_patients || hello.norm2 > largest_norm2) {
        throw InputError({who, fmt::format("{} patients with norm {}", hello.rows, hello.norm2),
                          fmt::format("at most {} with norm {}", most_patients, largest_norm2),
                          "Scale the data, or use `scale_clients` norm."});
    }
    // Filled entries are not scaled, and nothing at all has no norm to scale by.
    const bool scaled = spec.preparation.scale_clients && !spec.missing && hello.norm2 != 0;
    if (scaled && !is_unit(hello.norm2)) {
        throw InputError({who, fmt::format("a squared norm of {}", hello.norm2), "1, as `scale_clients` norm makes it",
                          "Use the couplet client as it is."});
    }
}

void require_plausible_norm2(const wire::JobSpec& spec, double norm2, const std::string& who) {
    const bool scaled = spec.preparation.scale_clients && norm2 != 0;
    if (norm2 >= 0 && norm2 <= largest_norm2 && (!scaled || is_unit(norm2))) return;
    throw InputError({who, fmt::format("a squared norm of {} after centring", norm2),
                      scaled ? "1, as `scale_clients` norm makes it" : "one from 0 to 1e150", ""});
}

void require_plausible_report(const wire::Report& report, const std::string& who) {
    const double largest = std::max(
        {report.error2, report.norm2, report.heldout_error2, report.heldout_norm2, rse_of(report), report.seconds});
    if (!(largest > largest_norm2)) return;
    throw InputError(
        {who, fmt::format("a report with a figure of {}", largest), fmt::format("at most {}", largest_norm2), ""});
}

void require_plausible_upload(const Job& job, const wire::Head& head, const std::optional<Hello>& hello,
                              const std::string& who) {
    if (!hello || head.modes != hello->features) {
        throw InputError({who, "feature modes " + head.modes.to_string(),
                          hello ? hello->features.to_string() + " as it said" : "a greeting first", ""});
    }
    const Index cap = std::min(rank_cap(*hello), job.rank.value_or(head.rows));
    const bool exactly = job.aggregate == Aggregate::average;
    if (head.rows > cap || (exactly && head.rows != cap)) {
        throw InputError(
            {who, fmt::format("rank {}", head.rows), fmt::format("{}{}", exactly ? "" : "at most ", cap), ""});
    }
}

}  // namespace couplet::net
