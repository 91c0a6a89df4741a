# SPDX-License-Identifier: Apache-2.0
# cudaway_exports(TARGET LIST [NODE]): the library exports what cmake/exports/LIST.txt names, and nothing else, under the symbol version NODE where one is
# given. libcuda.so.1 and libcudart.so.N export what the API model names. tests/tools/exports.sh compares the libraries with both.
function(cudaway_exports target list)
  set(file ${CMAKE_SOURCE_DIR}/cmake/exports/${list}.txt)
  file(STRINGS ${file} names REGEX "^[^#]")
  list(JOIN names "; " names)
  set(map ${CMAKE_BINARY_DIR}/gen/exports/${target}.map)
  file(CONFIGURE OUTPUT ${map} CONTENT "${ARGN} { global: ${names}; local: *; };\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()
