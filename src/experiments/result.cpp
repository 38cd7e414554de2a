#include "couplet/experiments/result.hpp"

#include <algorithm>
#include <iterator>

namespace couplet {

std::vector<Row> rows_of(const ExperimentResult& result, const std::string& figure) {
    std::vector<Row> rows;
    std::copy_if(result.rows.begin(), result.rows.end(), std::back_inserter(rows),
                 [&](const Row& row) { return row.figure == figure; });
    return rows;
}

const Row* find_row(const ExperimentResult& result, const std::string& figure, const std::string& method,
                    const std::string& variant, double x) {
    const auto at = std::find_if(result.rows.begin(), result.rows.end(), [&](const Row& row) {
        return row.figure == figure && row.method == method && row.variant == variant && row.x == x;
    });
    return at == result.rows.end() ? nullptr : &*at;
}

const Row* find_category(const ExperimentResult& result, const std::string& figure, const std::string& method,
                         const std::string& category) {
    const auto at = std::find_if(result.rows.begin(), result.rows.end(), [&](const Row& row) {
        return row.figure == figure && row.method == method && row.category == category;
    });
    return at == result.rows.end() ? nullptr : &*at;
}

std::optional<double> least_within(const std::vector<Row>& rows, const std::string& method, double x) {
    std::optional<double> least;
    for (const Row& row : rows) {
        if (row.method == method && row.x <= x) least = std::min(least.value_or(row.y.mean), row.y.mean);
    }
    return least;
}

void Collector::add_sample(const Place& place, double x, double y) {
    const auto [at, is_new] = samples_.try_emplace(place);
    if (is_new) order_.push_back(place);
    at->second.x.push_back(x);
    at->second.y.push_back(y);
}

void Collector::add(const std::string& figure, const std::string& method, const std::string& variant, double x,
                    double y) {
    add_sample({figure, method, variant, "", x}, x, y);
}

void Collector::add_measured(const std::string& figure, const std::string& method, const std::string& variant,
                             double step, double x, double y) {
    add_sample({figure, method, variant, "", step}, x, y);
}

void Collector::add_dot(const std::string& figure, const std::string& method, const std::string& category, double y,
                        const std::string& variant) {
    add_sample({figure, method, variant, category, 0}, 0, y);
}

void Collector::paper(const std::string& figure, const std::string& method, const std::string& variant, double x,
                      double value) {
    samples_.at({figure, method, variant, "", x}).paper = value;
}

void Collector::paper_dot(const std::string& figure, const std::string& method, const std::string& category,
                          double value) {
    samples_.at({figure, method, "", category, 0}).paper = value;
}

std::vector<Row> Collector::rows() const {
    std::vector<Row> rows;
    for (const Place& place : order_) {
        const Samples& all = samples_.at(place);
        rows.push_back({.figure = place.figure,
                        .method = place.method,
                        .variant = place.variant,
                        .category = place.category,
                        .x = summarise(all.x).mean,
                        .y = summarise(all.y),
                        .paper = all.paper});
    }
    return rows;
}

}  // namespace couplet
