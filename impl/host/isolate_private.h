/* SPDX-License-Identifier: Apache-2.0
 * What the program and the process that runs its kernels say to each other (docs/isolation.md). Both are of one build: messages are these structs. The
 * process may have been taken over by a kernel: the program believes nothing that it says beyond the results of launches. */
#ifndef CWH_ISOLATE_PRIVATE_H
#define CWH_ISOLATE_PRIVATE_H

#include "impl/base/file.h"
#include "impl/host/exec.h"
#include "impl/texture.h"

enum { CWH_CONTROL_FD = 3, CWH_MAX_MESSAGE = 96 * 1024, CWH_MAX_PARAMS = 64 * 1024, CWH_MAX_TEXT = 32 * 1024, CWH_MAX_ADDRESSES = 512 };

/* On the first socket, from the program. Each is answered by an int32_t, a cwb_result, in turn. */
enum cwh_request_kind {
    CWH_SETUP,                  /* files: device memory, code, and the program itself, to see its end. The answer is a cwh_hello */
    CWH_PAGES,                  /* file, where memory says so */
    CWH_TEXTURE, CWH_TEXTURE_GONE,
    CWH_CHANNEL,                /* file: a socket for launches, one at a time */
    CWH_FORGET,                 /* a context */
    CWH_STOP,
};
struct cwh_request {
    uint32_t kind;
    int32_t prot;               /* PAGES, as cw_va_pages */
    uint32_t memory;
    uint64_t address, size;     /* SETUP, PAGES: of device memory */
    uint64_t offset;
    uint64_t code, code_size;   /* SETUP */
    uint64_t context;           /* FORGET: its number */
    struct cw_texture texture;  /* TEXTURE; TEXTURE_GONE: its handle */
};

struct cwh_hello {
    int32_t result;
    uint32_t taken;             /* it failed since one of the program's addresses is taken in this process; in another one it is hardly so */
    uint32_t nruntime, nsupport;
    uint64_t address[CWH_MAX_ADDRESSES];        /* of cwh_rt_*, then of the support functions */
    char text[256];             /* why it failed */
};

/* On a channel, from the program; the parameters follow. */
struct cwh_remote_launch {
    struct cwh_launch abi;      /* params is not set */
    uint64_t run, context, stack_per_thread, output_limit;
    struct cwh_code_info info;
    uint32_t cost, param_size;  /* cost: 0 where it is not kept */
    uint8_t cooperative, has_cost;
    char kernel[256];
};

/* On a channel, from the process: any number of TEXTs and a HEAP, which is answered by a cwh_remote_heap, and then DONE. */
enum { CWH_DONE = 1, CWH_OUTPUT, CWH_COMPLAINT, CWH_HEAP };
struct cwh_remote_answer {
    uint32_t kind;
    uint32_t size;              /* of the text that follows */
    int32_t result;             /* DONE, and so on */
    uint32_t cost;
    char message[512];
};

struct cwh_remote_heap { uint64_t base, size; };

/* ---- between isolate.c and isolate_launch.c: sockets to the process, for one launch at a time each ---- */

struct cwh_channel {
    int fd;
    struct cw_fd_file file;     /* of fd */
    uint64_t process;
    struct cwh_channel *next;   /* idle ones; isolate.lock */
};

/* NULL, and *why: the process ended (CWB_LAUNCH_FAILED), or there is no more memory (CWB_NOMEM). */
struct cwh_channel *cwh_channel_get(uint64_t process, cwb_result *why);
/* Not good: the process ended, or says what makes no sense. It is ended. */
void cwh_channel_put(struct cwh_channel *c, bool good);

#endif
