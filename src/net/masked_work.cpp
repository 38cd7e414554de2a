#include "masked_work.hpp"

#include <fmt/format.h>

#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/wire/job_print.hpp"

namespace couplet::net {

Hello veiled(Hello hello) {
    hello.rows = 1;
    hello.norm2 = 0;
    return hello;
}

MaskedWork::MaskedWork(const wire::JobId& job, const wire::JobSpec& spec, Index place, MaskingTools& tools)
    : job_(job), spec_(spec), place_(place), tools_(tools) {}

bool MaskedWork::has_begun(const Start& start) const {
    if (!client_) return false;
    if (start.clients != clients_) {
        throw InputError({"coordinator", fmt::format("a job of {} clients now", start.clients),
                          fmt::format("{}, as it began", clients_), ""});
    }
    if (wire::job_print(spec_, start) == told_) return true;
    throw InputError({"coordinator", "another start of the job", "the one that it began with", ""});
}

void MaskedWork::join(const Start& start, TensorView<const double> training) {
    if (!tools_.notary) {
        throw InputError(
            {"coordinator", "secure sums without TLS", "certificates, whose keys sign", "Leave `insecure` out."});
    }
    clients_ = start.clients;
    told_ = wire::job_print(spec_, start);
    const std::string name = wire::to_hex(job_);
    SecureClient::Options how{.job = job_,
                              .self = static_cast<Party>(place_),
                              .clients = clients_,
                              .told = told_,
                              .demands = tools_.demands,
                              .terms = *spec_.shield,
                              .notary = *tools_.notary,
                              .record = tools_.memory.of(job_),
                              .on_record = [this](const SumRecord& record) { tools_.memory.keep(job_, record); },
                              .on_plan =
                                  [this, name](const ShieldPlan& plan) {
                                      if (tools_.vet_plan) tools_.vet_plan(plan, name);
                                  },
                              .on_sum =
                                  [this, name](const MaskedSum& sum) {
                                      if (tools_.vet_sum) tools_.vet_sum(sum, name);
                                  }};
    client_ = std::make_unique<SecureClient>(spec_.job, training, std::move(how));
}

SecureReply MaskedWork::answer(const SecureRequest& request) {
    if (!client_) throw InputError({"coordinator", "a request of a secure sum", "the start of such a job", ""});
    return client_->answer(request);
}

double MaskedWork::numbers(const SecureRequest& request, const SecureReply& reply) const {
    const auto* masked = std::get_if<MaskedNumbers>(&reply.answer);
    // The counts of patients are no numbers of the data.
    if (masked == nullptr || (request.sum == 0 && !spec_.shield->mu)) return 0;
    return static_cast<double>(client_->sum_length());
}

ShieldReport MaskedWork::report() const {
    ShieldReport report = report_of(*spec_.shield, client_ ? client_->plan() : nullptr);
    if (client_) report.threshold = secure_threshold(*spec_.shield, clients_);
    return report;
}

}  // namespace couplet::net
