/* SPDX-License-Identifier: Apache-2.0
 * Several dumps at once, folders of them, and a dump from standard input. */
#ifndef CWD_MANY_H
#define CWD_MANY_H

#include <stdbool.h>
#include <stddef.h>

struct cwd_many {
    const char *self;                   /* argv[0] */
    char *const *options;               /* for each dump, up to NULL: without --json and --html */
    char **dumps;                       /* and folders, up to NULL */
    bool json, compares;                /* --check or --explain: results are grouped by kernel and cause */
    const char *html;                   /* page to write, or NULL */
};

/* A command line of this program, up to NULL: options that only its processes give each other, those that the user gave, and the dump, whose name may look like
 * an option. The caller frees the array, not its strings; NULL: no memory. */
char **cwd_arguments(const char *self, const char *const *internal, char *const *options, const char *dump);
/* Run this program with the options once for each dump; of a folder for each *.cwdump in it, in the order of names. Prints a table, or JSON.
 * Returns the largest exit status; 2 also where there is no dump. */
int cwd_many(const struct cwd_many *m);
bool cwd_is_folder(const char *path);
/* Standard input as a file in a temporary folder, which the caller removes (cw_temp_remove). False: *why says why. */
bool cwd_take_input(char *folder, size_t folder_size, char *path, size_t path_size, const char **why);

#endif
