set(COUPLET_BATCHES ${CMAKE_CURRENT_LIST_DIR}/batches.py)
set(COUPLET_PRECOMPILER ${CMAKE_CURRENT_LIST_DIR}/precompile)

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
  # Where speed is measured the compiler sees one file at a time.
  if(NOT name MATCHES "^(tensor|linalg|tt)$" OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    couplet_unity(${target})
  endif()
  if(name MATCHES "^(io|table|data|sim|secure|shield|experiments|explain|classify|wire|net)$")
    couplet_light(${target} -O1)
  endif()
  # Modules that speak: they link fmt and have the JSON of io.
  if(fmt::fmt IN_LIST ARG_PRIVATE_LIBS)
    couplet_precompile(${target} words)
  else()
    couplet_precompile(${target} library)
  endif()
  if(COUPLET_INSTALL)
    install(TARGETS ${target} EXPORT coupletTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
endfunction()

# Language level, warnings and sanitizers for one target of this project.
function(couplet_compile_options target visibility)
  target_compile_features(${target} ${visibility} cxx_std_20)
  target_compile_options(${target} PRIVATE -pthread)  # everywhere or nowhere: precompiled headers are shared
  if(visibility STREQUAL "PUBLIC")
    set(own PRIVATE)
  else()
    set(own ${visibility})
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} ${own} -ffp-contract=fast)  # as GCC does by itself
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
# Which files go together is decided by their private names, which must not meet (cmake/batches.py). CMake's own batches name
# files by absolute paths: no checkout could use what ccache has of another.
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
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(NOT directories AND NOT definitions AND NOT options)
      list(APPEND paths ${path})
    endif()
  endforeach()
  execute_process(COMMAND ${COUPLET_PYTHON3} -B ${COUPLET_BATCHES} ${paths} OUTPUT_VARIABLE batches
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" batches "${batches}")
  foreach(batch IN LISTS batches)
    string(REPLACE "|" ";" files "${batch}")
    list(GET files 0 first)
    get_filename_component(name ${first} NAME_WE)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/Unity/${target}_${name}.cpp)
    set(text "")
    foreach(file IN LISTS files)
      file(RELATIVE_PATH path ${CMAKE_CURRENT_BINARY_DIR}/Unity ${file})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
    set_source_files_properties(${files} PROPERTIES HEADER_FILE_ONLY ON)
    target_sources(${target} PRIVATE ${unit})
  endforeach()
  # GCC's warning spares the types of the main file, which a batch has not.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Files, tables, words, options, pages and the bookkeeping of daemons: no kernels, so that optimising it hard would add half
# to the time of its compilation and nothing to speed. Tests, compiled once and run once, are not optimised,
# except linalg's and one that tries every order of losses.
function(couplet_light target level)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE ${level})
  endif()
endfunction()

# couplet_precompile(TARGET SET): headers that most files parse, parsed once for all targets that name the same set, by a
# target of its own: what others define must not be part of it. Tools that read the compile commands see the files as they are
# written with -DCOUPLET_PRECOMPILE=OFF.
#
# library: the modules that compute. words: those that link fmt and have the JSON of io. tests and word_tests: their tests.
set(COUPLET_HEADERS_library <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <sstream>
    <string> <utility> <vector>)
set(COUPLET_HEADERS_words ${COUPLET_HEADERS_library} <filesystem> <set> <variant> <fmt/format.h> <nlohmann/json.hpp>)
set(COUPLET_HEADERS_tests ${COUPLET_HEADERS_library} <filesystem> <variant> <gtest/gtest.h>)
set(COUPLET_HEADERS_word_tests ${COUPLET_HEADERS_words} <gtest/gtest.h>)
set(COUPLET_LIBRARIES_words fmt::fmt nlohmann_json::nlohmann_json)
set(COUPLET_LIBRARIES_tests GTest::gtest)
set(COUPLET_LIBRARIES_word_tests ${COUPLET_LIBRARIES_words} ${COUPLET_LIBRARIES_tests})
function(couplet_precompile target set)
  if(NOT PROJECT_IS_TOP_LEVEL OR NOT COUPLET_PRECOMPILE)
    return()
  endif()
  set(owner couplet_precompiled_${set})
  if(NOT TARGET ${owner})
    set(empty ${PROJECT_BINARY_DIR}/precompiled/${set}.cpp)
    file(WRITE ${empty} "")
    add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${empty})
    target_link_libraries(${owner} PRIVATE ${COUPLET_LIBRARIES_${set}})
    if(set MATCHES "tests$")
      couplet_light(${owner} -O0)
    else()
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    couplet_compile_options(${owner} PRIVATE)
    couplet_cacheable(${owner})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      set_target_properties(${owner} PROPERTIES CXX_COMPILER_LAUNCHER ${COUPLET_PRECOMPILER})
    endif()
    target_precompile_headers(${owner} PRIVATE ${COUPLET_HEADERS_${set}})
  endif()
  couplet_cacheable(${target})
  # To warnings that GCC 12 gives late, what was precompiled is no header of the system any more.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# What ccache needs to see through precompiled headers. CMake hands their paths to Clang as words that ccache does not know
# for paths, so that every checkout would compile for itself; said as to GCC, Clang finds what is precompiled just as well.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -x c++-header -include <PCH_HEADER>)
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
endif()
function(couplet_cacheable target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  else()
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
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
  # A hundred thousand small worlds: worth optimising.
  set(thorough ${PROJECT_SOURCE_DIR}/tests/net/membership_test.cpp)
  if(thorough IN_LIST sources AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${thorough} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(TARGET couplet_cli AND name MATCHES "^(cli|net)$")  # those that start it (tests/support/binary.hpp)
    add_dependencies(${target} couplet_cli)
  endif()
  couplet_compile_options(${target} PRIVATE)
  couplet_unity(${target})
  if(name STREQUAL "linalg")  # compares with loops over every entry
    couplet_light(${target} -O1)
  else()
    couplet_light(${target} -O0)
  endif()
  # To Clang a local name of one test hides what another of the batch has for itself.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>)
  if(name MATCHES "^(cli|experiments|net)$")
    couplet_precompile(${target} word_tests)
  elseif(NOT name STREQUAL "linalg")  # is optimised, and what is precompiled is not
    couplet_precompile(${target} tests)
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
