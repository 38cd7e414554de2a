#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "couplet/ctt/blocks.hpp"
#include "couplet/tensor/schema.hpp"

namespace couplet {

/// What is done to a client's tensor before the job sees it.
struct Preparation {
    /// Every client's tensor to norm 1 for the job; personal cores are scaled back, errors are those of the job.
    bool scale_clients = false;
    double heldout = 0;  ///< part of each client's patients kept out of the job, 0 <= heldout < 1
    friend bool operator==(const Preparation&, const Preparation&) = default;
};

/// ||X||^2 of a tensor that takes part in a job, where squares travel and add up. Throws InputError, naming `who`, for
/// NaN, for infinity, and for a norm that is neither 0 nor between 1e-75 and 1e75: squares of others could not be told
/// from zero or infinity.
double job_norm2(const TensorView<const double>& x, const std::string& who);

/// One client as the job sees it: training rows, scaled if asked for.
struct PreparedClient {
    Schema schema;  ///< of the features
    std::shared_ptr<const Tensor<double>> training;
    std::shared_ptr<const Tensor<double>> heldout;  ///< null unless asked for; divided by the same scale
    double scale = 1;                               ///< both are the original divided by this
    std::optional<double> norm2 = {};               ///< job_norm2 of the training rows, where it is known
};

/// `client` is its place among the clients, from 0. Throws InputError that names it for NaN or infinity, for a norm
/// that job_norm2 refuses (of the training rows unless they are scaled, and of those held out), and when it is to be
/// scaled for a norm below 2.2e-308 or beyond 1.8e308; and for labels that do not fit.
PreparedClient prepare_client(std::shared_ptr<const Tensor<double>> x, const Preparation& how, std::uint64_t seed,
                              Index client);

/// Puts the data of a client in the job's order. Returns what was done, in words; empty: nothing. Throws InputError
/// that blames `who` where its schema does not fit.
std::string follow_schema(PreparedClient& client, const Schema& job, Unnamed unnamed, const std::string& who);

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
