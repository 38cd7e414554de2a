#include "coordinator_result.hpp"

#include <algorithm>
#include <utility>

#include "plausible.hpp"
#include "roster.hpp"

namespace couplet::net {
namespace {

/// Of the errors that clients report, each of the features that it got.
class Errors {
  public:
    explicit Errors(const JobFile& job) : job_(job) {
        for (const Index place : job.members) add(place, 0);
        for (std::size_t i = 0; i < job.late.size(); ++i) add(job.late[i], static_cast<Index>(i) + 1);
    }
    void tell(CoordinatorResult& result) const {
        result.seconds_clients_sum = seconds_sum_;
        result.seconds_clients_max = seconds_max_;
        // Nobody reports how well the features fit its own patients where only sums are seen.
        if (!complete_ || job_.spec.shield) return;
        result.rse_per_client = each_;
        result.rse_late_merges = late_merges_;
        // Members fitted features that a late merge has changed since: errors of several features have no sum.
        if (!job_.late.empty()) return;
        result.rse = rse_of(sum_);
        if (job_.spec.preparation.heldout == 0) return;
        result.rse_heldout = sum_.heldout_norm2 > 0 ? sum_.heldout_error2 / sum_.heldout_norm2 : 0;
    }

  private:
    void add(Index place, Index late_merges) {
        const auto found = job_.reports.find(place);
        if (found == job_.reports.end()) {
            complete_ = false;
            return;
        }
        const wire::Report& report = found->second;
        each_.push_back(rse_of(report));
        late_merges_.push_back(late_merges);
        sum_.error2 += report.error2;
        sum_.norm2 += report.norm2;
        sum_.heldout_error2 += report.heldout_error2;
        sum_.heldout_norm2 += report.heldout_norm2;
        seconds_sum_ += report.seconds;
        seconds_max_ = std::max(seconds_max_, report.seconds);
    }

    const JobFile& job_;
    bool complete_ = true;
    std::vector<double> each_;
    std::vector<Index> late_merges_;
    wire::Report sum_;
    double seconds_sum_ = 0;
    double seconds_max_ = 0;
};

void add_resumed(const JobFile& job, CoordinatorResult& result) {
    const auto still = job.still_resumed();
    result.resumed_clients = static_cast<Index>(still.size());
    for (std::size_t i = 0; i < job.resumed.size(); ++i) {
        if (std::find(still.begin(), still.end(), i) == still.end()) result.replaced.push_back(job.resumed[i]);
    }
}

void add_traffic(const JobFile& job, CoordinatorResult& result) {
    const double clients = static_cast<double>(job.members.size() + job.late.size());
    result.numbers_up_per_client = job.traffic.numbers_up / clients;
    result.numbers_down_per_client = job.traffic.numbers_down / clients;
    result.numbers_total = job.traffic.numbers_up + job.traffic.numbers_down;
    result.bytes_up = job.traffic.bytes_up;
    result.bytes_down = job.traffic.bytes_down;
}

}  // namespace

std::vector<Claim> claims_of(const JobFile& job, const std::vector<Index>& places, const std::vector<double>& norms) {
    std::vector<Claim> result;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto place = static_cast<std::size_t>(places[i]);
        // Nobody is merged late into a job that centres: these are its members.
        const double norm2 = job.centred.attempt != 0 ? job.centred.norm2[i] : norms[place];
        Claim claim{job.roster[place], norm2, {}, {}};
        if (const auto report = job.reports.find(places[i]); report != job.reports.end()) {
            claim.error2 = report->second.error2;
            claim.reported_norm2 = report->second.norm2;
        }
        result.push_back(std::move(claim));
    }
    return result;
}

std::vector<Claim> claims_of(const std::vector<Contribution>& contributions) {
    std::vector<Claim> result;
    for (const Contribution& one : contributions) result.push_back({one.client, one.state.ledger.norm2});
    return result;
}

