#pragma once

#include <utility>

#include "couplet/ctt/released.hpp"

namespace couplet {

/// Makes Released values of what a peer has sent: it was released there. Private to the decoder; local data must not
/// come this way.
struct ArrivalGate {
    template <class T>
    static Released<T> arrived(T value) {
        return Released<T>(std::move(value));
    }
};

}  // namespace couplet
