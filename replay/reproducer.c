/* SPDX-License-Identifier: Apache-2.0
 * See reproducer.h. The program holds the module, the parameters and the contents of memory. Memory is somewhere else in it, so words that point into a buffer
 * of the launch, or just behind it, are listed and made new: in parameters, and in contents before and behind the launch. */
#define _GNU_SOURCE
#include "replay/reproducer.h"

#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "impl/base/text.h"
#include "replay/compare.h"
#include "replay/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WRITTEN = 0, TROUBLE = 2 };
#define MAX_BYTES (32ull << 20)         /* of contents: compilers take seconds a MiB */

/* The buffer that a word points to; -1: none. */
static int
target(const struct cwd_dump *d, uint64_t word, uint64_t *offset)
{
    int behind = -1;
    for (uint32_t i = 0; i < d->nbuffers; i++) {
        *offset = word - d->buffers[i].address;
        if (*offset < d->buffers[i].size)
            return (int)i;
        if (*offset == d->buffers[i].size)
            behind = (int)i;
    }
    *offset = behind < 0 ? 0 : d->buffers[behind].size;
    return behind;
}

static void
write_pointers(const struct cwd_dump *d, const char *name, const uint8_t *data, uint64_t size, uint64_t address, struct cw_buf *b)
{
    uint64_t word, offset;
    cw_buf_printf(b, "static const struct pointer %s[] = {\n", name);
    for (uint64_t at = -address % 8; at + 8 <= size && data; at += 8) {
        memcpy(&word, data + at, 8);
        int to = target(d, word, &offset);
        if (to >= 0)
            cw_buf_printf(b, "    { %" PRIu64 ", %d, %" PRIu64 " },\n", at, to, offset);
    }
    cw_buf_puts(b, "    { 0, -1, 0 }\n};\n");
}

static bool
uniform(const uint8_t *data, uint64_t size)
{
    return size < 2 || !memcmp(data, data + 1, size - 1);
}

/* An array, or for equal bytes its first. */
static void
write_bytes(const char *name, const uint8_t *data, uint64_t size, struct cw_buf *b)
{
    uint64_t n = size && uniform(data, size) ? 1 : size;
    cw_buf_printf(b, "static const unsigned char %s[] = {", name);
    for (uint64_t i = 0; i < n; i++)
        cw_buf_printf(b, "%s%u,", i % 32 ? "" : "\n    ", data[i]);
    cw_buf_puts(b, n ? "\n};\n" : " 0 };\n");
}

/* What a C string literal says: quotes, backslashes and trigraphs of a name end none and begin nothing. */
static void
put_literal(const uint8_t *data, uint64_t size, struct cw_buf *b)
{
    cw_buf_puts(b, "\"");
    for (uint64_t i = 0; i < size && data[i]; i++) {
        if (data[i] == '\n')
            cw_buf_puts(b, i + 1 < size && data[i + 1] ? "\\n\"\n    \"" : "\\n");
        else if (data[i] == '"' || data[i] == '\\')
            cw_buf_printf(b, "\\%c", data[i]);
        else if (data[i] < ' ' || data[i] > '~' || data[i] == '?')
            cw_buf_printf(b, "\\%03o", data[i]);
        else
            cw_buf_append(b, &data[i], 1);
    }
    cw_buf_puts(b, "\"");
}

static void
put_name(const char *name, struct cw_buf *b)
{
    put_literal((const uint8_t *)name, strlen(name), b);
}

