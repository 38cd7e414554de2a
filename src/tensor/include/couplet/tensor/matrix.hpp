#pragma once

#include <concepts>
#include <type_traits>

#include "couplet/tensor/buffer.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet {

/// The element types of every tensor, matrix and train.
template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;

/// Row-major matrix that somebody else owns: element (i, j) is data[i * stride + j], stride >= cols.
/// `MatrixView<const double>` is read-only.
template <class T>
struct MatrixView {
    T* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    Index stride = 0;

    MatrixView() = default;
    MatrixView(T* d, Index r, Index c) : data(d), rows(r), cols(c), stride(c) {}
    MatrixView(T* d, Index r, Index c, Index s) : data(d), rows(r), cols(c), stride(s) {}
    /// A writable view is also a read-only one.
    operator MatrixView<const T>() const requires(!std::is_const_v<T>) { return {data, rows, cols, stride}; }

    T& operator()(Index i, Index j) const { return data[i * stride + j]; }
    T* row(Index i) const { return data + i * stride; }
    Index size() const { return rows * cols; }
    MatrixView rows_from(Index first, Index count) const { return {row(first), count, cols, stride}; }
    MatrixView cols_from(Index first, Index count) const { return {data + first, rows, count, stride}; }
};

/// Row-major matrix that owns its elements. Elements start uninitialised unless made by zeros().
template <Real T>
class Matrix {
  public:
    Matrix() = default;
    Matrix(Index rows, Index cols) : buffer_(checked_product(rows, cols)), rows_(rows), cols_(cols) {}
    static Matrix zeros(Index rows, Index cols);
    static Matrix identity(Index n);
    static Matrix copy(MatrixView<const T> source);
    /// Takes over a buffer of at least rows * cols elements; throws InputError when it is smaller.
    static Matrix adopt(Buffer<T> buffer, Index rows, Index cols);

    Index rows() const { return rows_; }
    Index cols() const { return cols_; }
    Index size() const { return rows_ * cols_; }
    T* data() { return buffer_.data(); }
    const T* data() const { return buffer_.data(); }
    T& operator()(Index i, Index j) { return data()[i * cols_ + j]; }
    const T& operator()(Index i, Index j) const { return data()[i * cols_ + j]; }
    MatrixView<T> view() { return {data(), rows_, cols_}; }
    MatrixView<const T> view() const { return {data(), rows_, cols_}; }
    operator MatrixView<T>() { return view(); }
    operator MatrixView<const T>() const { return view(); }

    /// Same elements, other sizes with the same product; nothing moves. Throws InputError when the product differs.
    void reshape(Index rows, Index cols);
    Buffer<T> release() &&;

  private:
    Buffer<T> buffer_;
    Index rows_ = 0;
    Index cols_ = 0;
};

/// The functions below take views of constant and of mutable elements alike.
template <class E>
using Element = std::remove_const_t<E>;

template <class E>
Matrix<Element<E>> transpose(MatrixView<E> a);

/// to = from, each element rounded to the type of `to`: the one conversion between float and double. Throws InputError
/// when the sizes differ.
template <class E, Real To>
void convert_into(MatrixView<E> from, MatrixView<To> to);

/// convert_into() a matrix of its own.
template <Real To, class E>
Matrix<To> convert(MatrixView<E> a);

/// Sum of the diagonal, from its first element on. Throws InputError unless the matrix is square.
template <class E>
Element<E> trace(MatrixView<E> a);

/// The leading `count` columns as a matrix of their own; throws InputError when there are fewer.
template <class E>
Matrix<Element<E>> leading_columns(MatrixView<E> a, Index count);

}  // namespace couplet
