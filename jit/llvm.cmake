# SPDX-License-Identifier: Apache-2.0
# The one place that chooses LLVM: CUDAWAY_LLVM_VERSION (19 or 22; others between may work) gives
#   CUDAWAY_LLVM_CONFIG   llvm-config, which says where headers and libraries (LLD's too) are
#   CUDAWAY_CLANG         clang of the same version, whose bitcode the jit links into programs (devlib)
# What depends on the version in our sources says LLVM_VERSION_MAJOR and the reason; docs/architecture.md lists the places.
function(cudaway_llvm_program variable package what)
  if(DEFINED CACHE{${variable}_of} AND NOT "$CACHE{${variable}_of}" STREQUAL CUDAWAY_LLVM_VERSION)
    unset(${variable} CACHE)        # the build folder was configured for another version
  endif()
  set(${variable}_of ${CUDAWAY_LLVM_VERSION} CACHE INTERNAL "the LLVM version that ${variable} was looked up for")
  find_program(${variable} NAMES ${what}-${CUDAWAY_LLVM_VERSION} ${what})
  set(version)
  if(${variable})
    execute_process(COMMAND ${${variable}} --version OUTPUT_VARIABLE version ERROR_QUIET)
    string(REGEX MATCH "[0-9]+\\.[0-9]+" version "${version}")
  endif()
  if(NOT version MATCHES "^${CUDAWAY_LLVM_VERSION}\\.")
    set(found)
    if(version)
      set(found " (${${variable}} is ${version})")
    endif()
    unset(${variable} CACHE)
    message(FATAL_ERROR "LLVM ${CUDAWAY_LLVM_VERSION}: there is no ${what}-${CUDAWAY_LLVM_VERSION}${found}. Install ${package} (on Debian: "
      "apt-get install llvm-${CUDAWAY_LLVM_VERSION}-dev liblld-${CUDAWAY_LLVM_VERSION}-dev clang-${CUDAWAY_LLVM_VERSION}), "
      "or choose another with -DCUDAWAY_LLVM_VERSION=19 or 22.")
  endif()
endfunction()

# AMD processors that LLVM 19 does not know; tests take them in where they list processors.
set(CUDAWAY_GFX_NEW)
if(CUDAWAY_LLVM_VERSION GREATER_EQUAL 20)
  set(CUDAWAY_GFX_NEW gfx950)
endif()
set(CUDAWAY_GFX_NEW ${CUDAWAY_GFX_NEW} CACHE INTERNAL "")

if(NOT CUDAWAY_LLVM_VERSION MATCHES "^[0-9]+$" OR CUDAWAY_LLVM_VERSION LESS 19)
  message(FATAL_ERROR "CUDAWAY_LLVM_VERSION is '${CUDAWAY_LLVM_VERSION}': it is a major version, 19 or later (19 and 22 are tested)")
endif()
cudaway_llvm_program(CUDAWAY_LLVM_CONFIG llvm-${CUDAWAY_LLVM_VERSION}-dev llvm-config)
cudaway_llvm_program(CUDAWAY_CLANG clang-${CUDAWAY_LLVM_VERSION} clang)
foreach(what includedir libdir version)
  execute_process(COMMAND ${CUDAWAY_LLVM_CONFIG} --${what} OUTPUT_VARIABLE CUDAWAY_LLVM_${what} OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(library ELF Common)     # by version: the cache may hold another's
  string(TOUPPER ${library} name)
  find_library(CUDAWAY_LLD_${name}_${CUDAWAY_LLVM_VERSION} lld${library} PATHS ${CUDAWAY_LLVM_libdir} NO_DEFAULT_PATH)
  if(NOT CUDAWAY_LLD_${name}_${CUDAWAY_LLVM_VERSION})
    message(FATAL_ERROR "LLVM ${CUDAWAY_LLVM_VERSION}: there is no lld${library} in ${CUDAWAY_LLVM_libdir}. Install liblld-${CUDAWAY_LLVM_VERSION}-dev.")
  endif()
  set(CUDAWAY_LLD_${name} ${CUDAWAY_LLD_${name}_${CUDAWAY_LLVM_VERSION}})
endforeach()
