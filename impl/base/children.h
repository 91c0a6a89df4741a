/* SPDX-License-Identifier: Apache-2.0
 * Processes that a tool starts, and that are not to outlive it. */
#ifndef CW_CHILDREN_H
#define CW_CHILDREN_H

#include "impl/base/result.h"

#include <stdbool.h>
#include <sys/types.h>

/* In a child, after fork: SIGKILL when the thread of `parent` that forked ends, also if it has ended by now. It holds for what the child executes, and not for
 * the child's own children. */
void cw_child_dies_with(pid_t parent);

/* The parent of a process; 0: there is none, or no such process. */
pid_t cw_parent_of(pid_t process);

/* From now on children of children that lose their parent become this process's. False with errno. What it has for children by now (a shell that started
 * some has executed it) is not its own. One thread, once. */
bool cw_children_adopt(void) CW_MUST_CHECK;
/* Kill and reap all its own children, and theirs, of a process that adopts. False: some remain after ten seconds. */
bool cw_children_end(void) CW_MUST_CHECK;
/* How many threads these have, all together: a look at each process of the system. */
unsigned cw_children_tasks(void);
/* How many threads the whole system has, which the kernel counts; 0: it does not say. */
unsigned cw_system_tasks(void);

#endif
