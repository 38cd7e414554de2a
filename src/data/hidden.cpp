#include "couplet/data/hidden.hpp"

#include <limits>
#include <string>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"

namespace couplet {
namespace {

// Above the streams of the synthetic generator, so that a mask never repeats the numbers of the data it hides.
constexpr std::uint64_t first_stream = std::uint64_t{1} << 48;

}  // namespace

void hide_entries(TensorView<double> x, const HiddenEntries& how) {
    if (!(how.fraction >= 0 && how.fraction <= 1)) {
        throw InputError({"missing fraction", std::to_string(how.fraction), "a number from 0 to 1", ""});
    }
    if (how.fraction == 0 || x.size() == 0) return;
    const double hidden = how.as == MissingAs::nan ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    const auto rows = x.unfold(1);
    parallel_for(rows.rows, [&](Index i) {
        Random random(how.seed, first_stream + static_cast<std::uint64_t>(how.first_patient + i));
        double* row = rows.row(i);
        for (Index j = 0; j < rows.cols; ++j) {
            if (random.uniform() < how.fraction) row[j] = hidden;
        }
    });
}

}  // namespace couplet
