#pragma once

#include <utility>

#include "couplet/ctt/released.hpp"

namespace couplet {

/// The only maker of Released values; private to this module. What is decoded from a peer's bytes was released there.
struct ReleaseGate {
    template <class T>
    static Released<T> release(T value) {
        return Released<T>(std::move(value));
    }
};

}  // namespace couplet
