/* SPDX-License-Identifier: Apache-2.0
 * Compares two runs, reduces a program that differs, finds the first result that differs, and writes the reduced program as a
 * test of the corpus. */
#include "tools/ptx-fuzz/fuzz.h"

#include "impl/base/file.h"
#include "impl/base/reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
name_of(const struct program *p, uint32_t at, char *out, size_t size)
{
    uint32_t bytes = program_threads(p) * OUT_STRIDE, k = at % OUT_STRIDE;
    if (at >= bytes) {
        snprintf(out, size, "word %u of the memory for red", (at - bytes) / 4);
        return;
    }
    if (k >= OUT_OWN) {
        snprintf(out, size, "thread %u, byte %u of its own global memory", at / OUT_STRIDE, k - OUT_OWN);
        return;
    }
    snprintf(out, size, "thread %u, offset %u", at / OUT_STRIDE, k);
    for (unsigned c = 0; c < NCLASSES; c++) {
        unsigned first = dump_offset((enum reg_class)c, 0), n = class_info[c].bytes;
        if (k >= first && k < first + n * class_info[c].count)
            snprintf(out, size, "thread %u, register %s%u", at / OUT_STRIDE, class_info[c].prefix, (k - first) / n);
    }
}

bool
compare_outputs(const struct program *p, const uint8_t *a, const uint8_t *b, struct difference *d)
{
    uint32_t bytes = program_threads(p) * OUT_STRIDE + ATOM_BYTES;
    if (!memcmp(a, b, bytes))
        return false;
    uint32_t at = 0;
    while (a[at] == b[at])
        at++;
    *d = (struct difference){ .any = true, .thread = at / OUT_STRIDE, .offset = at };
    if (at >= bytes - ATOM_BYTES)
        d->thread = 0;
    uint32_t k = at % OUT_STRIDE, word = k >= 140 ? 1 : k >= 128 ? 2 : k >= 64 ? 8 : 4, from = at - at % word;
    memcpy(&d->a, a + from, word);
    memcpy(&d->b, b + from, word);
    name_of(p, at, d->what, sizeof d->what);
    return true;
}

static void
fill_job(const struct program *p, uint32_t k, const char *text, struct shared_area *a, int64_t trace)
{
    struct job *j = &a->job[k];
    *j = (struct job){ .threads = program_threads(p), .base = p->base, .seed = p->seed, .trace = trace };
    snprintf(j->name, sizeof j->name, "k%u", k);
    memcpy(j->grid, p->grid, sizeof j->grid);
    memcpy(j->block, p->block, sizeof j->block);
    for (unsigned i = 0; i < NPARAMS; i++)
        j->params |= (uint32_t)(!p->minimal || param_used(text, i)) << i;
    j->shared = p->dynamic_shared ? p->block[0] * p->block[1] * p->block[2] * (OWN_BYTES + 8) : 0;
}

bool
run_programs(struct fuzzer *z, const struct program *p, uint32_t n, int64_t trace)
{
    struct cw_buf b;
    cw_buf_init(&b);
    print_module(&z->o, p, n, trace >= 0, &b);
    bool fits = !b.failed && b.size < sizeof z->side[0].area->text;
    for (int s = 0; s < 2 && fits; s++) {
        struct shared_area *a = z->side[s].area;
        memcpy(a->text, b.data, b.size + 1);
        a->text_size = (uint32_t)b.size;
        a->njobs = n;
        for (uint32_t i = 0; i < n; i++)
            fill_job(&p[i], i, a->text, a, trace);
    }
    cw_buf_finish(&b);
    if (!fits)
        return false;
    side_start(&z->side[0]);
    side_start(&z->side[1]);
    side_wait(&z->side[0], z->timeout_ms);
    side_wait(&z->side[1], z->timeout_ms);
    return true;
}

/* How a device's run of job k ended. */
enum run_status
job_end(const struct side *s, uint32_t k)
{
    return s->area->status == RUN_OK ? (enum run_status)s->area->job_status[k] : (enum run_status)s->area->status;
}

