#include "couplet/baselines/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

/// The defaults, and by being there or not also what a method has.
Tuning default_tuning(Method method, Index rank) {
    // Fewer fibers than the rank leave directions of the factor without any data, and few of them much noise.
    const Index fibers = std::max<Index>(1024, 16 * rank);
    switch (method) {
        case Method::trip:
            return {.rho = 1};
        case Method::fedgtf_ef:
            return {.step = 0.5, .decay = 0.01, .fibers = fibers, .prox = 1e-4};
        case Method::fedgtf_ef_pc:
            return {.step = 0.5, .decay = 0.01, .fibers = fibers, .tau = 8, .prox = 0};
        case Method::dpfact:
            return {
                .step = 0.5, .decay = 0, .fibers = fibers, .tau = 4, .rho = 0.9, .prox = 1e-4, .clip = 0, .noise = 0};
        case Method::dpsgd:
            return {.step = 1, .decay = 0, .fibers = fibers, .tau = 1};
        case Method::cidertf:
            return {.step = 1, .decay = 0.01, .fibers = fibers, .tau = 8, .threshold = 1e-6, .gossip = 1};
        default:
            return {};
    }
}

using Grid = std::array<Tuning, grid_size>;

constexpr Grid trip_grid{{{.rho = 0.1},
                          {.rho = 0.3},
                          {.rho = 1},
                          {.rho = 2},
                          {.rho = 3},
                          {.rho = 5},
                          {.rho = 10},
                          {.rho = 20},
                          {.rho = 30},
                          {.rho = 50},
                          {.rho = 100},
                          {.rho = 300}}};

/// Two numbers of fibers times six of what matters besides.
template <class Make>
constexpr Grid two_samples(Make make) {
    Grid grid{};
    std::size_t at = 0;
    for (const Index fibers : {256, 1024}) {
        for (int choice = 0; choice < 6; ++choice) {
            grid[at] = make(choice);
            grid[at++].fibers = fibers;
        }
    }
    return grid;
}

constexpr std::array<double, 3> steps{0.5, 1, 1.5};

constexpr Grid fedgtf_ef_grid = two_samples([](int choice) {
    return Tuning{.step = steps[static_cast<std::size_t>(choice % 3)], .decay = choice < 3 ? 0 : 0.02};
});
constexpr Grid fedgtf_ef_pc_grid = two_samples(
    [](int choice) { return Tuning{.step = steps[static_cast<std::size_t>(choice % 3)], .tau = choice < 3 ? 8 : 16}; });
constexpr Grid dpfact_grid = two_samples(
    [](int choice) { return Tuning{.step = steps[static_cast<std::size_t>(choice % 3)], .tau = choice < 3 ? 4 : 8}; });
constexpr Grid dpsgd_grid = two_samples(
    [](int choice) { return Tuning{.step = steps[static_cast<std::size_t>(choice % 3)], .tau = choice < 3 ? 1 : 4}; });
constexpr Grid cidertf_grid = two_samples(
    [](int choice) { return Tuning{.step = steps[static_cast<std::size_t>(choice % 3)], .tau = choice < 3 ? 4 : 12}; });

std::string number_text(double value) {
    std::string text = std::to_string(value);
    while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
        const bool point = text.back() == '.';
        text.pop_back();
        if (point) break;
    }
    return text;
}

struct Range {
    const char* name;
    double least;
    bool least_included;
    double most;
    bool most_included;
};

bool inside(double value, const Range& range) {
    const bool above = range.least_included ? value >= range.least : value > range.least;
    const bool below = range.most_included ? value <= range.most : value < range.most;
    return above && below && std::isfinite(value);
}

std::string range_text(const Range& range) {
    const std::string lower = (range.least_included ? "at least " : "more than ") + number_text(range.least);
    if (range.most == unbounded) return "a number, " + lower;
    return "a number, " + lower + (range.most_included ? " and at most " : " and below ") + number_text(range.most);
}

template <class T>
void take(Method method, const Range& range, const std::optional<T>& asked, std::optional<T>& value) {
    if (!asked) return;
    if (!value) {
        throw InputError({range.name, "given with `method` " + std::string(to_string(method)),
                          "a parameter that this method has", "Leave it out."});
    }
    if (!inside(static_cast<double>(*asked), range)) {
        throw InputError({range.name, number_text(static_cast<double>(*asked)), range_text(range), ""});
    }
    value = asked;
}

