/* SPDX-License-Identifier: Apache-2.0
 * Folders for temporary files, which nobody else can read. One that a killed process left behind goes when the next process makes one in
 * the same place: the owner holds a lock on its folder for as long as it lives. */
#ifndef CW_TEMP_H
#define CW_TEMP_H

#include <stdbool.h>
#include <stddef.h>

/* No other thing has such a name: a folder of this user that has it, and that nobody has locked, is removed. */
#define CW_TEMP_PREFIX ".cudaway-tmp-"

/* Make BASE/.cudaway-tmp-KIND-XXXXXX. False with errno set. Any thread. */
bool cw_temp_make(const char *base, const char *kind, char *path, size_t size);
/* Remove the folder and all in it, and forget it. NULL and "": nothing. */
void cw_temp_remove(const char *path);

#endif