bool
try_program(struct fuzzer *z, const struct program *p, struct difference *d)
{
    *d = (struct difference){ 0 };
    if (!run_programs(z, p, 1, -1))
        return false;
    enum run_status e[2] = { job_end(&z->side[0], 0), job_end(&z->side[1], 0) };
    if (e[0] == RUN_REFUSED || e[1] == RUN_REFUSED)
        return false;
    if (e[0] == RUN_OK && e[1] == RUN_OK) {
        compare_outputs(p, z->side[0].area->out[0], z->side[1].area->out[0], d);
        return true;
    }
    int side = e[0] != RUN_OK ? 0 : 1;
    *d = (struct difference){ .any = true, .kind = e[side], .side = side };
    snprintf(d->what, sizeof d->what, "%s %s: %.150s", z->side[side].device, run_status_name[e[side]], z->side[side].area->message);
    d->what[strcspn(d->what, "\n")] = 0;
    return true;
}

/* ---- reducing ---- */

struct reduction {
    struct fuzzer *z;
    struct program *p;
    struct difference *d;
    uint32_t tries;
};

static bool
shows(struct reduction *r)
{
    struct difference d;
    if (!try_program(r->z, r->p, &d) || !d.any || d.kind != r->d->kind || d.side != r->d->side)
        return false;
    *r->d = d;
    return true;
}

static bool
still(struct reduction *r)
{
    if (r->tries >= r->z->tries || (r->z->deadline > 0 && fuzz_clock() > r->z->deadline))
        return false;
    r->tries++;
    return shows(r);
}

static bool
try_shape(struct reduction *r, uint32_t grid, uint32_t block, uint32_t base)
{
    struct program *p = r->p, saved = *p;
    p->grid[0] = grid;
    p->grid[1] = p->grid[2] = 1;
    if (block) {
        p->block[0] = block;
        p->block[1] = p->block[2] = 1;
    }
    p->base = base;
    bool whole = !p->use_matrix || p->block[0] * p->block[1] * p->block[2] % 32 == 0;
    if (whole && program_threads(p) + p->base <= MAX_THREADS && still(r))
        return true;
    memcpy(p->grid, saved.grid, sizeof saved.grid);
    memcpy(p->block, saved.block, sizeof saved.block);
    p->base = saved.base;
    return false;
}

static void
reduce_shape(struct reduction *r)
{
    struct program *p = r->p;
    uint32_t threads = p->block[0] * p->block[1] * p->block[2];
    if (p->grid[0] * p->grid[1] > 1 && !try_shape(r, 1, 0, p->base + r->d->thread / threads * threads))
        try_shape(r, 1, 0, 0);
    if (p->grid[0] * p->grid[1] == 1 && threads > 1) {
        uint32_t t = r->d->thread;
        if (try_shape(r, 1, 1, p->base + t) || try_shape(r, 1, 2, p->base + t) || try_shape(r, 1, 2, p->base + (t ? t - 1 : 0)) ||
            try_shape(r, 1, 8, p->base + t / 8 * 8) || try_shape(r, 1, 32, p->base + t / 32 * 32))
            return;
    }
}

struct node_parts {
    struct reduction *r;
    bool *off;
};

static bool
still_without(void *user)
{
    struct node_parts *x = user;
    for (uint32_t i = 0; i < x->r->p->nnodes; i++)
        x->r->p->node[i]->off = x->off[i];
    return still(x->r);
}

/* Take out runs of nodes, long ones first. */
static bool
reduce_nodes(struct reduction *r)
{
    struct program *p = r->p;
    struct node_parts x = { r, calloc(p->nnodes + (size_t)1, sizeof *x.off) };
    if (!x.off)
        return false;
    for (uint32_t i = 0; i < p->nnodes; i++)
        x.off[i] = p->node[i]->off;
    bool progress = cw_reduce(p->nnodes, x.off, still_without, &x);
    for (uint32_t i = 0; i < p->nnodes; i++)
        p->node[i]->off = x.off[i];
    free(x.off);
    return progress;
}

static bool
reduce_structure(struct reduction *r)
{
    struct program *p = r->p;
    bool progress = false;
    for (uint32_t i = 0; i < p->nnodes; i++) {
        struct node *n = p->node[i];
        if (n->off)
            continue;
        for (unsigned k = 0; k < n->nseqs && !n->unwrapped; k++) {
            n->unwrapped = true;
            n->keep = (uint8_t)k;
            if (still(r))
                progress = true;
            else
                n->unwrapped = false;
        }
        if (n->guard >= 0) {
            int8_t g = n->guard;
            n->guard = -1;
            if (still(r))
                progress = true;
            else
                n->guard = g;
        }
    }
    return progress;
}

