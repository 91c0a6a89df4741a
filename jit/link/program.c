/* SPDX-License-Identifier: Apache-2.0
 * Makes a program from PTX texts: parse, resolve, scan, lay out, describe kernels. The program's arena or its modules own everything; it is
 * freed together. */
#include "jit/link/program.h"

#include "impl/base/env.h"
#include "impl/base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Of the device runtime, the one function with which a kernel launches nothing. */
#define SET_CONDITIONAL "cudaGraphSetConditional"

/* LLVM's time for one function grows with the square of its size from some thousands of branches (or guards, which become selections or branches) or
 * some ten thousands of instructions on. Beyond these sizes it is not optimised for the host device: that takes minutes and more, and plain code takes as
 * long as the text (docs/contain.md). No kernel of a known program comes near. */
enum { MOST_INSTRUCTIONS = 100000, MOST_BRANCHES = 6000 };

static uint32_t
saturated(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* A guard makes blocks, as a branch does. A call through a register becomes a loop over its targets, which costs LLVM as much as several. */
static unsigned
count_branches(const struct ptx_inst *in)
{
    enum { INDIRECT = 4 };
    for (unsigned k = 0; in->op == PTX_OP_CALL && k < in->noperands; k++)
        if (in->operand[k].kind == PTX_OPND_REG)        /* arguments are in lists */
            return INDIRECT;
    return in->has_guard || (ptx_op_info((ptx_op)in->op)->traits & PTX_T_TERMINATOR);
}

static uint64_t
count_local(const struct ptx_function *f)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < f->nlocals; i++) {
        const struct ptx_symbol *s = f->locals[i];
        if (s->space != PTX_SPACE_LOCAL)
            continue;
        uint32_t align = s->align ? s->align : 1;
        bytes = (bytes + align - 1) / align * align + s->size;
    }
    return bytes;
}

static void
measure(const struct cwj_program *p, const struct cwj_closure *c, struct cwj_kernel *k)
{
    uint64_t instructions = 0, branches = 0;
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        const struct ptx_function *f = p->funcs[c->funcs[i]].fn;
        uint32_t here = 0;
        for (uint32_t n = 0; f && n < f->ninsts; n++)
            here += count_branches(&f->insts[n]);
        instructions += f ? f->ninsts : 0;
        branches += here;
        uint32_t local = f ? saturated(count_local(f)) : 0;
        if (local > k->local_bytes)
            k->local_bytes = local;
        k->too_large |= f && (f->ninsts > MOST_INSTRUCTIONS || here > MOST_BRANCHES);
    }
    k->instructions = saturated(instructions);
    k->branches = saturated(branches);
}

/* Register count as a device reports it: 32-bit registers, at most 255, from the declarations. */
static uint32_t
count_registers(const struct ptx_function *f)
{
    uint64_t words = 0;
    for (uint32_t i = 0; i < f->nregs; i++)
        words += f->regs[i].type == PTX_PRED ? 0 : (ptx_type_bits(f->regs[i].type) + 31) / 32;
    return words < 1 ? 1 : words > 255 ? 255 : (uint32_t)words;
}

static void
describe_kernel(struct cwj_program *p, uint32_t index)
{
    struct ptx_function *f = p->funcs[p->kernel_func[index]].fn;
    struct cwj_kernel *k = &p->kernels[index];
    struct cwj_param *params = cw_arena_array(&p->arena, struct cwj_param, (size_t)f->nparams + 1);
    for (uint32_t i = 0; i < f->nparams; i++) {
        const struct ptx_symbol *s = f->params[i];
        params[i] = (struct cwj_param){
            .name = s->name, .offset = (uint32_t)s->offset, .size = (uint32_t)s->size, .align = s->align, .type = s->type,
            .is_array = s->is_array, .ptr_space = s->ptr_space,
        };
    }
    *k = (struct cwj_kernel){
        .name = f->sym->name, .params = params, .nparams = f->nparams, .param_size = f->param_size, .fn = f,
        .nregs = count_registers(f),
        .minnctapersm = f->minnctapersm, .sm = f->module->sm,
        .ptx_version = f->module->version_major * 10 + f->module->version_minor,
    };
    memcpy(k->maxntid, f->maxntid, sizeof k->maxntid);
    memcpy(k->reqntid, f->reqntid, sizeof k->reqntid);
    memcpy(k->cluster, f->cluster, sizeof k->cluster);
    k->explicit_cluster = f->explicit_cluster;
}

