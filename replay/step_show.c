/* SPDX-License-Identifier: Apache-2.0
 * What --step prints. With --json each stop is an object in a line of its own, with what is displayed there; so is every other line, as "text". */
#define _GNU_SOURCE
#include "replay/step_private.h"

#include "impl/base/file.h"
#include "impl/base/text.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARP = 32, SHOWN = 16 };

/* u->out */
static void
put_line(struct cws_ui *u, bool bold)
{
    char *text = u->out.data ? u->out.data : (char[]){ "" };
    if (!u->json) {
        cw_text_make_safe(text, "\n\t");
        printf(bold ? "\033[1m%s\033[0m\n" : "%s\n", text);
        return;
    }
    struct cw_buf b;
    cw_buf_init(&b);
    cw_buf_puts(&b, "{\"text\":");
    cw_buf_json_string(&b, text);
    cw_buf_puts(&b, "}");
    puts(b.data ? b.data : "");
    cw_buf_finish(&b);
}

void
cws_say(struct cws_ui *u, const char *fmt, ...)
{
    va_list ap;
    u->out.size = 0;
    va_start(ap, fmt);
    cw_buf_vprintf(&u->out, fmt, ap);
    va_end(ap);
    put_line(u, false);
}

void
cws_who(const struct cws_ui *u, uint32_t t, char *out, size_t size)
{
    const uint32_t *b = u->s.side.dump.block, *g = u->s.side.dump.grid;
    snprintf(out, size, "thread (%u,%u,%u) of block (%u,%u,%u)", t % b[0], t / b[0] % b[1], t / b[0] / b[1], (unsigned)(u->block % g[0]),
             (unsigned)(u->block / g[0] % g[1]), (unsigned)(u->block / g[0] / g[1]));
}

static const struct cwi_inst *
inst_at(const struct cws_ui *u, uint32_t thread, uint32_t step)
{
    const struct cws_thread *t = cws_thread(&u->s, thread);
    return t && step < t->nsteps ? &u->s.side.program.insts[t->steps[step].id] : NULL;
}

const struct cwi_inst *
cws_here(const struct cws_ui *u)
{
    return inst_at(u, u->at.thread, u->at.step);
}

uint32_t
cws_depth(const struct cws_ui *u, uint32_t thread, uint32_t step)
{
    const struct cws_thread *t = cws_thread(&u->s, thread);
    return t && step < t->nsteps ? t->frames[t->steps[step].frame].depth : 0;
}

/* ---- source files ---------------------------------------------------------------------------------------------------------------- */

static const char *
source_file(const struct cws_ui *u, const struct cwi_inst *i)
{
    const struct ptx_module *m = u->s.side.program.modules[i->text];
    return i->in->loc_line && i->in->loc_file < m->nfiles ? m->files[i->in->loc_file] : NULL;
}

