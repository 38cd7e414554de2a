#pragma once

namespace couplet {

/// Kernel family the BLAS runs with, for example "SkylakeX". Loads the BLAS on first use; throws RunError
/// when there is none. For benchmarks and bug reports.
const char* blas_core_name();

/// Name of the library the BLAS comes from: "libcouplet_openblas.so", which the Python wheel brings, or
/// "libopenblas.so.0". Loads it on first use, as above.
const char* blas_library_name();

/// Says that this process belongs to another program, such as Python with a BLAS of its own and threads alive. The
/// environment is then never changed, not even while the BLAS is loaded, and a library that others may use too keeps
/// its settings. Call it before anything is computed.
void share_process() noexcept;

/// Loads the BLAS, so that this is no part of what is timed next. Takes some 4 ms the first time; calling it is never
/// needed.
void prepare_backend();

}  // namespace couplet
