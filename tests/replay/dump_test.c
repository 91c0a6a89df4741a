/* SPDX-License-Identifier: Apache-2.0
 * The dump format: what is written is what is read; every flipped bit and every truncation is noticed; manifests that lie
 * about sizes, offsets and members are refused. Usage: replay_dump_test FOLDER */
#include "replay/compare.h"
#include "replay/dump.h"
#include "replay/tolerance.h"
#include "tests/replay/pack.h"

#include "impl/api/cuda.h"
#include "impl/base/file.h"

#include <math.h>
#include <stdlib.h>
#include <zstd.h>

static int failures;

#define EXPECT(cond)                                                                  \
    do {                                                                              \
        if (!(cond)) {                                                                \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);        \
            failures++;                                                               \
        }                                                                             \
    } while (0)

static void
make(struct cwd_dump *d)
{
    static uint8_t params[24];
    static struct cwd_param list[] = { { "p", "u64", 0, 8 }, { "n", "u32", 8, 4 }, { "tex", "u64", 16, 8 } };
    static struct cwd_use use = { -1, 16 };
    static struct cwd_texture texture = { .handle = 0xfedcba9876543210u, .resource = CU_RESOURCE_TYPE_ARRAY, .array = 0,
                                          .address_mode = { 1, 2, 3 }, .filter = 1, .mip_bias = 0.25f, .max_level = 1e30f,
                                          .border = { 1, -2, 0.1f, 1e-30f }, .uses = &use, .nuses = 1, .has_view = true,
                                          .view_format = 1, .view_width = 4, .view_height = 2, .last_level = 0 };
    static struct cwd_buffer buffers[2];
    static struct cwd_array array;
    static struct cwd_input input;
    cwd_init(d);
    uint64_t p = 0x700000000110;
    memcpy(params, &p, sizeof p);
    buffers[0] = (struct cwd_buffer){ CWD_GLOBAL, NULL, "f32", 0x700000000100, 1000, malloc(1000), malloc(1000) };
    buffers[1] = (struct cwd_buffer){ CWD_VARIABLE, "a \"name\"", NULL, 0xffffffff00000000u, 5, malloc(5), NULL };
    for (int i = 0; i < 1000; i++) {
        buffers[0].before[i] = (uint8_t)(i * 7);
        buffers[0].after[i] = (uint8_t)(i * 7 + (i == 500));
    }
    memcpy(buffers[1].before, "\1\2\3\4\5", 5);
    array = (struct cwd_array){ 4, 2, 0, CU_AD_FORMAT_UNSIGNED_INT16, 2, 0, 0, 32, malloc(32), NULL };
    memset(array.before, 9, 32);
    array.after = array.before;
    input = (struct cwd_input){ CWD_PTX, NULL, (uint8_t *)strdup("// text"), 7 };
    d->version = "test";
    d->device = "a device";
    d->driver = 13000;
    d->compute_capability = 86;
    d->kernel = "k";
    d->launch = 3;
    memcpy(d->grid, (uint32_t[]){ 1, 2, 3 }, sizeof d->grid);
    memcpy(d->block, (uint32_t[]){ 4, 5, 6 }, sizeof d->block);
    d->shared = 48;
    d->cooperative = true;
    d->params = list;
    d->nparams = 3;
    d->param_block = params;
    d->param_size = sizeof params;
    d->inputs = &input;
    d->ninputs = 1;
    d->buffers = buffers;
    d->nbuffers = 2;
    d->arrays = &array;
    d->narrays = 1;
    d->textures = &texture;
    d->ntextures = 1;
}