/* The dump names it. Devices and pipes have no end, or wait for somebody, and so do some files of the kernel, but for O_NONBLOCK. */
static FILE *
open_regular(const char *path)
{
    const int fd = cw_file_is_special(path) ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

/* As it is named, where this process may read that, or in the folder that was given: by its path there, or its name alone. */
static FILE *
open_source(const struct cws_ui *u, const char *name)
{
    char path[4096];
    const char *base = strrchr(name, '/');
    FILE *f = open_regular(name);
    for (unsigned i = 0; i < 2 && !f && u->source; i++) {
        snprintf(path, sizeof path, "%s/%s", u->source, i && base ? base + 1 : name);
        f = open_regular(path);
    }
    return f;
}

/* Lines [first, last] of a source file, `at` with a mark. False: it cannot be read, or has none of them. */
static bool
show_source(struct cws_ui *u, const char *name, uint32_t first, uint32_t last, uint32_t at)
{
    char line[512];
    bool whole = true, any = false;
    FILE *f = open_source(u, name);
    for (uint32_t n = 1; f && n <= last && fgets(line, sizeof line, f);) {
        size_t size = strcspn(line, "\n");
        bool end = line[size] == '\n', begin = whole;
        whole = end;
        line[size] = 0;
        if (begin && n >= first) {
            cws_say(u, "%s%u\t%s", at ? n == at ? "=> " : "   " : "", n, line);
            any = true;
        }
        n += end;
    }
    if (f)
        fclose(f);
    return any;
}

/* ---- stops ------------------------------------------------------------------------------------------------------------------------ */

static void
json_stop(struct cws_ui *u, const char *reason, const struct cws_point *p)
{
    const struct cwi_inst *i = cws_here(u);
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    const uint32_t *b = u->s.side.dump.block, *g = u->s.side.dump.grid, n = u->at.thread;
    char text[300];
    struct cw_buf o;
    cw_buf_init(&o);
    cw_buf_printf(&o, "{\"stop\":\"%s\"", i ? reason : "end");
    if (p && i)
        cw_buf_printf(&o, ",\"number\":%u", p->number);
    cw_buf_printf(&o, ",\"thread\":[%u,%u,%u],\"block\":[%u,%u,%u]", n % b[0], n / b[0] % b[1], n / b[0] / b[1], (unsigned)(u->block % g[0]),
                  (unsigned)(u->block / g[0] % g[1]), (unsigned)(u->block / g[0] / g[1]));
    if (i) {
        const char *file = source_file(u, i);
        cw_buf_puts(&o, ",\"function\":");
        cw_buf_json_string(&o, i->fn->sym->name);
        if (file) {
            cw_buf_puts(&o, ",\"file\":");
            cw_buf_json_string(&o, file);
            cw_buf_printf(&o, ",\"line\":%u", i->in->loc_line);
        }
        cwi_written(&u->s.side.program, t->steps[u->at.step].id, text, sizeof text);
        cw_buf_puts(&o, ",\"ptx\":");
        cw_buf_json_string(&o, u->s.side.program.texts[i->text].name);
        cw_buf_printf(&o, ",\"ptx_line\":%u,\"instruction\":", i->in->line);
        cw_buf_json_string(&o, text);
        cw_buf_printf(&o, ",\"executed\":%s", t->steps[u->at.step].executed ? "true" : "false");
    }
    cw_buf_puts(&o, "}");
    puts(o.data ? o.data : "");
    cw_buf_finish(&o);
}

static void
say_end(struct cws_ui *u, const char *who)
{
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    if (!t)
        cws_say(u, "%s is not recorded", who);
    else if (u->s.kept < u->s.made - (u->s.start < u->s.made ? u->s.start : u->s.made))
        cws_say(u, "%s: the record ends here; `record from %llu` has what follows, --record-size MIB makes it larger", who, (unsigned long long)(u->s.start + u->s.kept));
    else if (!t->nsteps)
        cws_say(u, "%s has no step in the record", who);
    else
        cws_say(u, "%s has ended", who);
}

void
cws_show_stop(struct cws_ui *u, const char *reason, const struct cws_point *p)
{
    const struct cwi_inst *i = cws_here(u);
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    char who[128], text[300], number[40] = "";
    cws_who(u, u->at.thread, who, sizeof who);
    if (u->json) {
        json_stop(u, reason, p);
    } else if (!i) {
        say_end(u, who);
    } else {
        const char *file = source_file(u, i);
        uint32_t id = t->steps[u->at.step].id;
        if (p)
            snprintf(number, sizeof number, "%s %u, ", p->kind == CWS_BREAK ? "Breakpoint" : "Watchpoint", p->number);
        if (file)
            cws_say(u, "%s%s in %s at %s:%u", number, who, i->fn->sym->name, file, i->in->loc_line);
        else
            cws_say(u, "%s%s in %s", number, who, i->fn->sym->name);
        if (file)
            show_source(u, file, i->in->loc_line, i->in->loc_line, 0);
        cwi_written(&u->s.side.program, id, text, sizeof text);
        u->out.size = 0;
        cw_buf_printf(&u->out, "=> %s:%u: %s%s", u->s.side.program.texts[i->text].name, i->in->line, text,
                      t->steps[u->at.step].executed ? "" : "   (not executed: the guard is false)");
        put_line(u, u->colour);
    }
    u->listed = 0;
    for (uint32_t k = 0; i && k < u->ndisplays; k++)
        if (u->displays[k]) {
            struct cws_cursor saved = u->at;
            cws_print(u, u->displays[k], true);
            u->at = saved;
        }
}

/* ---- values ---------------------------------------------------------------------------------------------------------------------- */

void
cws_show_bytes(const struct cws_ui *u, const uint8_t *bytes, const bool *known, unsigned type, char letter, struct cw_buf *out)
{
    unsigned n = ptx_type_bits((ptx_type)type) / 8;
    uint64_t low = 0, high = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!known[i]) {
            cw_buf_puts(out, "?");
            return;
        }
        *(i < 8 ? &low : &high) |= (uint64_t)bytes[i] << 8 * (i % 8);
    }
    cws_print_bits(&u->s, low, high, type, letter, out);
}