std::vector<Doubt> doubted_norms(const JobFile& job, const std::vector<Index>& places, const std::vector<double>& norms,
                                 const std::vector<Claim>& earlier) {
    auto claims = claims_of(job, places, norms);
    claims.insert(claims.end(), earlier.begin(), earlier.end());
    auto result = norm_doubts(claims);
    if (job.centred.attempt == 0) return result;
    // A mean of numbers that are far too large makes everybody's centred data as large.
    for (std::size_t i = 0; i < places.size(); ++i) claims[i].norm2 = norms[static_cast<std::size_t>(places[i])];
    const auto centred = std::move(result);
    result = norm_doubts(claims);
    for (Doubt& doubt : result) doubt.reason += " before centring";
    for (const Doubt& doubt : centred) {
        const bool is_named = std::ranges::any_of(result, [&](const Doubt& d) { return d.client == doubt.client; });
        if (!is_named) result.push_back(doubt);
    }
    return result;
}

namespace {

void append(std::vector<Doubt>& doubts, std::vector<Doubt> more) {
    for (Doubt& doubt : more) doubts.push_back(std::move(doubt));
}

/// Who is in the features that members got (0), or that the first, second ... of those merged late did.
struct Population {
    std::vector<Index> places;
    std::vector<Claim> resumed;
};

Population population_of(const JobFile& job, const std::vector<double>& resumed, std::size_t late) {
    Population in{job.members, {}};
    in.places.insert(in.places.end(), job.late.begin(), job.late.begin() + static_cast<std::ptrdiff_t>(late));
    const std::vector<std::string> names = names_of(job.roster, in.places);
    for (std::size_t i = 0; i < job.resumed.size(); ++i) {
        const bool came_again = std::find(names.begin(), names.end(), job.resumed[i]) != names.end();
        if (!came_again) in.resumed.push_back({job.resumed[i], resumed[i]});
    }
    return in;
}

/// Of the errors of those who got these features: others have measured theirs with other features.
std::vector<Doubt> doubted_errors(const JobFile& job, const Statements& said, std::size_t late) {
    if (!said.bounds[late]) return {};
    const Population in = population_of(job, said.resumed, late);
    auto claims = claims_of(job, in.places, said.norms);
    if (late > 0) {
        for (std::size_t i = 0; i + 1 < claims.size(); ++i) claims[i].error2.reset();
    }
    claims.insert(claims.end(), in.resumed.begin(), in.resumed.end());
    return error_doubts(claims, *said.bounds[late]);
}

}  // namespace

std::vector<Doubt> doubts_of(const JobFile& job, const Statements& said) {
    if (job.spec.job.aggregate != Aggregate::stack || job.spec.missing) return {};
    const Population in = population_of(job, said.resumed, job.late.size());
    auto result = doubted_norms(job, in.places, said.norms, in.resumed);
    append(result, report_doubts(claims_of(job, in.places, said.norms)));
    for (std::size_t late = 0; late <= job.late.size(); ++late) append(result, doubted_errors(job, said, late));
    return result;
}

CompletionCourse course_of(const JobFile& job) {
    CompletionCourse course(*job.spec.missing);
    for (const FillSums& sums : job.completing.history) course.take(sums);
    return course;
}

void add_messages(const std::vector<MessageCount>& counted, CoordinatorResult& result) {
    MessageCount::Bytes rounds;
    for (const MessageCount& one : counted) {
        rounds.sent += one.rounds().sent;
        rounds.received += one.rounds().received;
        result.bytes_overhead += one.others().sent + one.others().received;
    }
    if (!result.shield) return;
    result.bytes_up = rounds.received;
    result.bytes_down = rounds.sent;
}

CoordinatorResult make_coordinator_result(const FinishedJob& finished) {
    const JobFile& job = finished.job;
    CoordinatorResult result;
    result.job = wire::to_hex(job.id);
    result.spec = job.spec;
    result.members = names_of(job.roster, job.members);
    result.late = names_of(job.roster, job.late);
    result.missing = names_of(job.roster, job.absent());
    result.doubts = doubts_of(job, finished.said);
    if (result.doubts.empty()) result.rel_error_bound = finished.features.rel_error_bound;
    result.ranks = finished.features.features.train.ranks();
    result.personal_ranks = job.personal_ranks;
    result.rounds = job.rounds;
    if (job.spec.missing) result.imputed = course_of(job).report();
    result.shield = job.shield;
    // Of noised sums everybody may know it; of exact ones nobody measures it.
    if (job.shield && job.shield->error) result.rse = job.shield->error->rse;
    result.schema = finished.schema;
    add_resumed(job, result);
    Errors(job).tell(result);
    add_traffic(job, result);
    return result;
}

}  // namespace couplet::net
