# npulab_layer(NAME SOURCES... ) makes the static library npulab_NAME of one layer, with the project's flags.
# npulab_test(NAME [COST N] [SAMPLED] LIBRARIES...) makes the test program of tests/NAME out of every *_test.cpp in it; ctest
# starts those of the highest cost first. With NPULAB_SAMPLE=N in the environment, of SAMPLED ones every N-th test runs.
# npulab_pytest(NAME) runs the pytest suite tests/NAME.
# Every ctest entry leaves NPULAB_RESULTS/NAME.xml, from which ./dev test counts.
set(NPULAB_RESULTS ${PROJECT_BINARY_DIR}/results)

add_library(npulab_flags INTERFACE)
set_target_properties(npulab_flags PROPERTIES EXPORT_NAME flags)
target_include_directories(npulab_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/npulab>)
# Values are exact and the same on every host: no contraction, never fast-math.
target_compile_options(npulab_flags INTERFACE -ffp-contract=off)
target_compile_features(npulab_flags INTERFACE cxx_std_20)

add_library(npulab_warnings INTERFACE)
if(NPULAB_DEVELOPER)
  target_compile_options(npulab_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 and 13 warn of overlaps in std::string that cannot happen (GCC bug 105651).
    target_compile_options(npulab_warnings INTERFACE -Wno-restrict)
  endif()
endif()

function(npulab_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(npulab_${name} STATIC ${ARG_SOURCES})
  add_library(npulab::${name} ALIAS npulab_${name})
  set_target_properties(npulab_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(npulab_${name} PUBLIC npulab_flags ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:npulab_warnings> ${ARG_PRIVATE})
  install(TARGETS npulab_${name} EXPORT npulabTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endfunction()

function(npulab_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  cmake_parse_arguments(ARG "SAMPLED" "COST" "" COST 1 ${ARGN})
  add_executable(npulab_test_${name} ${sources})
  # gtest_main stands before every other library: libsystemc exports a main of its own that would run no test.
  target_link_libraries(npulab_test_${name} PRIVATE GTest::gtest_main GTest::gmock GTest::gtest ${ARG_UNPARSED_ARGUMENTS}
                                                    $<BUILD_INTERFACE:npulab_warnings>)
  target_compile_definitions(npulab_test_${name} PRIVATE NPULAB_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND npulab_test_${name} --gtest_brief=1 --gtest_output=xml:${NPULAB_RESULTS}/${name}.xml
           WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS gtest COST ${ARG_COST})
  if(ARG_SAMPLED AND DEFINED ENV{NPULAB_SAMPLE})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=$ENV{NPULAB_SAMPLE};GTEST_SHARD_INDEX=0")
  endif()
  # Most of a test is compiled once and run once: the libraries are what must be fast.
  target_compile_options(npulab_test_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()

function(npulab_pytest name)
  add_test(NAME ${name} COMMAND ${Python_EXECUTABLE} -m pytest -q --junitxml=${NPULAB_RESULTS}/${name}.xml tests/${name}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS pytest ENVIRONMENT
                       "NPULAB_BUILD=${PROJECT_BINARY_DIR};PYTHONPATH=${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1")
endfunction()
