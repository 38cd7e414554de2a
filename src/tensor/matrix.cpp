#include "couplet/tensor/matrix.hpp"

#include <algorithm>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {

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
    Matrix result(source.rows, source.cols);
    for (Index i = 0; i < source.rows; ++i) std::copy_n(source.row(i), source.cols, result.view().row(i));
    return result;
}

template <Real T>
Matrix<T> Matrix<T>::adopt(Buffer<T> buffer, Index rows, Index cols) {
    if (buffer.size() < checked_product(rows, cols)) {
        throw InputError({"matrix", "a buffer of " + std::to_string(buffer.size()) + " elements",
                          std::to_string(rows) + "x" + std::to_string(cols), ""});
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
        throw InputError({"reshape", std::to_string(rows) + "x" + std::to_string(cols),
                          "a product of " + std::to_string(size()), ""});
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

template <Real To, class E>
Matrix<To> convert(MatrixView<E> a) {
    Matrix<To> result(a.rows, a.cols);
    for (Index i = 0; i < a.rows; ++i) {
        std::transform(a.row(i), a.row(i) + a.cols, result.view().row(i), [](E x) { return static_cast<To>(x); });
    }
    return result;
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

#define COUPLET_INSTANTIATE(E)                            \
    template Matrix<Element<E>> transpose(MatrixView<E>); \
    template Matrix<float> convert(MatrixView<E>);        \
    template Matrix<double> convert(MatrixView<E>);       \
    template Matrix<Element<E>> leading_columns(MatrixView<E>, Index);
COUPLET_INSTANTIATE(float)
COUPLET_INSTANTIATE(const float)
COUPLET_INSTANTIATE(double)
COUPLET_INSTANTIATE(const double)
#undef COUPLET_INSTANTIATE

}  // namespace couplet