static cw_result
make_kernels(struct cwj_program *p, struct cwj_diags *diags)
{
    for (uint32_t id = 0; id < p->nfuncs; id++)
        p->nkernels += p->funcs[id].fn && p->funcs[id].fn->has_body && p->funcs[id].fn->is_entry;
    p->kernels = cw_arena_array(&p->arena, struct cwj_kernel, (size_t)p->nkernels + 1);
    p->closure = cw_arena_array(&p->arena, struct cwj_closure, (size_t)p->nkernels + 1);
    p->kernel_func = cw_arena_array(&p->arena, uint32_t, (size_t)p->nkernels + 1);
    uint32_t n = 0;
    for (uint32_t id = 0; id < p->nfuncs; id++)
        if (p->funcs[id].fn && p->funcs[id].fn->has_body && p->funcs[id].fn->is_entry)
            p->kernel_func[n++] = id;
    for (uint32_t i = 0; i < n; i++) {
        describe_kernel(p, i);
        cwj_link_closure(p, i);
        cw_result r = cwj_link_shared(p, i, diags);
        if (r)
            return r;
        cw_arena_finish(&p->scratch);
        cw_arena_guard_too(&p->scratch, &p->arena);
        p->kernels[i].static_shared = p->closure[i].shared.size;
        measure(p, &p->closure[i], &p->kernels[i]);
        for (uint32_t k = 0; p->device_runtime && k < p->closure[i].nfuncs; k++) {
            const struct ptx_function *f = p->funcs[p->closure[i].funcs[k]].fn;
            p->kernels[i].launches |= f && f->module == p->device_runtime && !strncmp(f->sym->name, "__cudaCDP2", 10);
        }
    }
    return CW_OK;
}

/* Does a module name functions of the device runtime? libcudadevrt defines them by means private to NVIDIA's driver, so its definitions are
 * replaced. */
static bool
names_device_runtime(const struct ptx_module *m)
{
    static const char *const names[] = { "__cudaCDP2", "cudaCG", SET_CONDITIONAL };
    for (uint32_t i = 0; i < m->nfuncs; i++)
        for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
            if (!strncmp(m->funcs[i]->sym->name, names[k], strlen(names[k])))
                return true;
    return false;
}

/* Add the device runtime as a module of the program, if another module needs it. */
static cw_result
add_device_runtime(struct cwj_program *p, struct cwj_diags *diags)
{
    static const char text[] = {
#include "device_runtime.inc"
    };
    bool needed = false;
    for (uint32_t i = 0; i < p->nmodules && !needed; i++)
        needed = names_device_runtime(p->modules[i]);
    if (!needed)
        return CW_OK;
    struct ptx_module *m;
    cw_result r = ptx_parse("device runtime", text, sizeof text, &m, diags);
    if (r)
        return r;
    if (p->inputs)
        p->inputs[p->nmodules] = (struct cwj_input){ m->name, text, sizeof text };
    p->modules[p->nmodules++] = m;
    p->device_runtime = m;
    return CW_OK;
}

static cw_result
read_inputs(struct cwj_program *p, const struct cwj_input *in, size_t count, struct cwj_diags *diags)
{
    p->modules = cw_arena_array(&p->arena, struct ptx_module *, count + 1);       /* + 1: the device runtime */
    const char *dump = cw_env_get(CW_ENV_JIT_DUMP);
    if (dump && *dump)
        p->inputs = cw_arena_array(&p->arena, struct cwj_input, count + 1);
    struct cw_sha256 hash;
    cw_sha256_init(&hash);
    cw_result result = CW_OK;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = in[i].size;
        cw_sha256_update(&hash, &size, sizeof size);
        cw_sha256_update(&hash, in[i].text, in[i].size);
        struct ptx_module *m;
        cw_result r = ptx_parse(in[i].name ? in[i].name : "module", in[i].text, in[i].size, &m, diags);
        if (r) {        /* continue, to report the errors of all */
            if (!result)
                result = r;
            continue;
        }
        p->modules[p->nmodules++] = m;
        if (p->inputs)
            p->inputs[p->nmodules - 1] = (struct cwj_input){ m->name, cw_arena_strndup(&p->arena, in[i].text, in[i].size), in[i].size };
    }
    cw_sha256_finish(&hash, p->content);
    return result ? result : add_device_runtime(p, diags);
}

