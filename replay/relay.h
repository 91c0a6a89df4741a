/* SPDX-License-Identifier: Apache-2.0
 * The output of a confined replay (docs/security.md), which goes through its parent. It has no descriptor of whoever started it: through /proc/self/fd it could
 * open the other end of a pipe, and write what the next program of a script reads as commands. Nothing that a terminal acts on reaches one. */
#ifndef CWD_RELAY_H
#define CWD_RELAY_H

#include <stdbool.h>
#include <stddef.h>

enum { CWD_RELAY_CHUNK = 4096, CWD_RELAY_MS = 100 };    /* what a pipe that can be written to takes at once; the while */

struct cwd_relay {
    struct cwd_relay_stream {
        int from, child, to;            /* from: -1 at the end. child: what the child has for it */
        bool terminal;
        size_t kept, ready;             /* bytes of data: what is to be written, and behind it the beginning of a character */
        char data[CWD_RELAY_CHUNK + 1];
    } stream[2];                        /* of standard output and standard error; the second is unused where both go to the same place */
    unsigned count;
    int of[2];                          /* standard output's and error's stream; -1: it is closed */
    int error;                          /* the first of writing; 0 */
};

/* Before the fork. False with errno, and nothing is open. */
bool cwd_relay_open(struct cwd_relay *r);
/* In the child. False with errno. */
bool cwd_relay_in_child(struct cwd_relay *r);
/* In the parent, after the fork. */
void cwd_relay_in_parent(struct cwd_relay *r);
/* Pass output on until there is something to read from `other` or a while has passed (true), or both streams have ended (false). A reader that reads nothing does not keep it
 * from looking at `other`. */
bool cwd_relay_wait(struct cwd_relay *r, int other);
void cwd_relay_close(struct cwd_relay *r);

#endif
