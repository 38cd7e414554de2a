#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "attend.hpp"
#include "couplet/core/error.hpp"
#include "couplet/net/consent.hpp"
#include "couplet/net/disclosure_ledger.hpp"
#include "couplet/net/privacy_book.hpp"
#include "couplet/net/site_memory.hpp"
#include "couplet/privacy/masking_warning.hpp"
#include "couplet/privacy/records.hpp"
#include "couplet/wire/envelope.hpp"
#include "couplet/wire/site.hpp"
#include "couplet/wire/star_job.hpp"
#include "labels.hpp"
#include "missing_report.hpp"
#include "module.hpp"
#include "simulate_report.hpp"
#include "star_options.hpp"
#include "text.hpp"

namespace couplet::python {
namespace {

using cli::Json;
using wire::StarJob;

std::string_view view(const nb::bytes& bytes) { return {static_cast<const char*>(bytes.data()), bytes.size()}; }
nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

/// `kit` is a coordinator's, for secure sums between sites with kits; without one every site is believed.
/// `tree`: sites to a merger of a tree; 0: there is none.
wire::StarJobOptions job_options(const std::vector<std::string>& arguments, const std::string& id,
                                 const std::string& kit, Index tree) {
    const cli::CarriedJob carried = cli::parse_carried_job(arguments);
    wire::StarJobOptions options{
        .id = wire::parse_job_id(id), .spec = {carried.job, carried.preparation, {}}, .schema = carried.schema};
    if (carried.missing) options.spec.missing.emplace();
    options.tree = tree;
    options.spec.shield = carried.shield;
    if (carried.shield) options.notary = kit.empty() ? net::trusting_notary() : net::kit_notary(kit);
    return options;
}

/// Counts are whole wherever they are no mean.
Json number(double value) {
    if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
    return value;
}

void add_spec(Json& json, const wire::JobSpec& spec, const std::string& job) {
    json["method"] = "ctt";
    json["network"] = to_string(spec.job.network);
    json["aggregate"] = to_string(spec.job.aggregate);
    json["seed"] = spec.job.seed;
    json["version"] = version();
    json["job"] = job;
}

/// The fields of `couplet coordinator --json` that the job knows.
std::string job_json(const StarJob& job) {
    const wire::StarJobResult r = job.result();
    const FeaturesMessage& message = job.features();
    const auto clients = static_cast<double>(r.members.size());
    Json json;
    if (r.rse) json["rse"] = *r.rse;
    if (r.rse_heldout) json["rse_heldout"] = *r.rse_heldout;
    if (r.rse) json["rse_per_client"] = r.rse_per_client;
    if (message.rel_error_bound) json["rel_error_bound"] = *message.rel_error_bound;
    json["ranks"] = message.features.train.ranks();
    json["personal_ranks"] = r.personal_ranks;
    json["rounds"] = r.rounds;
    if (r.mergers > 0) json["mergers"] = r.mergers;
    json["numbers_up_per_client"] = number(r.numbers_up / clients);
    json["numbers_down_per_client"] = number(r.numbers_down / clients);
    json["numbers_total"] = number(r.numbers_up + r.numbers_down);
    json["bytes_up"] = number(r.bytes_up);
    json["bytes_down"] = number(r.bytes_down);
    json["bytes_total"] = number(r.bytes_up + r.bytes_down);
    json["seconds"] = {
        {"clients_max", r.seconds_clients_max}, {"clients_sum", r.seconds_clients_sum}, {"server", r.seconds_server}};
    add_spec(json, job.spec(), job.id());
    json["clients"] = r.members.size();
    json["members"] = r.members;
    json["unreported"] = r.unreported;
    if (r.imputed) json["imputed"] = cli::missing_json(*r.imputed);
    if (r.shield) json["privacy"] = cli::shield_json(*r.shield);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Cores, weight of each direction, whether the cores are orthonormal, labels of the feature modes.
nb::tuple features_tuple(const Features& features, const Labels& labels) {
    Features copy = features.clone();
    const auto weights = copy.sigma;
    return nb::make_tuple(to_arrays(std::move(copy.train)), weights, features.orthonormal, to_tuples(labels));
}

std::string site_json(const wire::SiteResult& r) {
    Json json{{"rse", r.rse}};
    if (r.rse_heldout) json["rse_heldout"] = *r.rse_heldout;
    if (r.rel_error_bound) json["rel_error_bound"] = *r.rel_error_bound;
    json["ranks"] = r.features.train.ranks();
    add_spec(json, r.spec, r.job);
    if (r.settled) json["imputed"] = {{"settled", *r.settled}};
    if (!r.reordered.empty()) json["reordered"] = r.reordered;
    if (r.shield) json["privacy"] = cli::shield_json(*r.shield);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Of a site: "" is none, "on" the defaults, anything else a file.
std::optional<net::SitePolicy> policy_of(const std::string& policy) {
    if (policy.empty()) return std::nullopt;
    return policy == "on" ? net::SitePolicy{} : net::load_policy(policy);
}

std::shared_ptr<net::Consent> consent_of(const net::SitePolicy& policy, const Shape& shape, Index patients) {
    const auto sizes = shape.sizes();
    return std::make_shared<net::Consent>(policy, patients, Shape(std::vector<Index>(sizes.begin() + 1, sizes.end())));
}

/// Where a site keeps what it must remember, each empty where it does not.
struct SitePlace {
    std::string name;
    std::string memory;  ///< folder, of secure sums
    std::string kit;     ///< that its keys are of
    std::string ledger;  ///< file, of what it has shown
};

std::filesystem::path account_of(const SitePlace& place) {
    return std::filesystem::path(place.memory) / "privacy-account.txt";
}

/// What a site goes by; whoever holds one of these holds what it reads.
struct SiteRules {
    std::optional<net::SitePolicy> policy;
    std::shared_ptr<const Tensor<double>> data;
    std::optional<net::DisclosureLedger> ledger;
    std::optional<net::PrivacyBook> book;   ///< where something is remembered
    std::shared_ptr<net::Consent> consent;  ///< nothing: whatever is asked is answered, and nothing is booked

    PrivacyGuarantee budget() const {
        return policy ? PrivacyGuarantee{policy->dp_epsilon, policy->dp_delta} : PrivacyGuarantee{};
    }
    std::set<std::string> related(const net::Cohort& patients) const {
        return ledger ? ledger->related(patients) : std::set<std::string>{};
    }
};

std::shared_ptr<SiteRules> rules_of(const std::string& policy, const SitePlace& place,
                                    std::shared_ptr<const Tensor<double>> data) {
    auto rules = std::make_shared<SiteRules>();
    rules->policy = policy_of(policy);
    rules->data = std::move(data);
    if (!place.ledger.empty()) rules->ledger.emplace(place.ledger);
    // Without a policy nothing is refused, but what is shown is booked where there is a ledger.
    if (!rules->policy && !rules->ledger) return rules;
    if (!place.memory.empty()) rules->book.emplace(account_of(place));
    // Empty records and copies of one hide nobody.
    rules->consent =
        consent_of(rules->policy.value_or(net::no_policy()), rules->data->shape(), count_patients(rules->data->view()));
    if (rules->ledger) {
        rules->consent->remember(*rules->ledger, *rules->data, rules->book ? &*rules->book : nullptr);
    }
    return rules;
}

/// Who else is in a sum, what it shows and what it spends are held against the policy before the first over the data.
wire::SecureTools secure_tools(const wire::JobId& job, const SitePlace& place,
                               const std::shared_ptr<SiteRules>& rules) {
    const net::SiteMemory memory(place.memory);
    wire::SecureTools tools =
        memory.tools(job, place.kit.empty() ? memory.own_notary(place.name) : net::kit_notary(place.kit));
    if (rules->policy) tools.demands = rules->consent->demands();
    const std::filesystem::path account = account_of(place);
    const net::Cohort patients = net::make_cohort(*rules->data, 0, 0, 0);
    tools.on_plan = [=](const ShieldPlan& plan) {
        if (rules->consent) rules->consent->vet_plan(plan);
        if (!plan.noise) return;
        net::PrivacyBook(account).require_room(patients.id, wire::to_hex(job), *plan.noise, rules->budget(),
                                               rules->related(patients));
    };
    // A job that ends before its numbers leave has spent nothing.
    tools.on_sum = [=](const MaskedSum& sum) {
        if (rules->consent) rules->consent->vet_sum(sum);
        if (!sum.plan.noise || sum.agreed) return;
        if (rules->ledger) rules->ledger->enter(patients);
        net::PrivacyBook(account).spend(patients.id, wire::to_hex(job), *sum.plan.noise, rules->budget(),
                                        rules->related(patients));
    };
    return tools;
}

wire::SiteOptions site_options(const std::string& policy, const SitePlace& place,
                               const std::shared_ptr<const Tensor<double>>& data) {
    const auto rules = rules_of(policy, place, data);
    wire::SiteOptions options;
    if (rules->consent) options.vet = [rules](const wire::Message& message) { rules->consent->vet(message); };
    if (place.memory.empty()) return options;
    options.secure = [=](const wire::JobId& job) { return secure_tools(job, place, rules); };
    return options;
}

/// What a site answers to packed messages within its policy, and, with the final features, (personal core, features,
/// fields as JSON).
nb::tuple answer(const nb::bytes& messages, const ArrayIn<double>& x, const LabelTuples& labels,
                 const std::string& policy, const std::tuple<std::string, std::string, std::string, std::string>& where,
                 const nb::object& watcher) {
    const auto& [name, memory, kit, ledger] = where;
    const SitePlace place{name, memory, kit, ledger};
    auto tensor = Tensor<double>::copy(view_of<double>(x));
    tensor.set_labels(to_labels(labels));
    const auto data = std::make_shared<const Tensor<double>>(std::move(tensor));
    const std::string_view bytes = view(messages);
    const wire::SiteOptions options = site_options(policy, place, data);
    auto made = attended(watcher, {messages},
                         [bytes, data, options](const Voice&) { return wire::answer_all(bytes, data, options); });
    if (made.result && !place.memory.empty()) {
        net::SiteMemory(place.memory).forget_steps(wire::parse_job_id(made.result->job));
    }
    nb::object result = nb::none();
    if (made.result) {
        const std::string fields = site_json(*made.result);
        nb::tuple features = features_tuple(made.result->features, made.result->schema.modes);
        result = nb::make_tuple(to_array(std::move(made.result->personal)), features, fields);
    }
    return nb::make_tuple(to_bytes(made.reply), result);
}

/// Name of the job of secure sums that a welcome is to; empty: it is to another.
std::string secure_job(const nb::bytes& welcome) {
    const wire::Message message = wire::unpack_one(view(welcome), "coordinator");
    const auto* told = std::get_if<wire::Welcome>(&message.body);
    return told != nullptr && told->spec.shield ? wire::to_hex(message.route.job) : "";
}

/// Whether a site with data of this shape answers these messages; an answer may come last.
void vet(const nb::bytes& messages, const std::vector<Index>& shape, const std::string& policy) {
    if (shape.size() < 2) throw InputError({"data", "no features", "patients by features", ""});
    const auto rules = policy_of(policy);
    if (!rules) return;
    const auto consent = consent_of(*rules, Shape(shape), shape[0]);
    for (const wire::Message& message : wire::unpack(view(messages), "coordinator")) consent->vet(message);
}

std::vector<std::pair<std::string, std::string>> refuse_misfits(StarJob& job) {
    std::vector<std::pair<std::string, std::string>> refused;
    for (const auto& one : job.refuse_misfits()) refused.emplace_back(one.site, in_python_words(one.reason));
    return refused;
}

/// What sites should know before they take part; "": nothing.
std::string warning_of(const StarJob& job) {
    if (!job.is_secure() || job.spec().shield->mu) return "";
    return in_python_words(masking_warning(job.spec().shield->guarantee));
}

/// Merging may take its time; the caller keeps the bytes.
void take(StarJob& job, Index member, const nb::bytes& bytes) {
    const std::string_view message = view(bytes);
    const nb::gil_scoped_release free;
    job.take(member, message);
}

}  // namespace

void add_star(nb::module_& module) {
    nb::class_<StarJob>(module, "StarJob")
        .def(
            "__init__",
            [](StarJob* self, const std::vector<std::string>& arguments, const std::string& id, const std::string& kit,
               Index tree) { new (self) StarJob(job_options(arguments, id, kit, tree)); },
            nb::arg("arguments"), nb::arg("id"), nb::arg("kit"), nb::arg("tree") = 0)
        .def_prop_ro("is_secure", &StarJob::is_secure)
        .def_prop_ro("warning", &warning_of)
        .def("asked", &StarJob::asked)
        .def("close_step", &StarJob::close_step)
        .def_prop_ro("needs_places", &StarJob::needs_places)
        .def_prop_ro("delivering", &StarJob::delivering)
        .def_prop_ro("questions", &StarJob::questions)
        .def(
            "welcome", [](const StarJob& job, Index place, Index sites) { return to_bytes(job.welcome(place, sites)); },
            nb::arg("place"), nb::arg("sites"))
        .def(
            "greet",
            [](StarJob& job, const std::string& site, const nb::bytes& bytes) { job.greet(site, view(bytes)); },
            nb::arg("site"), nb::arg("greeting"))
        .def("refuse_misfits", &refuse_misfits)
        .def("begin", &StarJob::begin, nb::arg("members"), nb::arg("least"))
        .def(
            "question", [](StarJob& job, Index member) { return to_bytes(job.question(member)); }, nb::arg("member"))
        .def("take", &take, nb::arg("member"), nb::arg("answer"))
        .def(
            "report", [](StarJob& job, Index member, const nb::bytes& bytes) { job.report(member, view(bytes)); },
            nb::arg("member"), nb::arg("answer"))
        .def("features", [](const StarJob& job) { return features_tuple(job.features().features, job.schema().modes); })
        .def("json", &job_json);
    module.def("secure_job", &secure_job, nb::arg("welcome"));
    module.def("vet", &vet, nb::arg("messages"), nb::arg("shape"), nb::arg("policy"));
    module.def("answer", &answer, nb::arg("messages"), nb::arg("x").noconvert(), nb::arg("labels"), nb::arg("policy"),
               nb::arg("place"), nb::arg("watcher"));
}

}  // namespace couplet::python
