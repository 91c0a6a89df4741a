/* SPDX-License-Identifier: Apache-2.0
 * The one table of CUDAWAY_ environment variables (env.def). Values are read through here only, so that the help text is
 * complete and an unknown CUDAWAY_ variable is warned about by name. */
#ifndef CW_ENV_H
#define CW_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cw_env {
#define X(sym, name, form, help) CW_ENV_##sym,
#include "impl/base/env.def"
#undef X
    CW_ENV_COUNT
};

/* The value as getenv gives it (not owned; NULL when unset). */
const char *cw_env_get(enum cw_env var);
/* "CUDAWAY_LOG" */
const char *cw_env_name(enum cw_env var);
/* Parse an unsigned number with optional K/M/G suffix. Returns fallback when unset; warns by name and returns fallback
 * when the value is bad or outside [min, max]. */
uint64_t cw_env_u64(enum cw_env var, uint64_t fallback, uint64_t min, uint64_t max);
/* Warn once about every CUDAWAY_* variable in the environment that is not in the table. */
void cw_env_warn_unknown(void);
/* Print the table to a file descriptor. */
void cw_env_help(int fd);

#endif
