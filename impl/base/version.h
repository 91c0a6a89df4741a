/* SPDX-License-Identifier: Apache-2.0
 * The release: the number that project() of the top CMakeLists.txt has, and the commit where the sources are a git work tree.
 * cmake/version.cmake writes the text in each build. */
#ifndef CW_VERSION_H
#define CW_VERSION_H

/* "0.1.0", or "0.1.0-12-g1234567" behind the tag v0.1.0, or "0.1.0-g1234567" where there is no tag; "-dirty" with changes that are not
 * committed. */
const char *cw_version(void);

#endif
