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

}  // namespace couplet::testing
