#include "module.hpp"

#include <nanobind/stl/string.h>

#include <exception>
#include <string>

#include "attend.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/backend.hpp"
#include "text.hpp"

namespace couplet::python {
namespace {

void add_errors(nb::module_& module) {
    static PyObject* input_error = nullptr;
    static PyObject* run_error = nullptr;
    input_error = nb::exception<InputError>(module, "InputError", PyExc_ValueError).ptr();
    run_error = nb::exception<RunError>(module, "RunError", PyExc_RuntimeError).ptr();
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const InputError& error) {
            PyErr_SetObject(input_error, to_text(in_python_words(error.what())).ptr());
        } catch (const Error& error) {
            PyErr_SetObject(run_error, to_text(in_python_words(error.what())).ptr());
        }
    });
}

}  // namespace

NB_MODULE(_engine, module) {
    share_process();
    add_errors(module);
    module.def("version", [] { return std::string(version()); });
    module.def("threads", [] { return thread_count(); });
    module.def("set_threads", [](int count) { set_thread_count(count); });
    module.def("blas", [] { return std::string(blas_library_name()) + " " + blas_core_name(); });
    module.def("end_all_work", [] { end_all_work(); });
    add_trains(module);
    add_files(module);
    add_data(module);
    add_federation(module);
    add_star(module);
}

}  // namespace couplet::python