static bool
complain(struct cws_ui *u, const char *why)
{
    u->wrong = true;
    cws_say(u, "%s", why);
    return false;
}

/* A variable: its first elements. */
static void
print_variable(struct cws_ui *u, const struct cws_result *r, char letter, struct cw_buf *out)
{
    const struct ptx_symbol *x = r->variable;
    unsigned bytes = ptx_type_bits((ptx_type)x->type) / 8, n = x->is_array ? SHOWN : 1;
    uint64_t total = bytes ? x->size / bytes : 0;
    uint8_t data[SHOWN * 16];
    bool known[SHOWN * 16];
    if (x->unsized)
        total = bytes ? u->s.side.dump.shared / bytes : 0;
    n = total < n ? (unsigned)total : n;
    if (!bytes || !n) {
        cw_buf_puts(out, "{}");
        return;
    }
    cws_memory(&u->s, r->space, u->at.thread, r->low, n * bytes, cws_time(&u->s, u->at.thread, u->at.step), data, known);
    for (unsigned i = 0; i < n; i++) {
        cw_buf_puts(out, i ? ", " : x->is_array ? "{" : "");
        cws_show_bytes(u, data + (size_t)i * bytes, known + (size_t)i * bytes, x->type, letter, out);
    }
    cw_buf_puts(out, total > n ? ", ...}" : x->is_array ? "}" : "");
}

bool
cws_print(struct cws_ui *u, const char *text, bool quiet)
{
    struct cws_format f = { .count = 1 };
    struct cws_result r;
    struct cw_buf b;
    char why[200];
    const char *p = text;
    if (*p == '/' && (p++, !cws_read_format(&p, &f)))
        return complain(u, "the format is none of x d u o t f c, or a type such as f32");
    while (*p == ' ')
        p++;
    const char *name = p;
    bool ok = cws_evaluate(&u->s, &u->at, &p, &r, why, sizeof why);
    while (ok && isspace((unsigned char)*p))
        p++;
    cw_buf_init(&b);
    if (ok && *p) {
        ok = false;
        snprintf(why, sizeof why, "%.40s does not belong behind it", p);
    }
    if (!ok)
        cw_buf_puts(&b, why);
    else if (r.variable)
        print_variable(u, &r, f.letter, &b);
    else if (f.type != PTX_NONE && r.type == PTX_NONE)
        cws_print_bits(&u->s, (uint64_t)r.i, 0, f.type, f.letter, &b);
    else if (f.type != PTX_NONE)
        cws_print_bits(&u->s, r.low, r.high, f.type, f.letter, &b);
    else if (r.type != PTX_NONE)
        cws_print_bits(&u->s, r.low, r.high, r.type, f.letter, &b);
    else if (r.is_float)
        cw_buf_printf(&b, "%.17g", r.f);
    else if (f.letter)
        cws_print_bits(&u->s, (uint64_t)r.i, 0, PTX_U64, f.letter, &b);
    else
        cw_buf_printf(&b, "%lld", (long long)r.i);
    if (!ok && !quiet && !cws_unknown(why))
        complain(u, why);
    else if (!ok && !quiet)
        cws_say(u, "%s", why);
    else
        cws_say(u, "%s = %s", name, b.data ? b.data : "");
    cw_buf_finish(&b);
    return ok;
}