/* Nothing of it ends a comment. */
static void
put_comment(const char *text, struct cw_buf *b)
{
    for (; *text; text++)
        cw_buf_append(b, strchr("_.$ -(),", *text) || (*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z') ? text : "_", 1);
}

static void
write_text(const char *name, const uint8_t *data, uint64_t size, struct cw_buf *b)
{
    cw_buf_printf(b, "static const char %s[] =\n    ", name);
    put_literal(data, size, b);
    cw_buf_puts(b, ";\n");
}

static const char head[] =
    "#include <cuda.h>\n\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
    "#define CHECK(call)                                                          \\\n"
    "    do {                                                                     \\\n"
    "        CUresult r_ = (call);                                                \\\n"
    "        if (r_ != CUDA_SUCCESS) {                                            \\\n"
    "            fprintf(stderr, \"%s gave CUresult %d\\n\", #call, (int)r_);       \\\n"
    "            exit(2);                                                         \\\n"
    "        }                                                                    \\\n"
    "    } while (0)\n\n"
    "/* The word at `at` is the address of buffer `to`, plus `plus`. */\n"
    "struct pointer { size_t at; int to; size_t plus; };\n"
    "/* before, after: `size` bytes, or one that all are; after NULL: not compared. */\n"
    "struct buffer {\n"
    "    const char *what, *variable;\n"
    "    size_t size, element, nbefore, nafter;\n"
    "    const unsigned char *before, *after;\n"
    "    const struct pointer *pointers_before, *pointers_after;\n"
    "};\n\n";

static const char tail[] =
    "\nstatic CUdeviceptr address[BUFFERS + 1];\n\n"
    "static void\nput(unsigned char *data, const struct pointer *p)\n{\n"
    "    for (; p->to >= 0; p++) {\n"
    "        CUdeviceptr v = address[p->to] + p->plus;\n"
    "        memcpy(data + p->at, &v, sizeof v);\n"
    "    }\n}\n\n"
    "static unsigned char *\nmake(const unsigned char *from, size_t n, size_t size, const struct pointer *p)\n{\n"
    "    unsigned char *data = malloc(size + 1);\n"
    "    if (!data)\n        exit(2);\n"
    "    if (n == size)\n        memcpy(data, from, size);\n"
    "    else\n        memset(data, from[0], size);\n"
    "    put(data, p);\n"
    "    return data;\n}\n\n"
    "static int\ncompare(int i, const unsigned char *want, const unsigned char *got)\n{\n"
    "    const struct buffer *b = &buffers[i];\n"
    "    size_t count = 0, first = 0;\n"
    "    for (size_t k = 0; k + b->element <= b->size; k += b->element)\n"
    "        if (memcmp(want + k, got + k, b->element) && !count++)\n"
    "            first = k;\n"
    "    if (!count)\n        return 0;\n"
    "    printf(\"buffer %d, %s: %zu elements of %zu bytes differ; first at index %zu: recorded 0x\", i, b->what, count, b->element, first / b->element);\n"
    "    for (size_t k = b->element; k-- > 0;)\n        printf(\"%02x\", want[first + k]);\n"
    "    printf(\", here 0x\");\n"
    "    for (size_t k = b->element; k-- > 0;)\n        printf(\"%02x\", got[first + k]);\n"
    "    printf(\"\\n\");\n"
    "    return 1;\n}\n\n"
    "int\nmain(void)\n{\n"
    "    CUdevice device;\n    CUcontext context;\n    CUmodule m;\n    CUfunction f;\n    int differ = 0;\n"
    "    CHECK(cuInit(0));\n    CHECK(cuDeviceGet(&device, 0));\n    CHECK(cuDevicePrimaryCtxRetain(&context, device));\n"
    "    CHECK(cuCtxSetCurrent(context));\n    CHECK(cuModuleLoadData(&m, module));\n    CHECK(cuModuleGetFunction(&f, m, KERNEL));\n"
    "    for (int i = 0; i < BUFFERS; i++) {\n"
    "        if (buffers[i].variable)\n            CHECK(cuModuleGetGlobal_v2(&address[i], NULL, m, buffers[i].variable));\n"
    "        else\n            CHECK(cuMemAlloc_v2(&address[i], buffers[i].size));\n"
    "    }\n"
    "    for (int i = 0; i < BUFFERS; i++) {\n"
    "        unsigned char *data = make(buffers[i].before, buffers[i].nbefore, buffers[i].size, buffers[i].pointers_before);\n"
    "        CHECK(cuMemcpyHtoD_v2(address[i], data, buffers[i].size));\n"
    "        free(data);\n"
    "    }\n"
    "    put(parameters, pointers_parameters);\n"
    "    LAUNCH\n"
    "    CHECK(cuCtxSynchronize());\n"
    "    for (int i = 0; i < BUFFERS; i++) {\n"
    "        if (!buffers[i].after)\n            continue;\n"
    "        unsigned char *want = make(buffers[i].after, buffers[i].nafter, buffers[i].size, buffers[i].pointers_after), *got = malloc(buffers[i].size + 1);\n"
    "        if (!got)\n            return 2;\n"
    "        CHECK(cuMemcpyDtoH_v2(got, address[i], buffers[i].size));\n"
    "        differ += compare(i, want, got);\n"
    "        free(want);\n        free(got);\n"
    "    }\n"
    "    printf(\"%s: %s\\n\", KERNEL, differ ? \"the results differ from the recorded ones\" : COMPARED ? \"the results are the recorded ones\" : \"it ran\");\n"
    "    return differ != 0;\n}\n";

static void
write_buffer(const struct cwd_dump *d, uint32_t i, struct cw_buf *b, struct cw_buf *table)
{
    const struct cwd_buffer *x = &d->buffers[i];
    bool changed = x->after && x->after != x->before;
    char name[40], where[160];
    uint64_t before = uniform(x->before, x->size) ? 1 : x->size, after = !changed ? before : uniform(x->after, x->size) ? 1 : x->size;
    snprintf(name, sizeof name, "before%u", i);
    write_bytes(name, x->before, x->size, b);
    snprintf(name, sizeof name, "pointers_before%u", i);
    write_pointers(d, name, x->before, x->size, x->address, b);
    if (changed) {
        snprintf(name, sizeof name, "after%u", i);
        write_bytes(name, x->after, x->size, b);
        snprintf(name, sizeof name, "pointers_after%u", i);
        write_pointers(d, name, x->after, x->size, x->address, b);
    }
    cwd_where(d, i, where, sizeof where);
    cw_buf_puts(table, "    { ");
    put_name(where, table);
    cw_buf_puts(table, ", ");
    if (x->kind == CWD_VARIABLE)
        put_name(x->name, table);
    else
        cw_buf_puts(table, "NULL");
    cw_buf_printf(table, ", %" PRIu64 ", %u, %" PRIu64 ", %" PRIu64 ", before%u, ", x->size, cwd_element_width(x), before, after, i);
    if (x->after)
        cw_buf_printf(table, "%s%u, pointers_before%u, pointers_%s%u },\n", changed ? "after" : "before", i, i, changed ? "after" : "before", i);
    else
        cw_buf_printf(table, "NULL, pointers_before%u, NULL },\n", i);
}

static void
write_launch(const struct cwd_dump *d, struct cw_buf *b)
{
    if (d->shared > 48 << 10)
        cw_buf_printf(b, "CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, %u));\n    ", d->shared);
    cw_buf_puts(b, "void *list[] = { ");
    for (uint32_t i = 0; i < d->nparams; i++)
        cw_buf_printf(b, "parameters + %u, ", d->params[i].offset);
    cw_buf_puts(b, "NULL };\n    ");
    if (d->cluster[0]) {
        cw_buf_printf(b, "CUlaunchAttribute attributes[] = { { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { %u, %u, %u } },\n"
                      "                                       { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = %d } };\n    ", d->cluster[0], d->cluster[1],
                      d->cluster[2], d->cooperative);
        cw_buf_printf(b, "CUlaunchConfig config = { %u, %u, %u, %u, %u, %u, %u, NULL, attributes, 2 };\n    CHECK(cuLaunchKernelEx(&config, f, list, NULL));\n",
                      d->grid[0], d->grid[1], d->grid[2], d->block[0], d->block[1], d->block[2], d->shared);
        return;
    }
    cw_buf_printf(b, "CHECK(%s(f, %u, %u, %u, %u, %u, %u, %u, NULL, list%s));\n", d->cooperative ? "cuLaunchCooperativeKernel" : "cuLaunchKernel", d->grid[0], d->grid[1],
                  d->grid[2], d->block[0], d->block[1], d->block[2], d->shared, d->cooperative ? "" : ", NULL");
}

static cw_result
write_program(const struct cwd_dump *d, const char *from, const char *recorded_on, struct cw_buf *b)
{
    struct cw_buf table;
    cw_buf_init(&table);
    cw_buf_puts(b, "/* Kernel ");
    put_comment(d->kernel, b);
    cw_buf_puts(b, ", from ");
    put_comment(from, b);
    cw_buf_puts(b, ", recorded on ");
    put_comment(recorded_on, b);
    cw_buf_puts(b, ".\n * Exit status: 0 the results are the recorded ones, 1 they differ, 2 trouble.\n *     cc reproducer.c -lcuda */\n");
    cw_buf_puts(b, head);
    if (d->inputs[0].kind == CWD_PTX)
        write_text("module", d->inputs[0].data, d->inputs[0].size, b);
    else
        write_bytes("module", d->inputs[0].data, d->inputs[0].size, b);
    cw_buf_puts(b, "#define KERNEL ");
    put_name(d->kernel, b);
    cw_buf_printf(b, "\n#define BUFFERS %u\n#define COMPARED %d\n\n", d->nbuffers, cwd_has_results(d));
    cw_buf_printf(b, "static unsigned char parameters[%u] = {", d->param_size + 1);
    for (uint32_t i = 0; i < d->param_size; i++)
        cw_buf_printf(b, "%s%u,", i % 32 ? "" : "\n    ", d->param_block[i]);
    cw_buf_puts(b, " 0\n};\n");
    write_pointers(d, "pointers_parameters", d->param_block, d->param_size, 0, b);
    for (uint32_t i = 0; i < d->nbuffers; i++)
        write_buffer(d, i, b, &table);
    cw_buf_puts(b, "static const struct buffer buffers[BUFFERS + 1] = {\n");
    cw_buf_append(b, table.data, table.size);
    cw_buf_puts(b, "    { 0 }\n};\n");
    const char *launch = strstr(tail, "LAUNCH\n");
    cw_buf_append(b, tail, (size_t)(launch - tail));
    write_launch(d, b);
    cw_buf_puts(b, launch + strlen("LAUNCH\n"));
    bool ok = !b->failed && !table.failed;
    cw_buf_finish(&table);
    return ok ? CW_OK : CW_ERR_NOMEM;
}

/* NULL, or why the launch cannot be a program. */
static const char *
obstacle(const struct cwd_dump *d)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < d->nbuffers; i++)
        bytes += d->buffers[i].size;
    if (d->ninputs != 1 || d->linked)
        return "the module is linked of several parts";
    if (d->ntextures || d->narrays)
        return "the launch uses textures or surfaces";
    if (d->param_size && !d->nparams)
        return "the parameters are not known";
    if (memmem(d->inputs[0].data, d->inputs[0].size, ".callprototype", 14) || memmem(d->inputs[0].data, d->inputs[0].size, ".calltargets", 12))
        return "the module calls functions by address, and tables of these cannot be told from numbers";
    if (bytes > MAX_BYTES)
        return "the launch has more than 32 MiB of memory, too much for a source file; --reduce makes launches smaller";
    return NULL;
}

