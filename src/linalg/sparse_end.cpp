#include "couplet/linalg/sparse_end.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/tensor/partition.hpp"

namespace couplet {
namespace {

/// Numbers in the partial results of all parts of a sum together, 128 MiB.
constexpr Index partial_numbers = Index{1} << 24;
constexpr Index most_parts = 8;
/// Rows that are formed at once for a triangle or a residual, in numbers.
constexpr Index dense_numbers = Index{1} << 20;
/// A Gram matrix of this order takes 8 GiB.
constexpr Index largest_gram = Index{1} << 15;

void add_scaled(double factor, const double* from, Index count, double* to) {
    for (Index j = 0; j < count; ++j) to[j] += factor * from[j];
}

/// Sums of `rows` x `cols` numbers over groups, in parts that depend on the sizes alone.
template <class Add>
Matrix<double> sum_over_groups(Index groups, Index rows, Index cols, const Add& add) {
    const Index affordable = std::max<Index>(1, partial_numbers / std::max<Index>(1, rows * cols));
    const auto parts = Partition::even(groups, std::min(most_parts, affordable), 64);
    std::vector<Matrix<double>> sums(static_cast<std::size_t>(parts.count()));
    parallel_for(parts.count(), [&](Index p) {
        auto& sum = sums[static_cast<std::size_t>(p)];
        sum = Matrix<double>::zeros(rows, cols);
        for (Index g = parts.begin(p); g < parts.end(p); ++g) add(g, sum);
    });
    Matrix<double> total = std::move(sums.front());
    const auto bands = Partition::blocks(total.size(), Index{1} << 16);
    parallel_for(bands.count(), [&](Index band) {
        for (std::size_t p = 1; p < sums.size(); ++p) {
            add_scaled(1, sums[p].data() + bands.begin(band), bands.length(band), total.data() + bands.begin(band));
        }
    });
    return total;
}

void mirror_upper(Matrix<double>& a) {
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index j = 0; j < i; ++j) a(i, j) = a(j, i);
    }
}

void require_gram(Index order) {
    if (order <= largest_gram) return;
    throw InputError({"tensor",
                      "an end of " + std::to_string(order) + " numbers, whose second moments need " +
                          std::to_string(order * order / (Index{1} << 27)) + " GiB",
                      "at most " + std::to_string(largest_gram) + " numbers where only an error limits the rank",
                      "Give `max_rank`: a small rank is found without second moments."});
}

}  // namespace

Summary SparseEnd::summarise(Summary::Kind kind) const {
    if (kind == Summary::Kind::gram) {
        require_gram(order_);
        auto gram = sum_over_groups(blocks_.groups(), order_, order_,
                                    [&](Index group, Matrix<double>& sum) { add_gram(group, sum); });
        mirror_upper(gram);
        return Summary::of(kind, std::move(gram), terms_);
    }
    Summary triangle(kind, order_);
    const Index per_group = rows_per_group();
    const Index step = std::max<Index>(1, std::max(dense_numbers, 2 * order_ * order_) / (order_ * per_group));
    for (Index first = 0; first < blocks_.groups(); first += step) {
        const Index count = std::min(step, blocks_.groups() - first);
        auto rows = Matrix<double>::zeros(count * per_group, order_);
        for (Index g = 0; g < count; ++g) densify(first + g, rows.view().rows_from(g * per_group, per_group));
        triangle.add<double>(rows.view());
    }
    return Summary::of(kind, std::move(triangle).release(), terms_);
}

double SparseEnd::squared_norm() const {
    const auto size = static_cast<Index>(blocks_.values.size());
    return couplet::squared_norm<double>(MatrixView<const double>(blocks_.values.data(), 1, size));
}

void SparseEnd::image(Index first, Index count, MatrixView<const double> v, MatrixView<double> out) const {
    const auto parts = Partition::even(count, 64, 64);
    parallel_for(parts.count(), [&](Index p) {
        for (Index g = parts.begin(p); g < parts.end(p); ++g) {
            multiply_group(first + g, v, out.row(g * rows_per_group()));
        }
    });
}

Matrix<double> SparseEnd::apply_gram(MatrixView<const double> q) const {
    const Index per_group = rows_per_group();
    return sum_over_groups(blocks_.groups(), order_, q.cols, [&](Index group, Matrix<double>& sum) {
        thread_local std::vector<double> z;
        z.resize(static_cast<std::size_t>(per_group * q.cols));
        multiply_group(group, q, z.data());
        add_back(group, MatrixView<const double>(z.data(), per_group, q.cols), sum.view());
    });
}

Summary SparseEnd::summarise_image(Summary::Kind kind, const Matrix<double>& v) const {
    Summary summary(kind, v.cols());
    const Index per_group = rows_per_group();
    const Index step = std::max<Index>(1, (Index{1} << 22) / (v.cols() * per_group));
    for (Index first = 0; first < blocks_.groups(); first += step) {
        const Index count = std::min(step, blocks_.groups() - first);
        Matrix<double> rows(count * per_group, v.cols());
        image(first, count, v.view(), rows.view());
        summary.add<double>(rows.view());
    }
    return Summary::of(kind, std::move(summary).release(), terms_);
}

