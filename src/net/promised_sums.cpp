#include "promised_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "couplet/ctt/arrived_cores.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet::net {
namespace {

using Want = SubspaceIteration::Want;

Index block_columns(const Job& job, const Shape& features) {
    const Index p = features.size();
    return std::min(p, std::min(job.rank.value_or(p), p) + job.oversampling);
}

}  // namespace

InputError broken_promise(const std::string& found, const std::string& expected) {
    return InputError({"coordinator", found, expected + ", as the job said at its start", "Nothing was answered."});
}

PromisedSums::PromisedSums(const Job& job, Shape features)
    : job_(job), features_(std::move(features)), gram_(SubspaceIteration(job_, features_).want() == Want::gram) {}

Index PromisedSums::width() const noexcept { return gram_ ? features_.size() : block_columns(job_, features_); }

Index PromisedSums::directions() const noexcept {
    return gram_ ? features_.size() : std::min(features_.size(), job_.passes * width());
}

Index PromisedSums::number(std::uint32_t attempt, const SumRequest& request) {
    if (attempt != attempt_) {
        attempt_ = attempt;
        asked_ = 0;
        last_pass_ = -1;
    }
    if (request.pass != last_pass_) ++asked_;
    if (asked_ > count() || request.pass >= count()) {
        throw broken_promise(fmt::format("sum {} of the job", std::max(asked_, request.pass + 1)),
                             fmt::format("{}", count()));
    }
    return asked_;
}

void PromisedSums::require_fitting(const SumRequest& request) const {
    if (gram_ != (request.want == Want::gram)) {
        throw broken_promise("a sum of another kind", gram_ ? "a Gram matrix" : "a block");
    }
    if (gram_) return;
    // The last basis spans the blocks before it.
    const Index widest = request.want == Want::projected ? directions() : width();
    if (request.basis.cols() > widest) {
        throw broken_promise(fmt::format("a sum {} columns wide", request.basis.cols()),
                             fmt::format("at most {}", widest));
    }
    require_basis(request);
}

void PromisedSums::require_basis(const SumRequest& request) const {
    const bool projected = request.want == Want::projected;
    // Blocks that span everything end the iteration early.
    if (request.pass == 0 ? projected : request.pass == job_.passes && !projected) {
        throw broken_promise(fmt::format("another kind of sum as number {}", request.pass + 1),
                             projected ? "one on the basis that follows from the seed" : "one on what the blocks span");
    }
    if (request.pass == 0) return;  // made here, from the seed
    if (request.basis.rows() != features_.size() || request.basis.cols() < 1 ||
        !is_identity(couplet::gram<double>(request.basis.view(), Side::right))) {
        throw broken_promise("a basis whose columns are not orthonormal", "an orthonormal one");
    }
}

Index PromisedSums::directions_in(const SumRequest& request) const noexcept {
    if (gram_) return features_.size();
    if (request.want == Want::projected) return 0;
    return request.pass == 0 ? width() : request.basis.cols();
}

void PromisedSums::answer(const SumRequest& request) noexcept { last_pass_ = request.pass; }

}  // namespace couplet::net
