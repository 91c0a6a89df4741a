/* SPDX-License-Identifier: Apache-2.0
 * Logging from inside somebody else's process: one line per message on stderr (or CUDAWAY_LOG_FILE), written with one
 * write(2) from a fixed stack buffer; errno is kept; no allocation; safe from any thread. Standard error is descriptor 2 as it was when the library was
 * loaded, and what the program makes it after that, if it is a device or can only be written to; where it was closed, nothing is. A log file whose
 * descriptor the program has closed is not written to any more; standard error is.
 * A message's ends of lines become spaces, other control characters and what is no UTF-8 '?': a name in it makes up no line, and a terminal acts on none.
 * Level: CUDAWAY_LOG=off|error|warn|info|debug|trace (default warn); CUDAWAY_LOG=help prints the variable table. */
#ifndef CW_LOG_H
#define CW_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum cw_log_level { CW_LOG_OFF, CW_LOG_ERROR, CW_LOG_WARN, CW_LOG_INFO, CW_LOG_DEBUG, CW_LOG_TRACE };

bool cw_log_enabled(enum cw_log_level level);
void cw_log(enum cw_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Errors and warnings go to `sink` as well, printed or not; NULL: to none. The text has neither prefix nor newline, and a zero behind it. */
typedef void cw_log_sink(enum cw_log_level level, const char *text, size_t length);
void cw_log_set_sink(cw_log_sink *sink);

/* For text that is not the log's: false with errno, or where standard error is not used. */
bool cw_stderr_write(const void *text, size_t size);
/* What standard error was when the library was loaded. Libraries of ours that it loads later are told by cw_open_library: they export cudaway_use_stderr. */
struct cw_fd_file;
const struct cw_fd_file *cw_log_stderr(void);
void cw_log_use_stderr(const struct cw_fd_file *file);
void cudaway_use_stderr(const struct cw_fd_file *file);

#define cw_error(...) cw_log(CW_LOG_ERROR, __VA_ARGS__)
#define cw_warn(...)  cw_log(CW_LOG_WARN, __VA_ARGS__)
#define cw_info(...)  do { if (cw_log_enabled(CW_LOG_INFO)) cw_log(CW_LOG_INFO, __VA_ARGS__); } while (0)
#define cw_debug(...) do { if (cw_log_enabled(CW_LOG_DEBUG)) cw_log(CW_LOG_DEBUG, __VA_ARGS__); } while (0)

#endif
