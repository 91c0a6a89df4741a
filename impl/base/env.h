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

/* The value from the environment, else from a configuration file (config.h); not owned, NULL when unset. In a process with other rights than its
 * user's the environment does not count. */
const char *cw_env_get(enum cw_env var);
/* "CUDAWAY_LOG" */
const char *cw_env_name(enum cw_env var);
/* A number, also with K, M or G behind it: "64M". False when it is none, or does not fit. */
bool cw_parse_size(const char *s, uint64_t *out);
/* Parse an unsigned number with optional K/M/G suffix. Returns fallback when unset; warns by name and returns fallback
 * when the value is bad or outside [min, max]. */
uint64_t cw_env_u64(enum cw_env var, uint64_t fallback, uint64_t min, uint64_t max);
/* The compute capability that host devices report, times ten: what CUDAWAY_COMPUTE_CAPABILITY says (3.0 to 12.9; warns about other values), else 8.0:
 * the one that old toolkits (11.0) know too, and for which programs seldom keep a file of machine code apart from their PTX. */
unsigned cw_env_compute_capability(void);
/* Warn once about every CUDAWAY_* variable in the environment that is not in the table. */
void cw_env_warn_unknown(void);
/* Where the value comes from: "environment", or a file and line; NULL when unset. */
const char *cw_env_origin(enum cw_env var, char *out, size_t size);
/* Set by one of our programs for another: not for users. */
bool cw_env_internal(enum cw_env var);
/* What the table says of it. */
void cw_env_row(enum cw_env var, const char **form, const char **help);
/* Print the table to a file descriptor. */
void cw_env_help(int fd);

#endif