static void
reduce_operands(struct reduction *r)
{
    static const uint64_t values[] = { 0, 1, ~0ull };
    struct program *p = r->p;
    for (uint32_t i = 0; i < p->nnodes; i++) {
        struct node *n = p->node[i];
        for (unsigned k = 0; k < n->nops && !n->off; k++) {
            struct operand was = n->op[k];
            unsigned others = 0;
            for (unsigned o = 0; o < n->nops; o++)
                others += o != k && n->op[o].kind == O_REG && !n->op[o].dst && n->op[o].type != PTX_PRED;
            /* ptxas would fold the whole program. */
            if (was.fixed || (was.kind != O_REG && was.kind != O_TEXT) || (r->z->o.native && !others))
                continue;
            unsigned bits = ptx_type_bits((ptx_type)was.type);
            for (unsigned v = 0; v < 3; v++) {
                n->op[k] = (struct operand){ .kind = O_IMM, .type = was.type, .imm = bits < 64 ? values[v] & ((1ull << bits) - 1) : values[v] };
                if (still(r))
                    break;
                n->op[k] = was;
            }
        }
    }
}

void
reduce_program(struct fuzzer *z, struct program *p, struct difference *d)
{
    struct reduction r = { z, p, d, 0 };
    unsigned timeout = z->timeout_ms;
    if (d->kind == RUN_TIMEOUT && timeout > 10000)
        z->timeout_ms = 10000;
    reduce_shape(&r);
    for (int round = 0; round < 4; round++) {
        bool more = reduce_nodes(&r);
        more |= reduce_structure(&r);
        if (!more)
            break;
        reduce_shape(&r);
    }
    reduce_operands(&r);
    reduce_nodes(&r);
    if (program_threads(p) == 1 && !z->o.native) {
        p->literal = true;
        if (!still(&r))
            p->literal = false;
    }
    /* The results of this run, and its program, are written. */
    p->minimal = true;
    if (!shows(&r)) {
        p->minimal = false;
        d->varies = !shows(&r);
    }
    z->timeout_ms = timeout;
}

/* ---- whose it is ---- */

bool
optimizer_difference(struct fuzzer *z, const struct program *p)
{
    struct difference d;
    int nvidia = !strncmp(z->side[0].device, "cuda", 4) ? 0 : 1;
    const char *device = z->side[nvidia].device;
    const char *plain = !strcmp(device, "cuda-native") ? "cuda-native:O0" : !strcmp(device, "cuda") ? "cuda:O0" : NULL;
    if (!plain || (!z->plain.area && !side_open(&z->plain, plain)))
        return false;
    struct side optimized = z->side[nvidia];
    z->side[nvidia] = z->plain;
    bool same = try_program(z, p, &d) && !d.any;
    z->plain = z->side[nvidia];
    z->side[nvidia] = optimized;
    return same;
}

/* ---- where it begins ---- */

static const struct node *
node_by_id(const struct program *p, uint64_t id)
{
    return id && id <= p->nnodes ? p->node[id - 1] : NULL;
}

/* The first result of the thread that differs, as a line. */
static void
first_difference(struct fuzzer *z, const struct program *p, const struct difference *d, struct cw_buf *out)
{
    if (d->kind)
        return;
    if (!run_programs(z, p, 1, d->thread) || job_end(&z->side[0], 0) != RUN_OK || job_end(&z->side[1], 0) != RUN_OK) {
        cw_buf_puts(out, "// with every result recorded it does not run\n");
        return;
    }
    const uint64_t *a = (const uint64_t *)(const void *)z->side[0].area->trace, *b = (const uint64_t *)(const void *)z->side[1].area->trace;
    for (uint32_t i = 0; i < TRACE_EVENTS; i++, a += 2, b += 2) {
        if (a[0] == b[0] && a[1] == b[1]) {
            if (!a[0])
                break;
            continue;
        }
        const struct node *n = node_by_id(p, (a[0] ? a[0] : b[0]) >> 8), *m = node_by_id(p, b[0] >> 8);
        if (a[0] != b[0])
            cw_buf_printf(out, "// the ways part at step %u of thread %u: %s at `%s`, %s at `%s`\n", i, d->thread, z->side[0].device,
                          a[0] && n ? n->form : "the end", z->side[1].device, b[0] && m ? m->form : "the end");
        else
            cw_buf_printf(out, "// first different result: step %u of thread %u, %s, $%llu: 0x%llx on %s, 0x%llx on %s\n", i, d->thread,
                          n && n->form ? n->form : "?", (unsigned long long)(a[0] & 0xff), (unsigned long long)a[1], z->side[0].device,
                          (unsigned long long)b[1], z->side[1].device);
        return;
    }
    cw_buf_puts(out, "// with every result recorded the two agree\n");
}

