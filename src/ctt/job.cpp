#include "couplet/ctt/job.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/magnitude.hpp"

namespace couplet {
namespace {

template <class E, std::size_t N>
E parse(std::string_view what, std::string_view name, const std::array<std::pair<std::string_view, E>, N>& known) {
    std::string expected;
    for (const auto& [text, value] : known) {
        if (text == name) return value;
        expected += (expected.empty() ? "" : ", ") + std::string(text);
    }
    throw InputError({std::string(what), "'" + std::string(name) + "'", "one of " + expected, ""});
}

void require_eps(const char* name, std::optional<double> eps) {
    if (!eps || (*eps >= 0 && *eps < 1)) return;
    throw InputError({name, std::to_string(*eps), "a number with 0 <= eps < 1", ""});
}

[[noreturn]] void refuse(const char* where, const char* found, const char* expected, const char* remedy) {
    throw InputError({where, found, expected, remedy});
}

void check_combination(const JobOptions& options, Aggregate aggregate) {
    require_eps("--eps", options.eps);
    require_eps("--eps1", options.eps1);
    require_eps("--eps2", options.eps2);
    if (options.rank && *options.rank < 1) {
        throw InputError({"--rank", std::to_string(*options.rank), "at least 1", ""});
    }
    if (options.eps && aggregate != Aggregate::stack) {
        refuse("--eps", "a certified error with an aggregate that has no certificate", "--aggregate stack",
               "Use --rank with --eps2 instead.");
    }
    if (options.eps && (options.eps1 || options.eps2)) {
        refuse("--eps", "--eps together with --eps1 or --eps2", "one or the other",
               "--eps splits itself between clients and server.");
    }
    if (options.eps1 && aggregate == Aggregate::subspace) {
        refuse("--eps1", "--eps1 with --aggregate subspace", "no --eps1: nothing is cut before the sums",
               "Use --eps2 for the error of the shared cores.");
    }
    if (options.eps1 && aggregate == Aggregate::average && options.network == Network::decentralized) {
        refuse("--eps1", "--eps1 with --aggregate average among peers",
               "no --eps1: whole states travel there, and only --eps2 cuts",
               "Leave it out; in --network star it cuts what clients send.");
    }
    if (aggregate == Aggregate::subspace && options.eps2 && *options.eps2 > 0 && *options.eps2 < 1e-7) {
        refuse("--eps2", "less than 1e-7 with --aggregate subspace",
               "at least 1e-7: sums of squares cannot show smaller errors", "Use --aggregate stack.");
    }
    if (aggregate != Aggregate::stack && !options.rank) {
        refuse("--rank", "no rank", "a rank for --aggregate average or subspace",
               "Only --aggregate stack can choose it from --eps.");
    }
    if (options.oversampling < 0 || options.oversampling > 1'000'000) {
        throw InputError({"--oversampling", std::to_string(options.oversampling), "0 to 1000000", ""});
    }
    if (options.passes < 1 || options.passes > 50) {
        throw InputError({"--passes", std::to_string(options.passes), "1 to 50", ""});
    }
}

}  // namespace

Network parse_network(std::string_view name) {
    return parse<Network, 2>("--network", name, {{{"star", Network::star}, {"decentralized", Network::decentralized}}});
}

Aggregate parse_aggregate(std::string_view name) {
    return parse<Aggregate, 3>(
        "--aggregate", name,
        {{{"stack", Aggregate::stack}, {"average", Aggregate::average}, {"subspace", Aggregate::subspace}}});
}

Sketch parse_sketch(std::string_view name) {
    return parse<Sketch, 3>("--sketch", name,
                            {{{"auto", Sketch::automatic}, {"random", Sketch::random}, {"gram", Sketch::gram}}});
}

std::string_view to_string(Network network) noexcept { return network == Network::star ? "star" : "decentralized"; }

std::string_view to_string(Aggregate aggregate) noexcept {
    constexpr std::string_view names[] = {"stack", "average", "subspace"};
    return names[static_cast<int>(aggregate)];
}

Job resolve_job(const JobOptions& options) {
    Job job;
    job.network = options.network;
    job.aggregate =
        options.aggregate.value_or(options.network == Network::star ? Aggregate::stack : Aggregate::subspace);
    check_combination(options, job.aggregate);
    const bool average = job.aggregate == Aggregate::average;
    job.rank = options.rank;
    job.eps = options.eps;
    if (!options.rank && !options.eps && !options.eps1 && !options.eps2) job.eps = 0.1;
    job.eps1 = options.eps1.value_or(average ? 0.1 : 0.01);
    job.eps2 = options.eps2.value_or(average ? 0.05 : 0.01);
    job.refit = options.refit.value_or(!average);
    if (!job.refit && !average) {
        refuse("--no-refit", "no refit with an aggregate other than average", "--refit",
               "Only the printed method has a personal core before the features are known.");
    }
    job.sketch = options.sketch;
    job.passes = options.passes;
    job.oversampling = options.oversampling;
    job.seed = options.seed;
    job.graph = options.graph;
    job.consensus.engine = options.consensus.value_or(average ? ConsensusEngine::plain : ConsensusEngine::automatic);
    job.consensus.weights = options.weights.value_or("paper");
    job.consensus.iterations = options.iterations;
    job.unnamed = options.unnamed;
    return job;
}

Index rank_cap(const Hello& hello) { return std::min(hello.rows, hello.features.size()); }

Start start_job(const Job& job, const std::vector<Hello>& hellos, const std::optional<Schema>& given) {
    if (hellos.empty()) refuse("clients", "none", "at least one client", "Name at least one tensor file.");
    std::vector<SchemaParty> parties;
    parties.reserve(hellos.size());
    for (std::size_t k = 0; k < hellos.size(); ++k) {
        parties.push_back({"client " + std::to_string(k + 1), hellos[k].schema()});
    }
    SchemaAgreement agreement = given ? agree(parties, job.unnamed, *given) : agree(parties, job.unnamed);
    for (auto& misfit : agreement.misfits) {
        if (misfit) throw InputError(std::move(*misfit));
    }
    Start start;
    start.labels = std::move(agreement.schema.modes);
    const Shape& first = hellos.front().features;
    bool rank_too_large = false;
    std::string caps;
    for (std::size_t k = 0; k < hellos.size(); ++k) {
        const Hello& hello = hellos[k];
        const std::string& who = parties[k].name;
        if (hello.rows < 1 || first.size() < 1) {
            throw InputError({who, "an empty tensor", "at least one patient and one feature", ""});
        }
        if (hello.norm2 != 0 && !squares_are_safe(hello.norm2)) {
            std::ostringstream found;
            found << "a squared norm of " << hello.norm2;
            throw InputError({who, found.str(), "0, or a number between 1e-150 and 1e150",
                              "Scale the data, or use --scale-clients norm."});
        }
        start.rows += hello.rows;
        start.norm2 += hello.norm2;
        rank_too_large = rank_too_large || (job.rank && *job.rank > rank_cap(hello));
        caps += (caps.empty() ? "" : ", ") + who + " " + std::to_string(rank_cap(hello));
    }
    if (first.order() < 1) refuse("clients", "tensors of order 1", "at least two modes: patients and a feature", "");
    if (rank_too_large && job.aggregate == Aggregate::average) {
        throw InputError({"--rank", std::to_string(*job.rank), "a rank every client can give (" + caps + ")",
                          "Use a smaller rank, or --aggregate stack, which lets ranks differ."});
    }
    start.clients = static_cast<Index>(hellos.size());
    return start;
}

}  // namespace couplet
