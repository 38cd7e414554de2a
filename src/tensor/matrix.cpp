#include "couplet/tensor/matrix.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

std::string size_text(Index rows, Index cols) { return std::to_string(rows) + "x" + std::to_string(cols); }

}  // namespace

template <Real T>
Matrix<T> Matrix<T>::zeros(Index rows, Index cols) {
    Matrix result(rows, cols);
    std::fill_n(result.data(), result.size(), T(0));
    return result;
}

template <Real T>
Matrix<T> Matrix<T>::identity(Index n) {
    Matrix result = zeros(n, n);
    for (Index i = 0; i < n; ++i) result(i, i) = 1;
    return result;
}

template <Real T>
Matrix<T> Matrix<T>::copy(MatrixView<const T> source) {
    return convert<T>(source);
}

template <Real T>
Matrix<T> Matrix<T>::adopt(Buffer<T> buffer, Index rows, Index cols) {
    if (buffer.size() < checked_product(rows, cols)) {
        throw InputError(
            {"matrix", "a buffer of " + std::to_string(buffer.size()) + " elements", size_text(rows, cols), ""});
    }
    Matrix result;
    result.buffer_ = std::move(buffer);
    result.rows_ = rows;
    result.cols_ = cols;
    return result;
}

template <Real T>
void Matrix<T>::reshape(Index rows, Index cols) {
    if (checked_product(rows, cols) != size()) {
        throw InputError({"reshape", size_text(rows, cols), "a product of " + std::to_string(size()), ""});
    }
    rows_ = rows;
    cols_ = cols;
}

template <Real T>
Buffer<T> Matrix<T>::release() && {
    rows_ = cols_ = 0;
    return std::move(buffer_);
}

template <class E>
Matrix<Element<E>> transpose(MatrixView<E> a) {
    constexpr Index tile = 32;
    Matrix<Element<E>> result(a.cols, a.rows);
    for (Index i0 = 0; i0 < a.rows; i0 += tile) {
        for (Index j0 = 0; j0 < a.cols; j0 += tile) {
            for (Index i = i0; i < std::min(i0 + tile, a.rows); ++i) {
                for (Index j = j0; j < std::min(j0 + tile, a.cols); ++j) result(j, i) = a(i, j);
            }
        }
    }
    return result;
}

template <class E, Real To>
void convert_into(MatrixView<E> from, MatrixView<To> to) {
    if (from.rows != to.rows || from.cols != to.cols) {
        throw InputError({"conversion", size_text(from.rows, from.cols), size_text(to.rows, to.cols), ""});
    }
    for (Index i = 0; i < from.rows; ++i) {
        if constexpr (std::same_as<Element<E>, To>) {
            std::copy_n(from.row(i), from.cols, to.row(i));
        } else {
            std::transform(from.row(i), from.row(i) + from.cols, to.row(i), [](E x) { return static_cast<To>(x); });
        }
    }
}

template <Real To, class E>
Matrix<To> convert(MatrixView<E> a) {
    Matrix<To> result(a.rows, a.cols);
    convert_into(a, result.view());
    return result;
}

template <class E>
Element<E> trace(MatrixView<E> a) {
    if (a.rows != a.cols) throw InputError({"trace", size_text(a.rows, a.cols), "a square matrix", ""});
    Element<E> sum = 0;
    for (Index i = 0; i < a.rows; ++i) sum += a(i, i);
    return sum;
}

template <class E>
Matrix<Element<E>> leading_columns(MatrixView<E> a, Index count) {
    if (count < 0 || count > a.cols) {
        throw InputError({"columns to keep", std::to_string(count), "0 to " + std::to_string(a.cols), ""});
    }
    return Matrix<Element<E>>::copy(a.cols_from(0, count));
}

template class Matrix<float>;
template class Matrix<double>;

#define COUPLET_INSTANTIATE(E)                                     \
    template Matrix<Element<E>> transpose(MatrixView<E>);          \
    template void convert_into(MatrixView<E>, MatrixView<float>);  \
    template void convert_into(MatrixView<E>, MatrixView<double>); \
    template Matrix<float> convert(MatrixView<E>);                 \
    template Matrix<double> convert(MatrixView<E>);                \
    template Element<E> trace(MatrixView<E>);                      \
    template Matrix<Element<E>> leading_columns(MatrixView<E>, Index);
COUPLET_INSTANTIATE(float)
COUPLET_INSTANTIATE(const float)
COUPLET_INSTANTIATE(double)
COUPLET_INSTANTIATE(const double)
#undef COUPLET_INSTANTIATE

}  // namespace couplet