int
cwd_reproducer_of(const struct cwd_dump *d, const char *from, const char *recorded_on, const char *out, const char *out_name)
{
    struct cw_buf b;
    cw_buf_init(&b);
    const char *why = obstacle(d);
    cw_result r = why ? CW_ERR_UNSUPPORTED : write_program(d, from, recorded_on, &b);
    if (r == CW_OK)
        r = cw_file_write_atomic(out, b.data, b.size, 0644);
    if (r == CW_OK)
        cw_text_print(stdout, "%s: kernel %s, %u buffers\n", out_name, d->kernel, d->nbuffers);
    else
        cw_text_line(stderr, "cudaway-replay: %s: %s", why ? from : out_name, why ? why : cw_result_text(r));
    cw_buf_finish(&b);
    return r == CW_OK ? WRITTEN : TROUBLE;
}

int
cwd_reproducer(const char *file, const char *out)
{
    struct cwd_dump d;
    struct cwd_error e = { "" };
    if (cwd_read(file, 0, 0, &d, &e) != CW_OK) {
        cw_text_line(stderr, "cudaway-replay: %s", e.text);
        return TROUBLE;
    }
    const char *base = strrchr(file, '/');
    int status = cwd_reproducer_of(&d, base ? base + 1 : file, d.device, out, out);
    cwd_finish(&d);
    return status;
}