void check_privacy(const Tuning& asked, Tuning& tuning) {
    if (tuning.clip.value_or(0) > 0) {
        if (asked.fibers.value_or(0) > 0) {
            throw InputError(
                {"`fibers`", "given with `gradient_clip`", "all fibers: whole patients are clipped", "Leave it out."});
        }
        tuning.fibers = 0;
    }
    if (tuning.noise.value_or(0) == 0) return;
    if (*tuning.clip == 0) {
        throw InputError({"`gradient_noise`", "given without `gradient_clip`",
                          "`gradient_clip` C, which bounds what one patient adds",
                          "For example: `gradient_clip` 1 `gradient_noise` 1"});
    }
    // The shrinkage looks at norms of columns, over all patients, which would be one more release.
    if (asked.prox.value_or(0) > 0) {
        throw InputError({"`prox`", "given with `gradient_noise`", "no shrinkage of the private factor under noise",
                          "Leave it out."});
    }
    tuning.prox = 0;
}

}  // namespace

Loss parse_loss(std::string_view name) {
    if (name == "square") return Loss::square;
    if (name == "logistic") return Loss::logistic;
    throw InputError({"`loss`", std::string(name), "square or logistic", ""});
}

std::string_view to_string(Loss loss) noexcept { return loss == Loss::square ? "square" : "logistic"; }

Tuning overlay(const Tuning& base, const Tuning& over) {
    Tuning result = over;
    const auto fill = [](auto& value, const auto& standard) {
        if (!value) value = standard;
    };
    fill(result.step, base.step);
    fill(result.decay, base.decay);
    fill(result.fibers, base.fibers);
    fill(result.tau, base.tau);
    fill(result.rho, base.rho);
    fill(result.prox, base.prox);
    fill(result.clip, base.clip);
    fill(result.noise, base.noise);
    fill(result.threshold, base.threshold);
    fill(result.gossip, base.gossip);
    return result;
}

std::string describe(const Tuning& tuning) {
    std::string text;
    for_each_parameter(tuning, [&](const char* name, const auto& value) {
        if (value) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, *value);
    });
    return text;
}

Tuning resolve_tuning(Method method, const Tuning& asked, Index rank) {
    Tuning tuning = default_tuning(method, rank);
    take(method, {"`step`", 0, false, unbounded, false}, asked.step, tuning.step);
    take(method, {"`decay`", 0, true, unbounded, false}, asked.decay, tuning.decay);
    take(method, {"`fibers`", 0, true, unbounded, false}, asked.fibers, tuning.fibers);
    take(method, {"`tau`", 1, true, 1e6, true}, asked.tau, tuning.tau);
    const bool elastic = method == Method::dpfact;
    take(method, {"`rho`", 0, false, elastic ? 1 : unbounded, elastic}, asked.rho, tuning.rho);
    take(method, {"`prox`", 0, true, 1, false}, asked.prox, tuning.prox);
    take(method, {"`gradient_clip`", 0, true, unbounded, false}, asked.clip, tuning.clip);
    take(method, {"`gradient_noise`", 0, true, unbounded, false}, asked.noise, tuning.noise);
    take(method, {"`threshold`", 0, true, unbounded, false}, asked.threshold, tuning.threshold);
    take(method, {"`gossip`", 0, false, 1, true}, asked.gossip, tuning.gossip);
    check_privacy(asked, tuning);
    if (elastic && *tuning.step * *tuning.prox >= 1) {
        throw InputError({"`prox`", number_text(*tuning.prox) + " with a step of " + number_text(*tuning.step),
                          "step x prox below 1, or a step takes all of the private factor",
                          "Give a smaller `step` or `prox`."});
    }
    return tuning;
}

std::span<const Tuning> tuning_grid(Method method) {
    switch (method) {
        case Method::trip:
            return trip_grid;
        case Method::fedgtf_ef:
            return fedgtf_ef_grid;
        case Method::fedgtf_ef_pc:
            return fedgtf_ef_pc_grid;
        case Method::dpfact:
            return dpfact_grid;
        case Method::dpsgd:
            return dpsgd_grid;
        case Method::cidertf:
            return cidertf_grid;
        default:
            return {};
    }
}

}  // namespace couplet