static void
expect_equal(const struct cwd_dump *a, const struct cwd_dump *b)
{
    EXPECT(!strcmp(b->kernel, "k") && !strcmp(b->device, "a device") && b->launch == 3 && b->driver == 13000 && b->shared == 48);
    EXPECT(b->cooperative && !memcmp(a->grid, b->grid, sizeof a->grid) && !memcmp(a->block, b->block, sizeof a->block));
    EXPECT(b->nparams == 3 && b->params[1].offset == 8 && b->params[1].size == 4 && !strcmp(b->params[1].type, "u32"));
    EXPECT(b->param_size == 24 && !memcmp(a->param_block, b->param_block, 24));
    EXPECT(b->ninputs == 1 && b->inputs[0].kind == CWD_PTX && b->inputs[0].size == 7 && !memcmp(b->inputs[0].data, "// text", 8));
    EXPECT(b->nbuffers == 2 && b->buffers[0].address == 0x700000000100 && b->buffers[0].size == 1000);
    EXPECT(!memcmp(a->buffers[0].before, b->buffers[0].before, 1000) && !memcmp(a->buffers[0].after, b->buffers[0].after, 1000));
    EXPECT(b->buffers[1].kind == CWD_VARIABLE && !strcmp(b->buffers[1].name, "a \"name\"") && !b->buffers[1].after);
    EXPECT(b->buffers[1].address == 0xffffffff00000000u && !memcmp(b->buffers[1].before, "\1\2\3\4\5", 5));
    EXPECT(b->narrays == 1 && b->arrays[0].size == 32 && b->arrays[0].after == b->arrays[0].before && b->arrays[0].before[31] == 9);
    const struct cwd_texture *s = &a->textures[0], *t = &b->textures[0];
    EXPECT(b->ntextures == 1 && t->handle == s->handle && t->array == 0 && t->address_mode[2] == 3 && t->mip_bias == 0.25f);
    EXPECT(t->max_level == 1e30f && !memcmp(t->border, s->border, sizeof t->border) && t->nuses == 1 && t->uses[0].offset == 16);
    EXPECT(t->has_view && t->view_width == 4 && t->view_height == 2);
}

static void
test_damage(const uint8_t *data, size_t size)
{
    struct cwd_dump d;
    struct cwd_error e;
    uint8_t *copy = malloc(size);
    size_t accepted = 0;
    memcpy(copy, data, size);
    for (size_t i = 0; i < size; i++) {
        copy[i] ^= (uint8_t)(1u << i % 8);
        e.text[0] = 0;
        if (cwd_read_memory(copy, size, 0, 0, &d, &e) == CW_OK) {
            accepted++;
            cwd_finish(&d);
        } else if (!e.text[0] || strchr(e.text, '\n')) {
            accepted++;
        }
        copy[i] = data[i];
    }
    EXPECT(!accepted);
    for (size_t n = 0; n < size; n += 97) {
        uint8_t *cut = malloc(n + 1);   /* of its own, so that sanitizers see a read behind it */
        memcpy(cut, data, n);
        e.text[0] = 0;
        EXPECT(cwd_read_memory(cut, n, 0, 0, &d, &e) != CW_OK && e.text[0]);
        free(cut);
    }
    free(copy);
}

static cw_result
read_manifest(const char *manifest, size_t size, const void *before, size_t before_size, uint64_t limit)
{
    struct cw_buf b, sums;
    struct cwd_dump d;
    struct cwd_error e;
    cw_buf_init(&b);
    cw_buf_init(&sums);
    pack_member(&b, &sums, "manifest.json", manifest, size);
    pack_member(&b, &sums, "module.ptx", "// text", 7);
    pack_member(&b, &sums, "params.bin", "12345678", 8);
    pack_member(&b, &sums, "before/0.zst", before, before_size);
    pack_end(&b, &sums);
    cw_result r = cwd_read_memory(b.data, b.size, 0, limit, &d, &e);
    if (r == CW_OK)
        cwd_finish(&d);
    cw_buf_finish(&b);
    cw_buf_finish(&sums);
    return r;
}

