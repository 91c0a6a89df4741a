# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` installs, and where. One table: a library or program that joins is named here.
#
#   bin                 programs
#   lib/cudaway         libraries: a folder of its own, since the system's libcuda.so.1 must stay the system's
#   lib/cudaway/trace   the trace layer
#   share/man, share/bash-completion, share/zsh, share/fish        manual pages and completions
#   LIBDIR/cmake/cudaway, LIBDIR/pkgconfig, INCLUDEDIR/cudaway, share/cudaway/api      for developers: component Development
#
# Programs and libraries find each other relative to themselves, so the whole may be moved; that is why bin and lib/cudaway stand side by side
# whatever GNUInstallDirs has for libraries.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
if(NOT CMAKE_INSTALL_BINDIR STREQUAL "bin")
  message(FATAL_ERROR "CMAKE_INSTALL_BINDIR is ${CMAKE_INSTALL_BINDIR}: programs look for ../lib/cudaway, so it must be bin; choose the prefix instead")
endif()
set(CUDAWAY_INSTALL_LIBDIR lib/cudaway)
set(_dev ${CMAKE_INSTALL_LIBDIR}/cmake/cudaway)

set(_programs cudaway cudaway-cc cudaway-precompile cudaway-trace cudaway-replay cudaway-diff)
set(_libraries cuda cudart_11 cudart_12 cudart_13 cudaway-jit cudaway-audit cudaway-gfxemu cudaway-replay-shared nvjitlink_12 nvjitlink_13)
set(_exported cudaway-jit cudaway-replay-shared)
set(_trace cudaway_trace cudaway_tp cudaway_nap)
foreach(kind programs libraries trace)
  set(_there)
  foreach(t ${_${kind}})
    if(TARGET ${t})
      list(APPEND _there ${t})
    endif()
  endforeach()
  set(_${kind} ${_there})
endforeach()

set_target_properties(cudaway-jit PROPERTIES EXPORT_NAME jit)
foreach(t nvjitlink_12 nvjitlink_13)        # linked to libcuda.so.1, which must be the one beside them
  set_target_properties(${t} PROPERTIES INSTALL_RPATH "\$ORIGIN")
endforeach()
foreach(t ${_libraries})
  if(t IN_LIST _exported)
    install(TARGETS ${t} EXPORT cudaway LIBRARY DESTINATION ${CUDAWAY_INSTALL_LIBDIR} COMPONENT Runtime)
    target_include_directories(${t} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/cudaway>)
  else()
    install(TARGETS ${t} LIBRARY DESTINATION ${CUDAWAY_INSTALL_LIBDIR} COMPONENT Runtime NAMELINK_COMPONENT Development)
  endif()
endforeach()
if(TARGET cudaway-kernels)                  # libcuda.so.1 starts it, from beside itself
  install(TARGETS cudaway-kernels RUNTIME DESTINATION ${CUDAWAY_INSTALL_LIBDIR} COMPONENT Runtime)
endif()
install(TARGETS ${_trace} LIBRARY DESTINATION ${CUDAWAY_INSTALL_LIBDIR}/trace COMPONENT Tools NAMELINK_SKIP)
foreach(t ${_programs})
  set(_component Tools)
  if(t MATCHES "^cudaway(-cc|-precompile)?$")
    set(_component Runtime)
  endif()
  install(TARGETS ${t} RUNTIME DESTINATION bin COMPONENT ${_component})
endforeach()

# For developers: the compiler's and the dump's interfaces, the driver API's header, and the API model ("mapping data") as it is.
foreach(h impl/api/cuda.h impl/base/arena.h impl/base/buf.h impl/base/result.h jit/abi/host.h jit/jit.h jit/ptx/ir.h jit/ptx/ops.def jit/ptx/sregs.def
        replay/compare.h replay/dump.h replay/session.h)
  get_filename_component(_folder ${h} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/${h} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cudaway/${_folder} COMPONENT Development)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/gen/cudaway/cuda_table.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cudaway/cudaway COMPONENT Development)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/impl/api/ DESTINATION ${CMAKE_INSTALL_DATADIR}/cudaway/api COMPONENT Development FILES_MATCHING PATTERN "*.json"
        PATTERN gen EXCLUDE)
install(EXPORT cudaway NAMESPACE cudaway:: FILE cudawayTargets.cmake DESTINATION ${_dev} COMPONENT Development)
set(API_DIR ${CMAKE_INSTALL_DATADIR}/cudaway/api)
set(PROGRAM_DIR bin)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/cudawayConfig.cmake.in ${CMAKE_BINARY_DIR}/cudawayConfig.cmake INSTALL_DESTINATION ${_dev}
                              PATH_VARS API_DIR PROGRAM_DIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cudawayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cudawayConfig.cmake ${CMAKE_BINARY_DIR}/cudawayConfigVersion.cmake ${CMAKE_SOURCE_DIR}/cmake/cudawayKernels.cmake
        DESTINATION ${_dev} COMPONENT Development)

# pkg-config files: pcfiledir instead of a prefix, so that they move along.
file(RELATIVE_PATH _up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" _up "${_up}")
foreach(part jit replay)
  set(PC_NAME cudaway-${part})
  set(PC_LIBRARY "-lcudaway-${part}")
  set(PC_TEXT "CUDAway's compiler: PTX to AMD, CPU and NVIDIA code")
  if(part STREQUAL replay)
    set(PC_TEXT "Kernel dumps of CUDAway: read, write, run, compare")
  endif()
  configure_file(${CMAKE_SOURCE_DIR}/cmake/cudaway.pc.in ${CMAKE_BINARY_DIR}/cudaway-${part}.pc @ONLY)
endforeach()
configure_file(${CMAKE_SOURCE_DIR}/cmake/cudaway-api.pc.in ${CMAKE_BINARY_DIR}/cudaway-api.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cudaway-jit.pc ${CMAKE_BINARY_DIR}/cudaway-replay.pc ${CMAKE_BINARY_DIR}/cudaway-api.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)

include(cmake/pages.cmake)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Documentation)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Documentation)