/* ---- writing ---- */

static void
print_words(struct cw_buf *b, const uint8_t *data, uint32_t bytes)
{
    uint32_t n = bytes / 4;
    for (uint32_t i = 0; i < n;) {
        uint32_t v, w, run = 1;
        memcpy(&v, data + i * 4, 4);
        while (i + run < n && (memcpy(&w, data + (i + run) * 4, 4), w == v))
            run++;
        if (i && i % 16 == 0 && run < 4)
            cw_buf_puts(b, "\n//!  ");
        if (run >= 4) {
            cw_buf_printf(b, " %u x 0x%x", run, v);
            i += run;
        } else {
            cw_buf_printf(b, " 0x%x", v);
            i++;
        }
    }
    cw_buf_puts(b, "\n");
}

/* A device's contents of a buffer: as an expectation, or as comments where the values are not known to be right. */
static void
print_result(struct cw_buf *b, const struct side *s, const char *buffer, const uint8_t *data, uint32_t bytes)
{
    bool native = !strcmp(s->device, "cuda-native");
    struct cw_buf words;
    cw_buf_init(&words);
    print_words(&words, data, bytes);
    if (native)
        cw_buf_printf(b, "//! expect %s recorded \"%s\" =", buffer, s->name);
    else
        cw_buf_printf(b, "//  %s on %s is", buffer, s->device);
    for (size_t k = 0; k < words.size; k++)
        cw_buf_append(b, !native && words.data[k] == '!' ? " " : &words.data[k], 1);
    cw_buf_finish(&words);
}

static void
print_values(struct cw_buf *b, const struct program *p, const char *text)
{
    struct scalars s;
    uint32_t threads = program_threads(p);
    make_scalars(p->seed, &s);
    for (unsigned i = 0; i < NPARAMS; i++) {
        if (!param_used(text, i))
            continue;
        const char *name = param_info[i].name;
        if (!strcmp(name, "in")) {
            uint8_t *in = malloc(IN_BYTES);
            if (in) {
                make_input(p->seed, in);
                cw_buf_puts(b, "//! buffer in u32 =");
                print_words(b, in, IN_COMMON + (threads + p->base) * IN_STRIDE);
            }
            free(in);
        } else if (!strcmp(name, "out")) {
            cw_buf_printf(b, "//! buffer out u32[%u]\n", threads * OUT_STRIDE / 4);
        } else if (!strcmp(name, "atom") || !strcmp(name, "trace")) {
            cw_buf_printf(b, "//! buffer %s u32[%u]\n", name, ATOM_BYTES / 4);
        } else if (!strncmp(name, "tex", 3)) {
            uint8_t texels[TEX_BYTES];
            make_texture(name[3] - '0', texels);
            cw_buf_printf(b, "//! buffer texels%c %s =", name[3], name[3] == '0' ? "u32" : "u8");
            if (name[3] == '0')
                print_words(b, texels, TEX_BYTES);
            for (unsigned k = 0; k < TEX_BYTES && name[3] != '0'; k++)
                cw_buf_printf(b, "%s%u", k % 32 ? " " : "\n//!   ", texels[k]);
            cw_buf_puts(b, name[3] == '0' ? "" : "\n");
            cw_buf_printf(b, "//! texture %s of texels%c %d,%d %s\n", name, name[3], TEX_WIDTH, TEX_HEIGHT, name[3] == '0' ? "integer clamp" : "x4 border");
        } else {
            const char *type = param_info[i].decl + 1;
            uint64_t v = !strcmp(name, "base") ? p->base : !strcmp(name, "x") ? s.x : !strcmp(name, "y") ? s.y : !strcmp(name, "z") ? s.z :
                         !strcmp(name, "w") ? s.w : !strcmp(name, "h") ? s.h : 0;
            if (!strcmp(name, "arr")) {
                cw_buf_puts(b, "//! value arr b8[24] =");
                for (unsigned k = 0; k < 24; k++)
                    cw_buf_printf(b, " %u", s.arr[k]);
                cw_buf_puts(b, "\n");
            } else {
                cw_buf_printf(b, "//! value %s %.3s[1] = 0x%llx\n", name, type, (unsigned long long)v);
            }
        }
    }
}

/* The parameters' names for the test's launch line. */
static void
print_names(struct cw_buf *b, const char *text)
{
    const char *comma = "(";
    for (unsigned i = 0; i < NPARAMS; i++)
        if (param_used(text, i)) {
            cw_buf_printf(b, "%s%s", comma, param_info[i].name);
            comma = ",";
        }
    cw_buf_puts(b, *comma == '(' ? "()" : ")");
}

