#include "couplet/wire/filled_data.hpp"

#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/filling_limits.hpp"

namespace couplet::wire {

FilledData::FilledData(const JobSpec& spec, std::shared_ptr<const Tensor<double>> x, Index place)
    : spec_(spec), x_(std::move(x)), place_(place), schema_(feature_schema(*x_, "client")) {
    fill_first();
}

void FilledData::fill_first() {
    incomplete_.emplace(*x_, spec_.preparation, spec_.job.seed, place_);
    refilled_ = false;
}

void FilledData::follow(const StartNotice& notice) {
    PreparedClient data{schema_, x_, nullptr, 1};
    const Schema job{schema_.features, notice.start.labels};
    std::string moved = follow_schema(data, job, spec_.job.unnamed, "client");
    schema_ = job;
    if (!moved.empty()) {
        reordered_ = std::move(moved);
        x_ = std::move(data.training);
        fill_first();
    } else if (!notice.received && !notice.refilled && refilled_) {
        fill_first();
    }
}

FillSums FilledData::fill(const FeaturesMessage& message) {
    refilled_ = true;
    return told_to_others(incomplete_->take(message.features, *message.filling));
}

PersonalFit FilledData::fit(const FeaturesMessage& message) {
    incomplete_->take(message.features, message.filling.value_or(Filling{0, 1, true}));
    return incomplete_->result();
}

}  // namespace couplet::wire
