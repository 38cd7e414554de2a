#include "couplet/consensus/combine.hpp"

namespace couplet {

void add_difference(double* sum, const double* own, const double* other, double weight, Index count) {
    for (Index i = 0; i < count; ++i) sum[i] += weight * (other[i] - own[i]);
}

void step_state(double* previous, const double* own, const double* sum, double gain, double momentum, Index count) {
    if (momentum == 0) {
        for (Index i = 0; i < count; ++i) previous[i] = own[i] + gain * sum[i];
        return;
    }
    for (Index i = 0; i < count; ++i) previous[i] = own[i] + (gain * sum[i] + momentum * (own[i] - previous[i]));
}

void mix_states(double* previous, const double* own, const double* const* others, const double* weights, Index degree,
                double gain, double momentum, Index count) {
    // Four pairs of sums and four of own values leave half of the sixteen vector registers of x86-64 for the
    // rest.
    constexpr Index strip = 8;
    Index begin = 0;
    for (; begin + strip <= count; begin += strip) {
        double sum[strip] = {};
        double x[strip];
        for (Index i = 0; i < strip; ++i) x[i] = own[begin + i];
        for (Index j = 0; j < degree; ++j) {
            const double* other = others[j] + begin;
            const double weight = weights[j];
            for (Index i = 0; i < strip; ++i) sum[i] += weight * (other[i] - x[i]);
        }
        step_state(previous + begin, x, sum, gain, momentum, strip);
    }
    double sum[strip] = {};
    for (Index j = 0; j < degree; ++j) add_difference(sum, own + begin, others[j] + begin, weights[j], count - begin);
    step_state(previous + begin, own + begin, sum, gain, momentum, count - begin);
}

void add_state(double* sum, const double* other, Index count) {
    for (Index i = 0; i < count; ++i) sum[i] += other[i];
}

void divide_state(double* sum, double parts, Index count) {
    for (Index i = 0; i < count; ++i) sum[i] /= parts;
}

}  // namespace couplet