void
report_difference(struct fuzzer *z, const struct program *program, const struct difference *first, struct difference *d)
{
    struct program p = *program;
    struct cw_buf text, b, why;
    char path[4096];
    cw_buf_init(&text);
    cw_buf_init(&b);
    cw_buf_init(&why);
    uint32_t bytes = program_threads(&p) * OUT_STRIDE;
    uint8_t *out[2] = { malloc(bytes + ATOM_BYTES), malloc(bytes + ATOM_BYTES) };
    for (int i = 0; i < 2; i++)
        if (out[i])
            memcpy(out[i], z->side[i].area->out[0], bytes + ATOM_BYTES);
    print_module(&z->o, &p, 1, false, &text);
    if (d->varies)
        cw_buf_puts(&why, "// run again, this shows no difference: results vary\n");
    else
        first_difference(z, &p, d, &why);
    unsigned lines = 0;
    for (uint32_t i = 0; i < p.nnodes; i++)
        lines += !p.node[i]->off;
    cw_buf_puts(&b, "// SPDX-License-Identifier: Apache-2.0\n");
    cw_buf_printf(&b, "// Found by cudaway-ptx-fuzz --seed %llu --count 1 --size %u --on %s --against %s", (unsigned long long)p.seed, z->o.size, z->side[0].device,
                  z->side[1].device);
    if (z->o.profile)
        cw_buf_printf(&b, " --profile %s", z->o.profile);
    if (z->o.uniform)
        cw_buf_printf(&b, " --uniform %u", z->o.uniform);
    if (z->o.threads)
        cw_buf_printf(&b, " --threads %u", z->o.threads);
    cw_buf_puts(&b, "\n");
    cw_buf_printf(&b, "// as generated: %s; 0x%llx / 0x%llx\n", first->what, (unsigned long long)first->a, (unsigned long long)first->b);
    cw_buf_printf(&b, "// reduced: %s", d->what);
    if (!d->kind)
        cw_buf_printf(&b, ": 0x%llx on %s, 0x%llx on %s", (unsigned long long)d->a, z->side[0].device, (unsigned long long)d->b, z->side[1].device);
    cw_buf_puts(&b, "\n");
    cw_buf_append(&b, why.data, why.size);
    if (optimizer_difference(z, program)) {
        z->optimizer++;
        cw_buf_puts(&b, "// with ptxas -O0 the two agree\n");
        cw_buf_puts(&why, "  // with ptxas -O0 the two agree\n");
    }
    cw_buf_printf(&b, "//! test fuzz_%llx\n", (unsigned long long)p.seed);
    print_values(&b, &p, text.data ? text.data : "");
    cw_buf_puts(&b, "//! launch k0");
    print_names(&b, text.data ? text.data : "");
    cw_buf_printf(&b, " grid %u,%u,%u block %u,%u,%u shared %u\n", p.grid[0], p.grid[1], p.grid[2], p.block[0], p.block[1], p.block[2],
                  p.dynamic_shared ? p.block[0] * p.block[1] * p.block[2] * (OWN_BYTES + 8) : 0);
    for (int i = 0; i < 2 && !d->kind; i++) {
        if (!out[i])
            continue;
        print_result(&b, &z->side[i], "out", out[i], bytes);
        if (strstr(text.data ? text.data : "", "k0_atom"))
            print_result(&b, &z->side[i], "atom", out[i] + bytes, ATOM_BYTES);
    }
    cw_buf_append(&b, text.data, text.size);
    snprintf(path, sizeof path, "%s/fuzz_%llx.ptx", z->dir, (unsigned long long)p.seed);
    if (b.failed || text.failed || cw_file_write_atomic(path, b.data, b.size, 0644) != CW_OK)
        fprintf(stderr, "cannot write %s\n", path);
    printf("seed %llu: %s: %s\n", (unsigned long long)p.seed, path, d->what);
    if (!d->kind)
        printf("  0x%llx on %s, 0x%llx on %s; %u nodes left\n", (unsigned long long)d->a, z->side[0].device, (unsigned long long)d->b, z->side[1].device, lines);
    if (why.data)
        printf("  %.*s", (int)why.size, why.data);
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        free(out[i]);
    cw_buf_finish(&text);
    cw_buf_finish(&b);
    cw_buf_finish(&why);
}
