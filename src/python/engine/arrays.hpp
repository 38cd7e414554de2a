#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "couplet/tt/tensor_train.hpp"

namespace couplet::python {

namespace nb = nanobind;

/// A NumPy array as it lies in memory: C order, not copied. Read-only ones are welcome.
template <Real T>
using ArrayIn = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
/// A NumPy array that owns what the engine computed; nothing is copied.
template <Real T>
using ArrayOut = nb::ndarray<nb::numpy, T>;

template <Real T>
Shape shape_of(const ArrayIn<T>& x) {
    std::vector<Index> sizes;
    for (std::size_t n = 0; n < x.ndim(); ++n) sizes.push_back(static_cast<Index>(x.shape(n)));
    return Shape(std::move(sizes));
}

template <Real T>
TensorView<const T> view_of(const ArrayIn<T>& x) {
    return {x.data(), shape_of<T>(x)};
}

/// Moves the memory of an owner with data() into an array of this shape.
template <Real T, class Owner>
ArrayOut<T> to_array(Owner owner, const Shape& shape) {
    auto* kept = new Owner(std::move(owner));
    const nb::capsule free(kept, [](void* p) noexcept { delete static_cast<Owner*>(p); });
    std::vector<std::size_t> sizes(shape.sizes().begin(), shape.sizes().end());
    return ArrayOut<T>(kept->data(), sizes.size(), sizes.data(), free);
}

template <Real T>
ArrayOut<T> to_array(Tensor<T> tensor) {
    const Shape shape = tensor.shape();
    return to_array<T>(std::move(tensor), shape);
}

template <Real T>
ArrayOut<T> to_array(Matrix<T> matrix) {
    const Shape shape{matrix.rows(), matrix.cols()};
    return to_array<T>(std::move(matrix), shape);
}

/// The cores as arrays R_{n-1} x I_n x R_n.
template <Real T>
nb::list to_arrays(TensorTrain<T> train) {
    nb::list cores;
    for (Tensor<T>& core : std::move(train).release()) cores.append(to_array(std::move(core)));
    return cores;
}

/// A train of copies: cores are small, and a train owns its own.
template <Real T>
TensorTrain<T> to_train(const std::vector<ArrayIn<T>>& cores) {
    std::vector<Tensor<T>> tensors;
    for (const auto& core : cores) tensors.push_back(Tensor<T>::copy(view_of<T>(core)));
    return TensorTrain<T>(std::move(tensors));
}

}  // namespace couplet::python
