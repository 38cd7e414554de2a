#include "blas.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/operations.hpp"
#include "couplet/linalg/backend.hpp"
#include "packed.hpp"

// OpenBLAS picks its kernels once, while it is loaded. A distribution's version older than the CPU does not
// know the model and falls back to SSE3 kernels, five times slower than the machine. The documented way to
// name a better family is the environment variable OPENBLAS_CORETYPE, read at load time: hence dlopen instead
// of a link-time dependency.

namespace couplet {
namespace blas {
namespace {

/// A file that may hold OpenBLAS, and what every name in it starts with.
struct Candidate {
    const char* file;
    const char* prefix;
};

/// The copy that the Python wheel brings, found beside whoever asks (RPATH), and the distribution's. The first has a
/// name of its own, so that it is never mistaken for one that NumPy or SciPy brought.
constexpr Candidate bundled{"libcouplet_openblas.so", "scipy_"};
constexpr Candidate system_wide{"libopenblas.so.0", ""};

std::atomic<bool> process_is_shared{false};

/// Sets an environment variable unless the user has, and takes it back at the end of the scope. Does nothing in a
/// process that is not ours: another thread may be reading the environment, which nothing makes safe.
class ScopedDefault {
  public:
    ScopedDefault(const char* name, const char* value)
        : name_(name), ours_(!process_is_shared && std::getenv(name) == nullptr) {
        if (ours_) ::setenv(name, value, 1);
    }
    ~ScopedDefault() {
        if (ours_) ::unsetenv(name_);
    }
    ScopedDefault(const ScopedDefault&) = delete;
    ScopedDefault& operator=(const ScopedDefault&) = delete;

  private:
    const char* name_;
    bool ours_;
};

/// A loaded OpenBLAS.
struct Library {
    void* handle = nullptr;
    Candidate from = system_wide;