/* x[/FORMAT] [SPACE] ADDRESS; without an address it goes on behind what it showed last. */
bool
cws_examine(struct cws_ui *u, const char *text)
{
    struct cws_format f = u->examined_format;
    struct cws_result r;
    char why[200], name[200];
    const char *p = text;
    if (*p == '/' && (p++, !cws_read_format(&p, &f)))
        return complain(u, "the format is a count, one of x d u o t f c a and of b h w g, or a type: x/4f32 %rd1");
    while (*p == ' ')
        p++;
    size_t n = strcspn(p, " \t.");
    enum cwi_where space = cws_space_named(p, n);
    if (space != CWI_NOWHERE && isspace((unsigned char)p[n]))
        p += n;
    else
        space = CWI_NOWHERE;
    while (*p == ' ')
        p++;
    if (*p) {
        if (!cws_evaluate(&u->s, &u->at, &p, &r, why, sizeof why)) {
            if (!cws_unknown(why))
                return complain(u, why);
            cws_say(u, "%s", why);
            return false;
        }
        if (*p || r.is_float)
            return complain(u, *p ? "something is behind the address" : "the address is a float");
        if (space == CWI_NOWHERE)
            space = r.space != CWI_NOWHERE ? r.space : CWI_GLOBAL;
        u->examined = cws_place_of(&u->s, space, (uint64_t)r.i);
        u->examined_space = space;
        if (f.type == PTX_NONE && r.variable && ptx_type_bits((ptx_type)r.variable->type) >= 8)
            f.type = r.variable->type;
    } else if (u->examined_space == CWI_NOWHERE) {
        return complain(u, "an address is missing: x/4f32 %rd1, x/4w shared %r5");
    }
    if (f.type == PTX_NONE)
        f.type = f.letter == 'f' ? PTX_F32 : f.letter == 'c' ? PTX_U8 : PTX_U32;
    unsigned bytes = ptx_type_bits((ptx_type)f.type) / 8, row = bytes <= 2 ? 8 : 4;
    for (unsigned i = 0; i < f.count; i += row) {
        unsigned k = f.count - i < row ? f.count - i : row;
        uint8_t data[8 * 16];
        bool known[8 * 16];
        struct cw_buf b;
        cws_memory(&u->s, u->examined_space, u->at.thread, u->examined, k * bytes, cws_time(&u->s, u->at.thread, u->at.step), data, known);
        cw_buf_init(&b);
        for (unsigned m = 0; m < k; m++) {
            cw_buf_puts(&b, "\t");
            cws_show_bytes(u, data + (size_t)m * bytes, known + (size_t)m * bytes, f.type, f.letter, &b);
        }
        if (u->examined_space == CWI_GLOBAL && cws_address_text(&u->s, u->examined, name, sizeof name))
            cws_say(u, "<%s>:%s", name, b.data ? b.data : "");
        else
            cws_say(u, "%s 0x%llx:%s", u->examined_space == CWI_GLOBAL ? "global" : u->examined_space == CWI_LOCAL ? "local" : "shared",
                    (unsigned long long)u->examined, b.data ? b.data : "");
        cw_buf_finish(&b);
        u->examined += (uint64_t)k * bytes;
    }
    u->examined_format = f;
    return true;
}

void
cws_show_registers(struct cws_ui *u, bool all)
{
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    const struct ptx_function *fn = t && u->at.frame < t->nframes ? t->frames[u->at.frame].fn : NULL;
    unsigned unwritten = 0;
    for (uint32_t i = 0; fn && i < fn->nregs; i++) {
        struct cws_bits bits;
        unsigned type;
        struct cw_buf b;
        if (!cws_named_register(&u->s, &u->at, i, &bits, &type)) {
            unwritten++;
            if (all)
                cws_say(u, "%-12s .%-5s not written yet", fn->regs[i].name, ptx_type_name((ptx_type)fn->regs[i].type));
            continue;
        }
        cw_buf_init(&b);
        cws_print_bits(&u->s, bits.low, bits.high, type, 0, &b);
        cws_say(u, "%-12s .%-5s %s", fn->regs[i].name, ptx_type_name((ptx_type)fn->regs[i].type), b.data ? b.data : "");
        cw_buf_finish(&b);
    }
    if (unwritten && !all)
        cws_say(u, "%u of %u registers are not written yet", unwritten, fn->nregs);
}

