#include "couplet/linalg/backend.hpp"

#include "blas.hpp"

namespace couplet {

const char* blas_core_name() { return blas::core_name(); }

const char* blas_library_name() { return blas::library_name(); }

void share_process() noexcept { blas::share_process(); }

void prepare_backend() { blas::core_name(); }

}  // namespace couplet
