set(COUPLET_BATCHES ${CMAKE_CURRENT_LIST_DIR}/batches.py)

# couplet_module(NAME [SOURCES ...] [DEPENDS module ...] [PRIVATE_LIBS target ...])
#
# Declares src/NAME as the static library couplet::NAME. Its public headers live under
# include/couplet/NAME, so a module sees only the headers of the modules it names in DEPENDS.
function(couplet_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_LIBS" ${ARGN})
  set(target couplet_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(couplet::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PUBLIC couplet::${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE ${ARG_PRIVATE_LIBS})
  couplet_compile_options(${target} PUBLIC)
  if(NOT name MATCHES "^(tensor|linalg|tt)$")  # where speed is measured the compiler sees one file at a time
    couplet_unity(${target})
  endif()
  if(COUPLET_INSTALL)
    install(TARGETS ${target} EXPORT coupletTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
endfunction()

# Language level, warnings and sanitizers for one target of this project.
function(couplet_compile_options target visibility)
  target_compile_features(${target} ${visibility} cxx_std_20)
  if(visibility STREQUAL "PUBLIC")
    set(own PRIVATE)
  else()
    set(own ${visibility})
  endif()
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(${target} ${own} -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                           -Werror)
    # GCC 12 reports overlapping copies inside std::string operator+ (bug 105329) and uninitialised members of moved
    # std::variant and std::optional (bug 105562) that are not there.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      target_compile_options(${target} ${own} -Wno-restrict -Wno-maybe-uninitialized)
    endif()
  endif()
  # GCC tidies its memory up from 128 MiB on, which takes 6% to 8% of the time of a batch; from 600 on it is hardly ever due.
  if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} ${own} "SHELL:--param ggc-min-heapsize=600000" "SHELL:--param ggc-min-expand=200")
  endif()
  if(COUPLET_SANITIZE)
    target_compile_options(${target} ${visibility} -fsanitize=${COUPLET_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(${target} ${visibility} -fsanitize=${COUPLET_SANITIZE})
    # GCC documents that its instrumentation causes false warnings; the builds without it judge.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} ${own} -Wno-error)
    endif()
  endif()
endfunction()

# Compiles the files of a target in batches: what all of them take from headers is parsed and generated once a batch, which is
# half of what an object holds. -DCOUPLET_UNITY=OFF, as in the preset dev, compiles each file alone.
# Which files go together is decided by their private names, which must not meet (cmake/batches.py).
function(couplet_unity target)
  find_program(COUPLET_PYTHON3 python3)
  if(NOT COUPLET_UNITY OR NOT COUPLET_PYTHON3)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(paths)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    # Files with options of their own are compiled alone.
    get_source_file_property(directories ${source} INCLUDE_DIRECTORIES)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(NOT directories AND NOT definitions)
      list(APPEND paths ${path})
    endif()
  endforeach()
  execute_process(COMMAND ${COUPLET_PYTHON3} -B ${COUPLET_BATCHES} ${paths} OUTPUT_VARIABLE batches
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" batches "${batches}")
  foreach(batch IN LISTS batches)
    string(REGEX MATCH "[^/|]+\\.cpp" name "${batch}")
    string(REPLACE "|" ";" files "${batch}")
    set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${target}_${name})
  endforeach()
  # GCC's warning spares the types of the main file, which a batch has not.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# Words, options, pages and the bookkeeping of daemons: nothing that loops over data, so that optimising it hard would only
# double the time of its compilation. Tests, compiled once and run once, ask for less (-Og).
function(couplet_light target level)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE ${level})
  endif()
endfunction()

# Headers that most files of a target parse, parsed once. Clang's checks see the files as they are written.
function(couplet_precompile target)
  if(NOT PROJECT_IS_TOP_LEVEL OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # ccache needs it to see through the header
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN} <cmath> <filesystem> <functional> <map> <optional> <string>
                              <variant> <vector>)
  endif()
endfunction()

# One test program per module from tests/NAME/*_test.cpp. Every source file src/NAME/X.cpp is mirrored by
# tests/NAME/X_test.cpp. Tests may link any module through tests/NAME/depends.txt (one a line).
function(couplet_module_tests name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  set(target ${name}_tests)
  add_executable(${target} ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/${name})
  if(TARGET couplet_${name})
    target_link_libraries(${target} PRIVATE couplet::${name})
  endif()
  set(extra)
  if(EXISTS ${PROJECT_SOURCE_DIR}/tests/${name}/depends.txt)
    file(STRINGS ${PROJECT_SOURCE_DIR}/tests/${name}/depends.txt extra REGEX "^[A-Za-z]")
    target_link_libraries(${target} PRIVATE ${extra})
  endif()
  target_link_libraries(${target} PRIVATE GTest::gtest_main)
  # Only where it is used: a path in a command line is a miss in every other checkout's ccache.
  foreach(source IN LISTS sources)
    file(STRINGS ${source} uses REGEX "COUPLET_TEST_DIR")
    if(uses)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
                   COUPLET_TEST_DIR="${PROJECT_SOURCE_DIR}/tests/${name}")
    endif()
  endforeach()
  if(TARGET couplet_cli)
    add_dependencies(${target} couplet_cli)  # tests may start it
  endif()
  couplet_compile_options(${target} PRIVATE)
  couplet_unity(${target})
  couplet_light(${target} -Og)
  if(name STREQUAL core)
    couplet_precompile(${target} <gtest/gtest.h>)
  elseif(name MATCHES "^(cli|experiments|net|wire)$")
    couplet_precompile(${target} <gtest/gtest.h> <nlohmann/json.hpp> <fmt/format.h>)
  else()
    couplet_precompile(${target} REUSE_FROM core_tests)
  endif()
  gtest_discover_tests(${target} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600)
endfunction()

# Writes "compiler PATH", "nm PATH" and for each module "archive NAME FILE" and "module NAME DIR;DIR...": what a source
# file of that module can include. tests/layers compares it with the table in docs/architecture.md.
function(couplet_write_layers file)
  set(lines "compiler ${CMAKE_CXX_COMPILER}\nnm ${CMAKE_NM}\n")
  foreach(module IN LISTS ARGN)
    string(APPEND lines "archive ${module} $<TARGET_FILE:couplet_${module}>\n")
    string(APPEND lines "module ${module} $<TARGET_PROPERTY:couplet_${module},INCLUDE_DIRECTORIES>\n")
  endforeach()
  file(GENERATE OUTPUT ${file} CONTENT "${lines}")
endfunction()
