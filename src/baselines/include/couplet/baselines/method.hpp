#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/ctt/job.hpp"

namespace couplet {

/// The methods that ours is compared with.
enum class Method {
    fedsvd,        ///< masked rows in one place (Chai et al., KDD 2022): centralized accuracy, the data travels
    trip,          ///< consensus ADMM on the shared CP factors (Kim et al., KDD 2017), star
    fedgtf_ef,     ///< sign-compressed gradients with error feedback (Ma et al., WWW 2021), star
    fedgtf_ef_pc,  ///< its periodic variant: tau local steps, then the compressed change of one factor
    dpfact,        ///< elastic averaging (Ma et al., CIKM 2019), star, third order
    dpsgd,         ///< decentralized SGD (Lian et al. 2017, Koloskova et al. 2020)
    cidertf,       ///< event-triggered compressed gossip (Ma et al. 2021), decentralized
};

/// In the order above.
std::span<const Method> all_methods() noexcept;
/// Their names, for example "fedgtf-ef".
std::vector<std::string> method_names();
std::string_view to_string(Method method) noexcept;
/// Throws InputError for anything but one of the names.
Method parse_method(std::string_view name);

/// Whether the method trains a CP model in rounds: those after fedsvd.
bool is_cp(Method method) noexcept;
/// Where a CP method runs.
Network network_of(Method method) noexcept;

}  // namespace couplet
