/* SPDX-License-Identifier: Apache-2.0
 * See side.h. */
#define _GNU_SOURCE
#include "replay/side.h"

#include "impl/base/log.h"
#include "impl/base/temp.h"
#include "replay/analyze.h"
#include "replay/runner.h"
#include "replay/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the variable is said to have been recorded: an address that no pointer and no number looks like. */
#define NOWHERE 0x5d2ca7e4b1930000ull

static void
path_of(const struct cwl_side *s, const char *what, char *out)
{
    snprintf(out, PATH_MAX, "%s/%u-%s", s->folder, s->number, what);
}

bool
cwl_folder(char *out, size_t size, struct cwd_error *e)
{
    static const char *const places[] = { NULL, "/tmp" };
    for (unsigned i = 0; i < 2; i++) {
        const char *base = places[i] ? places[i] : getenv("TMPDIR");
        if (base && *base && cw_temp_make(base, "locate", out, size))
            return true;
    }
    cwd_fail(e, CW_ERR_IO, "no folder for temporary files: TMPDIR and /tmp cannot be written");
    *out = 0;
    return false;
}

bool
cwl_compare(const struct cwd_dump *a, const struct cwd_dump *b, uint32_t ulp, void (*found)(void *user, const struct cwd_difference *x), void *user)
{
    struct cwd_outcome o = { .nbuffers = b->nbuffers, .narrays = b->narrays };
    o.buffers = calloc(b->nbuffers + (size_t)1, sizeof *o.buffers);
    o.arrays = calloc(b->narrays + (size_t)1, sizeof *o.arrays);
    bool ok = o.buffers && o.arrays && a->nbuffers == b->nbuffers && a->narrays == b->narrays;
    for (uint32_t i = 0; i < b->nbuffers && ok; i++)
        o.buffers[i] = b->buffers[i].after;
    for (uint32_t i = 0; i < b->narrays && ok; i++)
        o.arrays[i] = b->arrays[i].after;
    if (ok)
        cwd_compare(a, &o, ulp, found, user);
    free(o.buffers);
    free(o.arrays);
    return ok;
}

static cw_result
read_module(struct cwl_side *s, struct cwd_error *e)
{
    struct stat st;
    int fd = open(s->module, O_RDONLY | O_CLOEXEC);
    struct cwd_input *in = cw_arena_array(&s->dump.arena, struct cwd_input, 1);
    char *text = fd >= 0 && !fstat(fd, &st) && st.st_size >= 0 ? cw_arena_alloc(&s->dump.arena, (size_t)st.st_size + 1) : NULL;
    cw_result r = CW_OK;
    if (fd < 0 || fstat(fd, &st))
        r = cwd_fail(e, CW_ERR_NOT_FOUND, "cannot read %s: %s", s->module, strerror(errno));
    else if (!text || !in)
        r = cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    else if (read(fd, text, (size_t)st.st_size) != st.st_size)
        r = cwd_fail(e, CW_ERR_IO, "cannot read %s", s->module);
    if (fd >= 0)
        close(fd);
    if (r != CW_OK)
        return r;
    text[st.st_size] = 0;
    if (!memmem(text, (size_t)st.st_size, ".version", 8))
        return cwd_fail(e, CW_ERR_INVALID, "%s is not PTX", s->module);
    *in = (struct cwd_input){ .kind = CWD_PTX, .data = (uint8_t *)text, .size = (uint64_t)st.st_size };
    if (!s->dump.borrowed)
        for (uint32_t i = 0; i < s->dump.ninputs; i++)
            free(s->dump.inputs[i].data);
    s->dump.borrowed = true;            /* the new one belongs to the arena */
    s->dump.inputs = in;
    s->dump.ninputs = 1;
    s->dump.linked = false;
    return CW_OK;
}

cw_result
cwl_open(struct cwl_side *s, const char *file, struct cwd_error *e)
{
    cw_result r = cwd_read(file, 0, 0, &s->dump, e);
    if (r != CW_OK)
        return r;
    s->has_dump = true;
    return s->module ? read_module(s, e) : CW_OK;
}

static void
forget_result(struct cwl_side *s)
{
    if (s->has_result)
        cwd_finish(&s->result);
    free(s->address);
    free(s->handle);
    s->has_result = false;
    s->address = s->handle = NULL;
    s->log = NULL;
}

void
cwl_close(struct cwl_side *s)
{
    char path[PATH_MAX];
    forget_result(s);
    cwi_close(&s->program);
    if (s->has_dump)
        cwd_finish(&s->dump);
    free(s->owned);
    static const char *const files[] = { "in", "out", "where", "err" };
    for (unsigned i = 0; i < sizeof files / sizeof *files && !s->session; i++) {
        path_of(s, files[i], path);
        unlink(path);
    }
    s->has_dump = false;
}