/* ---- where things are ------------------------------------------------------------------------------------------------------------ */

/* "(0,0,0)" for threads [first, last]: "0 (0,0,0)" or "0-7 (0,0,0) to (7,0,0)". */
static void
range_text(const struct cws_ui *u, uint32_t first, uint32_t last, char *out, size_t size)
{
    const uint32_t *b = u->s.side.dump.block;
    int n = snprintf(out, size, first == last ? "%u (%u,%u,%u)" : "%u-%u (%u,%u,%u)", first, first == last ? first % b[0] : last,
                     first == last ? first / b[0] % b[1] : first % b[0], first == last ? first / b[0] / b[1] : first / b[0] % b[1], first / b[0] / b[1]);
    if (first != last && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, " to (%u,%u,%u)", last % b[0], last / b[0] % b[1], last / b[0] / b[1]);
}

void
cws_show_threads(struct cws_ui *u, bool all)
{
    uint32_t time = cws_time(&u->s, u->at.thread, u->at.step), warp = u->at.thread / WARP * WARP, n = cws_block_threads(&u->s);
    uint32_t first = all ? 0 : warp, end = all || n - warp < WARP ? n : warp + WARP;
    char range[100], place[700];
    for (uint32_t t = first, last; t < end; t = last + 1) {
        const struct cws_thread *x = cws_thread(&u->s, t);
        uint32_t step = cws_step_at(&u->s, t, time);
        const struct cwi_inst *i = inst_at(u, t, step);
        for (last = t; last + 1 < end && (last + 1) % WARP; last++) {       /* the threads that are where this one is */
            const struct cws_thread *y = cws_thread(&u->s, last + 1);
            const struct cwi_inst *k = inst_at(u, last + 1, cws_step_at(&u->s, last + 1, time));
            if (!x != !y || i != k)
                break;
        }
        range_text(u, t, last, range, sizeof range);
        if (!x)
            snprintf(place, sizeof place, "not recorded");
        else if (!i)
            snprintf(place, sizeof place, u->s.start + u->s.kept < u->s.made ? "behind the record's end" : "has ended");
        else
            cwi_place_text(&u->s.side.program, x->steps[step].id, "", place, sizeof place);
        cws_say(u, "%s %-28s %s", u->at.thread >= t && u->at.thread <= last ? "*" : " ", range, place);
    }
}

void
cws_show_backtrace(struct cws_ui *u)
{
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    if (!cws_here(u)) {
        complain(u, "the thread has ended: no function is being executed");
        return;
    }
    uint32_t step = u->at.step;
    for (uint32_t f = t->steps[step].frame, n = 0; f != CWS_NONE; f = t->frames[f].parent, n++) {
        char place[700];
        struct cw_buf b;
        cw_buf_init(&b);
        const struct ptx_function *fn = t->frames[f].fn;
        for (uint32_t i = 0; i < fn->nparams && i < 256; i++)
            if (fn->params[i]->is_param_reg && t->frames[f].argument) {
                cw_buf_printf(&b, "%s%s=", b.size ? ", " : "", fn->params[i]->name);
                cws_print_bits(&u->s, t->frames[f].argument[i], 0, fn->params[i]->type, 0, &b);
            }
        cwi_place_text(&u->s.side.program, t->steps[step].id, "", place, sizeof place);
        cws_say(u, "%s#%u  %s (%s) at %s", f == u->at.frame ? "*" : " ", n, fn->sym->name, b.data ? b.data : "", place);
        cw_buf_finish(&b);
        if (t->frames[f].call == CWS_NONE)
            break;
        step = t->frames[f].call;
    }
}

