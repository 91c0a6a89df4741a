/* SPDX-License-Identifier: Apache-2.0
 * Asks the emitters: all forms of an opcode are put into one module, a kernel each, and compiled for every target as far as LLVM IR.
 * A message's line identifies the form; where a target stops at the first refusal, the remaining forms are compiled again. */
#include "tools/ptxgen/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cov_target cov_targets[TARGETS] = {
    { "host", CWJ_TARGET_HOST, NULL },
    { "nvptx", CWJ_TARGET_NVPTX, "sm_90a" },
    { "amdgcn", CWJ_TARGET_AMDGCN, "gfx1100" },
};

/* A message without target and instruction, so that forms refused for the same reason share it. */
static const char *
reason(struct cov_list *l, const struct cwj_diag *d)
{
    const char *why = strstr(d->text, ";: ");
    const char *s = cw_arena_printf(&l->arena, "P%04u: %s", d->code, why ? why + 3 : d->text);
    l->failed = l->failed || !s;
    return s ? s : "";
}

/* One module with the forms of [from, to). Returns how many forms got a verdict, or -1. */
static int
ask_once(struct cov_list *l, const struct cwj_api *jit, uint32_t from, uint32_t to, int target, const bool *known)
{
    struct cw_buf text, out;
    struct cwj_diags d;
    struct cwj_program *p = NULL;
    uint32_t first, asked = 0;
    int verdicts = 0;
    cw_buf_init(&text);
    cw_buf_init(&out);
    jit->diags_init(&d);
    d.limit = UINT32_MAX;
    cov_module_text(l, from, to, &text, &first);
    char (*names)[16] = calloc(to - from + 1, sizeof *names);
    const char **kernels = calloc(to - from + 1, sizeof *kernels);
    if (!names || !kernels || text.failed) {
        l->failed = true;
        goto done;
    }
    for (uint32_t i = from; i < to; i++)
        if (l->at[i].inst && !known[i - from]) {
            snprintf(names[asked], sizeof names[asked], "k%u", i);
            kernels[asked] = names[asked];
            asked++;
        }
    struct cwj_input in = { "forms", text.data, text.size };
    struct cwj_aot_options o = { cov_targets[target].target, cov_targets[target].cpu, CWJ_EMIT_LLVM, 0, kernels };
    cw_result r = asked ? jit->program_create(&in, 1, true, &p, &d) : CW_OK;
    if (r == CW_OK && asked)
        r = jit->aot(p, &o, &out, &d);
    for (const struct cwj_diag *e = d.first; e; e = e->next) {
        uint32_t at = e->line >= first ? (e->line - first) / COV_LINES : UINT32_MAX;
        if (e->severity != PTX_ERROR || at >= to - from || l->at[from + at].refused[target])
            continue;
        l->at[from + at].refused[target] = reason(l, e);
        verdicts++;
    }
    if (r == CW_OK)
        verdicts = (int)asked;
    else if (!verdicts && asked == 1)
        for (uint32_t i = from; i < to; i++)
            if (l->at[i].inst && !known[i - from]) {
                l->at[i].refused[target] = d.first ? reason(l, d.first) : cw_result_name(r);
                verdicts = 1;
            }
done:
    if (p)
        jit->program_destroy(p);
    jit->diags_finish(&d);
    cw_buf_finish(&text);
    cw_buf_finish(&out);
    free(names);
    free(kernels);
    return l->failed ? -1 : verdicts;
}

/* Until every form has a verdict: refused, or in a module that was compiled. */
static bool
ask_range(struct cov_list *l, const struct cwj_api *jit, uint32_t from, uint32_t to, int target)
{
    bool *known = calloc(to - from + 1, sizeof *known);
    uint32_t open = 0;
    bool ok = known != NULL;
    for (uint32_t i = from; i < to && ok; i++) {
        known[i - from] = !l->at[i].inst || l->at[i].refused[target];
        open += !known[i - from];
    }
    while (ok && open) {
        int n = ask_once(l, jit, from, to, target, known);
        if (n < 0) {
            ok = false;
        } else if ((uint32_t)n == open) {
            break;
        } else if (!n && to - from > 1) {       /* no hint at which: halves */
            uint32_t middle = from + (to - from) / 2;
            ok = ask_range(l, jit, from, middle, target) && ask_range(l, jit, middle, to, target);
            break;
        }
        for (uint32_t i = from; i < to; i++)
            if (!known[i - from] && l->at[i].refused[target]) {
                known[i - from] = true;
                open--;
            }
        if (!n)
            break;
    }
    free(known);
    return ok;
}

bool
cov_ask(struct cov_list *l, const struct cwj_api *jit)
{
    for (uint32_t from = 0, to; from < l->count; from = to) {
        for (to = from + 1; to < l->count && l->at[to].op == l->at[from].op && to - from < 256; to++)
            ;
        for (int t = 0; t < TARGETS; t++)
            if (!ask_range(l, jit, from, to, t))
                return false;
    }
    return !l->failed;
}

bool
cov_table_holds(const struct cov_list *l)
{
    static const uint32_t emitted[TARGETS] = { PTX_T_HOST, PTX_T_NVPTX, PTX_T_AMDGCN };
    bool all = true;
    for (unsigned op = 1; op < PTX_OP_COUNT; op++)
        for (int t = 0; t < TARGETS; t++) {
            const struct ptx_op_info *info = ptx_op_info((ptx_op)op);
            uint32_t yes = 0, no = 0;
            for (uint32_t i = 0; i < l->count; i++)
                if (l->at[i].op == op && !l->at[i].sreg)
                    l->at[i].refused[t] ? no++ : yes++;
            bool says = info->traits & emitted[t];
            if (says ? yes || !no : !yes)
                continue;
            printf("ops.def says that %s %s %s; of its forms %u are emitted\n", cov_targets[t].name, says ? "emits" : "refuses", info->mnemonic, yes);
            all = false;
        }
    return all;
}
