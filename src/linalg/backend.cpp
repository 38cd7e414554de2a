#include "couplet/linalg/backend.hpp"

#include "blas.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/svd.hpp"

namespace couplet {

const char* blas_core_name() { return blas::core_name(); }

const char* blas_library_name() { return blas::library_name(); }

void share_process() noexcept { blas::share_process(); }

void prepare_backend() {
    // Enough to touch the work memory, and for helpers to be awake before it is over.
    constexpr Index rows = 64;
    constexpr Index cols = 2048;
    Matrix<double> a(rows, cols);
    for (Index i = 0; i < a.size(); ++i) a.data()[i] = static_cast<double>(i * 7919 % 1009);
    parallel_for(2 * thread_count(), [&](Index) {
        truncated_svd<double>(a.view(), {.max_rank = 8, .method = SvdMethod::gram});
        truncated_svd<double>(a.view().cols_from(0, rows), {.max_rank = 8, .method = SvdMethod::qr});
    });
}

}  // namespace couplet
