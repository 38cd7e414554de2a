#pragma once

#include <utility>

#include "couplet/ctt/released.hpp"

namespace couplet {

/// The only maker of Released values from local data; private to this module.
struct ReleaseGate {
    template <class T>
    static Released<T> release(T value) {
        return Released<T>(std::move(value));
    }
};

}  // namespace couplet
