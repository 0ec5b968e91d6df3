# What every target of the project has in common, and berth_module(): a folder as a library, a test binary and, where it
# has a main.cc, a program.

add_library(berth_flags INTERFACE)
# For #include "…" only: Drogon's <json/json.h> is jsoncpp's, not ours.
target_compile_options(berth_flags INTERFACE -iquote${CMAKE_SOURCE_DIR})
target_compile_options(berth_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  # Both fire inside jsoncons when it is inlined.
  -Wno-array-bounds $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
target_compile_definitions(berth_flags INTERFACE BERTH_VERSION="${PROJECT_VERSION}")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(berth_flags INTERFACE -fpch-preprocess)  # lets ccache see through the precompiled header
endif()
if(BERTH_WERROR)
  target_compile_options(berth_flags INTERFACE -Werror)
endif()
if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
endif()
if(BERTH_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# The heavy headers are compiled once for each set of sources that share their flags: `plain`, `http` for sources that use
# Drogon, and both again for tests, which add GoogleTest and are optimised less: that halves their time to build, and the code
# under test keeps its own flags. They are named relative to the tree: with an absolute path in it, the precompiled header
# of each checkout would differ, and ccache would find nothing in a fresh clone. clang's has absolute paths whatever its
# command, so the fuzz targets are built without.
file(CONFIGURE OUTPUT pch.cc CONTENT "")
set(berth_test_flags -O1 -foptimize-sibling-calls)  # a coroutine that awaits in a loop must not grow the stack
foreach(set plain http plain_test http_test)
  add_library(berth_pch_${set} STATIC ${CMAKE_CURRENT_BINARY_DIR}/pch.cc)
  target_link_libraries(berth_pch_${set} PUBLIC berth_flags)
  if(NOT BERTH_FUZZ)
    target_precompile_headers(berth_pch_${set} PRIVATE "\"cmake/pch_${set}.h\"")
  endif()
  if(set MATCHES http)
    target_link_libraries(berth_pch_${set} PUBLIC Drogon::Drogon)
  endif()
  if(set MATCHES test)
    target_link_libraries(berth_pch_${set} PUBLIC GTest::gmock)
    if(CMAKE_BUILD_TYPE STREQUAL Release)
      target_compile_options(berth_pch_${set} PUBLIC ${berth_test_flags})
    endif()
  endif()
endforeach()

# berth_common(TARGET [plain|http|plain_test|http_test])
function(berth_common target)
  set(set plain)
  if(ARGC GREATER 1)
    set(set ${ARGV1})
  endif()
  target_link_libraries(${target} PUBLIC berth_flags)
  if(set MATCHES http)
    target_link_libraries(${target} PUBLIC Drogon::Drogon)
  endif()
  if(set MATCHES test AND CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(${target} PRIVATE ${berth_test_flags})
  endif()
  if(NOT BERTH_FUZZ)
    target_precompile_headers(${target} REUSE_FROM berth_pch_${set})
  endif()
endfunction()

# berth_test_paths(PROGRAM SOURCE...): defines BERTH_SOURCE_DIR and BERTH_PROGRAM for the sources that use one of them. Only for those: a path of this
# checkout in its command makes a compile miss in ccache. Configure again after the first use in a source.
function(berth_test_paths program)
  foreach(source ${ARGN})
    file(STRINGS ${source} uses REGEX "BERTH_(SOURCE_DIR|PROGRAM)" LIMIT_COUNT 1)
    if(uses)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS BERTH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" BERTH_PROGRAM="${program}")
    endif()
  endforeach()
endfunction()

# berth_module(NAME [HTTP] [PROGRAM program] [USES module...] [LINKS library...]): all sources below the folder NAME; HTTP for
# who uses Drogon; PROGRAM is what its main.cc becomes.
function(berth_module name)
  cmake_parse_arguments(ARG "HTTP" "PROGRAM" "USES;LINKS" ${ARGN})
  set(set plain)
  if(ARG_HTTP)
    set(set http)
  endif()
  list(TRANSFORM ARG_USES PREPEND berth_)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")

  add_library(berth_${name} STATIC ${sources})
  berth_common(berth_${name} ${set})
  target_link_libraries(berth_${name} PUBLIC ${ARG_USES} ${ARG_LINKS})

  set(program "")
  if(EXISTS ${CMAKE_SOURCE_DIR}/${name}/main.cc)
    set(program ${ARG_PROGRAM})
    add_executable(${program} ${name}/main.cc)
    berth_common(${program} ${set})
    target_link_libraries(${program} PRIVATE berth_${name})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${name} ENABLE_EXPORTS ON)
  endif()

  if(tests AND NOT BERTH_FUZZ)
    add_executable(${name}_test ${tests})
    berth_common(${name}_test ${set}_test)
    find_library(RAPIDCHECK rapidcheck REQUIRED)
    target_link_libraries(${name}_test PRIVATE berth_${name} GTest::gmock_main ${RAPIDCHECK})
    set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${name})
    if(program)
      add_dependencies(${name}_test ${program})
    endif()
    berth_test_paths("${CMAKE_BINARY_DIR}/${name}/${program}" ${tests})
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
  endif()
endfunction()

# berth_embed_crds(TARGET): the chart's CRDs as text in TARGET, behind reconcile/crds.h.
function(berth_embed_crds target)
  file(GLOB crds CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/charts/berth/files/crds/*.yaml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${crds})
  set(definitions "")
  foreach(crd ${crds})
    file(READ ${crd} text)
    string(APPEND definitions "\nR\"yaml(${text})yaml\",")
  endforeach()
  configure_file(${CMAKE_SOURCE_DIR}/cmake/crds.cc.in ${CMAKE_CURRENT_BINARY_DIR}/crds.cc @ONLY)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/crds.cc)
endfunction()
