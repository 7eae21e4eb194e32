# Finds Accellera SystemC 2.3.4 or later, with or without a CMake package of its own, and makes the target
# npulab_systemc_library. Debian builds SystemC as C++17, and its headers then demand that the program be C++17
# too: SC_CPLUSPLUS tells them so. Whether it is needed is found out by linking.
find_path(SystemC_INCLUDE_DIR systemc)
find_library(SystemC_LIBRARY systemc)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SystemC REQUIRED_VARS SystemC_LIBRARY SystemC_INCLUDE_DIR
                                  REASON_FAILURE_MESSAGE "install libsystemc-dev")
if(SystemC_FOUND AND NOT TARGET npulab_systemc_library)
  set(_source ${CMAKE_BINARY_DIR}/systemc_probe.cpp)
  file(WRITE ${_source} "#include <systemc>\nint sc_main(int, char**) { sc_core::sc_time t; return t.value() == 0 ? 0 : 1; }\n")
  set(_flags -DCMAKE_CXX_STANDARD=20 -DINCLUDE_DIRECTORIES=${SystemC_INCLUDE_DIR})
  try_compile(SystemC_LINKS_AS_IS ${CMAKE_BINARY_DIR}/systemc_probe ${_source}
              CMAKE_FLAGS ${_flags} LINK_LIBRARIES ${SystemC_LIBRARY})
  add_library(npulab_systemc_library INTERFACE)
  # SYSTEM: the headers are not clean under the project's warnings.
  target_include_directories(npulab_systemc_library SYSTEM INTERFACE $<BUILD_INTERFACE:${SystemC_INCLUDE_DIR}>)
  target_link_libraries(npulab_systemc_library INTERFACE ${SystemC_LIBRARY})
  target_compile_definitions(npulab_systemc_library INTERFACE SC_INCLUDE_DYNAMIC_PROCESSES)
  if(NOT SystemC_LINKS_AS_IS)
    target_compile_definitions(npulab_systemc_library INTERFACE SC_CPLUSPLUS=201703L)
  endif()
endif()
