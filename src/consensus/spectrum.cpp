#include "couplet/consensus/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "couplet/linalg/eigen.hpp"

namespace couplet {

std::vector<double> distinct_laplacian_eigenvalues(const Graph& graph) {
    graph.require_connected();
    if (graph.nodes() == 1) return {};
    std::vector<double> values = TridiagonalForm(graph.laplacian()).values();
    std::reverse(values.begin(), values.end());
    const double width = 1e-13 * static_cast<double>(graph.nodes()) * values.back();
    std::vector<double> distinct;
    // A connected graph has the eigenvalue 0 exactly once.
    for (auto first = values.begin() + 1; first != values.end();) {
        const auto last = std::find_if(first, values.end(), [&](double value) { return value > *first + width; });
        distinct.push_back(std::accumulate(first, last, 0.0) / static_cast<double>(last - first));
        first = last;
    }
    return distinct;
}

std::vector<double> leja_order(std::vector<double> points) {
    constexpr double tie = 1e-9;
    // Logarithms, because products of many distances leave the range of double.
    std::vector<double> score(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) score[i] = std::log(std::abs(points[i]));
    for (std::size_t done = 0; done < points.size(); ++done) {
        std::size_t best = done;
        for (std::size_t i = done + 1; i < points.size(); ++i) {
            if (score[i] > score[best] + tie) best = i;
        }
        const auto begin = static_cast<std::ptrdiff_t>(done);
        const auto chosen = static_cast<std::ptrdiff_t>(best);
        std::rotate(points.begin() + begin, points.begin() + chosen, points.begin() + chosen + 1);
        std::rotate(score.begin() + begin, score.begin() + chosen, score.begin() + chosen + 1);
        for (std::size_t i = done + 1; i < points.size(); ++i) {
            const double distance = std::log(std::abs(points[i] - points[done]));
            score[i] = done == 0 ? distance : score[i] + distance;
        }
    }
    return points;
}

}  // namespace couplet
