#include "couplet/data/diabetes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/data/cells.hpp"
#include "couplet/data/data_file.hpp"
#include "couplet/data/sample.hpp"

namespace couplet {
namespace {

struct Column {
    std::string_view name;
    Index low;  ///< values are whole numbers from low to high
    Index high;
};

constexpr std::array columns{
    Column{"Diabetes_012", 0, 2},  Column{"HighBP", 0, 1},       Column{"HighChol", 0, 1},
    Column{"CholCheck", 0, 1},     Column{"BMI", 1, 200},        Column{"Smoker", 0, 1},
    Column{"Stroke", 0, 1},        Column{"PhysActivity", 0, 1}, Column{"HeartDiseaseorAttack", 0, 1},
    Column{"Fruits", 0, 1},        Column{"Veggies", 0, 1},      Column{"HvyAlcoholConsump", 0, 1},
    Column{"AnyHealthcare", 0, 1}, Column{"NoDocbcCost", 0, 1},  Column{"GenHlth", 1, 5},
    Column{"MentHlth", 0, 30},     Column{"PhysHlth", 0, 30},    Column{"DiffWalk", 0, 1},
    Column{"Sex", 0, 1},           Column{"Age", 1, 13},         Column{"Education", 1, 6},
    Column{"Income", 1, 8}};

/// One line of the file in the order of `columns`; every value fits a byte.
using Person = std::array<std::uint8_t, columns.size()>;

constexpr std::size_t position(std::string_view name) {
    std::size_t i = 0;
    while (columns[i].name != name) ++i;
    return i;
}

/// Value / scale, or whether from <= value < to.
struct Feature {
    std::string name;
    std::size_t column;
    double scale = 0;  ///< 0: an indicator
    double from = 0;
    double to = 0;

    double operator()(const Person& person) const {
        const double value = person[column];
        if (scale != 0) return value / scale;
        return value >= from && value < to ? 1 : 0;
    }
};

Feature scaled(std::string_view column, double scale = 1) {
    return {.name = std::string(column), .column = position(column), .scale = scale};
}

void append_one_hot(std::vector<Feature>& features, std::string_view column) {
    const std::size_t c = position(column);
    for (Index i = columns[c].low; i <= columns[c].high; ++i) {
        const auto from = static_cast<double>(i);
        features.push_back({.name = fmt::format("{}={}", column, i), .column = c, .from = from, .to = from + 1});
    }
}

struct Band {
    const char* name;
    double below;
};

void append_bands(std::vector<Feature>& features, std::string_view column, std::span<const Band> bands) {
    double from = 0;
    for (const Band& band : bands) {
        features.push_back({.name = band.name, .column = position(column), .from = from, .to = band.below});
        from = band.below;
    }
}

constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr double largest_bmi = 98;  // in the published file
constexpr double days = 30;         // of the last month, on which the answers were bad days

std::vector<Feature> physiological_features() {
    std::vector<Feature> features;
    for (const char* name : {"HighBP", "HighChol", "CholCheck", "Stroke", "HeartDiseaseorAttack", "DiffWalk", "Sex"})
        features.push_back(scaled(name));
    features.push_back(scaled("BMI", largest_bmi));
    features.push_back(scaled("MentHlth", days));
    features.push_back(scaled("PhysHlth", days));
    append_one_hot(features, "GenHlth");
    // The World Health Organization's classes: underweight, normal, overweight, obese I, obese II and III.
    constexpr std::array<Band, 5> weights{
        {{"BMI<18.5", 18.5}, {"BMI 18.5-25", 25}, {"BMI 25-30", 30}, {"BMI 30-35", 35}, {"BMI>=35", no_limit}}};
    append_bands(features, "BMI", weights);
    return features;
}

std::vector<Feature> habitual_features() {
    std::vector<Feature> features;
    for (const char* name :
         {"Smoker", "PhysActivity", "Fruits", "Veggies", "HvyAlcoholConsump", "AnyHealthcare", "NoDocbcCost"})
        features.push_back(scaled(name));
    append_one_hot(features, "Education");
    append_one_hot(features, "Income");
    // Codes are steps of five years, from 1 (18-24) to 13 (80 and older).
    constexpr std::array<Band, 3> ages{{{"Age 18-39", 5}, {"Age 40-59", 9}, {"Age 60+", no_limit}}};
    append_bands(features, "Age", ages);
    return features;
}

std::vector<Person> read_people(const std::filesystem::path& file) {
    CsvReader csv(file);
    csv.read_header();
    std::array<Index, columns.size()> where{};
    for (std::size_t c = 0; c < columns.size(); ++c) where[c] = csv.column(columns[c].name);
    std::vector<Person> people;
    for (std::vector<std::string_view> row; csv.next(row);) {
        Person& person = people.emplace_back();
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const Index value = whole_cell(csv, row, where[c], columns[c].low, columns[c].high);
            person[c] = static_cast<std::uint8_t>(value);
        }
    }
    return people;
}

std::vector<double> evaluate(const std::vector<Feature>& features, const Person& person) {
    std::vector<double> values;
    values.reserve(features.size());
    for (const Feature& feature : features) values.push_back(feature(person));
    return values;
}

ModeLabels mode_labels(std::string name, const std::vector<Feature>& features) {
    ModeLabels labels{std::move(name), {}};
    for (const Feature& feature : features) labels.entries.push_back(feature.name);
    return labels;
}

}  // namespace

Dataset load_diabetes(const std::filesystem::path& file, const DiabetesOptions& options) {
    const std::vector<Person> people = read_people(file);
    const auto available = static_cast<Index>(people.size());
    const Index count = options.count.value_or(available);
    if (count < 1 || count > available) {
        throw InputError(
            {file.string(), fmt::format("{} people", available),
             fmt::format("at least the {} asked for, and that at least 1", count),
             fmt::format("Ask for fewer people, or check that the file is complete: it has {} as published.",
                         *published_rows(DataFile::diabetes))});
    }
    const std::vector<Feature> physiological = physiological_features();
    const std::vector<Feature> habitual = habitual_features();
    const auto rows = static_cast<Index>(physiological.size());
    const auto cols = static_cast<Index>(habitual.size());
    const std::vector<Index> chosen = sample_without_replacement(available, count, options.seed);
    Dataset data{.tensor = Tensor<double>(Shape{count, rows, cols}),
                 .source = file.string(),
                 .available = available,
                 .records = available};
    for (const Index p : chosen) data.labels.push_back(people[static_cast<std::size_t>(p)][position("Diabetes_012")]);
    parallel_for(count, [&](Index p) {
        const Person& person = people[static_cast<std::size_t>(chosen[static_cast<std::size_t>(p)])];
        const std::vector<double> right = evaluate(habitual, person);
        double* out = data.tensor.data() + p * rows * cols;
        for (const double left : evaluate(physiological, person))
            out = std::transform(right.begin(), right.end(), out, [&](double value) { return left * value; });
    });
    data.tensor.set_labels(
        {{"person", {}}, mode_labels("physiological", physiological), mode_labels("habitual", habitual)});
    return data;
}

}  // namespace couplet
