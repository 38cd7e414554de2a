#include "free_gil.hpp"

#include <cxxabi.h>
#include <unistd.h>

namespace couplet::python {

FreeGil::~FreeGil() {
    try {
        PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
        while (true) ::pause();
    }
}

}  // namespace couplet::python
