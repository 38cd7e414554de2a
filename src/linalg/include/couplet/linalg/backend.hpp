#pragma once

namespace couplet {

/// Kernel family the BLAS runs with, for example "SkylakeX". Loads the BLAS on first use; throws RunError
/// when there is none. For benchmarks and bug reports.
const char* blas_core_name();

}  // namespace couplet
