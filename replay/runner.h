/* SPDX-License-Identifier: Apache-2.0
 * Starts runs of dumps in processes of their own (side.h). It is a process that does nothing else, and is not confined: each run confines itself, as what it
 * runs on needs. What a confined process starts is bound by that process's rules, and NVIDIA's driver does not start where it cannot write to
 * /proc/self/task, for which each process needs a rule that names it. */
#ifndef CWL_RUNNER_H
#define CWL_RUNNER_H

#include "impl/base/confine.h"
#include "impl/base/progress.h"

#include <limits.h>

/* A message: strings end within their fields. */
struct cwl_job {
    char on[256];                       /* of cudaway-replay --on; "": the usual device */
    char env[256];                      /* "NAME=VALUE", or "" */
    char files[PATH_MAX];               /* its files are FILES-in, and -out, -where and -err, which it writes */
    unsigned cpu_seconds, seconds;      /* that it may take, of CPU time and at all; 0: any */
};

/* Say of this confinement what `on` needs, a device as cudaway-replay --on takes it, or NULL: the usual one. */
void cwl_confine_for(const char *on, struct cw_confinement *c);

/* Start it, before this process is confined; it ends with this process. Runs are confined by `c`, which stays the caller's, and for their devices as far as `c` is: who
 * asks may be a kernel by now, and would choose one with more rights. NULL: they are not confined. False with errno. */
bool cwl_runner_start(const struct cw_confinement *c) CW_MUST_CHECK;
/* What the runner is reached by, for a process that executes itself; -1: there is none. Then in the new program. */
int cwl_runner_descriptor(void);
void cwl_runner_inherited(int fd);

/* *status: as of waitpid. Progress is shown meanwhile, where it is not NULL. False with errno. */
bool cwl_runner_run(const struct cwl_job *job, struct cw_progress *p, int *status) CW_MUST_CHECK;

#endif