static char *
manifest(const char *buffer_size, const char *offset, const char *address, const char *sha)
{
    char hex[65], params[65];
    char *out;
    cw_sha256_hex("// text", 7, hex);
    cw_sha256_hex("12345678", 8, params);
    struct cw_buf b;
    cw_buf_init(&b);
    cw_buf_printf(&b, "{\"format\":\"cudaway-kernel-dump\",\"version\":1,\"cudaway\":\"x\",\"device\":{\"name\":\"d\",\"driver\":1,"
                  "\"compute_capability\":1},\"kernel\":\"k\",\"launch\":1,\"grid\":[1,1,1],\"block\":[1,1,1],\"dynamic_shared\":0,"
                  "\"cooperative\":false,\"module\":{\"linked\":false,\"inputs\":[{\"kind\":\"ptx\",\"name\":null,"
                  "\"member\":\"module.ptx\",\"size\":7,\"sha256\":\"%s\"}]},\"parameters\":{\"member\":\"params.bin\",\"size\":8,"
                  "\"sha256\":\"%s\",\"list\":[{\"offset\":%s,\"size\":8,\"type\":\"u64\",\"name\":\"p\"}]},\"buffers\":[{\"kind\":"
                  "\"global\",\"name\":null,\"element\":null,\"address\":\"%s\",\"size\":%s,\"before\":{\"member\":\"before/0.zst\","
                  "\"sha256\":\"%s\"},\"after\":null}],\"arrays\":[],\"textures\":[]}", hex, params, offset, address, buffer_size, sha);
    out = b.data;
    return out;
}

