/* SPDX-License-Identifier: Apache-2.0
 * Which tests execute which forms. The tests are parsed, and their instructions compared with the forms': same opcode, types and
 * kinds of operands, and the same modifiers; loads, stores and the like may have more, since their combinations are
 * unbounded. */
#include "tools/ptxgen/coverage.h"

#include "impl/base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
same_words(const struct cov_words *form, const struct cov_words *test, bool more)
{
    for (int i = 0; i < COV_WORDS; i++)
        if (more ? form->bits[i] & ~test->bits[i] : form->bits[i] != test->bits[i])
            return false;
    return true;
}

static bool
matches(const struct cov_form *x, const struct ptx_inst *in, const struct cov_words *words, const char *shape, const char *token)
{
    if (x->sreg) {
        for (unsigned i = 0; i < in->noperands; i++) {
            const struct ptx_operand *o = &in->operand[i];
            if (o->kind == PTX_OPND_SREG && o->index == x->sreg)
                return true;
            for (unsigned k = 0; o->kind == PTX_OPND_VEC && k < o->count; k++)
                if (o->elem[k].kind == PTX_OPND_SREG && o->elem[k].index == x->sreg)
                    return true;
        }
        return false;
    }
    if (x->op != in->op)
        return false;
    if (x->raw)
        return !strcmp(x->token, token);
    bool memory = ptx_op_info((ptx_op)x->op)->traits & (PTX_T_READS_MEM | PTX_T_WRITES_MEM) && !(ptx_op_rows[x->op].mods & M_GEOM);
    return !memcmp(x->inst->type, in->type, sizeof in->type) && same_words(&x->words, words, memory) && !strcmp(x->shape, shape);
}

static bool
note(struct cov_list *l, struct cov_form *x, uint32_t file)
{
    if (x->nfiles && x->files[x->nfiles - 1] == file)
        return true;
    if (!(x->nfiles & (x->nfiles - 1))) {
        uint32_t *p = realloc(x->files, (x->nfiles ? x->nfiles * 2 : 1) * sizeof *p);
        if (!p) {
            l->failed = true;
            return false;
        }
        x->files = p;
    }
    x->files[x->nfiles++] = file;
    return true;
}

static bool
scan_module(struct cov_list *l, const struct ptx_module *m, uint32_t file, const uint32_t *first)
{
    struct cw_arena scratch;
    cw_arena_init(&scratch);
    for (uint32_t f = 0; f < m->nfuncs && !l->failed; f++)
        for (uint32_t k = 0; k < m->funcs[f]->ninsts && !l->failed; k++) {
            const struct ptx_inst *in = &m->funcs[f]->insts[k];
            struct cov_words words;
            char shape[72];
            cov_words(in, &words);
            cov_shape(in, shape, sizeof shape);
            const char *token = cov_token(&scratch, m->funcs[f], in);
            for (uint32_t i = first[in->op]; i < first[in->op + 1] && token; i++)
                if (matches(&l->at[i], in, &words, shape, token))
                    note(l, &l->at[i], file);
            for (uint32_t i = first[PTX_OP_COUNT]; i < l->count && token; i++)      /* special registers */
                if (matches(&l->at[i], in, &words, shape, token))
                    note(l, &l->at[i], file);
        }
    cw_arena_finish(&scratch);
    return !l->failed;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
list_folder(struct cov_list *l, const char *folder, const char *prefix, int depth)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return true;
    for (struct dirent *e; (e = readdir(dir)) && !l->failed;) {
        size_t n = strlen(e->d_name);
        const char *name = cw_arena_printf(&l->arena, "%s%s%s", prefix, *prefix ? "/" : "", e->d_name);
        if (!name) {
            l->failed = true;
        } else if (e->d_name[0] == '.') {
            continue;
        } else if (n > 4 && !strcmp(e->d_name + n - 4, ".ptx") && l->nfiles < MAX_FILES) {
            const char **p = realloc(l->file, (l->nfiles + 1) * sizeof *p);
            if (!p) {
                l->failed = true;
                break;
            }
            l->file = p;
            p[l->nfiles++] = cw_arena_strndup(&l->arena, name, strlen(name) - 4);
        } else if (depth < 3 && !strchr(e->d_name, '.')) {
            const char *child = cw_arena_printf(&l->arena, "%s/%s", folder, e->d_name);
            l->failed = l->failed || !child || !list_folder(l, child, name, depth + 1);
        }
    }
    closedir(dir);
    return !l->failed;
}

bool
cov_scan(struct cov_list *l, const char *folder)
{
    uint32_t first[PTX_OP_COUNT + 1];
    if (!list_folder(l, folder, "", 0))
        return false;
    qsort(l->file, l->nfiles, sizeof *l->file, by_name);
    /* Forms are in the order of the opcode table, special registers last. */
    for (uint32_t op = 0, i = 0; op <= PTX_OP_COUNT; op++) {
        while (i < l->count && !l->at[i].sreg && l->at[i].op < op)
            i++;
        first[op] = i;
    }
    for (uint32_t i = 0; i < l->nfiles && !l->failed; i++) {
        const char *path = cw_arena_printf(&l->arena, "%s/%s.ptx", folder, l->file[i]);
        char *text;
        size_t size;
        if (!path || cw_file_read(path, 64 << 20, &text, &size) != CW_OK)
            return false;
        struct ptx_module *m = cov_parse(text, size, NULL, &l->arena);
        if (m) {        /* a test of refused text has nothing to execute */
            scan_module(l, m, i, first);
            ptx_module_destroy(m);
        }
        free(text);
    }
    return !l->failed;
}
