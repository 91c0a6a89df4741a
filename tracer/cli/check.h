/* SPDX-License-Identifier: Apache-2.0
 * What the files of `cudaway-trace check` share. What was found is one JSON tree; the text is printed from it. */
#ifndef TRACER_CLI_CHECK_H
#define TRACER_CLI_CHECK_H

#include "jit/jit.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* The modules of an image in any form, each with its kernels:
 *
 *   { "module": 0, "verdict": "compiles" | "refused" | "no PTX" | "empty" | "linked", "ptx": "sm_80", "newer_than_device": false, "machine_code": ["sm_90"],
 *     "relocatable": false, "other_entries": 0,
 *     "kernels": [{ "name": "k", "verdict": "compiles" | "no fault found" | "refused" | "machine code alone", "machine_code": ["sm_90"], ERROR }],
 *     "errors": [{ ERROR }], "unnamed": ["sm_90"] }
 *
 * ERROR is "line", "column", "code", "message", "source". "no fault found": of a kernel in a module that is refused for another place. "empty": machine code with
 * neither kernels nor variables, as nvcc puts it into every program. "linked": machine code of relocatable parts that are here, too, with PTX. "errors" are
 * outside of kernels; "unnamed" is machine code without PTX whose kernels could not be read. Of an image that is damaged the last element is
 * { "verdict": "damaged", "message": TEXT }. */
cJSON *check_modules(const struct cwj_api *jit, const void *data, size_t size);
/* Whether a device can load all of them. */
bool check_modules_run(const cJSON *modules);

/* What a recording says was used; false after a message. *lacks: something is missing or was refused. */
bool check_recording(const struct cwj_api *jit, const char *dir, cJSON *to, bool *lacks);
/* Whether a folder is a recording. */
bool check_is_recording(const char *dir);

/* An object of a file or a recording, as text. `functions`: name every function. */
void check_print_file(const cJSON *o, bool functions);
void check_print_recording(const cJSON *o);

/* { "name": "cuInit", "library": "driver", "status": "implemented" | "partial" | "missing", "reason": TEXT }; NULL: no function of CUDA's.
 * `elsewhere`: a library of ours that is no part of the API model exports it. */
cJSON *check_function(const char *name, bool elsewhere);

#define CHECK_ITEM(o, key) cJSON_GetObjectItemCaseSensitive(o, key)
/* The text of a member; "" if it has none. */
const char *check_text(const cJSON *o, const char *key);

#endif
