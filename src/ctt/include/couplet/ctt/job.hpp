#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/consensus/plan.hpp"
#include "couplet/tensor/schema.hpp"

namespace couplet {

enum class Network { star, decentralized };

/// How the clients' features become one.
/// - stack: rows of all clients on top of one another, best common row space; centralized accuracy (default). Merged
///   along a tree in a decentralized network.
/// - average: the paper as printed, element-wise mean of the clients' factors.
/// - subspace: only sums travel, block Krylov on them; in a decentralized network along a tree unless a consensus is
///   asked for.
enum class Aggregate { stack, average, subspace };

/// How blocks travel with the stack.
/// - automatic: quantised and entropy-coded, the errors of the job choose rank and precision together (default).
/// - f32, f64: numbers of that many bits.
enum class Precision { automatic, f32, f64 };

/// Message of the subspace aggregate: a random block, or the Gram matrix itself.
enum class Sketch { automatic, random, gram };

Network parse_network(std::string_view name);
Aggregate parse_aggregate(std::string_view name);
Sketch parse_sketch(std::string_view name);
Precision parse_precision(std::string_view name);
std::string_view to_string(Network network) noexcept;
std::string_view to_string(Aggregate aggregate) noexcept;
std::string_view to_string(Precision precision) noexcept;

/// What a job computes; the same at every party. Empty optionals take the defaults of resolve_job().
struct JobOptions {
    Network network = Network::star;
    std::optional<Aggregate> aggregate = {};
    std::optional<Index> rank = {};   ///< R1
    std::optional<double> eps = {};   ///< one certified relative error; stack only
    std::optional<double> eps1 = {};  ///< relative error of the clients' cores; stack, and average in a star
    std::optional<double> eps2 = {};  ///< relative error of the shared cores
    /// Bytes of all messages of one client, both ways, or of the whole federation, instead of an error; stack only.
    std::optional<Index> bytes = {};
    std::optional<Index> bytes_total = {};
    std::optional<bool> refit = {};
    Precision precision = Precision::automatic;
    Sketch sketch = Sketch::automatic;
    int passes = 3;
    Index oversampling = 10;
    std::uint64_t seed = 0;
    std::string graph = "complete";
    std::optional<std::string> weights = {};
    std::optional<ConsensusEngine> consensus = {};
    std::optional<Index> iterations = {};  ///< nothing: as many as the consensus target needs
    Unnamed unnamed = Unnamed::refuse;
};

/// A job with nothing left open.
struct Job {
    Network network = Network::star;
    Aggregate aggregate = Aggregate::stack;
    std::optional<Index> rank;
    std::optional<double> eps;  ///< set: certified mode; eps1 and eps2 are then unused
    double eps1 = 0.01;
    double eps2 = 0.01;
    std::optional<Index> bytes;        ///< of one client; eps, eps1 and eps2 are then unused
    std::optional<Index> bytes_total;  ///< of everybody; likewise
    bool refit = true;
    Precision precision = Precision::f64;  ///< automatic and f32 with the stack only
    Sketch sketch = Sketch::automatic;
    int passes = 3;
    Index oversampling = 10;
    std::uint64_t seed = 0;
    std::string graph = "complete";
    ConsensusOptions consensus;
    Unnamed unnamed = Unnamed::refuse;  ///< clients without labels among clients with some
};

/// Whether a number of bytes is what limits the job.
inline bool has_budget(const Job& job) noexcept { return job.bytes || job.bytes_total; }

/// What a message of the job's budget leaves for a coded block over so many feature modes, in a star of so many
/// clients. Throws InputError when that is too little for anything. Requires has_budget().
Index star_code_bytes(const Job& job, Index clients, Index modes);
/// The same in a tree: so many links in all, at most so many at one node.
Index tree_code_bytes(const Job& job, Index links, Index most_links_of_a_node, Index modes);

/// Fills in the defaults: average eps1 = 0.1, eps2 = 0.05 and plain consensus (the paper's); otherwise eps1 = eps2 =
/// 0.01 when only a rank is given and eps = 0.1 when nothing is. Throws InputError for combinations that mean nothing.
Job resolve_job(const JobOptions& options);

/// What a client tells at the start of a job.
struct Hello {
    Shape features;  ///< I2 x ... x IN
    Index rows = 0;  ///< I1 of this client
    double norm2 = 0;
    Labels labels = {};  ///< of the feature modes, in the order of its data; empty: none

    Schema schema() const { return {features, labels}; }
};

/// What every client is told once all have said hello.
struct Start {
    Index clients = 0;  ///< those of a resumed merge included
    Index rows = 0;     ///< of the clients of this job
    double norm2 = 0;   ///< of the clients of this job
    /// Of the feature modes, in the order in which the job computes: whoever has another puts its own data in this one.
    Labels labels = {};
    double earlier_norm2 = 0;  ///< of those who were merged before: with norm2 that of everybody
};

/// Totals of all clients, and the schema they agree on (see agree()) unless it is given. Throws InputError when there
/// are none, when a client's schema does not fit (naming client, mode and labels), or when the average's common rank
/// exceeds what a client can give (naming every client's cap).
Start start_job(const Job& job, const std::vector<Hello>& hellos, const std::optional<Schema>& given = {});

/// The rank a client can give: min(rows, I2 ... IN).
Index rank_cap(const Hello& hello);

}  // namespace couplet
