#include "couplet/wire/site.hpp"

#include <algorithm>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/secure/shield_report.hpp"
#include "couplet/wire/encoder.hpp"
#include "couplet/wire/envelope.hpp"
#include "couplet/wire/job_print.hpp"

namespace couplet::wire {
namespace {

constexpr const char* coordinator = "coordinator";
/// What a coordinator may send to a client with such features, decoded: a few bytes could ask for any memory otherwise.
/// No honest message has more numbers than a basis of the whole space and its sums.
Limits limits_for(const Tensor<double>& x) {
    double features = 1;
    for (Index n = 1; n < x.shape().order(); ++n) features *= static_cast<double>(x.shape()[n]);
    constexpr double room = 1 << 20;  // for whatever is not numbers
    constexpr double counts = 8.0 * static_cast<double>(census_length);
    const double bytes = std::min(8 * (2 * features * features + features) + counts + room, 1e18);
    return {.max_payload_bytes = static_cast<Index>(bytes), .max_head_bytes = most_chunk_bytes};
}

}  // namespace

void refuse_centring(const JobSpec& spec) {
    if (!spec.centring.any()) return;
    throw InputError({coordinator, "a job that centres or scales its features", "one that takes them as they are",
                      "couplet coordinator and couplet client do it."});
}

Site::Site(const Message& welcome, std::shared_ptr<const Tensor<double>> x, SiteOptions options)
    : options_(std::move(options)),
      job_(welcome.route.job),
      spec_(std::get<Welcome>(welcome.body).spec),
      place_(std::get<Welcome>(welcome.body).place) {
    const Stopwatch watch(seconds_);
    if (spec_.shield) {
        if (!options_.secure) {
            throw InputError({coordinator, "a job of secure sums", "one that this site has keys for",
                              "Give the site the kit that couplet provision made for it."});
        }
        require_private_preparation(*spec_.shield, spec_.preparation);
    }
    refuse_centring(spec_);
    if (spec_.missing) {
        filled_.emplace(spec_, std::move(x), place_);
        show();
    } else {
        star_.emplace(spec_.job, prepare_complete(std::move(x)));
    }
    hello_ = star_->hello();
}

/// Where only sums are seen nobody learns how many patients there are, nor how long their records.
Message Site::hello() const {
    Hello hello = hello_;
    if (spec_.shield) {
        hello.rows = 1;
        hello.norm2 = 0;
    }
    return {{protocol_version, job_, 0, 0}, std::move(hello)};
}

const Message* Site::answer(const Message& question) {
    const bool known = answer_ && answer_->route == question.route;
    if (const auto* request = std::get_if<SecureRequest>(&question.body)) {
        return known ? &*answer_ : answer_secure(question, *request);
    }
    if (const auto* features = std::get_if<FeaturesMessage>(&question.body)) {
        return known ? &*answer_ : fill(question.route, *features);
    }
    const auto* notice = std::get_if<StartNotice>(&question.body);
    // Whoever has agreed to masked sums has not agreed to show its own.
    if (notice == nullptr && spec_.shield) {
        throw InputError({coordinator, std::string(to_string(question.kind())),
                          "steps of secure sums alone, as the job said at its start", "Nothing was answered."});
    }
    if (notice != nullptr && spec_.shield) {
        begin_secure(notice->start);
        return nullptr;
    }
    if (notice != nullptr && spec_.missing) {
        const Stopwatch watch(seconds_);
        filled_->follow(*notice);
        show();
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

Report take_final(FeaturesMessage message, const JobSpec& spec, StarClient& star, FilledData* filled, Index sent_rank,
                  SiteResult& result) {
    result.numbers_down += static_cast<double>(message.features.numbers());
    result.bytes_down += static_cast<double>(serialised_bytes(message));
    result.rel_error_bound = message.rel_error_bound;
    result.features = message.features.clone();
    PersonalFit fit;
    HeldOutError heldout;
    if (filled != nullptr) {
        fit = filled->fit(message);
        result.personal = std::move(fit.personal);
        result.settled = !message.filling || message.filling->settled;
        result.schema = filled->schema();
        result.reordered = filled->reordered();
    } else {
        star.receive(ToClient(std::move(message)));
        const PersonalFit& own = star.result();
        heldout = heldout_error(star.data(), result.features);
        fit.norm2 = own.norm2;
        fit.error2 = own.error2;
        result.personal = scaled_back(own.personal, star.data().scale);
        result.schema = star.schema();
        result.reordered = star.reordered();
    }
    result.personal_rank = sent_rank > 0 ? sent_rank : result.personal.cols();
    result.rse = fit.norm2 > 0 ? fit.error2 / fit.norm2 : 0;
    if (spec.preparation.heldout > 0) result.rse_heldout = heldout.norm2 > 0 ? heldout.error2 / heldout.norm2 : 0;
    return {result.personal_rank, fit.error2, fit.norm2, heldout.error2, heldout.norm2, 0};
}

void Site::fit(FeaturesMessage message) {
    if (result_.personal_rank > 0) return;  // told again
    const Stopwatch watch(seconds_);
    report_ = take_final(std::move(message), spec_, *star_, filled_ ? &*filled_ : nullptr, sent_rank_, result_);
    if (!spec_.shield) return;
    report_ = {result_.personal_rank, 0, 0, 0, 0, 0};
    result_.shield = shield_report();
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
            parts.remedy = "Ask for a coordinator with `missing` impute, or replace or remove missing values first.";
        }
        throw InputError(std::move(parts));
    }
}

void Site::show() { star_.emplace(spec_.job, filled_->prepared()); }

const Message* Site::fill(const Route& route, const FeaturesMessage& message) {
    if (!filled_) {
        throw InputError({coordinator, "features to fill entries from", "a job with `missing` impute", ""});
    }
    const Stopwatch watch(seconds_);
    if (!message.filling->answered) {
        result_.numbers_down += static_cast<double>(message.features.train.parameters());
        result_.bytes_down += static_cast<double>(serialised_bytes(message));
    }
    const FillSums sums = filled_->fill(message);
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

/// What the sums are of does not change under them.
void Site::begin_secure(const Start& start) {
    if (secure_start_ && job_print(spec_, start) != job_print(spec_, *secure_start_)) {
        throw InputError({coordinator, "another start of the job", "the one that it began with", ""});
    }
    if (secure_start_) return;
    star_->follow(start);
    secure_start_ = start;
}

void Site::join_secure() {
    if (secure_) return;
    if (!spec_.shield || !secure_start_) {
        throw InputError({coordinator, "a request of a secure sum", "the start of such a job", ""});
    }
    tools_ = options_.secure(job_);
    SecureClient::Options how{.job = job_,
                              .self = static_cast<Party>(place_),
                              .clients = secure_start_->clients,
                              .told = job_print(spec_, *secure_start_),
                              .demands = tools_->demands,
                              .terms = *spec_.shield,
                              .notary = tools_->notary,
                              .record = tools_->record,
                              .on_record = tools_->on_record,
                              .on_plan = tools_->on_plan,
                              .on_sum = tools_->on_sum,
                              .root = [this] { return Secret(next_root_); }};
    secure_ = std::make_unique<SecureClient>(spec_.job, star_->data().training->view(), std::move(how));
    next_root_ = tools_->journal.root;
    for (const Message& asked : unpack(tools_->journal.requests, "this site's journal")) {
        secure_->recall(std::get<SecureRequest>(asked.body));
    }
}

const Message* Site::answer_secure(const Message& question, const SecureRequest& request) {
    join_secure();
    const Stopwatch watch(seconds_);
    const bool keys = std::holds_alternative<AskKeys>(request.ask);
    SumJournal journal = tools_->journal;
    if (keys) journal = {Secret::random().bytes(), {}};
    journal.requests += pack(question);
    next_root_ = journal.root;
    const auto write = [&] {
        tools_->journal = journal;
        if (tools_->on_step) tools_->on_step(tools_->journal);
    };
    // Keys that are refused must leave what was answered before; everything else is answered once at most.
    if (!keys) write();
    SecureReply reply = secure_->answer(request);
    if (keys) write();
    if (const auto* ask = std::get_if<AskNumbers>(&request.ask)) {
        result_.numbers_down += static_cast<double>(ask->basis.size());
    }
    answer_.emplace(Message{question.route, std::move(reply)});
    result_.bytes_up += static_cast<double>(encoded_bytes(*answer_));
    return &*answer_;
}

ShieldReport Site::shield_report() const {
    ShieldReport report = report_of(*spec_.shield, nullptr);
    report.threshold = secure_threshold(*spec_.shield, secure_start_ ? secure_start_->clients : 0);
    return report;
}

namespace {

[[noreturn]] void no_question(const Message& message) {
    throw InputError({coordinator, std::string(to_string(message.kind())), "another message now", ""});
}

bool is_question(const Message& message) {
    return message.kind() == Kind::start || message.kind() == Kind::sum_request || message.kind() == Kind::features ||
           message.kind() == Kind::secure_request;
}

}  // namespace

Answer answer_all(std::string_view bytes, std::shared_ptr<const Tensor<double>> x, const SiteOptions& options) {
    const auto agree = [&](const Message& message) {
        if (options.vet) options.vet(message);
    };
    std::vector<Message> messages = unpack(bytes, coordinator, limits_for(*x));
    if (messages.empty()) throw InputError({coordinator, "no message", "a welcome first", ""});
    if (!std::holds_alternative<Welcome>(messages.front().body)) no_question(messages.front());
    agree(messages.front());
    Site site(messages.front(), std::move(x), options);
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