double SparseEnd::residual_norm2(const Matrix<double>& v) const {
    const Index per_group = rows_per_group();
    const Index step = std::max<Index>(1, dense_numbers / (order_ * per_group));
    const auto parts = Partition::blocks(blocks_.groups(), step);
    std::vector<double> sums(static_cast<std::size_t>(parts.count()));
    parallel_for(parts.count(), [&](Index p) {
        const Index count = parts.length(p);
        auto rest = Matrix<double>::zeros(count * per_group, order_);
        for (Index g = 0; g < count; ++g) densify(parts.begin(p) + g, rest.view().rows_from(g * per_group, per_group));
        const auto coefficients = product<double>(rest.view(), v.view());
        multiply<double>(coefficients.view(), Op::none, v.view(), Op::transpose, rest.view(), -1.0, 1.0);
        sums[static_cast<std::size_t>(p)] = couplet::squared_norm<double>(rest.view());
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    return total;
}

void SparseRows::add_gram(Index group, Matrix<double>& gram) const {
    const Index width = blocks().width;
    const Index last = blocks().last(group);
    for (Index b = blocks().first(group); b < last; ++b) {
        for (Index t = 0; t < width; ++t) {
            double* const row = gram.data() + (blocks().place(b) * width + t) * order();
            const double factor = blocks().block(b)[t];
            for (Index c = b; c < last; ++c)
                add_scaled(factor, blocks().block(c), width, row + blocks().place(c) * width);
        }
    }
}

void SparseRows::multiply_group(Index group, MatrixView<const double> v, double* out) const {
    const Index width = blocks().width;
    std::fill_n(out, v.cols, 0.0);
    for (Index b = blocks().first(group); b < blocks().last(group); ++b) {
        for (Index t = 0; t < width; ++t) {
            add_scaled(blocks().block(b)[t], v.row(blocks().place(b) * width + t), v.cols, out);
        }
    }
}

void SparseRows::add_back(Index group, MatrixView<const double> z, MatrixView<double> y) const {
    const Index width = blocks().width;
    for (Index b = blocks().first(group); b < blocks().last(group); ++b) {
        for (Index t = 0; t < width; ++t) {
            add_scaled(blocks().block(b)[t], z.row(0), z.cols, y.row(blocks().place(b) * width + t));
        }
    }
}

void SparseRows::densify(Index group, MatrixView<double> out) const {
    const Index width = blocks().width;
    for (Index b = blocks().first(group); b < blocks().last(group); ++b) {
        std::copy_n(blocks().block(b), width, out.row(0) + blocks().place(b) * width);
    }
}

void SparseColumns::add_gram(Index group, Matrix<double>& gram) const {
    const Index first = blocks().first(group);
    const Index count = blocks().last(group) - first;
    const Index width = blocks().width;
    if (width < 8) {
        for (Index i = 0; i < count; ++i) {
            double* const row = gram.data() + blocks().place(first + i) * order();
            for (Index j = i; j < count; ++j) {
                double dot = 0;
                for (Index t = 0; t < width; ++t) dot += blocks().block(first + i)[t] * blocks().block(first + j)[t];
                row[blocks().place(first + j)] += dot;
            }
        }
        return;
    }
    const auto own = couplet::gram<double>(MatrixView<const double>(blocks().block(first), count, width), Side::left);
    for (Index i = 0; i < count; ++i) {
        double* const row = gram.data() + blocks().place(first + i) * order();
        for (Index j = i; j < count; ++j) row[blocks().place(first + j)] += own(i, j);
    }
}

void SparseColumns::multiply_group(Index group, MatrixView<const double> v, double* out) const {
    const Index width = blocks().width;
    std::fill_n(out, width * v.cols, 0.0);
    for (Index b = blocks().first(group); b < blocks().last(group); ++b) {
        for (Index t = 0; t < width; ++t) {
            add_scaled(blocks().block(b)[t], v.row(blocks().place(b)), v.cols, out + t * v.cols);
        }
    }
}

void SparseColumns::add_back(Index group, MatrixView<const double> z, MatrixView<double> y) const {
    const Index width = blocks().width;
    for (Index b = blocks().first(group); b < blocks().last(group); ++b) {
        for (Index t = 0; t < width; ++t) add_scaled(blocks().block(b)[t], z.row(t), z.cols, y.row(blocks().place(b)));
    }
}

void SparseColumns::densify(Index group, MatrixView<double> out) const {
    for (Index b = blocks().first(group); b < blocks().last(group); ++b) {
        for (Index t = 0; t < blocks().width; ++t) out(t, blocks().place(b)) = blocks().block(b)[t];
    }
}

}  // namespace couplet
