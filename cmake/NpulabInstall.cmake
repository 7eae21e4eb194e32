# Installs headers, libraries, data and the CMake package. Layers and programs add themselves to npulabTargets.
include(CMakePackageConfigHelpers)

set(NPULAB_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/npulab)
set(NPULAB_DATA_DIR ${CMAKE_INSTALL_DATADIR}/npulab)

install(TARGETS npulab_flags EXPORT npulabTargets)
install(DIRECTORY isa sim kernels DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/npulab COMPONENT development
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
install(DIRECTORY configs kernels DESTINATION ${NPULAB_DATA_DIR} COMPONENT data
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.npu" PATTERN "*.inc")
install(EXPORT npulabTargets NAMESPACE npulab:: DESTINATION ${NPULAB_CMAKE_DIR} COMPONENT development)

configure_package_config_file(cmake/npulabConfig.cmake.in ${PROJECT_BINARY_DIR}/npulabConfig.cmake
                              INSTALL_DESTINATION ${NPULAB_CMAKE_DIR} PATH_VARS NPULAB_DATA_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/npulabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/npulabConfig.cmake ${PROJECT_BINARY_DIR}/npulabConfigVersion.cmake
              cmake/NpulabDependencies.cmake cmake/FindSystemC.cmake
        DESTINATION ${NPULAB_CMAKE_DIR} COMPONENT development)
