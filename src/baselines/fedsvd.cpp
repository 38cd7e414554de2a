#include "fedsvd.hpp"

#include <cmath>
#include <utility>

#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/qr.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/sim/reference.hpp"

namespace couplet {
namespace {

// The source leaves the size of blocks to its user; this one makes masking cost less than the SVD on all our data.
constexpr Index largest_block = 256;
constexpr std::uint64_t feature_stream = 0x6665'6473'7664'0000;
constexpr std::uint64_t patient_stream = feature_stream + 1;

/// What the server finds: Sigma V^T of the masked rows, R x P.
Matrix<double> dominant_rows(const Matrix<double>& stack, const BondLimit& limit, std::uint64_t seed) {
    const double norm = std::sqrt(squared_norm<double>(stack.view()));
    const auto basis = dominant_basis<double>(stack.view(), Side::right,
                                              {.max_tail = limit.eps * norm, .max_rank = limit.max_rank, .seed = seed});
    if (basis.extent == Extent::whole) {  // nothing was cut, nor decomposed: any rows of the same Gram matrix will do
        Matrix<double> all = Matrix<double>::copy(stack.view());
        return all.rows() > all.cols() ? orthonormalise_columns<double>(all.view()) : std::move(all);
    }
    auto rows = transpose(basis.vectors.view());
    for (Index r = 0; r < rows.rows(); ++r) {
        for (Index j = 0; j < rows.cols(); ++j) rows(r, j) *= basis.sigma[static_cast<std::size_t>(r)];
    }
    return rows;
}

/// A client's own work on what came down: mask off, then the train of the features.
Features unmask_features(const Matrix<double>& masked, const OrthogonalMask& mask, const Shape& client,
                         TtSvdOptions how) {
    auto rows = mask.unmask_columns(masked.view());
    std::vector<Index> sizes(client.sizes().begin(), client.sizes().end());
    sizes[0] = rows.rows();
    how.bonds.front() = {0, unlimited_rank};  // the server has cut it
    return features_of(Tensor<double>(Shape(std::move(sizes)), std::move(rows).release()).view(), how);
}

}  // namespace

Matrix<double> masked_upload(MatrixView<const double> x, const OrthogonalMask& features, std::uint64_t seed,
                             Index client) {
    const OrthogonalMask own(x.rows, largest_block, seed, patient_stream + static_cast<std::uint64_t>(client));
    return own.mask_rows(features.mask_columns(x).view());
}

SimulationResult run_fedsvd(const ClientSource& source, SimulationOptions options) {
    const Job job = reference_job(source, options);
    SimulationRun run(source, options, job);
    auto& result = run.result;
    const auto clients = gather_clients(run);
    const Shape& shape = clients.front().training->shape();
    const Index columns = shape.product(1, shape.order());
    Index rows = 0;
    std::vector<Index> first;
    for (const auto& client : clients) {
        first.push_back(rows);
        rows += client.training->shape()[0];
    }
    const OrthogonalMask features_mask(columns, largest_block, job.seed, feature_stream);
    Traffic traffic;
    traffic.down(1, run.clients());  // the seed of the common mask, from whoever holds the key
    Matrix<double> stack(rows, columns);
    run.for_clients(
        "mask",
        [&](Index k) {
            const auto at = static_cast<std::size_t>(k);
            const auto masked = masked_upload(clients[at].training->view().unfold(1), features_mask, job.seed, k);
            std::copy_n(masked.data(), masked.size(), stack.view().row(first[at]));
        },
        [&](Index k) { traffic.up(static_cast<double>(clients[static_cast<std::size_t>(k)].training->size())); });
    const TtSvdOptions bonds = reference_bonds(job, shape.order());
    Matrix<double> masked_rows;
    {
        const Stopwatch watch(result.seconds.server);
        report(options.progress, "decompose", 0, 1);
        masked_rows = dominant_rows(stack, bonds.bonds.front(), job.seed);
        report(options.progress, "decompose", 1, 1);
    }
    traffic.down(static_cast<double>(masked_rows.size()), run.clients());
    // Every client does this for itself, with the same outcome: it is done once here and booked for each.
    Features features;
    double seconds = 0;
    {
        const Stopwatch watch(seconds);
        features = unmask_features(masked_rows, features_mask, shape, bonds);
    }
    for (double& own : run.client_seconds) own += seconds;
    run.refit_all(clients, features);
    traffic.store(result, run.clients());
    result.rounds = 2;
    result.features = std::move(features);
    return run.finish();
}

}  // namespace couplet
