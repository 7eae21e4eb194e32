# Finds Accellera SystemC 2.3.4 or later, with or without a CMake package of its own, and makes the target
# npulab::systemc. Debian builds SystemC as C++17, and its headers then demand that the program be C++17 too:
# SC_CPLUSPLUS tells them so. Whether it is needed is found out by linking.
find_path(SystemC_INCLUDE_DIR systemc)
find_library(SystemC_LIBRARY systemc)
mark_as_advanced(SystemC_INCLUDE_DIR SystemC_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SystemC REQUIRED_VARS SystemC_LIBRARY SystemC_INCLUDE_DIR
                                  REASON_FAILURE_MESSAGE "install libsystemc-dev")
if(SystemC_FOUND AND NOT TARGET npulab::systemc)
  set(_source ${CMAKE_BINARY_DIR}/systemc_probe.cpp)
  file(WRITE ${_source} "#include <systemc>\nint sc_main(int, char**) { sc_core::sc_time t; return t.value() == 0 ? 0 : 1; }\n")
  set(_flags -DCMAKE_CXX_STANDARD=20 -DINCLUDE_DIRECTORIES=${SystemC_INCLUDE_DIR})
  try_compile(SystemC_LINKS_AS_IS ${CMAKE_BINARY_DIR}/systemc_probe ${_source}
              CMAKE_FLAGS ${_flags} LINK_LIBRARIES ${SystemC_LIBRARY})
  # An imported target, so that exported libraries name it instead of this machine's paths; its headers are system
  # headers, as they are not clean under the project's warnings.
  add_library(npulab::systemc INTERFACE IMPORTED)
  target_include_directories(npulab::systemc INTERFACE ${SystemC_INCLUDE_DIR})
  target_link_libraries(npulab::systemc INTERFACE ${SystemC_LIBRARY})
  target_compile_definitions(npulab::systemc INTERFACE SC_INCLUDE_DYNAMIC_PROCESSES)
  if(NOT SystemC_LINKS_AS_IS)
    target_compile_definitions(npulab::systemc INTERFACE SC_CPLUSPLUS=201703L)
  endif()
endif()
