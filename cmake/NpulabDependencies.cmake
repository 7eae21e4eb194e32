# Finds what npulab links. Read by the project and by the installed npulabConfig.cmake, so that both ask for the same.
# In the project, everything that is missing is named at once, with the command that installs it.
include(CMakeFindDependencyMacro)

if(CMAKE_FIND_PACKAGE_NAME)
  set(_npulab_find find_dependency)
else()
  set(_npulab_find find_package)
  set(_npulab_quiet QUIET)
endif()
cmake_language(CALL ${_npulab_find} SystemC MODULE ${_npulab_quiet})
cmake_language(CALL ${_npulab_find} Boost ${_npulab_quiet})
cmake_language(CALL ${_npulab_find} boost_program_options CONFIG ${_npulab_quiet})
cmake_language(CALL ${_npulab_find} yaml-cpp ${_npulab_quiet})
cmake_language(CALL ${_npulab_find} nlohmann_json ${_npulab_quiet})
cmake_language(CALL ${_npulab_find} fmt ${_npulab_quiet})

if(NOT CMAKE_FIND_PACKAGE_NAME)
  set(_npulab_missing "")
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/packages.txt _npulab_rows REGEX "^build")
  foreach(_npulab_row IN LISTS _npulab_rows)
    string(REPLACE "|" ";" _npulab_row "${_npulab_row}")
    list(GET _npulab_row 1 _npulab_package)
    list(GET _npulab_row 2 _npulab_name)
    if(NOT _npulab_name STREQUAL "-" AND NOT ${_npulab_name}_FOUND)
      string(APPEND _npulab_missing " ${_npulab_package}")
    endif()
  endforeach()
  if(_npulab_missing)
    message(FATAL_ERROR "npulab needs libraries that are not installed.\n"
                        "On Debian and Ubuntu: sudo apt-get install${_npulab_missing}\n"
                        "In a checkout, ./dev deps does it.")
  endif()
endif()

# yaml-cpp gave its target a namespace in 0.8.
if(NOT TARGET npulab::yaml_cpp)
  add_library(npulab::yaml_cpp INTERFACE IMPORTED)
  if(TARGET yaml-cpp::yaml-cpp)
    target_link_libraries(npulab::yaml_cpp INTERFACE yaml-cpp::yaml-cpp)
  else()
    target_link_libraries(npulab::yaml_cpp INTERFACE yaml-cpp)
  endif()
endif()