/* ---- a run ------------------------------------------------------------------------------------------------------------------- */

/* A launch that is checked runs once or twice, mostly for milliseconds, and the optimiser takes a second for what is added to it. So it is first tried
 * with plain code, one lane at a time, which may take this much of CPU time; what takes longer is worth to be optimised. Not where the order of records
 * tells what orders accesses: there lanes have to run together, as on a GPU. */
enum { PLAIN_SECONDS = 2 };

static bool
may_be_plain(const struct cwl_side *s, enum cwi_mode mode, const uint64_t *control)
{
    return s->on && !strcmp(s->on, "host") && (mode == CWI_SCREEN || (mode == CWI_CHECK && !control[CWI_SIZE]));
}

/* The last line that it wrote, without the program's name. */
static void
last_words(const char *path, char *out, size_t size)
{
    char line[380];
    FILE *f = fopen(path, "r");
    snprintf(out, size, "it said nothing");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line)
            snprintf(out, size, "%s", strncmp(line, "cudaway-replay: ", 16) ? line : line + 16);
    }
    if (f)
        fclose(f);
}

static cw_result
read_where(struct cwl_side *s, const char *path, struct cwd_error *e)
{
    char word[16];
    unsigned long long value;
    unsigned index;
    s->address = calloc(s->result.nbuffers + (size_t)1, sizeof *s->address);
    s->handle = calloc(s->result.ntextures + (size_t)1, sizeof *s->handle);
    FILE *f = s->address && s->handle ? fopen(path, "r") : NULL;
    if (!f)
        return cwd_fail(e, CW_ERR_IO, "cannot read %s", path);
    while (fscanf(f, "%15s %u %llx", word, &index, &value) == 3) {
        s->sequential = s->sequential || (!strcmp(word, "sequential") && index);
        if (!strcmp(word, "buffer") && index < s->result.nbuffers)
            s->address[index] = value;
        else if (!strcmp(word, "texture") && index < s->result.ntextures)
            s->handle[index] = value;
        else if (!strcmp(word, "capability"))
            s->compute_capability = index;
    }
    fclose(f);
    return CW_OK;
}

/* On `on`, for `cpu_seconds` at most; 0: any. The dump is there as "in". */
static cw_result
run_on(struct cwl_side *s, const char *on, unsigned cpu_seconds, struct cwd_error *e)
{
    struct cwl_job job = { .cpu_seconds = cpu_seconds, .seconds = s->seconds };
    char in[PATH_MAX], out[PATH_MAX], where[PATH_MAX], err[PATH_MAX], words[400];
    int status;
    path_of(s, "in", in);
    path_of(s, "out", out);
    path_of(s, "where", where);
    path_of(s, "err", err);
    forget_result(s);
    if (snprintf(job.on, sizeof job.on, "%s", on ? on : "") >= (int)sizeof job.on || snprintf(job.env, sizeof job.env, "%s", s->env ? s->env : "") >= (int)sizeof job.env ||
        snprintf(job.files, sizeof job.files, "%s/%u", s->folder, s->number) >= (int)sizeof job.files)
        return cwd_fail(e, CW_ERR_INVALID, "%s did not run it: the name of its device or folder is too long", s->label);
    bool ran = cwl_runner_run(&job, s->progress, &status);
    const int why = errno;
    if (s->progress) {
        s->progress->done++;
        cw_progress_clear(s->progress);         /* others may print now */
    }
    if (!ran)
        return cwd_fail(e, CW_ERR_IO, "%s did not run it: no process could be started: %s", s->label, strerror(why));
    if (WIFSIGNALED(status))
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "%s did not run it: ended by signal %d (%s)", s->label, WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status)) {
        last_words(err, words, sizeof words);
        const char *what = strncmp(words, in, strlen(in)) ? words : words + strlen(in) + 2;
        return cwd_fail(e, CW_ERR_UNSUPPORTED, "%s did not run it: %s", s->label, what);
    }
    cw_result r = cwd_read(out, 0, 0, &s->result, e);
    unlink(out);
    if (r != CW_OK)
        return r;
    s->has_result = true;
    return read_where(s, where, e);
}

static cw_result
run(struct cwl_side *s, bool plain, struct cwd_error *e)
{
    if (plain) {
        cw_result r = run_on(s, "host:O0", PLAIN_SECONDS, e);
        cw_debug("%s on %s with plain code: %s", s->dump.kernel, s->label, r == CW_OK ? "done" : e->text);
        if (r == CW_OK)
            return r;
    }
    return run_on(s, s->on, 0, e);
}

