#include "couplet/data/synthetic.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/data/split.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet {
namespace {

// Random streams of one seed: mode n of the features has stream n, patient p has two of its own above them.
constexpr std::uint64_t first_patient_stream = std::uint64_t{1} << 32;

std::uint64_t personal_stream(Index patient) { return first_patient_stream + 2 * static_cast<std::uint64_t>(patient); }

std::uint64_t noise_stream(Index patient) { return personal_stream(patient) + 1; }

Matrix<double> sparse_gaussian(Index rows, Index cols, double density, Random random) {
    Matrix<double> a(rows, cols);
    for (Index i = 0; i < a.size(); ++i) a.data()[i] = random.uniform() < density ? random.normal() : 0.0;
    return a;
}

/// Row r is the Kronecker product of the r-th columns, the last factor fastest: (A_2 . ... . A_N)^T.
Matrix<double> khatri_rao(const std::vector<Matrix<double>>& factors, Index rank, Index columns) {
    Matrix<double> result(rank, columns);
    parallel_for(rank, [&](Index r) {
        double* row = result.view().row(r);
        row[0] = 1;
        Index filled = 1;
        for (const Matrix<double>& a : factors) {
            // From the back, so that a source is read before its place is written.
            for (Index i = filled - 1; i >= 0; --i) {
                const double left = row[i];
                for (Index j = 0; j < a.rows(); ++j) row[i * a.rows() + j] = left * a(j, r);
            }
            filled *= a.rows();
        }
    });
    return result;
}

/// Root of the mean square of an entry of X, over random patients: a^T C a with C the Gram matrix of the Khatri-Rao
/// rows; E[a a^T] is I for a normal a, and I/12 + 11^T/4 for a uniform one.
double expected_deviation(const Matrix<double>& features, PersonalFactor personal) {
    const Matrix<double> c = gram<double>(features, Side::left);
    const double squares = trace(c.view());
    double sum = 0;
    for (Index i = 0; i < c.size(); ++i) sum += c.data()[i];
    const double square = personal == PersonalFactor::gaussian ? squares : squares / 12 + sum / 4;
    return std::sqrt(square / static_cast<double>(features.cols()));
}

}  // namespace

SyntheticClients::SyntheticClients(SyntheticSpec spec, Index clients) : spec_(std::move(spec)), clients_(clients) {
    check_synthetic(spec_);
    const Shape& shape = spec_.shape;
    if (spec_.patients == PatientCount::total) {
        if (clients < 1 || clients > shape[0]) {
            throw InputError({"clients", std::to_string(clients),
                              "a number from 1 to " + std::to_string(shape[0]) + ", the patients in total",
                              "Write patients=each to give every client " + std::to_string(shape[0]) + " patients."});
        }
    } else if (clients < 1 || clients > std::numeric_limits<std::int32_t>::max()) {
        throw InputError({"clients", std::to_string(clients), "a number from 1 to 2147483647", ""});
    } else {
        checked_product(clients, shape[0]);
    }
    for (Index mode = 1; mode < shape.order(); ++mode) {
        features_.push_back(sparse_gaussian(shape[mode], spec_.cp_rank, feature_density(spec_),
                                            Random(spec_.seed, static_cast<std::uint64_t>(mode))));
    }
    khatri_rao_ = khatri_rao(features_, spec_.cp_rank, shape.product(1, shape.order()));
    if (spec_.noise > 0) noise_ = spec_.noise * expected_deviation(khatri_rao_, spec_.personal);
}

Index SyntheticClients::total_patients() const noexcept {
    return spec_.patients == PatientCount::each ? clients_ * spec_.shape[0] : spec_.shape[0];
}

Index SyntheticClients::first_patient(Index k) const {
    if (spec_.patients == PatientCount::each) return k * spec_.shape[0];
    return part_begin(spec_.shape[0], clients_, k);
}

Index SyntheticClients::patients(Index k) const {
    if (k < 0 || k >= clients_) {
        throw InputError({"client", std::to_string(k), "a number from 0 to " + std::to_string(clients_ - 1), ""});
    }
    return first_patient(k + 1) - first_patient(k);
}

Matrix<double> SyntheticClients::personal_factor(Index k) const {
    Matrix<double> a(patients(k), spec_.cp_rank);
    for (Index i = 0; i < a.rows(); ++i) {
        Random random(spec_.seed, personal_stream(first_patient(k) + i));
        for (Index r = 0; r < a.cols(); ++r)
            a(i, r) = spec_.personal == PersonalFactor::gaussian ? random.normal() : random.uniform();
    }
    return a;
}

const Matrix<double>& SyntheticClients::feature_factor(Index mode) const {
    if (mode < 1 || mode >= spec_.shape.order()) {
        throw InputError(
            {"mode", std::to_string(mode), "a number from 1 to " + std::to_string(spec_.shape.order() - 1), ""});
    }
    return features_[static_cast<std::size_t>(mode - 1)];
}

Tensor<double> SyntheticClients::client(Index k) const {
    const Matrix<double> personal = personal_factor(k);
    std::vector<Index> sizes(spec_.shape.sizes().begin(), spec_.shape.sizes().end());
    sizes[0] = personal.rows();
    Tensor<double> tensor{Shape(std::move(sizes))};
    const MatrixView<double> x = tensor.view().unfold(1);
    multiply<double>(personal, Op::none, khatri_rao_, Op::none, x);
    if (noise_ > 0) {
        parallel_for(x.rows, [&](Index i) {
            Random random(spec_.seed, noise_stream(first_patient(k) + i));
            for (Index j = 0; j < x.cols; ++j) x(i, j) += noise_ * random.normal();
        });
    }
    return tensor;
}

}  // namespace couplet
