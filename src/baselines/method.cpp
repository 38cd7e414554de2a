#include "couplet/baselines/method.hpp"

#include <array>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr std::array methods{Method::fedsvd, Method::trip,  Method::fedgtf_ef, Method::fedgtf_ef_pc,
                             Method::dpfact, Method::dpsgd, Method::cidertf};

}  // namespace

std::span<const Method> all_methods() noexcept { return methods; }

std::vector<std::string> method_names() {
    std::vector<std::string> names;
    for (const Method method : methods) names.emplace_back(to_string(method));
    return names;
}

std::string_view to_string(Method method) noexcept {
    switch (method) {
        case Method::fedsvd:
            return "fedsvd";
        case Method::trip:
            return "trip";
        case Method::fedgtf_ef:
            return "fedgtf-ef";
        case Method::fedgtf_ef_pc:
            return "fedgtf-ef-pc";
        case Method::dpfact:
            return "dpfact";
        case Method::dpsgd:
            return "dpsgd";
        case Method::cidertf:
            return "cidertf";
    }
    return "";
}

Method parse_method(std::string_view name) {
    std::string names;
    for (const Method method : methods) {
        if (to_string(method) == name) return method;
        names += (names.empty() ? "" : ", ") + std::string(to_string(method));
    }
    throw InputError({"`method`", std::string(name), "one of " + names, ""});
}

bool is_cp(Method method) noexcept { return method > Method::fedsvd; }

Network network_of(Method method) noexcept {
    return method == Method::dpsgd || method == Method::cidertf ? Network::decentralized : Network::star;
}

}  // namespace couplet