cw_result
cwl_run(struct cwl_side *s, struct cwd_error *e)
{
    char in[PATH_MAX];
    path_of(s, "in", in);
    cw_result r = cwd_write(&s->dump, in, CWD_STORED, e);
    if (r == CW_OK)
        r = run_on(s, s->on, 0, e);
    unlink(in);
    return r;
}

cw_result
cwl_parse(struct cwl_side *s, unsigned cc, struct cwd_error *e)
{
    char *why;
    size_t n;
    struct cwj_input *texts = cwd_program_texts(s->dump.inputs, s->dump.ninputs, cc, &n, &why);
    if (!texts) {
        cw_result r = cwd_fail(e, CW_ERR_NO_PTX, "%s: the module's PTX cannot be had: %s", s->label, why ? why : "out of memory");
        free(why);
        return r;
    }
    bool names = true;
    for (size_t i = 0; i < n; i++) {
        const struct cwd_input *in = &s->dump.inputs[i < s->dump.ninputs ? i : 0];
        char *name = NULL;
        const char *kind = in->kind == CWD_PTX ? "ptx" : "PTX";     /* a member of the dump, or text inside of one */
        if (s->module)
            name = strdup(s->module);
        else if ((n > 1 ? asprintf(&name, "module/%zu.%s", i, kind) : asprintf(&name, "module.%s", kind)) < 0)
            name = NULL;
        texts[i].name = name;
        names = names && name;
    }
    cw_result r = cwi_open(&s->program, texts, n, e);
    if (r == CW_OK && !names)
        r = cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    return r;
}

/* ---- a rewritten one --------------------------------------------------------------------------------------------------------- */

/* CWI_SCREEN takes activemask, which PTX 6.2 brought: change the digit of 6.0 and 6.1, which are the same else. */
static void
allow_activemask(struct cw_buf *text)
{
    static const char directive[] = ".version";
    char *at = memmem(text->data, text->size, directive, sizeof directive - 1), *end = text->data + text->size;
    at = at ? at + sizeof directive - 1 : end;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (end - at > 3 && at[0] == '6' && at[1] == '.' && (at[2] == '0' || at[2] == '1') && (at[3] < '0' || at[3] > '9'))
        at[2] = '2';
}

static cw_result
rewritten(const struct cwl_side *s, enum cwi_mode mode, uint64_t bytes, struct cw_buf *texts, struct cwd_input *inputs, struct cwd_error *e)
{
    for (uint32_t i = 0; i < s->program.ntexts; i++) {
        cw_result r = cwi_rewrite(&s->program, i, mode, s->dump.kernel, s->dump.block, bytes, &texts[i], e);
        if (r != CW_OK)
            return r;
        if (mode == CWI_SCREEN && !texts[i].failed)
            allow_activemask(&texts[i]);
        inputs[i] = (struct cwd_input){ .kind = CWD_PTX, .name = s->program.texts[i].name, .data = (uint8_t *)texts[i].data, .size = texts[i].size };
    }
    return CW_OK;
}

/* In the session. */
static cw_result
run_here(struct cwl_side *s, const struct cwd_dump *d, struct cwd_error *e)
{
    struct cwd_outcome o;
    forget_result(s);
    cw_result r = cwd_session_run(s->session, d, CWD_RUN_MAY_MOVE, 0, &o, e);
    if (r != CW_OK)
        return r;
    cwd_init(&s->result);
    s->result.buffers = cw_arena_array(&s->result.arena, struct cwd_buffer, d->nbuffers);
    for (uint32_t i = 0; i < d->nbuffers && s->result.buffers; i++) {
        s->result.buffers[i] = d->buffers[i];
        s->result.buffers[i].before = NULL;
        s->result.buffers[i].after = o.buffers[i];
        o.buffers[i] = NULL;
    }
    s->result.nbuffers = s->result.buffers ? d->nbuffers : 0;
    s->has_result = true;
    s->address = o.address;
    s->handle = o.handle;
    s->compute_capability = s->session->compute_capability;
    s->sequential = s->session->sequential;
    o.address = o.handle = NULL;
    cwd_outcome_finish(&o);
    return CW_OK;
}

