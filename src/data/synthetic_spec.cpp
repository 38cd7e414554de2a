#include "couplet/data/synthetic_spec.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

constexpr const char* example = "Write for example 200x30x30:rank=20,density=0.4,personal=gaussian,noise=0.01.";

[[noreturn]] void refuse(std::string found, std::string expected) {
    throw InputError({"synthetic specification", std::move(found), std::move(expected), example});
}

/// Takes what is before `separator` off the front of `text`; all of it when there is none.
std::string_view take(std::string_view& text, char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view head = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return head;
}

Index parse_count(std::string_view text, const std::string& what) {
    Index value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || value < 1) {
        refuse(what + " " + shown(text), "a whole number of at least 1");
    }
    return value;
}

Shape parse_shape(std::string_view text) {
    std::vector<Index> sizes;
    if (text.ends_with('x')) refuse("shape " + shown(text), "sizes joined by x");
    while (!text.empty()) sizes.push_back(parse_count(take(text, 'x'), "size"));
    if (sizes.size() < 2) {
        refuse(sizes.empty() ? "no shape" : "a shape of one mode", "at least two sizes joined by x");
    }
    return Shape(std::move(sizes));
}

double parse_real(std::string_view text, const std::string& what) {
    double value = 0;
    if (text.empty() || parse_number(text, value) != NumberText::number || !std::isfinite(value)) {
        refuse(what + " " + shown(text), "a number");
    }
    return value;
}

void set_option(SyntheticSpec& spec, std::string_view name, std::string_view value) {
    if (name == "rank") {
        spec.cp_rank = parse_count(value, "rank");
    } else if (name == "density") {
        spec.density = parse_real(value, "density");
    } else if (name == "noise") {
        spec.noise = parse_real(value, "noise");
    } else if (name == "personal") {
        if (value != "uniform" && value != "gaussian") refuse("personal " + shown(value), "uniform or gaussian");
        spec.personal = value == "gaussian" ? PersonalFactor::gaussian : PersonalFactor::uniform;
    } else if (name == "patients") {
        if (value != "total" && value != "each") refuse("patients " + shown(value), "total or each");
        spec.patients = value == "each" ? PatientCount::each : PatientCount::total;
    } else {
        refuse("option " + shown(name), "one of rank, density, personal, noise, patients");
    }
}

}  // namespace

double feature_density(const SyntheticSpec& spec) { return spec.density.value_or(spec.shape.order() <= 3 ? 0.4 : 0.1); }

void check_synthetic(const SyntheticSpec& spec) {
    if (spec.shape.order() < 2) refuse("shape " + spec.shape.to_string(), "at least two modes");
    if (spec.shape.size() == 0) refuse("shape " + spec.shape.to_string(), "sizes of at least 1");
    if (spec.cp_rank < 1) refuse(fmt::format("rank {}", spec.cp_rank), "at least 1");
    const double density = feature_density(spec);
    if (!(density > 0 && density <= 1)) refuse(fmt::format("density {}", density), "above 0 and at most 1");
    if (!(spec.noise >= 0) || !std::isfinite(spec.noise)) refuse(fmt::format("noise {}", spec.noise), "0 or more");
}

SyntheticSpec parse_synthetic(std::string_view text, std::uint64_t seed) {
    SyntheticSpec spec{.seed = seed};
    const bool has_options = text.find(':') != std::string_view::npos;
    spec.shape = parse_shape(take(text, ':'));
    if (has_options && text.empty()) refuse("nothing after the colon", "options as name=value");
    std::vector<std::string_view> seen;
    while (!text.empty()) {
        std::string_view value = take(text, ',');
        if (value.find('=') == std::string_view::npos) refuse("option " + shown(value), "name=value");
        const std::string_view name = take(value, '=');
        for (const std::string_view other : seen) {
            if (other == name) refuse("option " + shown(name) + " twice", "each option once");
        }
        seen.push_back(name);
        set_option(spec, name, value);
    }
    check_synthetic(spec);
    return spec;
}

std::string to_string(const SyntheticSpec& spec) {
    return fmt::format("{}:rank={},density={},personal={},noise={},patients={}", spec.shape.to_string(), spec.cp_rank,
                       feature_density(spec), spec.personal == PersonalFactor::gaussian ? "gaussian" : "uniform",
                       spec.noise, spec.patients == PatientCount::each ? "each" : "total");
}

}  // namespace couplet
