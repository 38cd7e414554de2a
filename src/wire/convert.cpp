#include "convert.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "arrival_gate.hpp"
#include "checks.hpp"
#include "couplet/coding/integers.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/arrived_cores.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/wire/receiver.hpp"
#include "federation.pb.h"
#include "payload_reader.hpp"
#include "peer_convert.hpp"
#include "secure_convert.hpp"
#include "shared_fields.hpp"

namespace couplet::wire {
namespace {

constexpr int most_names = 100'000;
// Of a job of secure sums, so that a program without them refuses it.
constexpr std::uint32_t shielded_aggregate = static_cast<std::uint32_t>(Aggregate::subspace) + 1;

// ---- to protobuf

v1::Join to_proto(const Join& join) {
    v1::Join p;
    p.set_name(join.name);
    p.set_version(join.version);
    return p;
}

v1::Welcome to_proto(const Welcome& welcome) {
    const Job& job = welcome.spec.job;
    v1::Welcome p;
    p.set_aggregate(welcome.spec.shield ? shielded_aggregate : static_cast<std::uint32_t>(job.aggregate));
    if (welcome.spec.shield) *p.mutable_shield() = wire::to_proto(*welcome.spec.shield);
    if (job.rank) p.set_rank(static_cast<std::uint64_t>(*job.rank));
    if (job.eps) p.set_eps(*job.eps);
    p.set_eps1(job.eps1);
    p.set_eps2(job.eps2);
    p.set_refit(job.refit);
    p.set_sketch(static_cast<std::uint32_t>(job.sketch));
    p.set_passes(static_cast<std::uint32_t>(job.passes));
    p.set_oversampling(static_cast<std::uint64_t>(job.oversampling));
    p.set_seed(job.seed);
    p.set_scale_clients(welcome.spec.preparation.scale_clients);
    p.set_heldout(welcome.spec.preparation.heldout);
    p.set_place(static_cast<std::uint64_t>(welcome.place));
    p.set_clients(static_cast<std::uint64_t>(welcome.clients));
    p.set_missing(welcome.spec.missing.has_value());
    p.set_unnamed_allowed(job.unnamed == Unnamed::allow);
    p.set_precision(static_cast<std::uint32_t>(job.precision));
    if (job.bytes) p.set_bytes(static_cast<std::uint64_t>(*job.bytes));
    if (job.bytes_total) p.set_bytes_total(static_cast<std::uint64_t>(*job.bytes_total));
    p.set_centre(welcome.spec.centring.centre);
    p.set_scale(welcome.spec.centring.scale);
    if (welcome.spec.centring.weight != Weight::none) {
        p.set_weight(static_cast<std::uint32_t>(welcome.spec.centring.weight));
    }
    return p;
}

v1::Hello to_proto(const Hello& hello) {
    v1::Hello p;
    put(p.mutable_modes(), hello.features.sizes());
    p.set_rows(static_cast<std::uint64_t>(hello.rows));
    p.set_norm2(hello.norm2);
    put_labels(p.mutable_names(), hello.labels);
    return p;
}

v1::Start to_proto(const StartNotice& notice) {
    v1::Start p;
    p.set_clients(static_cast<std::uint64_t>(notice.start.clients));
    p.set_rows(static_cast<std::uint64_t>(notice.start.rows));
    p.set_norm2(notice.start.norm2);
    if (notice.start.earlier_norm2 != 0) p.set_earlier_norm2(notice.start.earlier_norm2);
    p.set_received(notice.received);
    p.set_refilled(notice.refilled);
    put_labels(p.mutable_names(), notice.start.labels);
    return p;
}

/// The first basis comes from the seed and does not travel.
bool travels(const SumRequest& request) { return request.pass > 0 && request.basis.size() > 0; }

v1::SumRequest to_proto(const SumRequest& request) {
    v1::SumRequest p;
    p.set_pass(static_cast<std::uint32_t>(request.pass));
    p.set_want(static_cast<std::uint32_t>(request.want));
    p.set_rows(travels(request) ? static_cast<std::uint64_t>(request.basis.rows()) : 0);
    p.set_cols(travels(request) ? static_cast<std::uint64_t>(request.basis.cols()) : 0);
    return p;
}

v1::Upload to_proto(const Upload& upload) {
    v1::Upload p;
    put_block(p, upload.block.get());
    p.set_rows(static_cast<std::uint64_t>(upload.rows));
    p.set_norm2(upload.norm2);
    p.set_svd_tail2(upload.svd_tail2);
    p.set_tt_tail2(upload.tt_tail2);
    return p;
}

v1::SumReply to_proto(const SumReply& reply) {
    v1::SumReply p;
    p.set_pass(static_cast<std::uint32_t>(reply.pass));
    p.set_count(reply.sum->size());
    return p;
}

v1::Features to_proto(const FeaturesMessage& message) {
    const TensorTrain<double>& train = message.features.train;
    v1::Features p;
    put(p.mutable_modes(), train.shape().sizes());
    if (const auto& code = message.features.code) {
        put_code(p, *code);
        p.set_block_rows(static_cast<std::uint64_t>(code->rows));
    } else {
        put(p.mutable_ranks(), train.ranks());
        p.set_sigma_count(message.features.sigma.size());
    }
    p.set_orthonormal(message.features.orthonormal);
    if (message.rel_error_bound) p.set_rel_error_bound(*message.rel_error_bound);
    if (message.filling) {
        p.set_means(message.filling->means);
        p.set_fill_step(message.filling->step);
        p.set_last(message.filling->last);
        p.set_answered(message.filling->answered);
        p.set_settled(message.filling->settled);
    }
    return p;
}

v1::FillSums to_proto(const FillSums& sums) {
    v1::FillSums p;
    p.set_entries(sums.entries);
    p.set_missing(sums.missing);
    p.set_validation(sums.validation);
    p.set_error2(sums.error2);
    p.set_known2(sums.known2);
    p.set_objective(sums.objective);
    p.set_validation_error2(sums.validation_error2);
    p.set_validation_means2(sums.validation_means2);
    p.set_validation_norm2(sums.validation_norm2);
    p.set_change2(sums.change2);
    p.set_filled2(sums.filled2);
    p.set_norm2(sums.norm2);
    return p;
}

v1::CentringRequest to_proto(const CentringRequest& request) {
    v1::CentringRequest p;
    p.set_means(request.centring.mean.size());
    p.set_scales(request.centring.scale.size());
    p.set_answered(request.answered);
    if (!request.centring.weighted()) return p;
    p.set_weight(static_cast<std::uint32_t>(request.centring.weight));
    p.set_patients(static_cast<std::uint64_t>(request.centring.patients));
    put(p.mutable_any(), request.centring.any_at);
    return p;
}

v1::Report to_proto(const Report& report) {
    v1::Report p;
    put_fit(p, report);
    return p;
}

v1::Bye to_proto(const Bye& bye) {
    v1::Bye p;
    for (const auto& name : bye.members) p.add_members(name);
    for (const auto& name : bye.missing) p.add_missing(name);
    p.set_rounds(static_cast<std::uint32_t>(bye.rounds));
    return p;
}

v1::Refusal to_proto(const Refusal& refusal) {
    v1::Refusal p;
    p.set_reason(refusal.reason.substr(0, most_text));
    return p;
}

v1::State to_proto(const MergeState& state) {
    v1::State p;
    put_block(p, state.block);
    put_ledger(p, state.ledger);
    return p;
}

struct BodyWriter {
    v1::Head& head;
    void operator()(const Join& body) const { *head.mutable_join() = to_proto(body); }
    void operator()(const Welcome& body) const { *head.mutable_welcome() = to_proto(body); }
    void operator()(const Hello& body) const { *head.mutable_hello() = to_proto(body); }
    void operator()(const StartNotice& body) const { *head.mutable_start() = to_proto(body); }
    void operator()(const SumRequest& body) const { *head.mutable_sum_request() = to_proto(body); }
    void operator()(const Upload& body) const { *head.mutable_upload() = to_proto(body); }
    void operator()(const SumReply& body) const { *head.mutable_sum_reply() = to_proto(body); }
    void operator()(const FeaturesMessage& body) const { *head.mutable_features() = to_proto(body); }
    void operator()(const Report& body) const { *head.mutable_report() = to_proto(body); }
    void operator()(const Bye& body) const { *head.mutable_bye() = to_proto(body); }
    void operator()(const Refusal& body) const { *head.mutable_refusal() = to_proto(body); }
    void operator()(const MergeState& body) const { *head.mutable_state() = to_proto(body); }
    void operator()(const Greeting& body) const { *head.mutable_greeting() = to_proto(body); }
    void operator()(const Beat& body) const { *head.mutable_beat() = to_proto(body); }
    void operator()(const PeerState& body) const { *head.mutable_peer_state() = to_proto(body); }
    void operator()(const PeerBasis& body) const { *head.mutable_peer_basis() = to_proto(body); }
    void operator()(const PeerMerge& body) const { *head.mutable_peer_merge() = to_proto(body); }
    void operator()(const Bulletin& body) const { *head.mutable_bulletin() = to_proto(body); }
    void operator()(const FillSums& body) const { *head.mutable_fill_sums() = to_proto(body); }
    void operator()(const SecureRequest& body) const { *head.mutable_secure_request() = wire::to_proto(body); }
    void operator()(const SecureReply& body) const { *head.mutable_secure_reply() = wire::to_proto(body); }
    void operator()(const CentringRequest& body) const { *head.mutable_centring() = to_proto(body); }
};

// ---- what a head promises

Promise promise(const v1::Features& p, const std::string& who) {
    if (p.code() != 0) {
        if (!p.orthonormal()) refuse(who, "coded features that carry their weights", "orthonormal ones");
        return promise_block(Kind::features, "features", p, who);
    }
    Promise result{Kind::features, 0, modes_of(p.modes(), who), {}, 0};
    result.ranks = ranks_of(p.ranks(), result.modes, who);
    result.rows = result.ranks.front();
    const Index sigma = to_index(p.sigma_count(), who, "weights");
    if (sigma != 0 && sigma != result.rows) {
        refuse(who, std::to_string(sigma) + " weights", std::to_string(result.rows) + ", one per direction");
    }
    result.numbers = train_numbers(result.modes, result.ranks, who) + sigma;
    return result;
}

Promise promise(const v1::State& p, const std::string& who) { return promise_block(Kind::state, "a state", p, who); }

Promise promise(const v1::SumRequest& p, const std::string& who) {
    return {Kind::sum_request, counted(to_index(p.rows(), who, "rows"), to_index(p.cols(), who, "columns"), who)};
}

Promise promise(const v1::SumReply& p, const std::string& who) {
    const Index count = to_index(p.count(), who, "numbers");
    if (count < 1) refuse(who, "a sum of no numbers", "at least one");
    Promise result{Kind::sum_reply, count};
    result.pass = p.pass();
    return result;
}

Weight weight_of(std::uint32_t number, const std::string& who) {
    if (number > static_cast<std::uint32_t>(Weight::pearson)) refuse(who, "a weight of a later version", "a known one");
    return static_cast<Weight>(number);
}

Promise promise(const v1::CentringRequest& p, const std::string& who) {
    const Index means = to_index(p.means(), who, "means");
    const Index scales = to_index(p.scales(), who, "scales");
    if (means > 0 && scales > 0 && means != scales) {
        refuse(who, std::to_string(scales) + " scales", std::to_string(means) + ", one for each mean");
    }
    counted(std::max(means, scales), 2, who);
    return {Kind::centring, means + scales};
}

/// What an upload says beside its block. Checked with the head too: once a message is kept, nothing in it may be wrong.
Ledger upload_ledger(const v1::Upload& p, const std::string& who) {
    return {1,
            to_index(p.rows(), who, "patients"),
            squares(p.norm2(), who, "squared norm"),
            squares(p.svd_tail2(), who, "squared tail"),
            squares(p.tt_tail2(), who, "squared tail"),
            0};
}

Promise promise(const v1::Upload& p, const std::string& who) {
    upload_ledger(p, who);
    return promise_block(Kind::upload, "an upload", p, who);
}

/// Checked with the head: once a message is kept, nothing in it may be wrong.
FillSums fill_sums(const v1::FillSums& p, const std::string& who) {
    FillSums sums;
    sums.entries = squares(p.entries(), who, "number of entries");
    sums.missing = squares(p.missing(), who, "number of missing entries");
    sums.validation = squares(p.validation(), who, "number of validation entries");
    if (sums.missing + sums.validation > sums.entries) refuse(who, "more hidden entries than there are", "fewer");
    sums.error2 = squares(p.error2(), who, "squared error");
    sums.known2 = squares(p.known2(), who, "squared norm");
    sums.objective = squares(p.objective(), who, "objective");
    sums.validation_error2 = squares(p.validation_error2(), who, "squared error");
    sums.validation_means2 = squares(p.validation_means2(), who, "squared error");
    sums.validation_norm2 = squares(p.validation_norm2(), who, "squared norm");
    sums.change2 = squares(p.change2(), who, "squared change");
    sums.filled2 = squares(p.filled2(), who, "squared norm");
    sums.norm2 = squares(p.norm2(), who, "squared norm");
    return sums;
}

Promise promise(const v1::Head& head, const std::string& who) {
    switch (head.body_case()) {
        case v1::Head::kJoin:
            return {Kind::join};
        case v1::Head::kWelcome:
            return {Kind::welcome};
        case v1::Head::kHello:
            return {Kind::hello};
        case v1::Head::kStart:
            return {Kind::start};
        case v1::Head::kSumRequest:
            return promise(head.sum_request(), who);
        case v1::Head::kUpload:
            return promise(head.upload(), who);
        case v1::Head::kSumReply:
            return promise(head.sum_reply(), who);
        case v1::Head::kFeatures:
            return promise(head.features(), who);
        case v1::Head::kReport:
            return {Kind::report};
        case v1::Head::kBye:
            return {Kind::bye};
        case v1::Head::kRefusal:
            return {Kind::refusal};
        case v1::Head::kState:
            return promise(head.state(), who);
        case v1::Head::kGreeting:
            return {Kind::greeting};
        case v1::Head::kBeat:
            return {Kind::beat};
        case v1::Head::kPeerState:
            return promise_of(head.peer_state(), who);
        case v1::Head::kPeerBasis:
            return promise_of(head.peer_basis(), who);
        case v1::Head::kPeerMerge:
            return promise_of(head.peer_merge(), who);
        case v1::Head::kBulletin:
            return {Kind::bulletin};
        case v1::Head::kFillSums:
            fill_sums(head.fill_sums(), who);
            return {Kind::fill_sums};
        case v1::Head::kSecureRequest:
            return promise_of(head.secure_request(), who);
        case v1::Head::kSecureReply:
            return promise_of(head.secure_reply(), who);
        case v1::Head::kCentring:
            return promise(head.centring(), who);
        case v1::Head::BODY_NOT_SET:
            break;
    }
    refuse(who, "a message of unknown kind", "one of protocol " + std::to_string(protocol_version));
}

/// Bytes that a payload of so many numbers can have. Integers take as many as they need, never more than doubles would.
void require_payload(Index bytes, const Promise& promised, const std::string& who) {
    const Index numbers = promised.numbers;
    const std::optional<BlockCode>& code = promised.code;
    if (promised.raw_bytes) {
        if (bytes == *promised.raw_bytes) return;
        refuse(who, "a payload of " + std::to_string(bytes) + " bytes", std::to_string(*promised.raw_bytes));
    }
    const bool integers = code && code->kind == BlockCode::Kind::integers;
    const Index most = counted(numbers, code && !integers ? sizeof(float) : sizeof(double), who);
    if (integers ? bytes >= least_stream_bytes && bytes <= most + most_extra_bytes : bytes == most) return;
    refuse(who, "a payload of " + std::to_string(bytes) + " bytes",
           (integers ? std::to_string(least_stream_bytes) + " to " : "") + std::to_string(most) + " for its shape");
}

v1::Head parse_proto(std::string_view bytes, const std::string& who) {
    v1::Head head;
    if (!head.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        refuse(who, "a head that cannot be read", "a message of protocol " + std::to_string(protocol_version));
    }
    if (head.protocol() != protocol_version) {
        throw InputError({who, "protocol " + std::to_string(head.protocol()), std::to_string(protocol_version),
                          "Install the same version of couplet at every party."});
    }
    return head;
}

Route route_of(const v1::Head& head, const std::string& who) {
    Route route{head.protocol(), {}, head.attempt(), head.step()};
    if (head.job().size() != route.job.size()) refuse(who, "no job", "the 16 bytes that name it");
    std::memcpy(route.job.data(), head.job().data(), route.job.size());
    return route;
}

// ---- from protobuf

Join from_proto(const v1::Join& p, const std::string& who) { return {text(p.name(), who), text(p.version(), who)}; }

Welcome from_proto(const v1::Welcome& p, const std::string& who) {
    Welcome welcome;
    Job& job = welcome.spec.job;
    constexpr std::uint32_t most_passes = 50;
    if (p.aggregate() > shielded_aggregate || (p.aggregate() == shielded_aggregate) != p.has_shield() ||
        p.sketch() > static_cast<std::uint32_t>(Sketch::gram) ||
        p.precision() > static_cast<std::uint32_t>(Precision::f64) || p.passes() < 1 || p.passes() > most_passes) {
        refuse(who, "a job of unknown kind", "one that this version computes");
    }
    job.aggregate = p.has_shield() ? Aggregate::subspace : static_cast<Aggregate>(p.aggregate());
    if (p.has_shield()) welcome.spec.shield = shield_of(p.shield(), who);
    if (p.has_rank()) job.rank = std::max<Index>(1, to_index(p.rank(), who, "rank"));
    if (p.has_eps()) job.eps = part(p.eps(), who, "eps");
    job.eps1 = part(p.eps1(), who, "eps1");
    job.eps2 = part(p.eps2(), who, "eps2");
    job.refit = p.refit();
    job.precision = static_cast<Precision>(p.precision());
    if (p.has_bytes()) job.bytes = to_index(p.bytes(), who, "bytes");
    if (p.has_bytes_total()) job.bytes_total = to_index(p.bytes_total(), who, "bytes");
    if (job.aggregate == Aggregate::average ? !job.rank.has_value() : !job.refit) {
        refuse(who, "a job that makes no sense", "average with a rank, or a refit");
    }
    job.sketch = static_cast<Sketch>(p.sketch());
    job.passes = static_cast<int>(p.passes());
    // As many as resolve_job() lets anybody ask for.
    constexpr Index most_oversampling = 1'000'000;
    job.oversampling = to_index(p.oversampling(), who, "oversampling");
    if (job.oversampling > most_oversampling) {
        refuse(who, "oversampling by " + std::to_string(job.oversampling),
               "at most " + std::to_string(most_oversampling));
    }
    job.seed = p.seed();
    welcome.spec.preparation = {p.scale_clients(), part(p.heldout(), who, "held-out part")};
    if (p.missing()) {
        if (!job.rank || job.eps || !job.refit) refuse(who, "missing entries without a rank", "a rank and a refit");
        welcome.spec.missing.emplace();
    }
    if (welcome.spec.shield && (!job.rank || p.missing())) refuse(who, "secure sums of another job", "a rank alone");
    welcome.spec.centring = {.centre = p.centre(), .scale = p.scale(), .weight = weight_of(p.weight(), who)};
    if ((welcome.spec.missing || welcome.spec.shield) && welcome.spec.centring.any()) {
        refuse(who, "a job that centres, and fills missing entries or masks its sums", "one or the other");
    }
    welcome.place = to_index(p.place(), who, "place");
    welcome.clients = to_index(p.clients(), who, "clients");
    job.unnamed = p.unnamed_allowed() ? Unnamed::allow : Unnamed::refuse;
    return welcome;
}

Hello from_proto(const v1::Hello& p, const std::string& who) {
    Hello hello{modes_of(p.modes(), who), to_index(p.rows(), who, "patients"), squares(p.norm2(), who, "squared norm")};
    if (hello.rows < 1) refuse(who, "no patients", "at least one");
    hello.labels = labels_of(p.names(), hello.features, who);
    counted(hello.rows, hello.features.size(), who);
    return hello;
}

StartNotice from_proto(const v1::Start& p, const std::string& who) {
    // Whether they fit the features is seen where those are known.
    std::vector<Index> sizes;
    for (const auto& mode : p.names()) {
        sizes.push_back(std::max<Index>(1, std::max(mode.labels_size(), mode.units_size())));
    }
    return {{to_index(p.clients(), who, "clients"), to_index(p.rows(), who, "patients"),
             squares(p.norm2(), who, "squared norm"),
             sizes.empty() ? Labels{} : labels_of(p.names(), Shape(std::move(sizes)), who),
             squares(p.earlier_norm2(), who, "squared norm")},
            p.received(),
            p.refilled()};
}

SumRequest from_proto(const v1::SumRequest& p, PayloadReader& payload, const std::string& who) {
    if (p.want() >= static_cast<std::uint32_t>(SubspaceIteration::Want::nothing)) {
        refuse(who, "a request for an unknown sum", "one that this version computes");
    }
    SumRequest request{p.pass(), static_cast<SubspaceIteration::Want>(p.want()),
                       Matrix<double>(static_cast<Index>(p.rows()), static_cast<Index>(p.cols()))};
    payload.read(request.basis.data(), request.basis.size());
    return request;
}

Upload from_proto(const v1::Upload& p, const Promise& promised, PayloadReader& payload, const std::string& who) {
    const Ledger said = upload_ledger(p, who);
    return {ArrivalGate::arrived(read_block(promised, payload, left_orthonormal)), said.rows, said.norm2,
            said.svd_tail2, said.tt_tail2};
}

SumReply from_proto(const v1::SumReply& p, const Promise& promised, PayloadReader& payload) {
    std::vector<double> sum(static_cast<std::size_t>(promised.numbers));
    payload.read(sum.data(), promised.numbers);
    return {p.pass(), ArrivalGate::arrived(std::move(sum))};
}

FeaturesMessage from_proto(const v1::Features& p, const Promise& promised, PayloadReader& payload,
                           const std::string& who) {
    const auto with_bound = [&](Features features) {
        FeaturesMessage message{std::move(features), {}};
        if (p.has_rel_error_bound()) message.rel_error_bound = squares(p.rel_error_bound(), who, "error bound");
        if (p.has_means() || p.has_fill_step() || p.has_last()) {
            constexpr double longest_step = 1e3;
            if (!(p.means() >= 0 && p.means() <= 1 && p.fill_step() >= 1 && p.fill_step() <= longest_step)) {
                refuse(who, "a way to fill entries that makes no sense",
                       "a weight from 0 to 1 and a step of at least 1");
            }
            message.filling = Filling{p.means(), p.fill_step(), p.last(), p.answered(), p.settled()};
        }
        return message;
    };
    if (promised.code) return with_bound(decode_features(payload.coded(*promised.code)));
    auto cores = payload.cores(promised.modes, promised.ranks);
    bool orthonormal = p.orthonormal();
    for (std::size_t n = 0; orthonormal && n < cores.size(); ++n) {
        orthonormal = is_identity(gram<double>(cores[n].view().unfold(1), Side::left));
    }
    if (orthonormal != p.orthonormal())
        refuse(who, "features that are not orthonormal", "orthonormal ones as promised");
    std::vector<Orthogonality> kinds(cores.size(), orthonormal ? Orthogonality::right : Orthogonality::none);
    Features features{TensorTrain<double>(std::move(cores), std::move(kinds)), {}, orthonormal, {}};
    features.sigma.resize(p.sigma_count());
    payload.read(features.sigma.data(), static_cast<Index>(p.sigma_count()));
    return with_bound(std::move(features));
}

CentringRequest from_proto(const v1::CentringRequest& p, PayloadReader& payload, const std::string& who) {
    CentringRequest request{{std::vector<double>(p.means()), std::vector<double>(p.scales())}, p.answered()};
    for (auto* part : {&request.centring.mean, &request.centring.scale}) {
        payload.read(part->data(), static_cast<Index>(part->size()));
    }
    const auto& scale = request.centring.scale;
    if (!std::all_of(scale.begin(), scale.end(), [](double value) { return value > 0; })) {
        refuse(who, "a scale that is not positive", "positive ones");
    }
    Centring& centring = request.centring;
    centring.weight = weight_of(p.weight(), who);
    if (!centring.weighted()) return request;
    centring.patients = to_index(p.patients(), who, "patients");
    if (p.any().empty() || p.any_size() > most_modes) {
        refuse(who, std::to_string(p.any_size()) + " labels of every patient", "one of each mode");
    }
    for (const std::uint64_t at : p.any()) centring.any_at.push_back(to_index(at, who, "label of every patient"));
    return request;
}

std::vector<std::string> names(const google::protobuf::RepeatedPtrField<std::string>& values, const std::string& who) {
    if (values.size() > most_names) refuse(who, std::to_string(values.size()) + " names", "fewer");
    std::vector<std::string> result;
    for (const auto& value : values) result.push_back(text(value, who));
    return result;
}

Bye from_proto(const v1::Bye& p, const std::string& who) {
    return {names(p.members(), who), names(p.missing(), who), p.rounds()};
}

MergeState from_proto(const v1::State& p, const Promise& promised, PayloadReader& payload, const std::string& who) {
    return {read_block(promised, payload, left_orthonormal), ledger_of(p, who)};
}

Body body_of(const v1::Head& head, const Promise& promised, std::span<const std::byte> bytes, const std::string& who) {
    PayloadReader payload(bytes);
    switch (promised.kind) {
        case Kind::join:
            return from_proto(head.join(), who);
        case Kind::welcome:
            return from_proto(head.welcome(), who);
        case Kind::hello:
            return from_proto(head.hello(), who);
        case Kind::start:
            return from_proto(head.start(), who);
        case Kind::sum_request:
            return from_proto(head.sum_request(), payload, who);
        case Kind::upload:
            return from_proto(head.upload(), promised, payload, who);
        case Kind::sum_reply:
            return from_proto(head.sum_reply(), promised, payload);
        case Kind::features:
            return from_proto(head.features(), promised, payload, who);
        case Kind::report:
            return fit_of<Report>(head.report(), who);
        case Kind::bye:
            return from_proto(head.bye(), who);
        case Kind::refusal:
            return Refusal{text(head.refusal().reason(), who)};
        case Kind::state:
            return from_proto(head.state(), promised, payload, who);
        case Kind::greeting:
            return peer_body(head.greeting(), who);
        case Kind::beat:
            return peer_body(head.beat());
        case Kind::peer_state:
            return peer_body(head.peer_state(), promised, payload, who);
        case Kind::peer_basis:
            return peer_body(head.peer_basis(), payload);
        case Kind::peer_merge:
            return peer_body(head.peer_merge(), promised, payload, who);
        case Kind::bulletin:
            return peer_body(head.bulletin(), who);
        case Kind::fill_sums:
            return fill_sums(head.fill_sums(), who);
        case Kind::secure_request:
            return secure_body(head.secure_request(), payload, who);
        case Kind::secure_reply:
            return secure_body(head.secure_reply(), payload, who);
        case Kind::centring:
            return from_proto(head.centring(), payload, who);
    }
    refuse(who, "a message of unknown kind", "one of protocol " + std::to_string(protocol_version));
}

}  // namespace

void require_chunk_bytes(Index chunk_bytes, const std::string& who) {
    if (chunk_bytes >= least_chunk_bytes && chunk_bytes <= most_chunk_bytes && chunk_bytes % 8 == 0) return;
    refuse(who, "chunks of " + std::to_string(chunk_bytes) + " bytes",
           "a multiple of 8 from " + std::to_string(least_chunk_bytes) + " to " + std::to_string(most_chunk_bytes));
}

std::vector<std::span<const std::byte>> payload_of(const Message& message) {
    std::vector<std::span<const std::byte>> arrays;
    const auto add = [&](const double* data, Index size) {
        arrays.push_back(std::as_bytes(std::span(data, static_cast<std::size_t>(size))));
    };
    const auto add_all = [&](const std::vector<double>& values) {
        add(values.data(), static_cast<Index>(values.size()));
    };
    const auto add_train = [&](const TensorTrain<double>& train) {
        for (Index n = 0; n < train.order(); ++n) add(train.core(n).data(), train.core(n).size());
    };
    const auto add_block = [&](const FeatureBlock& block) {
        if (block.code()) {
            arrays.emplace_back(block.code()->bytes);
        } else if (block.is_dense()) {
            add(block.dense().data(), block.dense().size());
        } else {
            add_train(block.train());
        }
    };
    if (const auto* upload = std::get_if<Upload>(&message.body)) add_block(upload->block.get());
    if (const auto* state = std::get_if<MergeState>(&message.body)) add_block(state->block);
    if (const auto* reply = std::get_if<SumReply>(&message.body)) add_all(reply->sum.get());
    if (const auto* request = std::get_if<SumRequest>(&message.body); request != nullptr && travels(*request)) {
        add(request->basis.data(), request->basis.size());
    }
    if (const auto* shared = std::get_if<FeaturesMessage>(&message.body)) {
        if (shared->features.code) {
            arrays.emplace_back(shared->features.code->bytes);
        } else {
            add_train(shared->features.train);
            add_all(shared->features.sigma);
        }
    }
    if (const auto* request = std::get_if<SecureRequest>(&message.body)) {
        if (const auto* ask = std::get_if<AskNumbers>(&request->ask)) {
            arrays.emplace_back(std::as_bytes(std::span(ask->counts)));
            add(ask->basis.data(), ask->basis.size());
            for (const OpenedSum& sum : ask->opened) arrays.emplace_back(std::as_bytes(std::span(sum.bytes)));
        }
    }
    if (const auto* reply = std::get_if<SecureReply>(&message.body)) {
        if (const auto* masked = std::get_if<MaskedNumbers>(&reply->answer)) {
            arrays.emplace_back(std::as_bytes(std::span(masked->bytes)));
        }
    }
    if (const auto* request = std::get_if<CentringRequest>(&message.body)) {
        add_all(request->centring.mean);
        add_all(request->centring.scale);
    }
    if (const auto* state = std::get_if<PeerState>(&message.body)) add_all(state->values.get());
    if (const auto* merge = std::get_if<PeerMerge>(&message.body)) add_block(merge->state.block);
    if (const auto* basis = std::get_if<PeerBasis>(&message.body)) add(basis->basis.data(), basis->basis.size());
    return arrays;
}

std::string serialise_head(const Message& message, Index payload_bytes, Index chunk_bytes) {
    v1::Head head;
    head.set_protocol(message.route.protocol);
    head.set_job(message.route.job.data(), message.route.job.size());
    head.set_attempt(message.route.attempt);
    head.set_step(message.route.step);
    head.set_chunk_bytes(static_cast<std::uint32_t>(chunk_bytes));
    head.set_payload_bytes(static_cast<std::uint64_t>(payload_bytes));
    std::visit(BodyWriter{head}, message.body);
    return head.SerializeAsString();
}

Head parse_head(std::string_view bytes, const std::string& who) {
    const v1::Head proto = parse_proto(bytes, who);
    Promise promised = promise(proto, who);
    require_payload(to_index(proto.payload_bytes(), who, "payload"), promised, who);
    Head head{route_of(proto, who),
              promised.kind,
              to_index(proto.payload_bytes(), who, "payload"),
              static_cast<Index>(proto.chunk_bytes()),
              std::move(promised.modes),
              std::move(promised.ranks),
              promised.rows,
              promised.pass,
              std::move(promised.code),
              promised.numbers};
    require_chunk_bytes(head.chunk_bytes, who);
    return head;
}

Message assemble(std::string_view head, std::span<const std::byte> payload, const std::string& who) {
    const v1::Head proto = parse_proto(head, who);
    const Promise promised = promise(proto, who);
    require_payload(static_cast<Index>(payload.size()), promised, who);
    return {route_of(proto, who), body_of(proto, promised, payload, who)};
}

}  // namespace couplet::wire
