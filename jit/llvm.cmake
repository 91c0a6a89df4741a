# SPDX-License-Identifier: Apache-2.0
# LLVM of the one version that the project is built with (CUDAWAY_LLVM_VERSION). Sets
#   CUDAWAY_LLVM_CONFIG   llvm-config, which says where headers and libraries (LLD's too) are
#   CUDAWAY_CLANG         clang of the same version, whose bitcode the jit links into programs (builtins)
#   CUDAWAY_LLD_ELF, CUDAWAY_LLD_COMMON   LLD's libraries
function(cudaway_llvm_program variable package what)
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
    message(FATAL_ERROR "LLVM ${CUDAWAY_LLVM_VERSION}: there is no ${what}-${CUDAWAY_LLVM_VERSION}${found}. Install ${package}; "
      "tools/setup installs all that is needed on Debian.")
  endif()
endfunction()

cudaway_llvm_program(CUDAWAY_LLVM_CONFIG llvm-${CUDAWAY_LLVM_VERSION}-dev llvm-config)
cudaway_llvm_program(CUDAWAY_CLANG clang-${CUDAWAY_LLVM_VERSION} clang)
foreach(what includedir libdir version)
  execute_process(COMMAND ${CUDAWAY_LLVM_CONFIG} --${what} OUTPUT_VARIABLE CUDAWAY_LLVM_${what} OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(library ELF Common)
  string(TOUPPER ${library} name)
  find_library(CUDAWAY_LLD_${name} lld${library} PATHS ${CUDAWAY_LLVM_libdir} NO_DEFAULT_PATH)
  if(NOT CUDAWAY_LLD_${name})
    message(FATAL_ERROR "LLVM ${CUDAWAY_LLVM_VERSION}: there is no lld${library} in ${CUDAWAY_LLVM_libdir}. Install liblld-${CUDAWAY_LLVM_VERSION}-dev.")
  endif()
endforeach()
