#pragma once

#include <cstdint>

#include "couplet/core/error.hpp"
#include "couplet/ctt/star.hpp"
#include "couplet/ctt/subspace.hpp"

namespace couplet::net {

/// A coordinator that does otherwise than its job said.
InputError broken_promise(const std::string& found, const std::string& expected);

/// The sums of a job with aggregate subspace: what the job says at its start is all that it may ask for, in this order,
/// and in every attempt anew.
class PromisedSums {
  public:
    PromisedSums(const Job& job, Shape features);

    /// Whether it is one sum, the Gram matrix of the features.
    bool is_gram() const noexcept { return gram_; }
    /// How many there are.
    Index count() const noexcept { return gram_ ? 1 : job_.passes + 1; }
    /// Columns of a sum: of a block, or features of a Gram matrix.
    Index width() const noexcept;
    /// All that they show together.
    Index directions() const noexcept;

    /// The number of this sum among those asked for in its attempt, from 1; one that is asked for again keeps its
    /// number. Throws InputError when it is one too many.
    Index number(std::uint32_t attempt, const SumRequest& request);
    /// Throws InputError for a sum of another kind, wider, or on another basis than promised.
    void require_fitting(const SumRequest& request) const;
    /// Directions that it shows whole. The last one shows none so: it holds a number for every two of its columns.
    Index directions_in(const SumRequest& request) const noexcept;
    /// It will be answered.
    void answer(const SumRequest& request) noexcept;

  private:
    void require_basis(const SumRequest& request) const;

    Job job_;
    Shape features_;
    bool gram_;
    std::uint32_t attempt_ = 0;
    Index asked_ = 0;  ///< different ones, in this attempt
    Index last_pass_ = -1;
};

}  // namespace couplet::net
