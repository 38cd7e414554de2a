#include "narrow.hpp"

#include <algorithm>
#include <cstring>

#include "couplet/core/operations.hpp"
#include "simd.hpp"

namespace couplet {
namespace {

constexpr Index lanes = 8;
constexpr Index widest = 64;
// Numbers of the rows that are multiplied with each other while they are in a first-level cache of 32 KiB.
constexpr Index chunk_numbers = 3072;

static_assert(sizeof(Lanes) == lanes * sizeof(double));

/// 8 x 8 block (bi, bj) of A^T A for `rows` rows of A, added to the same block of g; rows of both are `width` apart.
/// A line from `coming` on is called for with every row: it is there when its turn comes.
COUPLET_INLINE void block_gram(const double* a, Index rows, Index width, Index bi, Index bj, const double* coming,
                               double* g) {
    Lanes sum[lanes] = {};
    for (Index r = 0; r < rows; ++r) {
        const double* row = a + r * width;
        __builtin_prefetch(coming + r * lanes);
        Lanes right;
        load(right, row + bj * lanes);
        for (Index i = 0; i < lanes; ++i) sum[i] += row[bi * lanes + i] * right;
    }
    for (Index i = 0; i < lanes; ++i) {
        Lanes out;
        double* at = g + (bi * lanes + i) * width + bj * lanes;
        load(out, at);
        out += sum[i];
        store(out, at);
    }
}

/// Rows whose width is no multiple of the lanes are filled up with zeros on the way.
COUPLET_INLINE void gram_body(MatrixView<const double> a, Index width, double* g) {
    double filled[chunk_numbers];
    std::fill_n(g, width * width, 0.0);
    const Index chunk = chunk_numbers / width;
    for (Index first = 0; first < a.rows; first += chunk) {
        const Index count = std::min(chunk, a.rows - first);
        const double* rows = a.row(first);
        if (a.cols != width || a.stride != width) {
            for (Index r = 0; r < count; ++r) {
                const double* from = a.row(first + r);
                double* to = filled + r * width;
                Index j = 0;
                for (; j + lanes <= a.cols; j += lanes) std::memcpy(to + j, from + j, lanes * sizeof(double));
                for (; j < a.cols; ++j) to[j] = from[j];
                for (; j < width; ++j) to[j] = 0;
            }
            rows = filled;
        }
        // The blocks together call for more lines than the next rows have.
        const double* coming = a.row(std::min(first + chunk, a.rows - 1));
        for (Index bi = 0; bi < width / lanes; ++bi) {
            for (Index bj = bi; bj < width / lanes; ++bj) {
                block_gram(rows, count, width, bi, bj, coming, g);
                coming += count * lanes;
            }
        }
    }
}

/// Products of 4 rows with 4 rows of `length` numbers, of which only those above the diagonal and on it when both are
/// the same. Lines of `Called` other rows are called for meanwhile.
template <Index Called, bool Same>
COUPLET_INLINE void block_dots(const double* const* left, const double* const* right, Index length,
                               const double* const* coming, double* sums) {
    Lanes sum[4][4] = {};
    Lanes x[4];
    Lanes y;
    const Index whole = length / lanes * lanes;
    for (Index k = 0; k < whole; k += lanes) {
        for (Index c = 0; c < Called; ++c) __builtin_prefetch(coming[c] + k, 0, 2);
        for (Index i = 0; i < 4; ++i) load(x[i], left[i] + k);
        for (Index j = 0; j < 4; ++j) {
            if (Same) {
                y = x[j];
            } else {
                load(y, right[j] + k);
            }
            for (Index i = 0; i < (Same ? j + 1 : 4); ++i) sum[i][j] += x[i] * y;
        }
    }
    // Apart from what is left over: sums that are indexed in a loop of unknown length would live in memory.
    for (Index i = 0; i < 4; ++i) {
        for (Index j = Same ? i : 0; j < 4; ++j) sums[i * 4 + j] = couplet::sum(sum[i][j]);
    }
    for (Index k = whole; k < length; ++k) {
        for (Index i = 0; i < 4; ++i) {
            for (Index j = Same ? i : 0; j < 4; ++j) sums[i * 4 + j] += left[i][k] * right[j][k];
        }
    }
}

/// Lines of `Called` rows of the next chunk are called for with every block of this one: the memory does not rest while
/// what is in cache is multiplied.
template <Index Called>
COUPLET_INLINE void rows_body(MatrixView<const double> a, MatrixView<double> g, bool first) {
    // 4 rows of so many numbers stay in a first-level cache, and all of them in a second-level one.
    constexpr Index chunk = Called > 0 ? 512 : 1024;
    for (Index k = 0; k < a.cols; k += chunk) {
        const Index length = std::min(chunk, a.cols - k);
        const bool overwrite = first && k == 0;
        const double* left[4];
        const double* right[4];
        const double* coming[Called + 1];
        double sums[16];
        Index row = 0;
        const Index next = std::min(k + chunk, a.cols - length);
        for (Index i = 0; i < a.rows; i += 4) {
            for (Index l = 0; l < 4; ++l) left[l] = a.row(std::min(i + l, a.rows - 1)) + k;
            for (Index j = i; j < a.rows; j += 4) {
                for (Index l = 0; l < 4; ++l) right[l] = a.row(std::min(j + l, a.rows - 1)) + k;
                for (Index c = 0; c < Called; ++c) coming[c] = a.row(std::min(row + c, a.rows - 1)) + next;
                row += Called;
                if (i == j) {
                    block_dots<Called, true>(left, right, length, coming, sums);
                } else {
                    block_dots<Called, false>(left, right, length, coming, sums);
                }
                for (Index l = 0; l < std::min<Index>(4, a.rows - i); ++l) {
                    double* out = g.row(i + l);
                    for (Index m = i == j ? l : 0; m < std::min<Index>(4, a.rows - j); ++m) {
                        out[j + m] = overwrite ? sums[l * 4 + m] : out[j + m] + sums[l * 4 + m];
                    }
                }
            }
        }
    }
}

COUPLET_INLINE void vector_body(const double* a, Index rows, Index n, const double* v, double* y) {
    Lanes weights[widest / lanes];
    const Index whole = n / lanes;
    for (Index b = 0; b < whole; ++b) load(weights[b], v + b * lanes);
    for (Index r = 0; r < rows; ++r) {
        const double* row = a + r * n;
        Lanes sum = {};
        for (Index b = 0; b < whole; ++b) {
            Lanes part;
            load(part, row + b * lanes);
            sum += part * weights[b];
        }
        double total = couplet::sum(sum);
        for (Index j = whole * lanes; j < n; ++j) total += row[j] * v[j];
        y[r] = total;
    }
}

/// Rows of a low matrix, and of its image, that are taken at once.
constexpr Index group = 4;

/// Adds the products of 4 rows with `R` times 4 factors to the R rows of `sums`, `width` apart; `count` numbers, a
/// multiple of the lanes. A line of each row from `coming` on is called for meanwhile, where that is given.
template <Index R>
COUPLET_INLINE void add_image(const double* const* rows, const double* factors, Index count,
                              const double* const* coming, double* sums, Index width) {
    Lanes x[group];
    Lanes sum;
    for (Index k = 0; k < count; k += lanes) {
        if (coming != nullptr) {
            for (Index i = 0; i < group; ++i) __builtin_prefetch(coming[i] + k, 0, 2);
        }
        for (Index i = 0; i < group; ++i) load(x[i], rows[i] + k);
        for (Index r = 0; r < R; ++r) {
            load(sum, sums + r * width + k);
            for (Index i = 0; i < group; ++i) sum += factors[r * group + i] * x[i];
            store(sum, sums + r * width + k);
        }
    }
}

/// The image of the rows in pieces that stay in a first-level cache, each row a few lines at a time: long rows whose
/// distance is a power of two would otherwise drive each other out of it.
COUPLET_INLINE void image_body(MatrixView<const double> a, const double* factors, MatrixView<double> c) {
    constexpr Index numbers = 2048;
    constexpr Index widest_piece = 512;
    static constexpr double nothing[widest_piece] = {};  // in place of rows that are not there: 0 times infinity is NaN
    double sums[numbers];
    const Index blocks = (c.rows + group - 1) / group;
    const Index width = std::clamp<Index>(numbers / (blocks * group) / lanes * lanes, lanes, widest_piece);
    const double* rows[group];
    const double* coming[group];
    for (Index k = 0; k < a.cols; k += width) {
        const Index length = std::min(width, a.cols - k);
        const Index whole = length / lanes * lanes;
        std::fill_n(sums, blocks * group * width, 0.0);
        for (Index i = 0; i < a.rows; i += group) {
            const bool last = i + group >= a.rows;
            const Index next = last ? std::min(k + width, a.cols - length) : k;
            for (Index l = 0; l < group; ++l) {
                rows[l] = i + l < a.rows ? a.row(i + l) + k : nothing;
                coming[l] = a.row(std::min(last ? l : i + group + l, a.rows - 1)) + next;
            }
            for (Index b = 0; b < blocks; ++b) {
                const double* own = factors + (i / group * blocks + b) * group * group;
                double* out = sums + b * group * width;
                const double* const* called = b == 0 ? coming : nullptr;
                switch (std::min(group, c.rows - b * group)) {
                    case 1:
                        add_image<1>(rows, own, whole, called, out, width);
                        break;
                    case 2:
                        add_image<2>(rows, own, whole, called, out, width);
                        break;
                    case 3:
                        add_image<3>(rows, own, whole, called, out, width);
                        break;
                    default:
                        add_image<4>(rows, own, whole, called, out, width);
                }
                for (Index j = whole; j < length; ++j) {
                    for (Index r = 0; r < group; ++r) {
                        for (Index l = 0; l < group; ++l) out[r * width + j] += own[r * group + l] * rows[l][j];
                    }
                }
            }
        }
        for (Index r = 0; r < c.rows; ++r) std::copy_n(sums + r * width, length, c.row(r) + k);
    }
}

/// The kernels for one kind of vector instructions.
struct Kernels {
    void (*gram)(MatrixView<const double>, Index, double*);
    void (*rows)(MatrixView<const double>, MatrixView<double>, bool);
    void (*vector)(const double*, Index, Index, const double*, double*);
    void (*image)(MatrixView<const double>, const double*, MatrixView<double>);
};

#define COUPLET_KERNELS(name, attribute)                                                                       \
    attribute void gram_##name(MatrixView<const double> a, Index width, double* g) { gram_body(a, width, g); } \
    attribute void rows_##name(MatrixView<const double> a, MatrixView<double> g, bool first) {                 \
        constexpr Index in_cache = Index{1} << 16;                                                             \
        if (a.size() <= in_cache) return rows_body<0>(a, g, first);                                            \
        rows_body<2>(a, g, first);                                                                             \
    }                                                                                                          \
    attribute void vector_##name(const double* a, Index rows, Index n, const double* v, double* y) {           \
        vector_body(a, rows, n, v, y);                                                                         \
    }                                                                                                          \
    attribute void image_##name(MatrixView<const double> a, const double* factors, MatrixView<double> c) {     \
        image_body(a, factors, c);                                                                             \
    }                                                                                                          \
    constexpr Kernels kernels_##name{gram_##name, rows_##name, vector_##name, image_##name};

