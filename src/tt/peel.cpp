#include "peel.hpp"

#include <algorithm>

#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

/// Core of a basis (own x rank), own = bond * size: left (bond, size, rank) or right (rank, size, bond).
Tensor<double> core_of(const Matrix<double>& basis, Side side, Index size, Index bond) {
    const Index rank = basis.cols();
    if (side == Side::left) {
        auto copy = Matrix<double>::copy(basis.view());
        return Tensor<double>({bond, size, rank}, std::move(copy).release());
    }
    return Tensor<double>({rank, size, bond}, transpose(basis.view()).release());
}

bool is_identity(const Basis& basis) { return basis.extent == Extent::whole; }

/// (own index, other index) offsets in an order that puts the peeled index `inner` of size s where `side` has
/// it: first for a left end, last for a right one.
struct SplitIndex {
    Index s;
    Index o;
    Side side;
    Index operator()(Index inner, Index outer) const {
        return side == Side::left ? inner * o + outer : outer * s + inner;
    }
};

/// Sum over the outer index of g((j, i), (j', i)).
Matrix<double> partial_trace(const Matrix<double>& g, const SplitIndex& at) {
    auto result = Matrix<double>::zeros(at.s, at.s);
    for (Index i = 0; i < at.o; ++i) {
        for (Index j = 0; j < at.s; ++j) {
            for (Index l = 0; l < at.s; ++l) result(j, l) += g(at(j, i), at(l, i));
        }
    }
    return result;
}

/// Rows of s x (o cols) or (o s) x cols mapped by V^T on the peeled index.
Matrix<double> map_rows(const Matrix<double>& m, const Matrix<double>& v, const SplitIndex& at) {
    const Index r = v.cols();
    Matrix<double> result(r * at.o, m.cols());
    if (at.side == Side::left) {
        const MatrixView<const double> flat(m.data(), at.s, at.o * m.cols());
        multiply<double>(v.view(), Op::transpose, flat, Op::none, {result.data(), r, at.o * m.cols()});
        return result;
    }
    for (Index i = 0; i < at.o; ++i) {
        const MatrixView<const double> block(m.data() + i * at.s * m.cols(), at.s, m.cols());
        multiply<double>(v.view(), Op::transpose, block, Op::none, {result.data() + i * r * m.cols(), r, m.cols()});
    }
    return result;
}

/// (I x V)^T g (I x V), or with the factors swapped at a left end.
Matrix<double> compress(const Matrix<double>& g, const Matrix<double>& v, const SplitIndex& at) {
    const auto half = map_rows(g, v, at);
    return map_rows(transpose(half.view()), v, at);
}

/// Bookkeeping shared by both routes: what one bond's basis adds to the end.
class EndBuilder {
  public:
    EndBuilder(Side side, Index own) : side_(side), own_(own) {}

    void add(const Basis& basis, Index size, Index bond, const SplitIndex& at) {
        end_.cores.push_back(core_of(basis.vectors, side_, size, bond));
        end_.tails2.push_back(basis.tail2);
        end_.rank_limited = end_.rank_limited || basis.rank_limited;
        end_.rank = basis.vectors.cols();
        if (is_identity(basis)) return;
        if (!end_.map && at.o == 1) {
            end_.map = Matrix<double>::copy(basis.vectors.view());
            return;
        }
        // The map so far takes own indices to (bond index, outer); the new basis acts on the peeled part of
        // that.
        if (!end_.map) end_.map = Matrix<double>::identity(own_);
        end_.map = transpose(map_rows(transpose(end_.map->view()), basis.vectors, at).view());
    }
    PeeledEnd finish() && {
        if (side_ == Side::right) std::ranges::reverse(end_.cores);
        return std::move(end_);
    }
    PeeledEnd& end() { return end_; }

  private:
    Side side_;
    Index own_;
    PeeledEnd end_;
};

/// Sizes of the group from the outside in.
std::vector<Index> outside_in(std::vector<Index> modes, Side side) {
    if (side == Side::right) std::ranges::reverse(modes);
    return modes;
}

}  // namespace

PeeledEnd peel_gram(Matrix<double> g, Side side, const std::vector<Index>& modes, Index bond,
                    const std::vector<SvdOptions>& cuts, Index terms) {
    const double norm2 = trace(g.view());
    EndBuilder builder(side, g.rows());
    std::size_t cut = 0;
    for (const Index size : outside_in(modes, side)) {
        const SvdOptions& options = cuts[cut++];
        const SplitIndex at{bond * size, g.rows() / (bond * size), side};
        const Index summed = terms * at.o;  // a partial trace adds up more of them
        const auto basis = at.o == 1 ? basis_from_gram(g.view(), options, summed)
                           : options.max_tail == 0 && options.max_rank >= at.s
                               ? Basis{Matrix<double>::identity(at.s), {}, 0, false, SvdMethod::gram, Extent::whole}
                               : basis_from_gram(partial_trace(g, at).view(), options, summed);
        const double floor = gram_floor(at.s, summed);
        builder.end().trusted = builder.end().trusted && gram_suffices(basis, norm2, options.max_tail, floor);
        builder.add(basis, size, bond, at);
        if (!is_identity(basis) && at.o > 1) g = compress(g, basis.vectors, at);
        bond = basis.vectors.cols();
    }
    return std::move(builder).finish();
}

PeeledEnd peel_factor(Matrix<double> s, Side side, const std::vector<Index>& modes, Index bond,
                      const std::vector<SvdOptions>& cuts) {
    EndBuilder builder(side, s.cols());
    builder.end().method = SvdMethod::qr;
    // Columns as rows: the own index leads, so that left and right ends share map_rows.
    auto columns = transpose(s.view());
    std::size_t cut = 0;
    for (const Index size : outside_in(modes, side)) {
        const SvdOptions& options = cuts[cut++];
        const SplitIndex at{bond * size, columns.rows() / (bond * size), side};
        Matrix<double> factor;  // (other) x (peeled index)
        if (side == Side::left) {
            factor = transpose(MatrixView<const double>(columns.data(), at.s, at.o * columns.cols()));
        } else {
            factor = transpose(columns.view());
            factor.reshape(factor.size() / at.s, at.s);
        }
        const auto basis = basis_from_factor(factor.view(), options);
        builder.add(basis, size, bond, at);
        if (!is_identity(basis)) columns = map_rows(columns, basis.vectors, at);
        bond = basis.vectors.cols();
    }
    return std::move(builder).finish();
}

PeeledEnd peel_basis(const Basis& basis, Side side, Index size, Index bond) {
    EndBuilder builder(side, bond * size);
    builder.end().method = basis.method;
    builder.add(basis, size, bond, {bond * size, 1, side});
    return std::move(builder).finish();
}

PeeledEnd peel_nothing(Side side, const std::vector<Index>& modes, Index bond) {
    PeeledEnd result;
    for (const Index size : outside_in(modes, side)) {
        auto identity = Matrix<double>::identity(bond * size);
        const Shape shape = side == Side::left ? Shape{bond, size, bond * size} : Shape{bond * size, size, bond};
        result.cores.emplace_back(shape, std::move(identity).release());
        bond *= size;
    }
    if (side == Side::right) std::ranges::reverse(result.cores);
    result.rank = bond;
    return result;
}

}  // namespace couplet
