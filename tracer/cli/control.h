/* SPDX-License-Identifier: Apache-2.0
 * How running recordings are found and asked. Each has a socket, HOME/control, of packets: one with the request, one with the answer.
 *
 *   status                       what is recorded: struct control_status
 *   stop                         end the recording; the program goes on
 *   snapshot                     of a flight recorder: write what the buffers hold
 *   rotate                       close the trace's present chunk; its folder
 *   failed PID FUNCTION RESULT   from the recorded program (tracer/select.c), without an answer
 *   launches PID N               the same: the process has done its last launch that is recorded
 *
 * The answer is "ok" and a text, or "error" and one line why. */
#ifndef CW_TRACE_CONTROL_H
#define CW_TRACE_CONTROL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTROL_TEXT = 8192 };

struct control_status {
    int                pid, recorder;       /* of the program and of its `cudaway-trace record` */
    bool               flight;              /* a flight recorder */
    bool               over;                /* nothing is recorded any more */
    unsigned           snapshots;
    double             seconds;
    unsigned long long bytes;               /* of the folder */
    char               dir[PATH_MAX], command[512];
};

/* ---- in `record` ---- */
/* The socket, -1 with errno. */
int  control_listen(const char *path);
/* The next request: its connection, to be closed by the caller; -1 when none is waiting. */
int  control_accept(int listening, char *request, size_t size);
void control_answer(int connection, const char *text);
void control_status_text(const struct control_status *s, char *text, size_t size);

/* ---- in others ---- */
/* False: nobody answers, or the answer is an error; `answer` is the line then. */
bool control_ask(const char *path, const char *request, char *answer, size_t size);
bool control_status(const char *path, struct control_status *s);
/* Call `take` with each running recording of this user; it returns false to end that. */
void control_each(bool (*take)(void *ctx, const char *path, const struct control_status *s), void *ctx);
/* The running recording of a process that it records, or into a folder, or for NULL the only one. False after a message. */
bool control_find(const char *which, char *path, size_t size, struct control_status *s);

#endif
