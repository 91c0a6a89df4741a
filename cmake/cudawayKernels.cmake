# SPDX-License-Identifier: Apache-2.0
# cudaway_add_kernels(LIBRARY SOURCES a.cu b.ptx ... TARGETS gfx1030 gfx1100 ... [OPTIONS ...])
#
# A static library with the compiled kernels: for each source NAME.cu the bytes `NAME`, a container for hipModuleLoadData, NAME_size, and the table
# NAME_kernels (cudaway-cc --embed c). LIBRARY.h declares them. OPTIONS go to cudaway-cc. Sources are compiled again when a header changes.
function(cudaway_add_kernels library)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;TARGETS;OPTIONS")
  if(NOT arg_SOURCES OR NOT arg_TARGETS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cudaway_add_kernels(LIBRARY SOURCES ... TARGETS gfx... [OPTIONS ...]): ${library} has wrong arguments")
  endif()
  list(JOIN arg_TARGETS "," targets)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${library}.kernels)
  file(MAKE_DIRECTORY ${folder})
  set(made)
  set(header "#include <stddef.h>\nstruct cudaway_kernel { const char *name; unsigned parameters, bytes; };\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n")
  foreach(source ${arg_SOURCES})
    get_filename_component(source ${source} ABSOLUTE)
    get_filename_component(name ${source} NAME)
    string(REGEX REPLACE "(.)\\..*" "\\1" name ${name})
    string(MAKE_C_IDENTIFIER ${name} symbol)
    set(out ${folder}/${symbol}.c)
    add_custom_command(OUTPUT ${out} DEPENDS ${source} ${cudaway_CC} DEPFILE ${out}.d
      COMMAND ${cudaway_CC} --target ${targets} ${arg_OPTIONS} --embed c --symbol ${symbol} --depfile ${out}.d ${source} -o ${out}
      COMMENT "Compiling kernels of ${name} for ${targets}" VERBATIM)
    list(APPEND made ${out})
    string(APPEND header "extern const unsigned char ${symbol}[];\nextern const size_t ${symbol}_size;\nextern const struct cudaway_kernel ${symbol}_kernels[];\n")
  endforeach()
  string(APPEND header "#ifdef __cplusplus\n}\n#endif\n")
  file(CONFIGURE OUTPUT ${folder}/${library}.h CONTENT "${header}" @ONLY)
  add_library(${library} STATIC ${made})
  target_include_directories(${library} INTERFACE ${folder})
endfunction()