COUPLET_FOR_EACH_SIMD_LEVEL(COUPLET_KERNELS)
#undef COUPLET_KERNELS

const Kernels& kernels() { return COUPLET_BEST_OF(kernels); }

}  // namespace

bool is_narrow(Index cols) noexcept { return cols > 0 && cols <= widest; }

void narrow_gram(MatrixView<const double> a, MatrixView<double> g, bool first) {
    count_operations(static_cast<double>(a.size()) * static_cast<double>(a.cols + 1));
    const Index width = (a.cols + lanes - 1) / lanes * lanes;
    double own[widest * widest];
    kernels().gram(a, width, own);
    for (Index i = 0; i < a.cols; ++i) {
        const double* from = own + i * width;
        double* to = g.row(i);
        for (Index j = i; j < a.cols; ++j) to[j] = first ? from[j] : to[j] + from[j];
    }
}

bool is_low(Index rows) noexcept { return is_narrow(rows) && simd_level() == SimdLevel::avx512; }

void low_gram(MatrixView<const double> a, MatrixView<double> g, bool first) {
    count_operations(static_cast<double>(a.size()) * static_cast<double>(a.rows + 1));
    kernels().rows(a, g, first);
}

bool is_low_image(Index rows, Index rank) noexcept { return is_low(rows) && rank > 0 && rank <= 16; }

void low_image(MatrixView<const double> v, MatrixView<const double> a, MatrixView<double> c) {
    count_operations(2 * static_cast<double>(a.size()) * static_cast<double>(v.cols));
    // Factors of four rows of the image and four of the matrix together, zeros beyond both.
    double factors[widest * widest];
    double* to = factors;
    for (Index i = 0; i < a.rows; i += group) {
        for (Index j = 0; j < v.cols; j += group) {
            for (Index r = j; r < j + group; ++r) {
                for (Index l = i; l < i + group; ++l) *to++ = l < a.rows && r < v.cols ? v(l, r) : 0.0;
            }
        }
    }
    kernels().image(a, factors, c);
}

void narrow_times_vector(MatrixView<const double> a, const double* v, double* y) {
    count_operations(2 * static_cast<double>(a.size()));
    kernels().vector(a.data, a.rows, a.cols, v, y);
}

}  // namespace couplet