void
cws_show_list(struct cws_ui *u, uint32_t text, uint32_t line)
{
    const struct cwi_program *p = &u->s.side.program;
    const struct cwi_inst *here = cws_here(u);
    const char *s = p->texts[text].text, *end = s + p->texts[text].size;
    uint32_t n = 1, last = line + 9;
    for (; s < end && n < line; n++) {
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        s = eol ? eol + 1 : end;
    }
    if (s >= end) {
        complain(u, "the text has no more lines");
        return;
    }
    for (; s < end && n <= last; n++) {
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        int size = (int)((eol ? eol : end) - s);
        cws_say(u, "%s %u\t%.*s", here && here->text == text && here->in->line == n ? "=>" : "  ", n, size > 1000 ? 1000 : size, s);
        s = eol ? eol + 1 : end;
    }
    u->listed_text = text;
    u->listed = n;
}

bool
cws_show_source_list(struct cws_ui *u, const char *file, uint32_t line)
{
    const struct cwi_inst *i = cws_here(u);
    const char *at = i ? source_file(u, i) : NULL;
    bool here = at && !strcmp(at, file);
    return show_source(u, file, line > 5 ? line - 5 : 1, line + 4, here ? i->in->loc_line : UINT32_MAX);
}

void
cws_show_launch(struct cws_ui *u)
{
    const struct cwd_dump *d = &u->s.side.dump;
    cws_say(u, "%s, grid (%u,%u,%u), block (%u,%u,%u), %u bytes of dynamic shared memory, on %s", d->kernel, d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1],
            d->block[2], d->shared, u->s.side.label);
    if (u->s.threads)
        cws_say(u, "recorded: threads %u to %u of block %llu, %u steps, %llu of %llu records from %llu on", u->s.first, u->s.first + u->s.count - 1,
                (unsigned long long)u->s.block, u->s.nall, (unsigned long long)u->s.kept, (unsigned long long)u->s.made, (unsigned long long)u->s.start);
}

void
cws_show_locals(struct cws_ui *u)
{
    const struct cws_thread *t = cws_thread(&u->s, u->at.thread);
    const struct cws_frame *f = t && u->at.frame < t->nframes ? &t->frames[u->at.frame] : NULL;
    const struct ptx_symbol *x;
    for (unsigned i = 0; f && (x = cwi_step_symbol(f->fn, i)); i++) {
        struct cws_result r = { .low = f->symbol ? f->symbol[i] : UINT64_MAX, .space = x->space == PTX_SPACE_SHARED ? CWI_SHARED_MEMORY : CWI_LOCAL, .variable = x };
        struct cw_buf b;
        cw_buf_init(&b);
        if (r.low == UINT64_MAX)
            cw_buf_puts(&b, "its address is not in the record");
        else
            print_variable(u, &r, 0, &b);
        cws_say(u, ".%s .%s %s = %s", x->space == PTX_SPACE_SHARED ? "shared" : "local", ptx_type_name((ptx_type)x->type), x->name, b.data ? b.data : "");
        cw_buf_finish(&b);
    }
    for (uint32_t i = 0; f && f->fn->is_entry && i < f->fn->nparams; i++)
        cws_print(u, f->fn->params[i]->name, true);
}

void
cws_show_point(struct cws_ui *u, const struct cws_point *p)
{
    char thread[40] = "";
    if (p->any)
        snprintf(thread, sizeof thread, " any");
    else if (p->thread != CWS_NONE && (p->kind != CWS_WATCH_MEMORY || p->space == CWI_LOCAL))
        snprintf(thread, sizeof thread, " thread %u", p->thread);
    cws_say(u, "%u\t%s %s%s%s%s%s, hit %u times", p->number, p->kind == CWS_BREAK ? "break" : "watch", p->text, thread, p->condition ? " if " : "",
            p->condition ? p->condition : "", p->disabled ? " (disabled)" : "", p->hits);
}
