#include "centred_data.hpp"

#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/budget.hpp"
#include "couplet/ctt/star.hpp"

namespace couplet::net {

PreparedClient prepare_complete(std::shared_ptr<const Tensor<double>> x, const Preparation& how, std::uint64_t seed,
                                Index place) {
    try {
        return prepare_client(std::move(x), how, seed, place);
    } catch (const InputError& error) {
        ErrorParts parts = error.parts();
        if (parts.found.starts_with("NaN")) {
            parts.remedy = "Ask for a coordinator with `missing` impute, or replace or remove missing values first.";
        }
        throw InputError(std::move(parts));
    }
}

Job paid_job(const wire::JobSpec& spec, const Shape& features, Index clients) {
    Job job = spec.job;
    pay_for_centring(job.bytes, job.bytes_total, features.size(), spec.centring, {clients, 1});
    return job;
}

CentredData::CentredData(const wire::JobSpec& spec, std::shared_ptr<const Tensor<double>> x, Index place)
    : spec_(spec), x_(std::move(x)), place_(place), schema_(feature_schema(*x_, "client")) {}

void CentredData::follow(const Start& start) {
    const Schema job{schema_.features, start.labels};
    PreparedClient data{schema_, x_, nullptr, 1};
    std::string done = follow_schema(data, job, spec_.job.unnamed, "client");
    schema_ = job;
    if (done.empty()) return;
    reordered_ = std::move(done);
    x_ = std::move(data.training);
    centring_ = {};
    moved_.reset();
}

Released<std::vector<double>> CentredData::sums() const {
    const Preparation training{.scale_clients = false, .heldout = spec_.preparation.heldout};
    const PreparedClient data = prepare_complete(x_, training, spec_.job.seed, place_);
    return release_sums(feature_sums(data.training->view(), spec_.centring));
}

bool CentredData::move(const Centring& by) {
    if (moved_ && centring_ == by) return false;
    Tensor<double> moved = centred(x_->view(), by, "coordinator");
    if (!schema_.modes.empty()) {
        Labels labels{ModeLabels{}};
        labels.insert(labels.end(), schema_.modes.begin(), schema_.modes.end());
        moved.set_labels(std::move(labels));
    }
    moved_ = prepare_complete(std::make_shared<const Tensor<double>>(std::move(moved)), spec_.preparation,
                              spec_.job.seed, place_);
    centring_ = by;
    return true;
}

const PreparedClient& CentredData::moved() const {
    if (!moved_) throw RunError({"client", "data that is not centred yet", "a centring first", ""});
    return *moved_;
}

}  // namespace couplet::net
