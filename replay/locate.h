/* SPDX-License-Identifier: Apache-2.0
 * cudaway-replay --locate: which thread wrote the first element that differs between two devices, and the first instruction whose
 * result differs in it, or in the thread that it got the value from. */
#ifndef CWD_LOCATE_H
#define CWD_LOCATE_H

#include <stdbool.h>
#include <stdint.h>

struct cwd_locate {
    const char *file;                   /* the dump */
    const char *on, *against;           /* devices; NULL: the default one */
    const char *against_module;         /* PTX file for the second run instead of the dump's module, or NULL */
    bool        recorded;               /* compare with the results in the dump, which tells only the thread that wrote;
                                         * `against` is `on` */
    uint32_t ulp;
};

/* Prints the report. Exit status: 0 nothing differs, 1 something does, 2 trouble. */
int cwd_locate(const struct cwd_locate *o);

#endif