    template <class F>
    F symbol(const char* name) const {
        void* address = ::dlsym(handle, (std::string(from.prefix) + name).c_str());
        if (address == nullptr) {
            throw RunError({from.file, std::string("symbol ") + name + " is missing", "OpenBLAS 0.3 with LAPACK",
                            "Install libopenblas0-pthread."});
        }
        return reinterpret_cast<F>(address);
    }
};

/// Nothing when there is no such library.
std::optional<Library> find_library(const Candidate& from) {
    void* handle = ::dlopen(from.file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return std::nullopt;
    return Library{handle, from};
}

const char* better_core(std::string_view chosen) {
#if defined(__x86_64__)
    constexpr std::string_view before_avx[] = {"Prescott",  "Core2",   "Penryn",  "Dunnington",
                                               "Nehalem",   "Atom",    "Katmai",  "Coppermine",
                                               "Northwood", "Generic", "Opteron", "Barcelona"};
    if (std::ranges::find(before_avx, chosen) == std::end(before_avx)) return nullptr;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
        return "SkylakeX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#else
    (void)chosen;
#endif
    return nullptr;
}

/// Loads a copy that nobody else in this process uses, with the best kernels, for one thread: our loops bring theirs.
std::optional<Library> load_for_us(const Candidate& from) {
    const ScopedDefault one_thread("OPENBLAS_NUM_THREADS", "1");
    auto library = find_library(from);
    if (!library) return library;
    const char* core = better_core(library->symbol<char* (*)()>("openblas_get_corename")());
    if (core != nullptr && !process_is_shared && std::getenv("OPENBLAS_CORETYPE") == nullptr) {
        ::dlclose(library->handle);
        const ScopedDefault coretype("OPENBLAS_CORETYPE", core);
        library = find_library(from);
    }
    if (library) library->symbol<void (*)(int)>("openblas_set_num_threads")(1);
    return library;
}

Library load() {
    if (auto library = load_for_us(bundled)) return *library;
    // Another part of the process (a distribution's NumPy, say) may own the library already, or load it later: then its
    // settings are not ours to change.
    void* shared = ::dlopen(system_wide.file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (shared != nullptr) return {shared, system_wide};
    const auto library = process_is_shared ? find_library(system_wide) : load_for_us(system_wide);
    if (library) return *library;
    const char* why = ::dlerror();
    throw RunError({system_wide.file, why != nullptr ? why : "not found", "OpenBLAS on the library path",
                    "Install libopenblas0-pthread."});
}

using I = blasint;

struct Table {
    Library library = load();
#define COUPLET_SYMBOL(type, name) type name = library.symbol<type>(#name)
    COUPLET_SYMBOL(decltype(&::cblas_dgemm), cblas_dgemm);
    COUPLET_SYMBOL(decltype(&::cblas_sgemm), cblas_sgemm);
    COUPLET_SYMBOL(decltype(&::cblas_dsyrk), cblas_dsyrk);
    using Corename = char* (*)();
    COUPLET_SYMBOL(Corename, openblas_get_corename);
    using Sytrd = void (*)(const char*, const I*, double*, const I*, double*, double*, double*, double*, const I*, I*,
                           std::size_t);
    COUPLET_SYMBOL(Sytrd, dsytrd_);
    using Stedc = void (*)(const char*, const I*, double*, double*, double*, const I*, double*, const I*, I*, const I*,
                           I*, std::size_t);
    COUPLET_SYMBOL(Stedc, dstedc_);
    using Sterf = void (*)(const I*, double*, double*, I*);
    COUPLET_SYMBOL(Sterf, dsterf_);
    using Syevd = void (*)(const char*, const char*, const I*, double*, const I*, double*, double*, const I*, I*,
                           const I*, I*, std::size_t, std::size_t);
    COUPLET_SYMBOL(Syevd, dsyevd_);
    template <class T>
    using Qrf = void (*)(const I*, const I*, T*, const I*, T*, T*, const I*, I*);
    COUPLET_SYMBOL(Qrf<double>, dgelqf_);
    COUPLET_SYMBOL(Qrf<float>, sgelqf_);
    COUPLET_SYMBOL(Qrf<double>, dgeqrf_);
    template <class T>
    using Orglq = void (*)(const I*, const I*, const I*, T*, const I*, const T*, T*, const I*, I*);
    COUPLET_SYMBOL(Orglq<double>, dorglq_);
    COUPLET_SYMBOL(Orglq<float>, sorglq_);
    using Gesdd = void (*)(const char*, const I*, const I*, double*, const I*, double*, double*, const I*, double*,
                           const I*, double*, const I*, I*, I*, std::size_t);
    COUPLET_SYMBOL(Gesdd, dgesdd_);
    using Potrf = void (*)(const char*, const I*, double*, const I*, I*, std::size_t);
    COUPLET_SYMBOL(Potrf, dpotrf_);
    using Trtri = void (*)(const char*, const char*, const I*, double*, const I*, I*, std::size_t, std::size_t);
    COUPLET_SYMBOL(Trtri, dtrtri_);
#undef COUPLET_SYMBOL
};

const Table& table() {
    static const Table loaded;
    return loaded;
}

/// Operations of a product with m n k multiplications, and of the textbook algorithms (Golub and Van Loan; divide and
/// conquer without deflation).
double product_operations(Index m, Index n, Index k) {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

double qr_operations(Index m, Index n) {
    const auto least = static_cast<double>(std::min(m, n));
    const auto most = static_cast<double>(std::max(m, n));
    return 2 * least * least * (most - least / 3);
}

double cube(Index n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

void require_success(const char* routine, I info) {
    if (info == 0) return;
    throw RunError({std::string("LAPACK ") + routine, "info = " + std::to_string(info), "convergence",
                    "Check the data for values that differ by more than 1e300."});
}

/// Runs a LAPACK call twice: once to ask for its workspace, once for real.
template <class T, class Call>
void with_workspace(const char* routine, Call call) {
    T wanted = 0;
    I info = call(&wanted, -1);
    require_success(routine, info);
    const I size = std::max<I>(1, static_cast<I>(wanted));
    Buffer<T> work(size);
    require_success(routine, call(work.data(), size));
}

template <class T>
void factorise(const char* name, Table::Qrf<T> routine, Index m, Index n, T* a, Index lda, T* tau) {
    count_operations(qr_operations(m, n));
    const I rows = blas_size(m);
    const I cols = blas_size(n);
    const I stride = blas_size(lda);
    with_workspace<T>(name, [&](T* work, I size) {
        I info = 0;
        routine(&rows, &cols, a, &stride, tau, work, &size, &info);
        return info;
    });
}

template <class T>
void form_rows(const char* name, Table::Orglq<T> routine, Index m, Index n, Index k, T* a, Index lda, const T* tau) {
    count_operations(qr_operations(k, n));
    const I rows = blas_size(m);
    const I cols = blas_size(n);
    const I reflectors = blas_size(k);
    const I stride = blas_size(lda);
    with_workspace<T>(name, [&](T* work, I size) {
        I info = 0;
        routine(&rows, &cols, &reflectors, a, &stride, tau, work, &size, &info);
        return info;
    });
}

CBLAS_TRANSPOSE op(bool trans) { return trans ? CblasTrans : CblasNoTrans; }

}  // namespace

blasint blas_size(Index size) {
    if (size > std::numeric_limits<blasint>::max()) {
        throw InputError({"matrix", "a side of " + std::to_string(size), "at most 2^31 - 1, the limit of BLAS",
                          "Split the tensor along its first mode."});
    }
    return static_cast<blasint>(size);
}

void gemm(bool trans_a, bool trans_b, Index m, Index n, Index k, double alpha, const double* a, Index lda,
          const double* b, Index ldb, double beta, double* c, Index ldc) {
    count_operations(product_operations(m, n, k));
    if (packs_product(m, n, k)) return packed_gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    table().cblas_dgemm(CblasRowMajor, op(trans_a), op(trans_b), blas_size(m), blas_size(n), blas_size(k), alpha, a,
                        blas_size(lda), b, blas_size(ldb), beta, c, blas_size(ldc));
}

void gemm(bool trans_a, bool trans_b, Index m, Index n, Index k, float alpha, const float* a, Index lda, const float* b,
          Index ldb, float beta, float* c, Index ldc) {
    count_operations(product_operations(m, n, k));
    table().cblas_sgemm(CblasRowMajor, op(trans_a), op(trans_b), blas_size(m), blas_size(n), blas_size(k), alpha, a,
                        blas_size(lda), b, blas_size(ldb), beta, c, blas_size(ldc));
}

void syrk(bool trans, Index n, Index k, const double* a, Index lda, double beta, double* c, Index ldc) {
    count_operations(product_operations(n, n + 1, k) / 2);
    if (packs_product(n, n, k)) return packed_syrk(trans, n, k, a, lda, beta, c, ldc);
    table().cblas_dsyrk(CblasRowMajor, CblasUpper, op(trans), blas_size(n), blas_size(k), 1.0, a, blas_size(lda), beta,
                        c, blas_size(ldc));
}

void sytrd(Index n, double* a, double* d, double* e, double* tau) {
    count_operations(4.0 / 3 * cube(n));
    const I order = blas_size(n);
    with_workspace<double>("dsytrd", [&](double* work, I size) {
        I info = 0;
        table().dsytrd_("L", &order, a, &order, d, e, tau, work, &size, &info, 1);
        return info;
    });
}

void stedc(Index n, double* d, double* e, double* z) {
    count_operations(4.0 / 3 * cube(n));
    const I order = blas_size(n);
    std::vector<I> iwork(3 + 5 * static_cast<std::size_t>(n));
    const I iwork_size = static_cast<I>(iwork.size());
    with_workspace<double>("dstedc", [&](double* work, I size) {
        I info = 0;
        table().dstedc_("I", &order, d, e, z, &order, work, &size, iwork.data(), &iwork_size, &info, 1);
        return info;
    });
}

void sterf(Index n, double* d, double* e) {
    const I order = blas_size(n);
    I info = 0;
    table().dsterf_(&order, d, e, &info);
    require_success("dsterf", info);
}

void syevd(Index n, double* a, double* values) {
    count_operations((4.0 / 3 + 4.0 / 3 + 2) * cube(n));
    const I order = blas_size(n);
    std::vector<I> iwork(3 + 5 * static_cast<std::size_t>(n));
    const I iwork_size = static_cast<I>(iwork.size());
    with_workspace<double>("dsyevd", [&](double* work, I size) {
        I info = 0;
        table().dsyevd_("V", "L", &order, a, &order, values, work, &size, iwork.data(), &iwork_size, &info, 1, 1);
        return info;
    });
}

template <>
void gelqf(Index m, Index n, double* a, Index lda, double* tau) {
    factorise("dgelqf", table().dgelqf_, m, n, a, lda, tau);
}

template <>
void gelqf(Index m, Index n, float* a, Index lda, float* tau) {
    factorise("sgelqf", table().sgelqf_, m, n, a, lda, tau);
}

template <>
void orglq(Index m, Index n, Index k, double* a, Index lda, const double* tau) {
    form_rows("dorglq", table().dorglq_, m, n, k, a, lda, tau);
}

template <>
void orglq(Index m, Index n, Index k, float* a, Index lda, const float* tau) {
    form_rows("sorglq", table().sorglq_, m, n, k, a, lda, tau);
}

void geqrf(Index m, Index n, double* a, Index lda, double* tau) {
    factorise("dgeqrf", table().dgeqrf_, m, n, a, lda, tau);
}

void gesdd(Index m, Index n, double* a, double* s, double* u, double* vt) {
    count_operations(3 * product_operations(std::max(m, n), std::min(m, n), std::min(m, n)) +
                     20 * cube(std::min(m, n)));
    const I rows = blas_size(m);
    const I cols = blas_size(n);
    const I least = std::min(rows, cols);
    std::vector<I> iwork(8 * static_cast<std::size_t>(least));
    with_workspace<double>("dgesdd", [&](double* work, I size) {
        I info = 0;
        table().dgesdd_("S", &rows, &cols, a, &rows, s, u, &rows, vt, &least, work, &size, iwork.data(), &info, 1);
        return info;
    });
}

bool potrf(Index n, double* a) {
    count_operations(cube(n) / 3);
    // A row-major upper triangle is a lower one in LAPACK's eyes.
    const I order = blas_size(n);
    I info = 0;
    table().dpotrf_("L", &order, a, &order, &info, 1);
    for (Index i = 1; i < n; ++i) std::fill_n(a + i * n, i, 0.0);
    return info == 0;
}

void trtri(Index n, double* a) {
    count_operations(cube(n) / 3);
    const I order = blas_size(n);
    I info = 0;
    table().dtrtri_("L", "N", &order, a, &order, &info, 1, 1);
    require_success("dtrtri", info);
}

const char* core_name() { return table().openblas_get_corename(); }

const char* library_name() { return table().library.from.file; }

void share_process() noexcept { process_is_shared = true; }

}  // namespace blas

}  // namespace couplet
