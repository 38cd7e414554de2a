#include "couplet/consensus/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "couplet/linalg/eigen.hpp"

namespace couplet {

std::vector<double> distinct_laplacian_eigenvalues(const Graph& graph) {
    graph.require_connected();
    if (graph.nodes() == 1) return {};
    std::vector<double> values = symmetric_eigenvalues(graph.laplacian());
    std::reverse(values.begin(), values.end());
    const double width = 1e-13 * static_cast<double>(graph.nodes()) * values.back();
    std::vector<double> distinct;
    // A connected graph has the eigenvalue 0 exactly once.
    for (auto first = values.begin() + 1; first != values.end();) {
        const auto last =
            std::find_if(first, values.end(), [&](double value) { return value > *first + width; });
        distinct.push_back(std::accumulate(first, last, 0.0) / static_cast<double>(last - first));
        first = last;
    }
    return distinct;
}

std::vector<double> leja_order(std::vector<double> points) {
    // Logarithms, because products of many distances leave the range of double.
    std::vector<double> score(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) score[i] = std::log(std::abs(points[i]));
    for (std::size_t done = 0; done < points.size(); ++done) {
        const auto best =
            std::max_element(score.begin() + static_cast<std::ptrdiff_t>(done), score.end()) - score.begin();
        std::rotate(points.begin() + static_cast<std::ptrdiff_t>(done), points.begin() + best,
                    points.begin() + best + 1);
        std::rotate(score.begin() + static_cast<std::ptrdiff_t>(done), score.begin() + best,
                    score.begin() + best + 1);
        for (std::size_t i = done + 1; i < points.size(); ++i) {
            if (done == 0) score[i] = 0;
            score[i] += std::log(std::abs(points[i] - points[done]));
        }
    }
    return points;
}

}  // namespace couplet
