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

// 32-bit numbers keep it, all messages on the way to the result included.
constexpr double least_float_eps = 1e-6;

void check_combination(const JobOptions& options, Aggregate aggregate) {
    require_eps("`eps`", options.eps);
    require_eps("`eps1`", options.eps1);
    require_eps("`eps2`", options.eps2);
    if (options.rank && *options.rank < 1) {
        throw InputError({"`rank`", std::to_string(*options.rank), "at least 1", ""});
    }
    if (options.eps && aggregate != Aggregate::stack) {
        refuse("`eps`", "a certified error with an aggregate that has no certificate", "`aggregate` stack",
               "Use `rank` with `eps2` instead.");
    }
    if (options.eps && (options.eps1 || options.eps2)) {
        refuse("`eps`", "`eps` together with `eps1` or `eps2`", "one or the other",
               "`eps` splits itself between clients and server.");
    }
    if (options.eps1 && aggregate == Aggregate::subspace) {
        refuse("`eps1`", "`eps1` with `aggregate` subspace", "no `eps1`: nothing is cut before the sums",
               "Use `eps2` for the error of the shared cores.");
    }
    if (options.eps1 && aggregate == Aggregate::average && options.network == Network::decentralized) {
        refuse("`eps1`", "`eps1` with `aggregate` average among peers",
               "no `eps1`: whole states travel there, and only `eps2` cuts",
               "Leave it out; in `network` star it cuts what clients send.");
    }
    if (aggregate == Aggregate::subspace && options.eps2 && *options.eps2 > 0 && *options.eps2 < 1e-7) {
        refuse("`eps2`", "less than 1e-7 with `aggregate` subspace",
               "at least 1e-7: sums of squares cannot show smaller errors", "Use `aggregate` stack.");
    }
    if (aggregate != Aggregate::stack && !options.rank) {
        refuse("`rank`", "no rank", "a rank for `aggregate` average or subspace",
               "Only `aggregate` stack can choose it from `eps`.");
    }
    if (options.precision == Precision::f32 && aggregate != Aggregate::stack) {
        refuse("`precision`", "f32 with an aggregate other than stack", "`aggregate` stack, or `precision` f64",
               "Sums and averages travel as 64-bit numbers.");
    }
    if (options.precision == Precision::f32 && options.eps && *options.eps < least_float_eps) {
        refuse("`precision`", "f32 with an eps below 1e-6", "a larger eps, or `precision` auto or f64",
               "Every number loses up to 6e-8 of itself in 32 bits.");
    }
    if (options.oversampling < 0 || options.oversampling > 1'000'000) {
        throw InputError({"`oversampling`", std::to_string(options.oversampling), "0 to 1000000", ""});
    }
    if (options.passes < 1 || options.passes > 50) {
        throw InputError({"`passes`", std::to_string(options.passes), "1 to 50", ""});
    }
}

constexpr Index least_code_bytes = 16;

/// Of a message beside its code: see message_bytes.cpp, whose sizes are at most these.
Index envelope_bytes(Index fixed, Index modes, Index message) {
    constexpr Index per_chunk = 4;
    constexpr Index least_chunk = Index{64} << 10;
    return fixed + 2 * 8 * modes + per_chunk * (message / least_chunk);
}

Index code_bytes(Index message, Index envelope, const char* name, Index given) {
    if (message - envelope >= least_code_bytes) return message - envelope;
    throw InputError({name, std::to_string(given) + " bytes",
                      "messages of at least " + std::to_string(envelope + least_code_bytes) + " bytes each",
                      "Allow more bytes, or use fewer clients."});
}

void check_budget(const JobOptions& options, Aggregate aggregate) {
    if (!options.bytes && !options.bytes_total) return;
    const char* name = options.bytes ? "`bytes`" : "`bytes_total`";
    if (options.bytes && options.bytes_total) {
        refuse("`bytes`", "`bytes` together with `bytes_total`", "one or the other", "");
    }
    if (options.eps || options.eps1 || options.eps2) {
        refuse(name, "a number of bytes together with an error", "one or the other",
               "The bytes choose rank and precision for the least error.");
    }
    if (aggregate != Aggregate::stack || options.precision != Precision::automatic) {
        refuse(name, "a number of bytes for messages that are not coded", "`aggregate` stack and `precision` auto", "");
    }
    if (options.bytes.value_or(1) < 1 || options.bytes_total.value_or(1) < 1) {
        refuse(name, "no bytes", "at least 1", "");
    }
}

}  // namespace

