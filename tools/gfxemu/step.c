/* SPDX-License-Identifier: Apache-2.0
 * gfxemu-step ARCH: executes single instructions for tools/gfxemu/compare. Each request on standard input has an instruction's bytes and the
 * registers; the reply has the registers behind it. gfxemu-step ARCH --names: LLVM's instructions, a name a line. */
#define _GNU_SOURCE
#include "tools/gfxemu/exec.h"
#include "tools/gfxemu/llvm_names.h"

#include <stdio.h>

enum { SCALARS = 16, VECTORS = 24, LANES32 = 32 };

/* As compare's struct.pack has it: all are dwords of the machine. */
struct registers {
    uint32_t scc, vcc, exec, m0, s[SCALARS], v[VECTORS][LANES32];
};
struct request {
    uint32_t code[5], mode;
    struct registers r;
};
enum outcome { UNKNOWN, DONE, FAULT };
struct reply {
    uint32_t outcome;
    struct registers r;
};

static void
set(struct gfx_wave *w, const struct registers *r)
{
    w->scc = r->scc;
    w->s[S_VCC] = r->vcc;
    w->s[S_EXEC] = r->exec;
    w->s[S_M0] = r->m0;
    memcpy(w->s, r->s, sizeof r->s);
    for (unsigned k = 0; k < VECTORS; k++)
        memcpy(w->v[k], r->v[k], sizeof r->v[k]);
}

static void
get(const struct gfx_wave *w, struct registers *r)
{
    r->scc = w->scc;
    r->vcc = w->s[S_VCC];
    r->exec = w->s[S_EXEC];
    r->m0 = w->s[S_M0];
    memcpy(r->s, w->s, sizeof r->s);
    for (unsigned k = 0; k < VECTORS; k++)
        memcpy(r->v[k], w->v[k], sizeof r->v[k]);
}

static enum outcome
step(const struct gfx_target *t, const struct request *q, struct registers *r)
{
    static struct gfx_wave w;
    struct gfx_group group = { .target = t };
    char error[256];
    enum outcome o = UNKNOWN;
    struct gfx_code *c = gfx_code_create(t, (const uint8_t *)q->code, 0, sizeof q->code);
    const struct gfx_insn *i = c ? gfx_decode(c, 0, false, error) : NULL;
    if (i && i->exec && (!i->dual || i->dual->exec)) {
        memset(&w, 0, sizeof w);
        w.lanes = LANES32;
        w.mode = q->mode;
        w.group = &group;
        w.next_pc = i->size;
        set(&w, &q->r);
        if (i->dual)
            gfx_step_dual(&w, i);
        else
            i->exec(&w, i);
        get(&w, r);
        o = w.state == WAVE_FAULT ? FAULT : DONE;
    }
    gfx_code_destroy(c);
    return o;
}

int
main(int argc, char **argv)
{
    static struct request q;
    static struct reply p;
    const struct gfx_target *t = argc > 1 ? gfx_target_find(argv[1]) : NULL;
    bool list = argc == 3 && !strcmp(argv[2], "--names");
    if (!t || t->family < GFX10 || (argc != 2 && !list)) {
        fprintf(stderr, "usage: gfxemu-step gfx10..gfx12 [--names]\n");
        return 2;
    }
    if (list) {
        struct gfx_llvm_name *names = gfx_llvm_names(t->name);
        for (const struct gfx_llvm_name *n = names; n && n->text; n++)
            puts(n->text);
        gfx_llvm_names_free(names);
        return names ? 0 : 2;
    }
    while (fread(&q, sizeof q, 1, stdin) == 1) {
        p.r = q.r;
        p.outcome = step(t, &q, &p.r);
        if (fwrite(&p, sizeof p, 1, stdout) != 1 || fflush(stdout))
            return 2;
    }
    return 0;
}
