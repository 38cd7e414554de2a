#include "client_work.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/net/doubts.hpp"
#include "couplet/secure/shield_plan.hpp"

namespace couplet::net {
namespace {

constexpr const char* coordinator = "coordinator";

}  // namespace

ClientWork::ClientWork(const wire::Message& welcome, std::shared_ptr<const Tensor<double>> x, MaskingTools& tools)
    : job_(welcome.route.job), spec_(std::get<wire::Welcome>(welcome.body).spec) {
    const Index place = std::get<wire::Welcome>(welcome.body).place;
    const Stopwatch watch(seconds_);
    if (spec_.shield) require_private_preparation(*spec_.shield, spec_.preparation);
    if (spec_.missing) {
        filled_.emplace(spec_, std::move(x), place);
        show_filled();
    } else {
        if (spec_.centring.any()) centred_.emplace(spec_, x, place);
        star_.emplace(spec_.job, prepare_complete(std::move(x), spec_.preparation, spec_.job.seed, place));
    }
    if (spec_.shield) masked_.emplace(job_, spec_, place, tools);
    hello_ = star_->hello();
}

wire::Message ClientWork::hello() const {
    return {{wire::protocol_version, job_, 0, 0}, masked_ ? veiled(hello_) : hello_};
}

const std::string& ClientWork::reordered() const {
    if (filled_) return filled_->reordered();
    return centred_ ? centred_->reordered() : star_->reordered();
}

const wire::Message* ClientWork::answer(const wire::Message& question) {
    const wire::Route& route = question.route;
    if (masked_) return answer_masked(question);
    if (const auto* notice = std::get_if<wire::StartNotice>(&question.body)) return answer_start(route, *notice);
    if (is_known(route)) return &*answer_;
    if (const auto* features = std::get_if<FeaturesMessage>(&question.body)) return fill(route, *features);
    if (const auto* request = std::get_if<wire::CentringRequest>(&question.body)) return centre(route, *request);
    if (const auto* request = std::get_if<SumRequest>(&question.body)) return answer_sum(route, *request);
    throw InputError({coordinator, fmt::format("{}", wire::to_string(question.kind())), "a question of this job", ""});
}

const wire::Message* ClientWork::answer_masked(const wire::Message& question) {
    if (const auto* notice = std::get_if<wire::StartNotice>(&question.body)) {
        if (masked_->has_begun(notice->start)) return nullptr;
        star_->follow(notice->start);
        masked_->join(notice->start, star_->data().training->view());
        return nullptr;
    }
    const auto* request = std::get_if<SecureRequest>(&question.body);
    // Whoever has agreed to masked sums has not agreed to show its own.
    if (request == nullptr) {
        throw InputError({coordinator, fmt::format("{}", wire::to_string(question.kind())),
                          "steps of secure sums alone, as the job said at its start", "Nothing was answered."});
    }
    if (is_known(question.route)) return &*answer_;
    const Stopwatch watch(seconds_);
    SecureReply reply = masked_->answer(*request);
    if (const auto* ask = std::get_if<AskNumbers>(&request->ask)) {
        result_.numbers_down += static_cast<double>(ask->basis.size());
    }
    result_.numbers_up += masked_->numbers(*request, reply);
    keep(question.route, std::move(reply));
    return &*answer_;
}

const wire::Message* ClientWork::answer_start(const wire::Route& route, const wire::StartNotice& notice) {
    const Stopwatch watch(seconds_);
    begin(route.attempt, notice);
    all_norm2_ = notice.start.norm2 + notice.start.earlier_norm2;
    clients_ = notice.start.clients;
    if (filled_) {
        filled_->follow(notice);
        show_filled();
        if (notice.received) return nullptr;
    }
    if (centred_) {
        centred_->follow(notice.start);
        if (!notice.refilled) return nullptr;  // the sums come first
    }
    if (notice.received) {
        // Only the printed method needs here what it computed at the start.
        if (!is_known(route) && spec_.job.aggregate == Aggregate::average) star_->receive(notice.start);
        star_->follow(notice.start);
        return nullptr;
    }
    return is_known(route) ? &*answer_ : keep_counted(route, star_->receive(notice.start));
}

const wire::Message* ClientWork::answer_sum(const wire::Route& route, const SumRequest& request) {
    if (spec_.job.aggregate != Aggregate::subspace) {
        throw InputError({coordinator, "a request for a sum", "a job with aggregate subspace", ""});
    }
    const Stopwatch watch(seconds_);
    return keep_counted(route, star_->receive(with_basis(request)));
}

const wire::Message* ClientWork::keep(const wire::Route& route, wire::Body body) {
    answer_.emplace(wire::Message{route, std::move(body)});
    return &*answer_;
}

const wire::Message* ClientWork::keep_counted(const wire::Route& route, std::optional<FromClient> reply) {
    if (!reply) return nullptr;
    if (auto* upload = std::get_if<Upload>(&*reply)) {
        result_.numbers_up += static_cast<double>(upload->block->numbers());
        result_.bytes_up += static_cast<double>(serialised_bytes(*upload));
        sent_rank_ = upload->block->rows();
        return keep(route, std::move(*upload));
    }
    auto& sum = std::get<SumReply>(*reply);
    result_.numbers_up += static_cast<double>(sum.sum->size());
    result_.bytes_up += static_cast<double>(serialised_bytes(sum));
    return keep(route, std::move(sum));
}

/// The first basis comes from the seed and does not travel.
SumRequest ClientWork::with_basis(const SumRequest& request) {
    auto basis = Matrix<double>::copy(request.basis.view());
    if (request.pass == 0 && request.want == SubspaceIteration::Want::sketch) {
        const SubspaceIteration first(spec_.job, hello_.features);
        basis = Matrix<double>::copy(first.basis().view());
    }
    if (request.want != SubspaceIteration::Want::gram && basis.rows() != hello_.features.size()) {
        throw InputError(
            {coordinator, fmt::format("a basis of {} rows", basis.rows()), std::to_string(hello_.features.size()), ""});
    }
    result_.numbers_down += request.pass == 0 ? 0 : static_cast<double>(request.basis.size());
    result_.bytes_down += static_cast<double>(serialised_bytes(request));
    return {request.pass, request.want, std::move(basis)};
}

/// Tells sums over the patients who take part, or moves the data by those over everybody's and tells its norm.
const wire::Message* ClientWork::centre(const wire::Route& route, const wire::CentringRequest& request) {
    if (!centred_)
        throw InputError({coordinator, "a centring", "a job that does not centre, as it said at its start", ""});
    const Stopwatch watch(seconds_);
    if (request.centring.empty()) return keep(route, SumReply{0, centred_->sums()});
    // Told again, nothing changes: what was computed from it stays.
    if (centred_->move(request.centring)) {
        star_.emplace(paid_job(spec_, hello_.features, clients_), centred_->moved());
        answer_.reset();
    }
    if (request.answered) return nullptr;
    const CentringTraffic cost = centring_traffic(hello_.features.size(), spec_.centring);
    result_.numbers_up += cost.numbers_up;
    result_.numbers_down += cost.numbers_down;
    result_.bytes_up += cost.bytes_up;
    result_.bytes_down += cost.bytes_down;
    return keep(route, SumReply{1, release_norm2(star_->hello().norm2)});
}

/// Fits what is known to the features and fills the rest.
const wire::Message* ClientWork::fill(const wire::Route& route, const FeaturesMessage& message) {
    if (!filled_) {
        throw InputError({coordinator, "features to fill entries from", "a job with `missing` impute", ""});
    }
    const Stopwatch watch(seconds_);
    if (!message.filling->answered) {
        result_.numbers_down += static_cast<double>(message.features.train.parameters());
        result_.bytes_down += static_cast<double>(serialised_bytes(message));
    }
    const FillSums sums = filled_->fill(message);
    show_filled();
    if (!message.filling->answered) return keep(route, sums);
    answer_.reset();  // what it was answered from is as it was before
    return nullptr;
}

void ClientWork::show_filled() { star_.emplace(spec_.job, filled_->prepared()); }

/// An attempt that begins anew leaves nothing of the one before in the result, and its bytes do not count: the
/// coordinator's figures are those of the same messages.
void ClientWork::begin(std::uint32_t attempt, const wire::StartNotice& notice) {
    if (std::exchange(attempt_, attempt) == attempt || notice.refilled) return;
    result_.numbers_up = result_.numbers_down = 0;
    result_.bytes_up = result_.bytes_down = 0;
}

void ClientWork::fit(FeaturesMessage message) {
    if (result_.personal_rank > 0) return;  // told again
    const Stopwatch watch(seconds_);
    report_ = wire::take_final(std::move(message), spec_, *star_, filled_ ? &*filled_ : nullptr, sent_rank_, result_);
    result_.reordered = reordered();
    if (centred_) result_.centring = centred_->centring();
    if (!filled_) result_.data = star_->data();
    const double error2 = report_.error2;
    if (masked_) {
        report_ = {result_.personal_rank, 0, 0, 0, 0, 0};
        result_.shield = masked_->report();
    }
    doubt_bound(error2);
}

void ClientWork::doubt_bound(double error2) {
    if (!result_.rel_error_bound || !contradicts(error2, *result_.rel_error_bound, all_norm2_)) return;
    result_.doubt = fmt::format(
        "this client's error alone is {:.3g} of all norms together, where the bound is "
        "{:.3g}: what was merged is not what it sent, or somebody's norm is not true",
        std::sqrt(error2 / all_norm2_), *result_.rel_error_bound);
    result_.rel_error_bound.reset();
}

wire::Message ClientWork::report() {
    report_.seconds = seconds_;
    return {{wire::protocol_version, job_, 0, 0}, report_};
}

ClientResult& ClientWork::result() {
    result_.job = wire::to_hex(job_);
    result_.spec = spec_;
    result_.seconds_client = seconds_;
    return result_;
}

}  // namespace couplet::net
