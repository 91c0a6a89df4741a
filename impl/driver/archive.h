/* SPDX-License-Identifier: Apache-2.0
 * Static libraries of device code as inputs of a link. */
#ifndef CWD_ARCHIVE_H
#define CWD_ARCHIVE_H

#include "impl/driver/driver.h"

struct names {
    char **v;                           /* owned */
    size_t count, capacity;
};

struct member {
    struct ptx_list ptx;                /* empty: no device code */
    struct names defined, lacking;      /* what other modules may use, what it uses of others */
    bool has_kernel, taken, device_runtime;
};

struct archive {
    struct member *members;             /* of all archives of a link */
    size_t count, capacity;
};

bool     is_archive(const void *data, size_t size);
/* Read the members' device code. INVALID_IMAGE: the archive is damaged (said on the log); other errors as of the images in it. */
CUresult archive_add(struct archive *a, struct device *d, const void *data, size_t size, const char *what);
/* Append to list the members that define what the list lacks, and what these lack; where the list is empty, those with kernels first. */
CUresult archive_link(struct archive *a, struct ptx_list *list);
void     archive_finish(struct archive *a);

/* Names at module scope of a PTX text: what it defines for others, what it declares as external. False: out of memory. */
bool     ptx_names(const char *text, size_t size, struct names *defined, struct names *lacking, bool *has_kernel);

/* Of modules that a program ships as relocatable device code, leave out those of the device runtime (libcudadevrt) that no other uses.
 * device_runtime: some are left, whose system calls nothing defines; a kernel that reaches one cannot be compiled, the others can. */
CUresult relocatable_select(struct ptx_list *list, bool *device_runtime);

#endif
