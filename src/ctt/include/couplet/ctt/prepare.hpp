#pragma once

#include <cstdint>
#include <memory>

#include "couplet/ctt/blocks.hpp"

namespace couplet {

/// What is done to a client's tensor before the job sees it.
struct Preparation {
    /// Every client's tensor to norm 1 for the job; personal cores are scaled back, errors are those of the job.
    bool scale_clients = false;
    double heldout = 0;  ///< part of each client's patients kept out of the job, 0 <= heldout < 1
    friend bool operator==(const Preparation&, const Preparation&) = default;
};

/// One client as the job sees it: training rows, scaled if asked for.
struct PreparedClient {
    std::shared_ptr<const Tensor<double>> training;
    std::shared_ptr<const Tensor<double>> heldout;  ///< null unless asked for
    double scale = 1;                               ///< the tensor is the original divided by this
};

/// `client` is its place among the clients, from 0. Throws InputError that names it for NaN or infinity.
PreparedClient prepare_client(std::shared_ptr<const Tensor<double>> x, const Preparation& how, std::uint64_t seed,
                              Index client);

/// Squared error and norm of the held-out patients on frozen features, in the units of the job; zeros without any.
struct HeldOutError {
    double error2 = 0;
    double norm2 = 0;
};
HeldOutError heldout_error(const PreparedClient& client, const Features& features);

/// The personal core in the units of the client's own data.
Matrix<double> scaled_back(const Matrix<double>& personal, double scale);

/// Parts of a client's patients: those who take part and those held out, chosen by the seed.
struct HeldOut {
    Tensor<double> training;
    Tensor<double> heldout;  ///< may have no rows
};
HeldOut hold_out(const TensorView<const double>& x, double fraction, std::uint64_t seed, Index client);

}  // namespace couplet
