#pragma once

#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// What the paper's analysis section needs to know of a federation: equal clients of `patients` each.
struct CostCase {
    Index clients = 1;
    Index patients = 1;           ///< I_1^k
    std::vector<Index> features;  ///< I_2 ... I_N
    std::vector<Index> ranks;     ///< R_1 ... R_{N-1}
    Index iterations = 1;         ///< L
};

/// Operations of Alg. 2, all its lines added up: the clients' TT-SVDs, the products and their mean at the server, and
/// the server's TT-SVD, with the constants of the O() left at 1.
double star_operations(const CostCase& c);
/// Operations of Alg. 3 at all nodes together.
double peers_operations(const CostCase& c);
/// Numbers on a link, one way.
double star_numbers(const CostCase& c);
double peers_numbers(const CostCase& c);

}  // namespace couplet