static void
test_lies(void)
{
    uint8_t zero[64] = { 0 }, frame[256];
    size_t n = ZSTD_compress(frame, sizeof frame, zero, sizeof zero, 1);
    char sha[65], *m;
    cw_sha256_hex(zero, sizeof zero, sha);
    static const struct { const char *size, *offset, *address; cw_result r; } cases[] = {
        { "64", "0", "0x1000", CW_OK },
        { "63", "0", "0x1000", CW_ERR_DAMAGED },                    /* not what the frame says */
        { "1099511627776", "0", "0x1000", CW_ERR_LIMIT },           /* a bomb's promise */
        { "1e300", "0", "0x1000", CW_ERR_DAMAGED },
        { "-1", "0", "0x1000", CW_ERR_DAMAGED },
        { "0.5", "0", "0x1000", CW_ERR_DAMAGED },
        { "\"64\"", "0", "0x1000", CW_ERR_DAMAGED },
        { "64", "1", "0x1000", CW_ERR_DAMAGED },                    /* a parameter behind the block */
        { "64", "4294967295", "0x1000", CW_ERR_DAMAGED },
        { "64", "0", "0xffffffffffffffff", CW_ERR_DAMAGED },        /* wraps around */
        { "64", "0", "0x", CW_ERR_DAMAGED },
        { "64", "0", "0x10000000000000000", CW_ERR_DAMAGED },
        { "64", "0", "4096", CW_ERR_DAMAGED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        m = manifest(cases[i].size, cases[i].offset, cases[i].address, sha);
        cw_result r = read_manifest(m, strlen(m), frame, n, 1 << 20);
        if (r != cases[i].r)
            fprintf(stderr, "case %zu: %s\n", i, cw_result_name(r));
        EXPECT(r == cases[i].r);
        free(m);
    }
    m = manifest("64", "0", "0x1000", "00");
    EXPECT(read_manifest(m, strlen(m), frame, n, 1 << 20) == CW_ERR_DAMAGED);
    free(m);
    /* Every byte of a sound manifest changed in a few ways: no crash, and never more than the limit. */
    m = manifest("64", "0", "0x1000", sha);
    size_t size = strlen(m);
    for (size_t i = 0; i < size; i++) {
        static const char with[] = { '0', '9', '"', '{', ']', '-', 0, (char)0xff };
        char old = m[i];
        for (size_t k = 0; k < sizeof with; k++) {
            m[i] = with[k];
            (void)read_manifest(m, size, frame, n, 1 << 20);
        }
        m[i] = old;
    }
    char *name = strstr(m, "\"kernel\":\"k\"") + 10;
    *name = (char)0xff;
    EXPECT(read_manifest(m, size, frame, n, 1 << 20) == CW_ERR_DAMAGED);
    *name = 'k';
    EXPECT(read_manifest(m, size, frame, n, 1 << 20) == CW_OK);
    for (size_t i = 0; i < size; i += 3)
        EXPECT(read_manifest(m, i, frame, n, 1 << 20) != CW_OK);
    free(m);
}

/* Plant a difference in the results of a dump: the bytes of one element. */
static int
plant(const char *in, const char *out, const char *buffer, const char *index)
{
    struct cwd_dump d;
    struct cwd_error e;
    if (cwd_read(in, 0, 0, &d, &e) != CW_OK) {
        fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    for (uint32_t i = 0; i < d.nbuffers; i++) {
        char where[160];
        cwd_where(&d, i, where, sizeof where);
        if (strcmp(where, buffer))
            continue;
        struct cwd_buffer *b = &d.buffers[i];
        if (b->after == b->before) {
            b->after = malloc(b->size);
            memcpy(b->after, b->before, b->size);
        }
        b->after[4 * strtoul(index, NULL, 10) + 2] ^= 0x40;
        int bad = cwd_write(&d, out, 0, &e) != CW_OK;
        if (bad)
            fprintf(stderr, "%s\n", e.text);
        cwd_finish(&d);
        return bad ? 2 : 0;
    }
    fprintf(stderr, "%s has no %s\n", in, buffer);
    return 2;
}

/* The launch of one dump with the results of another, of the same launch. */
static int
results(const char *launch, const char *from, const char *out)
{
    struct cwd_dump a, b;
    struct cwd_error e;
    if (cwd_read(launch, 0, 0, &a, &e) != CW_OK || cwd_read(from, 0, 0, &b, &e) != CW_OK) {
        fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    bool same = a.nbuffers == b.nbuffers;
    for (uint32_t i = 0; same && i < a.nbuffers; i++) {
        same = a.buffers[i].size == b.buffers[i].size;
        if (same && a.buffers[i].after == a.buffers[i].before)
            a.buffers[i].after = malloc(a.buffers[i].size);
        if (same)
            memcpy(a.buffers[i].after, b.buffers[i].after, a.buffers[i].size);
    }
    a.device = "the other device";
    int status = same && cwd_write(&a, out, 0, &e) == CW_OK ? 0 : 2;
    if (status)
        fprintf(stderr, "%s\n", same ? e.text : "they are not of the same launch");
    cwd_finish(&a);
    cwd_finish(&b);
    return status;
}

/* The launch of a dump with other PTX. */
static int
module(const char *launch, const char *ptx, const char *out)
{
    static char text[1 << 20];
    struct cwd_dump d;
    struct cwd_error e;
    FILE *f = fopen(ptx, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    if (!n || cwd_read(launch, 0, 0, &d, &e) != CW_OK) {
        fprintf(stderr, "%s: %s\n", n ? launch : ptx, n ? e.text : "cannot be read");
        return 2;
    }
    struct cwd_input own = d.inputs[0];
    d.inputs[0].data = (uint8_t *)text;
    d.inputs[0].size = n;
    int status = cwd_write(&d, out, 0, &e) == CW_OK ? 0 : 2;
    if (status)
        fprintf(stderr, "%s\n", e.text);
    d.inputs[0] = own;
    cwd_finish(&d);
    return status;
}

static void
change_words(uint8_t *data, uint64_t size, uint64_t from, uint64_t bytes, uint64_t to)
{
    uint64_t word;
    for (uint64_t at = 0; at + 8 <= size; at += 8) {
        memcpy(&word, data + at, 8);
        if (word - from < bytes) {
            word = word - from + to;
            memcpy(data + at, &word, 8);
        }
    }
}

/* As if a buffer had been at another address when the launch was recorded. */
static int
rebase(const char *in, const char *out, const char *buffer, const char *address)
{
    struct cwd_dump d;
    struct cwd_error e;
    uint64_t to = strtoull(address, NULL, 16), from = 0, bytes = 0;
    if (cwd_read(in, 0, 0, &d, &e) != CW_OK) {
        fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    for (uint32_t i = 0; i < d.nbuffers; i++) {
        char where[160];
        cwd_where(&d, i, where, sizeof where);
        if (!strcmp(where, buffer)) {
            from = d.buffers[i].address;
            bytes = d.buffers[i].size;
            d.buffers[i].address = to;
        }
    }
    change_words(d.param_block, d.param_size, from, bytes, to);
    for (uint32_t i = 0; i < d.nbuffers; i++) {
        change_words(d.buffers[i].before, d.buffers[i].size, from, bytes, to);
        if (d.buffers[i].after != d.buffers[i].before)
            change_words(d.buffers[i].after, d.buffers[i].size, from, bytes, to);
    }
    int bad = !bytes || cwd_write(&d, out, 0, &e) != CW_OK;
    if (bad)
        fprintf(stderr, "%s\n", bytes ? e.text : "no such buffer");
    cwd_finish(&d);
    return bad ? 2 : 0;
}

static void
seen(void *user, const struct cwd_difference *x)
{
    *(struct cwd_difference *)user = *x;
}

static void
test_ulp(void)
{
    struct cwd_dump d = { 0 };
    float after[4] = { 1.0f, -0.0f, 3.0f, 5.0f }, got[4] = { 1.0f, 0.0f, 3.0f, 5.0f };
    struct cwd_buffer b = { CWD_GLOBAL, NULL, "f32", 0x1000, sizeof after, (uint8_t *)after, (uint8_t *)after };
    uint8_t *list[] = { (uint8_t *)got };
    struct cwd_outcome o = { .buffers = list, .nbuffers = 1 };
    uint32_t bits;
    memcpy(&bits, &got[2], 4);
    bits += 2;
    memcpy(&got[2], &bits, 4);
    d.buffers = &b;
    d.nbuffers = 1;
    struct cwd_difference x;
    EXPECT(cwd_compare(&d, &o, 0, seen, &x) == 1 && x.count == 2 && x.index == 1 && x.offset == 4 && x.elements == 4);
    /* 3 is between 2 and 4, where a unit in the last place is 2 ^ -22. */
    EXPECT(x.floats && x.apart.ulps == 2 && x.apart.absolute == 0x1p-21 && x.apart.relative == 0x1p-21 / (3.0 + 0x1p-21));
    EXPECT(cwd_compare(&d, &o, 1, seen, &x) == 1 && x.count == 1 && x.index == 2);
    EXPECT(!strcmp(x.type, "f32") && !strcmp(x.expected, "3 (0x40400000)") && !strcmp(x.actual, "3.00000048 (0x40400002)"));
    EXPECT(cwd_compare(&d, &o, 2, seen, &x) == 0);
}

/* Values behind 1, 2, 4 and 8, at a distance of 1/4, an infinity and two NaN, against rules of a file. */
static void
test_tolerance(void)
{
    static const struct {
        const char *text;
        unsigned differ, tolerated;
    } cases[] = {
        { "", 5, 1 },                                               /* just the two NaN are equal under --ulp 1 */
        { "* * absolute=0.25", 1, 5 },
        { "* * absolute=0.2499", 5, 1 },
        { "* * relative=0.05", 3, 3 },                              /* 1/4 of 8 1/4 and of 5 are within; of 2.25, 1.25 not */
        { "* * ulp=524288", 3, 3 },                                 /* 2^19: of 1/4 above 4 (unit 2^-21) and 8 (2^-20) */
        { "* * ulp=2097152", 1, 5 },                                /* 2^21: above 1 (unit 2^-23) */
        { "other * absolute=1\nk? x absolute=1\nk1 out* ulp=0\n", 6, 0 },
        { "k1 * ulp=0 # the last that matches counts\nk* o?t absolute=.25\r\n\n  # nothing\n", 1, 5 },
        { "*1 0 absolute=1e3", 1, 5 },                              /* by the parameter's number */
        { "*1 1 absolute=1e3", 5, 1 },
        { "* * relative=1 ulp=1 absolute=0", 1, 5 },
    }, wrong[] = {
        { "k\n", 1 }, { "\nk out", 2 }, { "# x\n\nk out\tabs=1", 3 }, { "k out absolute=x", 1 }, { "k out absolute=-1", 1 }, { "k out absolute=1x", 1 },
        { "k out relative=inf", 1 }, { "k out relative=nan", 1 }, { "k out ulp=-1", 1 }, { "k out ulp=1.5", 1 }, { "k out ulp=99999999999", 1 }, { "k out ulp=", 1 },
        { "a b ulp=1 c", 1 }, { "a b ulp=1 ulp=1 ulp=1 ulp=1 ulp=1 ulp=1 ulp=1", 1 },
    };
    float after[7] = { 1, 2, 4.75f, 8, INFINITY, NAN, 7 }, got[7] = { 1.25f, 2.25f, 5, 8.25f, 1, -NAN, 7 };
    uint64_t pointer = 0x1000;
    struct cwd_buffer b = { CWD_GLOBAL, NULL, "f32", 0x1000, sizeof after, (uint8_t *)after, (uint8_t *)after };
    struct cwd_param p = { "out", "u64", 0, 8 };
    struct cwd_dump d = { .kernel = "k1", .buffers = &b, .nbuffers = 1, .params = &p, .nparams = 1, .param_block = (uint8_t *)&pointer, .param_size = 8 };
    uint8_t *list[] = { (uint8_t *)got };
    struct cwd_outcome o = { .buffers = list, .nbuffers = 1 };
    struct cwd_tolerances t = { .otherwise = { .ulp = 1 } };
    struct cwd_difference x;
    struct cwd_error e;
    char where[32];
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT(cwd_tolerances_parse("tol", cases[i].text, strlen(cases[i].text), &t, &e) == CW_OK);
        uint32_t n = cwd_compare_by(&d, &o, &t, NULL, seen, &x);
        if (n != 1 || x.count != cases[i].differ || x.tolerated != cases[i].tolerated)
            fprintf(stderr, "%s: %llu differ, %llu are tolerated\n", cases[i].text, (unsigned long long)x.count, (unsigned long long)x.tolerated);
        EXPECT(n == 1 && x.count == cases[i].differ && x.tolerated == cases[i].tolerated && x.special == (cases[i].tolerated ? 1 : 2));
        cwd_tolerances_finish(&t);
    }
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(where, sizeof where, "tol:%u: ", wrong[i].differ);
        EXPECT(cwd_tolerances_parse("tol", wrong[i].text, strlen(wrong[i].text), &t, &e) == CW_ERR_INVALID && !strncmp(e.text, where, strlen(where)));
    }
    EXPECT(cwd_tolerances_parse("tol", "a b ulp=1\0", 10, &t, &e) == CW_ERR_INVALID);
    /* Within twice the bound, each value being as far from the exact one: 1/8 is enough for 1/4; an infinite bound is none. */
    float bound[7] = { 0.125f, 0.1249f, 1, INFINITY, INFINITY, 1, 0 };
    uint8_t *bounds[] = { (uint8_t *)bound };
    const struct cwd_bounds known = { bounds, 1 };
    EXPECT(cwd_compare_by(&d, &o, &t, &known, seen, &x) == 1 && x.bounded == 2 && x.count == 3 && x.unbounded == 2 && x.tolerated == 1 && x.index == 1);
    /* Integers: 64 bits that are rounded to the same number are not the same. */
    uint64_t big[2] = { (1ull << 60) + 1, 5 }, other[2] = { 1ull << 60, 6 };
    struct cwd_buffer bb = { CWD_GLOBAL, NULL, "u64", 0x1000, sizeof big, (uint8_t *)big, (uint8_t *)big };
    list[0] = (uint8_t *)other;
    d.buffers = &bb;
    t.otherwise = (struct cwd_allowance){ .relative = 0.01 };
    EXPECT(cwd_compare_by(&d, &o, &t, NULL, seen, &x) == 1 && x.count == 2);
    t.otherwise = (struct cwd_allowance){ .absolute = 1 };
    EXPECT(cwd_compare_by(&d, &o, &t, NULL, seen, &x) == 0 && x.tolerated == 2);
}

/* A dump with other names. */
static int
rename_all(const char *from, const char *name, const char *out)
{
    struct cwd_dump d;
    struct cwd_error e;
    if (cwd_read(from, 0, 0, &d, &e) != CW_OK)
        return 2;
    d.kernel = d.device = name;
    for (uint32_t i = 0; i < d.nparams; i++)
        d.params[i].name = name;
    int status = cwd_write(&d, out, 0, &e) == CW_OK ? 0 : 2;
    cwd_finish(&d);
    return status;
}

int
main(int argc, char **argv)
{
    struct cwd_dump a, b;
    struct cwd_error e = { "" };
    char path[4096], *data;
    size_t size;
    if (argc == 6 && !strcmp(argv[1], "plant"))
        return plant(argv[2], argv[3], argv[4], argv[5]);
    if (argc == 5 && !strcmp(argv[1], "results"))
        return results(argv[2], argv[3], argv[4]);
    if (argc == 5 && !strcmp(argv[1], "module"))
        return module(argv[2], argv[3], argv[4]);
    if (argc == 5 && !strcmp(argv[1], "rename"))
        return rename_all(argv[2], argv[3], argv[4]);
    if (argc == 6 && !strcmp(argv[1], "rebase"))
        return rebase(argv[2], argv[3], argv[4], argv[5]);
    if (argc != 2)
        return 2;
    for (unsigned flags = 0; flags <= CWD_STORED; flags += CWD_STORED) {
        snprintf(path, sizeof path, "%s/round-trip%u.cwdump", argv[1], flags);
        make(&a);
        EXPECT(cwd_write(&a, path, flags, &e) == CW_OK);
        cw_result r = cwd_read(path, 0, 0, &b, &e);
        if (r != CW_OK)
            fprintf(stderr, "%s\n", e.text);
        EXPECT(r == CW_OK);
        if (r != CW_OK)
            return 1;
        expect_equal(&a, &b);
        cwd_finish(&a);
        cwd_finish(&b);
        EXPECT(cwd_read(path, CWD_HEADERS, 0, &b, &e) == CW_OK && b.nbuffers == 2 && !b.buffers[0].before);
        cwd_finish(&b);
        EXPECT(cw_file_read(path, 1 << 20, &data, &size) == CW_OK);
        test_damage((uint8_t *)data, size);
        free(data);
    }
    EXPECT(cwd_read("/nonexistent/file", 0, 0, &b, &e) == CW_ERR_NOT_FOUND && strstr(e.text, "/nonexistent/file"));
    make(&a);
    EXPECT(cwd_write(&a, "/nonexistent/file", 0, &e) == CW_ERR_IO && strstr(e.text, "/nonexistent/file"));
    EXPECT(cwd_write(&a, "/dev/full/x", 0, &e) == CW_ERR_IO);
    cwd_finish(&a);
    test_lies();
    test_ulp();
    test_tolerance();
    return failures != 0;
}
