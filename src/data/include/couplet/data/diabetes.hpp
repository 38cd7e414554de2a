#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "couplet/data/dataset.hpp"

namespace couplet {

struct DiabetesOptions {
    std::optional<Index> count = 1000;  ///< people to pick; unset: all
    std::uint64_t seed = 0;
};

/// People x 20 physiological x 24 habitual indicators from diabetes_012_health_indicators_BRFSS2015.csv(.gz); a person
/// is the outer product of both vectors.
///   physiological: HighBP, HighChol, CholCheck, Stroke, HeartDiseaseorAttack, DiffWalk, Sex, BMI/98, MentHlth/30,
///     PhysHlth/30, GenHlth one-hot (5), BMI class one-hot (below 18.5, 25, 30, 35, and the rest)
///   habitual: Smoker, PhysActivity, Fruits, Veggies, HvyAlcoholConsump, AnyHealthcare, NoDocbcCost, Education one-hot
///     (6), Income one-hot (8), age band one-hot (codes below 5, below 9, and the rest: 18-39, 40-59, 60 and older)
/// Labels are Diabetes_012: 0 none, 1 prediabetes, 2 diabetes. People are picked at random without replacement and come
/// in random order. Columns are found by name, in any order; others are ignored. Throws InputError for a missing
/// column, a cell outside its range, or too few people. The whole file is checked and held in memory.
Dataset load_diabetes(const std::filesystem::path& file, const DiabetesOptions& options = {});

}  // namespace couplet
