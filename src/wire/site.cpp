#include "couplet/wire/site.hpp"

#include <algorithm>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/wire/envelope.hpp"
#include "couplet/wire/stopwatch.hpp"

namespace couplet::wire {
namespace {

constexpr const char* coordinator = "coordinator";
/// What a coordinator may send to a client with such features, decoded: a few bytes could ask for any memory otherwise.
/// No honest message has more numbers than a basis of the whole space and its sums.
Limits limits_for(const Tensor<double>& x) {
    double features = 1;
    for (Index n = 1; n < x.shape().order(); ++n) features *= static_cast<double>(x.shape()[n]);
    constexpr double room = 1 << 20;  // for whatever is not numbers
    const double bytes = std::min(8 * (2 * features * features + features) + room, 1e18);
    return {.max_payload_bytes = static_cast<Index>(bytes), .max_head_bytes = most_chunk_bytes};
}

}  // namespace

void refuse_centring(const JobSpec& spec) {
    if (!spec.centring.any()) return;
    throw InputError({coordinator, "a job that centres or scales its features", "one that takes them as they are",
                      "couplet coordinator and couplet client do it."});
}

Site::Site(const Message& welcome, std::shared_ptr<const Tensor<double>> x)
    : job_(welcome.route.job),
      spec_(std::get<Welcome>(welcome.body).spec),
      place_(std::get<Welcome>(welcome.body).place) {
    const Stopwatch watch(seconds_);
    if (spec_.shield) {
        // Its sums are masked by keys that the clients' certificates sign; bytes that somebody carries have none.
        throw InputError({coordinator, "a job of secure sums", "a plain one", "Use couplet client for it."});
    }
    refuse_centring(spec_);
    if (spec_.missing) {
        x_ = std::move(x);
        schema_ = feature_schema(*x_, "client");
        fill_first();
    } else {
        star_.emplace(spec_.job, prepare_complete(std::move(x)));
    }
    hello_ = star_->hello();
}

const Message* Site::answer(const Message& question) {
    const bool known = answer_ && answer_->route == question.route;
    if (const auto* features = std::get_if<FeaturesMessage>(&question.body)) {
        return known ? &*answer_ : fill(question.route, *features);
    }
    const auto* notice = std::get_if<StartNotice>(&question.body);
    if (notice != nullptr && spec_.missing) {
        follow(*notice);
        if (notice->received) return nullptr;
    }
    if (notice != nullptr && notice->received) {
        // Only the printed method needs here what it computed at the start.
        if (!known && spec_.job.aggregate == Aggregate::average) compute(*notice);
        star_->follow(notice->start);
        return nullptr;
    }
    if (known) return &*answer_;
    const Stopwatch watch(seconds_);
    std::optional<FromClient> reply;
    if (notice != nullptr) {
        reply = star_->receive(notice->start);
    } else {
        reply = star_->receive(complete(std::get<SumRequest>(question.body)));
    }
    if (!reply) return nullptr;
    if (auto* upload = std::get_if<Upload>(&*reply)) {
        count(static_cast<double>(upload->block->numbers()), serialised_bytes(*upload));
        sent_rank_ = upload->block->rows();
        answer_.emplace(Message{question.route, std::move(*upload)});
    } else {
        auto& sum = std::get<SumReply>(*reply);
        count(static_cast<double>(sum.sum->size()), serialised_bytes(sum));
        answer_.emplace(Message{question.route, std::move(sum)});
    }
    return &*answer_;
}

void Site::fit(FeaturesMessage message) {
    if (result_.personal_rank > 0) return;  // told again
    const Stopwatch watch(seconds_);
    result_.numbers_down += static_cast<double>(message.features.numbers());
    result_.bytes_down += static_cast<double>(serialised_bytes(message));
    result_.rel_error_bound = message.rel_error_bound;
    result_.features = message.features.clone();
    PersonalFit fit;
    HeldOutError heldout;
    if (incomplete_) {
        incomplete_->take(message.features, message.filling.value_or(Filling{0, 1, true}));
        fit = incomplete_->result();
        result_.personal = std::move(fit.personal);
        result_.settled = !message.filling || message.filling->settled;
        result_.schema = schema_;
    } else {
        star_->receive(ToClient(std::move(message)));
        const PersonalFit& own = star_->result();
        heldout = heldout_error(star_->data(), result_.features);
        fit.norm2 = own.norm2;
        fit.error2 = own.error2;
        result_.personal = scaled_back(own.personal, star_->data().scale);
        result_.schema = star_->schema();
    }
    result_.reordered = reordered();
    result_.personal_rank = sent_rank_ > 0 ? sent_rank_ : result_.personal.cols();
    result_.rse = fit.norm2 > 0 ? fit.error2 / fit.norm2 : 0;
    if (spec_.preparation.heldout > 0) {
        result_.rse_heldout = heldout.norm2 > 0 ? heldout.error2 / heldout.norm2 : 0;
    }
    report_ = {result_.personal_rank, fit.error2, fit.norm2, heldout.error2, heldout.norm2, 0};
}

Message Site::report() {
    report_.seconds = seconds_;
    return {{protocol_version, job_, 0, 0}, report_};
}

SiteResult& Site::result() {
    result_.job = to_hex(job_);
    result_.spec = spec_;
    result_.seconds_client = seconds_;
    return result_;
}

PreparedClient Site::prepare_complete(std::shared_ptr<const Tensor<double>> x) const {
    try {
        return prepare_client(std::move(x), spec_.preparation, spec_.job.seed, place_);
    } catch (const InputError& error) {
        ErrorParts parts = error.parts();
        if (parts.found.starts_with("NaN")) {
            parts.remedy = "Ask for a coordinator with --missing impute, or replace or remove missing values first.";
        }
        throw InputError(std::move(parts));
    }
}

void Site::fill_first() {
    incomplete_.emplace(*x_, spec_.preparation, spec_.job.seed, place_);
    show();
    refilled_ = false;
}

void Site::show() { star_.emplace(spec_.job, PreparedClient{schema_, incomplete_->filled(), nullptr, 1}); }

void Site::follow(const StartNotice& notice) {
    const Stopwatch watch(seconds_);
    PreparedClient data{schema_, x_, nullptr, 1};
    std::string moved = follow_schema(data, {hello_.features, notice.start.labels}, spec_.job.unnamed, "client");
    schema_ = {hello_.features, notice.start.labels};
    if (!moved.empty()) {
        reordered_ = std::move(moved);
        x_ = std::move(data.training);
        fill_first();
    } else if (!notice.received && !notice.refilled && refilled_) {
        fill_first();
    } else {
        show();
    }
}

const Message* Site::fill(const Route& route, const FeaturesMessage& message) {
    if (!incomplete_) {
        throw InputError({coordinator, "features to fill entries from", "a job with --missing impute", ""});
    }
    const Stopwatch watch(seconds_);
    if (!message.filling->answered) {
        result_.numbers_down += static_cast<double>(message.features.train.parameters());
        result_.bytes_down += static_cast<double>(serialised_bytes(message));
    }
    const FillSums sums = incomplete_->take(message.features, *message.filling);
    refilled_ = true;
    show();
    if (message.filling->answered) {
        answer_.reset();  // what it was answered from is as it was before
        return nullptr;
    }
    answer_.emplace(Message{route, sums});
    return &*answer_;
}

SumRequest Site::complete(const SumRequest& request) {
    auto basis = Matrix<double>::copy(request.basis.view());
    if (request.pass == 0 && request.want == SubspaceIteration::Want::sketch) {
        const SubspaceIteration first(spec_.job, hello_.features);
        basis = Matrix<double>::copy(first.basis().view());
    }
    if (request.want != SubspaceIteration::Want::gram && basis.rows() != hello_.features.size()) {
        throw InputError({coordinator, "a basis of " + std::to_string(basis.rows()) + " rows",
                          std::to_string(hello_.features.size()), ""});
    }
    result_.numbers_down += request.pass == 0 ? 0 : static_cast<double>(request.basis.size());
    result_.bytes_down += static_cast<double>(serialised_bytes(request));
    return {request.pass, request.want, std::move(basis)};
}

void Site::compute(const StartNotice& notice) {
    const Stopwatch watch(seconds_);
    star_->receive(notice.start);
}

void Site::count(double numbers, Index bytes) {
    result_.numbers_up += numbers;
    result_.bytes_up += static_cast<double>(bytes);
}

namespace {

[[noreturn]] void no_question(const Message& message) {
    throw InputError({coordinator, std::string(to_string(message.kind())), "another message now", ""});
}

bool is_question(const Message& message) {
    return message.kind() == Kind::start || message.kind() == Kind::sum_request || message.kind() == Kind::features;
}

}  // namespace

Answer answer_all(std::string_view bytes, std::shared_ptr<const Tensor<double>> x, const Vetting& vet) {
    const auto agree = [&](const Message& message) {
        if (vet) vet(message);
    };
    std::vector<Message> messages = unpack(bytes, coordinator, limits_for(*x));
    if (messages.empty()) throw InputError({coordinator, "no message", "a welcome first", ""});
    if (!std::holds_alternative<Welcome>(messages.front().body)) no_question(messages.front());
    agree(messages.front());
    Site site(messages.front(), std::move(x));
    if (messages.size() == 1) return {pack(site.hello())};
    const Message* reply = nullptr;
    for (std::size_t i = 1; i < messages.size(); ++i) {
        Message& message = messages[i];
        if (!is_question(message) || message.route.job != site.job()) no_question(message);
        agree(message);
        auto* features = std::get_if<FeaturesMessage>(&message.body);
        if (features == nullptr || !is_final(*features)) {
            reply = site.answer(message);
            if (reply != nullptr) agree(*reply);
            continue;
        }
        if (i + 1 != messages.size()) no_question(message);
        site.fit(std::move(*features));
        return {pack(site.report()), std::move(site.result())};
    }
    if (reply == nullptr) no_question(messages.back());
    return {pack(*reply)};
}

}  // namespace couplet::wire
