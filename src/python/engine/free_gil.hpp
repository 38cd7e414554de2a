#pragma once

#include <nanobind/nanobind.h>

namespace couplet::python {

/// While it lives, other threads of Python run. The end of the interpreter kills its daemon threads where they ask for
/// the GIL again, by unwinding them; through C++ that would end the whole process with SIGABRT. So such a thread sleeps
/// here until the process is gone, as it does in Python 3.14.
class FreeGil {
  public:
    FreeGil() : state_(PyEval_SaveThread()) {}
    ~FreeGil();
    FreeGil(const FreeGil&) = delete;
    FreeGil& operator=(const FreeGil&) = delete;

  private:
    PyThreadState* state_;
};

}  // namespace couplet::python
