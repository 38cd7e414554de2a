#pragma once

namespace couplet {

/// Kernel family the BLAS runs with, for example "SkylakeX". Loads the BLAS on first use; throws RunError
/// when there is none. For benchmarks and bug reports.
const char* blas_core_name();

/// Loads the BLAS and has every thread use it once, so that neither loading nor the library's work memory is part of
/// what is timed next. Costs about a millisecond; calling it is never needed.
void prepare_backend();

}  // namespace couplet