Index star_code_bytes(const Job& job, Index clients, Index modes) {
    // Half up, half down: what a client sends is one part of many, what it gets is the whole, and both cost alike.
    constexpr Index fixed = 164;
    const Index message = (job.bytes ? *job.bytes : *job.bytes_total / std::max<Index>(1, clients)) / 2;
    return code_bytes(message, envelope_bytes(fixed, modes, message), job.bytes ? "`bytes`" : "`bytes_total`",
                      job.bytes ? *job.bytes : *job.bytes_total);
}

Index tree_code_bytes(const Job& job, Index links, Index most_links_of_a_node, Index modes) {
    constexpr Index fixed = 184;  // of a merge, which has a ledger
    const Index message = job.bytes ? *job.bytes / (2 * std::max<Index>(1, most_links_of_a_node))
                                    : *job.bytes_total / (2 * std::max<Index>(1, links));
    return code_bytes(message, envelope_bytes(fixed, modes, message), job.bytes ? "`bytes`" : "`bytes_total`",
                      job.bytes ? *job.bytes : *job.bytes_total);
}

Network parse_network(std::string_view name) {
    return parse<Network, 2>("`network`", name, {{{"star", Network::star}, {"decentralized", Network::decentralized}}});
}

Aggregate parse_aggregate(std::string_view name) {
    return parse<Aggregate, 3>(
        "`aggregate`", name,
        {{{"stack", Aggregate::stack}, {"average", Aggregate::average}, {"subspace", Aggregate::subspace}}});
}

Sketch parse_sketch(std::string_view name) {
    return parse<Sketch, 3>("`sketch`", name,
                            {{{"auto", Sketch::automatic}, {"random", Sketch::random}, {"gram", Sketch::gram}}});
}

Precision parse_precision(std::string_view name) {
    return parse<Precision, 3>("`precision`", name,
                               {{{"auto", Precision::automatic}, {"f32", Precision::f32}, {"f64", Precision::f64}}});
}

std::string_view to_string(Network network) noexcept { return network == Network::star ? "star" : "decentralized"; }

std::string_view to_string(Aggregate aggregate) noexcept {
    constexpr std::string_view names[] = {"stack", "average", "subspace"};
    return names[static_cast<int>(aggregate)];
}

std::string_view to_string(Precision precision) noexcept {
    constexpr std::string_view names[] = {"auto", "f32", "f64"};
    return names[static_cast<int>(precision)];
}

Job resolve_job(const JobOptions& options) {
    Job job;
    job.network = options.network;
    job.aggregate = options.aggregate.value_or(Aggregate::stack);
    check_combination(options, job.aggregate);
    check_budget(options, job.aggregate);
    job.bytes = options.bytes;
    job.bytes_total = options.bytes_total;
    const bool average = job.aggregate == Aggregate::average;
    job.rank = options.rank;
    job.eps = options.eps;
    if (!options.rank && !options.eps && !options.eps1 && !options.eps2 && !has_budget(job)) job.eps = 0.1;
    job.eps1 = options.eps1.value_or(average ? 0.1 : 0.01);
    job.eps2 = options.eps2.value_or(average ? 0.05 : 0.01);
    job.refit = options.refit.value_or(!average);
    if (!job.refit && !average) {
        refuse("`no_refit`", "no refit with an aggregate other than average", "`refit`",
               "Only the CTT of Zhang et al. 2024 (`aggregate` average) has a personal core before the features are "
               "known.");
    }
    // Sums are added up and averages compared element by element: those messages stay as they are.
    job.precision = job.aggregate == Aggregate::stack ? options.precision : Precision::f64;
    job.sketch = options.sketch;
    job.passes = options.passes;
    job.oversampling = options.oversampling;
    job.seed = options.seed;
    job.graph = options.graph;
    job.consensus.engine = options.consensus.value_or(average ? ConsensusEngine::plain : ConsensusEngine::automatic);
    // Neighbours see the same of a node's sums in a tree as in gossip, which takes many more messages.
    if (job.aggregate == Aggregate::subspace && job.consensus.engine == ConsensusEngine::automatic &&
        !options.iterations) {
        job.consensus.engine = ConsensusEngine::tree;
    }
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
                              "Scale the data, or use `scale_clients` norm."});
        }
        start.rows += hello.rows;
        start.norm2 += hello.norm2;
        rank_too_large = rank_too_large || (job.rank && *job.rank > rank_cap(hello));
        caps += (caps.empty() ? "" : ", ") + who + " " + std::to_string(rank_cap(hello));
    }
    if (first.order() < 1) refuse("clients", "tensors of order 1", "at least two modes: patients and a feature", "");
    if (rank_too_large && job.aggregate == Aggregate::average) {
        throw InputError({"`rank`", std::to_string(*job.rank), "a rank every client can give (" + caps + ")",
                          "Use a smaller rank, or `aggregate` stack, which lets ranks differ."});
    }
    start.clients = static_cast<Index>(hellos.size());
    return start;
}

}  // namespace couplet
