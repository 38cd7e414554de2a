#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/explain/carriers.hpp"
#include "couplet/explain/components.hpp"
#include "couplet/linalg/products.hpp"

namespace couplet::testing {

/// Three orthonormal patterns over 4 conditions x 3 drugs, each of one condition and one drug, mixed by a rotation; the
/// coordinates of 40 patients at the first site and 25 at the second, where the third pattern is rare.
inline Findings mixed_findings() {
    Findings findings{.source = "made"};
    findings.schema = make_schema(Shape{4, 3},
                                  {{"condition", {"asthma", "diabetes", "otitis", "gout"}, {}},
                                   {"drug", {"inhaler", "metformin", "amoxicillin"}, {}}},
                                  "made");
    auto pure = Matrix<double>::zeros(3, 12);
    for (Index r = 0; r < 3; ++r) pure(r, r * 3 + r) = 1;
    // A rotation of three axes.
    const double a = 0.7;
    const double b = 1.1;
    Matrix<double> turn(3, 3);
    const double rows[3][3] = {{std::cos(a), std::sin(a), 0},
                               {-std::sin(a) * std::cos(b), std::cos(a) * std::cos(b), std::sin(b)},
                               {std::sin(a) * std::sin(b), -std::cos(a) * std::sin(b), std::cos(b)}};
    for (Index i = 0; i < 3; ++i) {
        for (Index j = 0; j < 3; ++j) turn(i, j) = rows[i][j];
    }
    findings.rows = product<double>(turn.view(), pure.view());
    Random random(5);
    for (const Index patients : {Index{40}, Index{25}}) {
        Matrix<double> scores(patients, 3);
        for (Index p = 0; p < patients; ++p) {
            for (Index r = 0; r < 3; ++r) {
                const double rare = r == 2 && patients == 25 ? 0.1 : 1;
                scores(p, r) = rare * static_cast<double>(3 - r) * (1 + 0.3 * random.normal());
            }
        }
        SiteScores site{.name = patients == 40 ? "north" : "south"};
        site.scores = product<double>(scores.view(), turn.view(), Op::none, Op::transpose);
        site.norm2 = squared_norm<double>(site.scores.view()) / 0.8;
        findings.sites.push_back(std::move(site));
    }
    findings.shares_of_data = true;
    return findings;
}

/// Presences of 100 patients at two sites, as (1, a) x (1, b): the first label of both modes comes together, the second
/// ones are frequent and independent. 38 patients have the first pair, 8 of them at the second site.
inline std::vector<Tensor<double>> paired_clients() {
    std::vector<Tensor<double>> clients;
    Index patient = 0;
    for (const Index rows : {Index{60}, Index{40}}) {
        Tensor<double> x(Shape{rows, 3, 3});
        for (Index p = 0; p < rows; ++p, ++patient) {
            const bool pair = patient < 30 || (patient >= 60 && patient < 68);
            const double a[3] = {1, pair ? 1.0 : 0.0, patient % 2 == 0 ? 1.0 : 0.0};
            const double b[3] = {1, pair ? 1.0 : 0.0, patient % 4 < 2 ? 1.0 : 0.0};
            for (Index i = 0; i < 3; ++i) {
                for (Index j = 0; j < 3; ++j) x.data()[(p * 3 + i) * 3 + j] = a[i] * b[j];
            }
        }
        clients.push_back(std::move(x));
    }
    return clients;
}

/// Features of that data: the first pair, the second pair.
inline Findings paired_findings() {
    Findings findings{.source = "made"};
    findings.schema = make_schema(
        Shape{3, 3}, {{"condition", {"(any)", "asthma", "cough"}, {}}, {"drug", {"(any)", "inhaler", "syrup"}, {}}},
        "made");
    findings.rows = Matrix<double>::zeros(2, 9);
    findings.rows(0, 4) = 1;
    findings.rows(1, 8) = 1;
    findings.energy = Matrix<double>::zeros(2, 2);
    findings.energy(0, 0) = 2;
    findings.energy(1, 1) = 1;
    for (const Index patients : {Index{60}, Index{40}}) {
        SiteScores site{.name = patients == 60 ? "north" : "south", .scores = Matrix<double>::zeros(patients, 2)};
        for (Index p = 0; p < patients; ++p) site.scores(p, 0) = 1;
        site.norm2 = static_cast<double>(patients);
        findings.sites.push_back(std::move(site));
    }
    const CentringOptions how{.weight = Weight::sqrt, .any_at = {0, 0}};
    FeatureSums sums;
    for (const auto& x : paired_clients()) sums.add(feature_sums(x.view(), how));
    findings.weighting = centring_of(sums, how);
    return findings;
}

/// Explained with the data at hand, and stable.
inline Explanation paired_explanation() {
    Explanation told = explain(paired_findings(), {.rotation = Rotation::none});
    const auto clients = paired_clients();
    count_carriers(told, clients);
    for (Component& component : told.components) component.stability = component.least_stability = 0.9;
    return told;
}

}  // namespace couplet::testing
