/* SPDX-License-Identifier: Apache-2.0
 * One of the two devices that --locate compares: the launch with its module, and runs of it, each in a process of its own (a
 * driver is loaded once a process, and a kernel that fails must not take this one with it), which the runner starts (runner.h): without `session` there must be one. */
#ifndef CWL_SIDE_H
#define CWL_SIDE_H

#include "impl/base/progress.h"
#include "replay/compare.h"
#include "replay/instrument.h"

/* Memory of the recorded program, where it was made, and where it was freed, if it was. */
struct cwl_allocation {
    uint64_t address, size;
    bool freed;
    char *text;                         /* "allocated by call 3, cuMemAlloc_v2, in app(main+0x2f)" */
};

struct cwl_side {
    const char *on, *module;            /* of cudaway-replay --on; file to take instead of the recorded module, or NULL */
    const char *env;                    /* "NAME=VALUE" for the runs, or NULL */
    unsigned seconds;                   /* that a run may take; 0: any */
    struct cw_progress *progress;       /* counts runs in processes of their own; NULL: nobody is told */
    char label[256];                    /* how the report calls it */
    const char *folder;                 /* for temporary files */
    struct cwd_session *session;        /* rewritten launches run in it, in this process; NULL: in a process of its own */
    const struct cwl_allocation *history;       /* what the program allocated and freed, the latest last, where that is known */
    uint32_t nhistory;
    unsigned number;                    /* 0 or 1 */
    struct cwd_dump dump;               /* the launch, with its own module */
    bool has_dump;                      /* it is owned */
    struct cwd_input *owned;            /* inputs of a variant, whose texts are the program's */
    struct cwi_program program;         /* after cwl_parse */
    /* Of the last run. */
    struct cwd_dump result;
    bool has_result;
    unsigned compute_capability;
    uint64_t *address, *handle;         /* where buffers were, what textures were called */
    bool sequential;                    /* the device runs the threads of a block on one thread of the machine */
    const uint8_t *log;                 /* CWI_VARIABLE after an instrumented run */
};

/* A new folder for temporary files, which `out` has room for; the caller removes it. */
bool cwl_folder(char *out, size_t size, struct cwd_error *e);
/* Contents of two runs as cwd_compare takes them. False: they are of different launches, or memory is out. */
bool cwl_compare(const struct cwd_dump *a, const struct cwd_dump *b, uint32_t ulp, void (*found)(void *user, const struct cwd_difference *x), void *user);
cw_result cwl_open(struct cwl_side *s, const char *file, struct cwd_error *e) CW_MUST_CHECK;
void cwl_close(struct cwl_side *s);
/* The launch as it is. CW_ERR_UNSUPPORTED: the device did not run it. */
cw_result cwl_run(struct cwl_side *s, struct cwd_error *e) CW_MUST_CHECK;
/* Parse the module's PTX, as it is chosen for this compute capability. */
cw_result cwl_parse(struct cwl_side *s, unsigned cc, struct cwd_error *e) CW_MUST_CHECK;
/* Write the launch rewritten, with this control block and `bytes` for the variable, as a dump of its own. After cwl_parse. */
cw_result cwl_write_rewritten(struct cwl_side *s, enum cwi_mode mode, const uint64_t control[16], uint64_t bytes, const char *path,
                              struct cwd_error *e) CW_MUST_CHECK;
/* Run that. */
cw_result cwl_run_rewritten(struct cwl_side *s, enum cwi_mode mode, const uint64_t control[16], uint64_t bytes, struct cwd_error *e) CW_MUST_CHECK;

/* The same for CWI_WATCH, or for CWI_CHECK, whose control block is CWI_HEADER bytes. The variable is small first; if there are more records, *made, it runs
 * again with room for them, in `most` bytes at most. control[CWI_ROOM] says how many fitted in the end. */
cw_result cwl_run_recorded(struct cwl_side *s, enum cwi_mode mode, uint64_t *control, uint64_t most, uint64_t *made, struct cwd_error *e) CW_MUST_CHECK;
/* The same for CWI_SCREEN: its variable, memory for owners and cells, and bytes of dynamic shared memory. */
struct cwl_screen {
    const uint64_t *control;
    uint64_t bytes, shadow, shadow_bytes;
    uint32_t shared;
};
cw_result cwl_run_screened(struct cwl_side *s, const struct cwl_screen *screen, struct cwd_error *e) CW_MUST_CHECK;
/* The same for CWI_BOUND, whose control block with its entries is `size` bytes. */
cw_result cwl_run_bounded(struct cwl_side *s, const uint64_t *control, size_t size, uint64_t bytes, struct cwd_error *e) CW_MUST_CHECK;

#endif