bool
cwj_program_is_addr32(const struct cwj_program *p)
{
    return p->nmodules && p->modules[0]->address_size == 32;
}

static cw_result
check_address_size(const struct cwj_program *p, struct cwj_diags *diags)
{
    for (uint32_t i = 1; i < p->nmodules; i++) {
        if (p->modules[i]->address_size == p->modules[0]->address_size)
            continue;
        cwj_diag_add(diags, PTX_ERROR, 4010, 0, 0, "'%s' has addresses of %u bits, '%s' of %u: they cannot be linked", p->modules[i]->name,
                     p->modules[i]->address_size, p->modules[0]->name, p->modules[0]->address_size);
        return CW_ERR_INVALID;
    }
    return CW_OK;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp((*(struct cwj_link_var *const *)a)->name, (*(struct cwj_link_var *const *)b)->name);
}

/* Find names shared by several variables of the data segment. */
static void
find_ambiguous(struct cwj_program *p)
{
    struct cwj_link_var **v = cw_arena_array(&p->scratch, struct cwj_link_var *, p->nlink_vars + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->nlink_vars; i++)
        if (p->link_vars[i].space != PTX_SPACE_SHARED && !p->link_vars[i].undefined)
            v[n++] = &p->link_vars[i];
    qsort(v, n, sizeof *v, by_name);
    for (uint32_t i = 1; i < n; i++)
        if (!strcmp(v[i - 1]->name, v[i]->name))
            v[i - 1]->ambiguous = v[i]->ambiguous = true;
}

struct creation {
    struct cwj_program *p;
    const struct cwj_input *in;
    size_t count;
    bool allow_undefined;
    struct cwj_diags *diags;
    cw_result result;
};

static void
create(void *user)
{
    struct creation *c = user;
    struct cwj_program *p = c->p;
    cw_arena_guard_too(&p->scratch, &p->arena);
    cw_result r = read_inputs(p, c->in, c->count, c->diags);
    if (!r)
        r = check_address_size(p, c->diags);
    if (!r)
        r = cwj_link_resolve(p, c->allow_undefined, c->diags);
    if (!r) {
        cwj_link_scan(p);
        find_ambiguous(p);
        r = cwj_link_image(p, c->diags);
    }
    c->result = r ? r : make_kernels(p, c->diags);
}

cw_result
cwj_program_create(const struct cwj_input *in, size_t count, bool allow_undefined, struct cwj_program **out,
                   struct cwj_diags *diags)
{
    *out = NULL;
    if (count > UINT32_MAX / 2)
        return CW_ERR_LIMIT;
    struct cwj_program *p = calloc(1, sizeof *p);
    if (!p)
        return CW_ERR_NOMEM;
    cw_arena_init(&p->arena);
    cw_arena_init(&p->scratch);
    pthread_mutex_init(&p->lock, NULL);
    struct creation c = { p, in, count, allow_undefined, diags, CW_OK };
    cw_result r = cw_arena_guard(&p->arena, create, &c) ? c.result : CW_ERR_NOMEM;
    cw_arena_finish(&p->scratch);
    if (r) {
        if (r == CW_ERR_NOMEM)
            cwj_diag_add(diags, PTX_ERROR, 6099, 0, 0, "out of memory");
        cwj_program_destroy(p);
        return r;
    }
    *out = p;
    return CW_OK;
}

void
cwj_nvptx_variable_name(const struct cwj_program *p, uint32_t link_id, struct cw_buf *out)
{
    const struct cwj_link_var *v = cwj_program_link_var(p, link_id);
    if (!v)
        return;
    cw_buf_puts(out, v->name);
    if (v->ambiguous)
        cw_buf_printf(out, "$%u", link_id);
}

void
cwj_program_destroy(struct cwj_program *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->nmodules; i++)
        ptx_module_destroy(p->modules[i]);
    free((void *)p->image.init);
    pthread_mutex_destroy(&p->lock);
    cw_arena_finish(&p->arena);
    free(p);
}

const struct cwj_function *
cwj_program_function(const struct cwj_program *p, uint32_t id)
{
    return id < p->nfuncs ? &p->funcs[id] : NULL;
}

const struct cwj_link_var *
cwj_program_link_var(const struct cwj_program *p, uint32_t id)
{
    return id < p->nlink_vars ? &p->link_vars[id] : NULL;
}
