#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "couplet/baselines/method.hpp"

namespace couplet {

/// What the model M is compared with X by: 1/2 ||X - M||^2, or sum log(1 + exp M) - X M for X of zeros and ones.
enum class Loss { square, logistic };

Loss parse_loss(std::string_view name);
std::string_view to_string(Loss loss) noexcept;

/// Parameters of the CP methods. One left out takes the method's default (resolve_tuning); one that the method does not
/// have is refused.
struct Tuning {
    /// Relative step, > 0: a client's gradient step on a factor is step / lambda with lambda the largest eigenvalue of
    /// its (sampled) Khatri-Rao Gram matrix, a fourth of it for the logistic loss. Steps are thus free of the scale of
    /// the data, and 1 is the longest that never overshoots on the sample. All but trip.
    std::optional<double> step = {};
    /// The step of round t is step / (1 + decay t), decay >= 0. All but trip.
    std::optional<double> decay = {};
    /// Fibers sampled for one gradient; 0: all of them, the exact gradient. All but trip.
    std::optional<Index> fibers = {};
    /// Local steps between two exchanges, >= 1. All but trip and fedgtf-ef.
    std::optional<Index> tau = {};
    /// trip: penalty relative to the mean eigenvalue of the clients' Khatri-Rao Gram matrices, > 0. dpfact: part of the
    /// way that the server moves to the clients' mean in a round, 0 < rho <= 1; a client is pulled back by rho / K.
    std::optional<double> rho = {};
    /// fedgtf-ef, fedgtf-ef-pc: a step also shrinks the factor by step x prox, a ridge. dpfact: a step shrinks the
    /// columns of A_1 by step x prox of the largest one's norm (l2,1). 0 <= prox < 1.
    std::optional<double> prox = {};
    /// dpfact: largest norm of what one patient adds to a gradient, relative to the root mean square norm of a patient;
    /// 0: no clipping.
    std::optional<double> clip = {};
    /// dpfact: standard deviation of the noise in every clipped gradient over the clipping norm; 0: none.
    std::optional<double> noise = {};
    /// cidertf: a factor is sent when ||A - Ahat||^2 exceeds threshold ||A||^2, >= 0.
    std::optional<double> threshold = {};
    /// cidertf: step towards the neighbours' copies, 0 < gossip <= 1.
    std::optional<double> gossip = {};

    friend bool operator==(const Tuning&, const Tuning&) = default;
};

/// Calls f(name, parameter) for every parameter of a Tuning, set or not, in the order above.
template <class T, class F>
void for_each_parameter(T& tuning, F&& f) {
    f("step", tuning.step);
    f("decay", tuning.decay);
    f("fibers", tuning.fibers);
    f("tau", tuning.tau);
    f("rho", tuning.rho);
    f("prox", tuning.prox);
    f("clip", tuning.clip);
    f("noise", tuning.noise);
    f("threshold", tuning.threshold);
    f("gossip", tuning.gossip);
}

/// `base` with the parameters that `over` sets.
Tuning overlay(const Tuning& base, const Tuning& over);

/// The parameters that are set, for a reader: "step=0.5 tau=3".
std::string describe(const Tuning& tuning);

/// The tuning with every parameter of the method filled in. Throws InputError for a parameter that the method does not
/// have or that is out of range, named as the flag of the command line.
Tuning resolve_tuning(Method method, const Tuning& asked, Index rank);

/// The documented grid of a CP method: grid_size tunings each, equal effort for all.
std::span<const Tuning> tuning_grid(Method method);
inline constexpr std::size_t grid_size = 12;

}  // namespace couplet
