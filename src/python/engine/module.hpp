#pragma once

#include <nanobind/nanobind.h>

namespace couplet::python {

/// Parts of the module `couplet._engine`, one per file.
void add_trains(nanobind::module_& module);
void add_files(nanobind::module_& module);
void add_data(nanobind::module_& module);
void add_federation(nanobind::module_& module);
void add_star(nanobind::module_& module);

}  // namespace couplet::python
