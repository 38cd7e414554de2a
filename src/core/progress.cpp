#include "couplet/core/progress.hpp"

namespace couplet {

void report(const ProgressSink& sink, std::string_view phase, std::int64_t done, std::int64_t total) {
    if (sink) sink({phase, done, total});
}

}  // namespace couplet
