/* SPDX-License-Identifier: Apache-2.0
 * The table behind cudaway_jit_api; see jit.h. */
#include "jit/analysis/clusters.h"
#include "jit/analysis/progress.h"
#include "jit/driver/aot.h"
#include "jit/loader/loader.h"
#include "jit/jit.h"
#include "jit/link/fatbin.h"
#include "jit/link/program.h"
#include "jit/llvm/contain.h"
#include "jit/llvm/ending.h"
#include "jit/llvm/pipeline.h"

#include "impl/base/log.h"

static uint32_t
kernel_count(const struct cwj_program *p)
{
    return p->nkernels;
}

static const struct cwj_kernel *
kernel(const struct cwj_program *p, uint32_t index)
{
    return index < p->nkernels ? &p->kernels[index] : NULL;
}

static uint32_t
variable_count(const struct cwj_program *p)
{
    return p->nvars;
}

static const struct cwj_variable *
variable(const struct cwj_program *p, uint32_t index)
{
    return index < p->nvars ? &p->vars[index] : NULL;
}

static const struct cwj_image *
image(const struct cwj_program *p)
{
    return &p->image;
}

static const char *
function_name(const struct cwj_program *p, uint32_t id)
{
    const struct cwj_function *f = cwj_program_function(p, id);
    return f ? f->name : NULL;
}

static void
nvptx_name(const struct cwj_program *p, uint32_t index, struct cw_buf *out)
{
    const struct cwj_variable *v = variable(p, index);
    if (v)
        cwj_nvptx_variable_name(p, v->link_id, out);
}

static cw_result
print_pipeline(const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags)
{
    return cwj_pipeline_print(o->target, o->cpu, o->opt_level, out, diags);
}

/* ---- what reads texts and walks programs, with a stack that is large enough ----------------------------------------------- */

/* The caller's thread, and not one with a larger stack, is the one that may end the process. */
static cw_result
with_stack(cw_result (*work)(void *user), void *user, struct cwj_diags *diags)
{
    cwj_ending_watch();
    return cwj_with_stack(work, user, diags);
}

struct create {
    const struct cwj_input *in;
    size_t count;
    bool allow_undefined;
    struct cwj_program **out;
    struct cwj_diags *diags;
};

static cw_result
run_create(void *user)
{
    const struct create *c = user;
    return cwj_program_create(c->in, c->count, c->allow_undefined, c->out, c->diags);
}

static cw_result
program_create(const struct cwj_input *in, size_t count, bool allow_undefined, struct cwj_program **out, struct cwj_diags *diags)
{
    struct create c = { in, count, allow_undefined, out, diags };
    return with_stack(run_create, &c, diags);
}

struct scan {
    const void *data;
    size_t size;
    int (*found)(void *user, const struct cwj_image_entry *e);
    void *user;
    struct cwj_diags *diags;
};

static cw_result
run_scan(void *user)
{
    const struct scan *s = user;
    return cwj_image_scan(s->data, s->size, s->found, s->user, s->diags);
}

static cw_result
image_scan(const void *data, size_t size, int (*found)(void *user, const struct cwj_image_entry *e), void *user, struct cwj_diags *diags)
{
    struct scan s = { data, size, found, user, diags };
    return with_stack(run_scan, &s, diags);
}

struct host {
    struct cwj_program *p;
    uint32_t index;
    const struct cwh_variant *v;
    const struct cwj_host_runtime *rt;
    struct cwj_host_code **out;
    struct cwj_diags *diags;
};

static cw_result
run_host(void *user)
{
    const struct host *h = user;
    return cwj_host_compile(h->p, h->index, h->v, h->rt, h->out, h->diags);
}

static cw_result
host_compile(struct cwj_program *p, uint32_t index, const struct cwh_variant *v, const struct cwj_host_runtime *rt, struct cwj_host_code **out,
             struct cwj_diags *diags)
{
    struct host h = { p, index, v, rt, out, diags };
    return with_stack(run_host, &h, diags);
}

struct aot {
    struct cwj_program *p;
    const struct cwj_aot_options *o;
    struct cw_buf *out;
    struct cwj_diags *diags;
};

static cw_result
run_aot(void *user)
{
    const struct aot *a = user;
    return cwj_aot(a->p, a->o, a->out, a->diags);
}

static cw_result
aot(struct cwj_program *p, const struct cwj_aot_options *o, struct cw_buf *out, struct cwj_diags *diags)
{
    struct aot a = { p, o, out, diags };
    return with_stack(run_aot, &a, diags);
}

static const struct cwj_api api = {
    .version = CWJ_API_VERSION,
    .program_create = program_create,
    .program_destroy = cwj_program_destroy,
    .kernel_count = kernel_count,
    .kernel = kernel,
    .variable_count = variable_count,
    .variable = variable,
    .image = image,
    .function_name = function_name,
    .host_compile = host_compile,
    .host_release = cwj_host_release,
    .aot = aot,
    .print_pipeline = print_pipeline,
    .image_scan = image_scan,
    .nvptx_name = nvptx_name,
    .independent_progress = cwj_independent_progress, .uses_clusters = cwj_uses_clusters,
    .diags_init = cwj_diags_init,
    .diags_finish = cwj_diags_finish,
    .diags_render = cwj_diags_render,
};

__attribute__((visibility("default"))) const struct cwj_api *
cudaway_jit_api(uint32_t version)
{
    return version == CWJ_API_VERSION ? &api : NULL;
}

__attribute__((visibility("default"))) void
cudaway_use_stderr(const struct cw_fd_file *file)
{
    cw_log_use_stderr(file);
}