/* To a file, or NULL: run it in the session. `screen`: of CWI_SCREEN, or NULL. */
static cw_result
make_with(struct cwl_side *s, enum cwi_mode mode, const uint64_t *control, size_t size, uint64_t bytes, const struct cwl_screen *screen, const char *path,
          struct cwd_error *e)
{
    struct cwd_dump d = s->dump;
    uint32_t n = s->program.ntexts;
    struct cw_buf *texts = calloc(n + (size_t)1, sizeof *texts);
    struct cwd_input *inputs = calloc(n + (size_t)1, sizeof *inputs);
    struct cwd_buffer *buffers = calloc(d.nbuffers + (size_t)2, sizeof *buffers);
    uint8_t *before = calloc(1, bytes), *shadow = screen && path ? calloc(1, screen->shadow_bytes + 1) : NULL;
    cw_result r = texts && inputs && buffers && before && (!screen || !path || shadow) ? CW_OK : cwd_fail(e, CW_ERR_NOMEM, "out of memory");
    if (r == CW_OK)
        r = rewritten(s, mode, bytes, texts, inputs, e);
    if (r == CW_OK) {
        memcpy(before, control, size);
        if (d.nbuffers)
            memcpy(buffers, d.buffers, d.nbuffers * sizeof *buffers);
        buffers[d.nbuffers] = (struct cwd_buffer){ .kind = CWD_VARIABLE, .name = CWI_VARIABLE, .address = NOWHERE, .size = bytes, .before = before,
                                                   .after = before };
        d.buffers = buffers;
        d.nbuffers++;
        if (screen) {
            d.shared = screen->shared;
            if (screen->shadow_bytes)
                buffers[d.nbuffers++] = (struct cwd_buffer){ .kind = CWD_GLOBAL, .address = screen->shadow, .size = screen->shadow_bytes, .before = shadow,
                                                             .after = shadow };
        }
        d.inputs = inputs;
        d.ninputs = n;
        d.linked = d.linked || n > 1;
        r = path ? cwd_write(&d, path, CWD_STORED, e) : run_here(s, &d, e);
    }
    for (uint32_t i = 0; texts && i < n; i++)
        cw_buf_finish(&texts[i]);
    free(texts);
    free(inputs);
    free(buffers);
    free(before);
    free(shadow);
    return r;
}

cw_result
cwl_write_rewritten(struct cwl_side *s, enum cwi_mode mode, const uint64_t control[16], uint64_t bytes, const char *path, struct cwd_error *e)
{
    return make_with(s, mode, control, 128, bytes, NULL, path, e);
}

static cw_result
run_with(struct cwl_side *s, enum cwi_mode mode, const uint64_t *control, size_t size, uint64_t bytes, const struct cwl_screen *screen, struct cwd_error *e)
{
    char in[PATH_MAX];
    cw_result r;
    if (s->session) {
        r = make_with(s, mode, control, size, bytes, screen, NULL, e);
    } else {
        path_of(s, "in", in);
        r = make_with(s, mode, control, size, bytes, screen, in, e);
        if (r == CW_OK)
            r = run(s, may_be_plain(s, mode, control), e);
        unlink(in);
    }
    if (r != CW_OK)
        return r;
    uint32_t added = screen && screen->shadow_bytes ? 2 : 1;
    const struct cwd_buffer *b = s->result.nbuffers == s->dump.nbuffers + added ? &s->result.buffers[s->dump.nbuffers] : NULL;
    s->log = b ? b->after : NULL;
    return s->log ? CW_OK : cwd_fail(e, CW_ERR_INTERNAL, "%s: the records of the run are missing", s->label);
}

cw_result
cwl_run_rewritten(struct cwl_side *s, enum cwi_mode mode, const uint64_t control[16], uint64_t bytes, struct cwd_error *e)
{
    return run_with(s, mode, control, 128, bytes, NULL, e);
}

cw_result
cwl_run_recorded(struct cwl_side *s, enum cwi_mode mode, uint64_t *control, uint64_t most, uint64_t *made, struct cwd_error *e)
{
    enum { FIRST = 1 << 20, MORE = 1 << 20, RECORD = 32 };      /* MORE: another run may make some more */
    for (uint64_t bytes = FIRST;; bytes = CWI_HEADER + *made * RECORD + MORE) {
        bytes = bytes < most ? bytes : most;
        control[CWI_ROOM] = (bytes - CWI_HEADER) / RECORD;
        cw_result r = run_with(s, mode, control, mode == CWI_CHECK ? CWI_HEADER : 128, bytes, NULL, e);
        if (r != CW_OK)
            return r;
        memcpy(made, s->log + 8 * CWI_CURSOR, sizeof *made);
        if (*made <= control[CWI_ROOM] || bytes == most)
            return CW_OK;
    }
}

cw_result
cwl_run_screened(struct cwl_side *s, const struct cwl_screen *screen, struct cwd_error *e)
{
    return run_with(s, CWI_SCREEN, screen->control, screen->bytes, screen->bytes, screen, e);
}

cw_result
cwl_run_bounded(struct cwl_side *s, const uint64_t *control, size_t size, uint64_t bytes, struct cwd_error *e)
{
    return run_with(s, CWI_BOUND, control, size, bytes, NULL, e);
}
