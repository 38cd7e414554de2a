#include "simulation_method.hpp"

#include <array>
#include <utility>

#include "couplet/linalg/backend.hpp"
#include "couplet/sim/reference.hpp"

namespace couplet::cli {
namespace {

/// What is no baseline.
struct OwnMethod {
    std::string_view name;
    SimulationResult (*run)(const ClientSource& source, SimulationOptions options);
};

constexpr std::array own_methods{OwnMethod{"ctt", simulate}, OwnMethod{"centralized", reference_centralized},
                                 OwnMethod{"local", reference_local}};

const OwnMethod* find_own(std::string_view name) {
    for (const OwnMethod& method : own_methods) {
        if (method.name == name) return &method;
    }
    return nullptr;
}

}  // namespace

std::vector<std::string> simulation_methods() {
    std::vector<std::string> names;
    for (const OwnMethod& method : own_methods) names.emplace_back(method.name);
    for (std::string& name : method_names()) names.push_back(std::move(name));
    return names;
}

std::optional<Method> baseline_named(std::string_view name) {
    if (find_own(name)) return std::nullopt;
    return parse_method(name);
}

bool trains_cp(std::string_view name) {
    const auto baseline = baseline_named(name);
    return baseline && is_cp(*baseline);
}

MethodResult run_simulation(std::string_view name, const ClientSource& source, SimulationOptions options,
                            const BaselineOptions& baseline) {
    const OwnMethod* own = find_own(name);
    if (!own) return run_method(parse_method(name), source, std::move(options), baseline);
    prepare_backend();  // no part of the computation
    MethodResult result;
    result.simulation = own->run(source, std::move(options));
    return result;
}

}  // namespace couplet::cli
