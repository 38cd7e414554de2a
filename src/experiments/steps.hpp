#pragma once

#include <string>
#include <utility>

#include "couplet/experiments/experiment.hpp"

namespace couplet {

/// Counts the steps of an experiment for its progress.
class Steps {
  public:
    Steps(const Lab& lab, std::string name, Index total)
        : sink_(lab.settings.progress), name_(std::move(name)), total_(total) {
        report(sink_, name_, 0, total_);
    }
    /// One more is done; the last one must be the last.
    void next() {
        if (done_ < total_) report(sink_, name_, ++done_, total_);
    }

  private:
    const ProgressSink& sink_;
    std::string name_;
    Index total_;
    Index done_ = 0;
};

}  // namespace couplet
