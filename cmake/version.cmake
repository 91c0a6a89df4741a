# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=... -DNUMBER=0.1.0 -DOUT=.../version.c -P version.cmake: write the function of impl/base/version.h. OUT is touched only when its text
# changes, so that a build without a new commit links nothing anew. Sources that tools/package packed have git's description in .version;
# those of another archive, without git, have the number alone.
set(version ${NUMBER})
find_program(GIT git)
set(described "")
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --tags --always --dirty --abbrev=7 "--match=v[0-9]*" OUTPUT_VARIABLE described
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)        # empty if it fails
elseif(EXISTS ${SOURCE}/.version)
  file(STRINGS ${SOURCE}/.version described LIMIT_COUNT 1)
endif()
if(described MATCHES "^v([0-9].*)$")
  set(version ${CMAKE_MATCH_1})
elseif(described)
  set(version ${NUMBER}-g${described})
endif()
set(text "/* Made by cmake/version.cmake. */\n#include \"impl/base/version.h\"\n\nconst char *\ncw_version(void)\n{\n    return \"${version}\";\n}\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
