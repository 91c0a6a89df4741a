/* SPDX-License-Identifier: Apache-2.0
 * transformer HIP_LIBRARY: a small decoder (root-mean-square norm, quantised products, RoPE, attention with a cache, softmax, SiLU) that runs on candle's kernels alone, out of
 * containers that are inside of this program (transformer.sh embeds them). Each kernel's output is compared with plain C on the kernel's own inputs; the tokens and logits are compared with
 * a model in plain C that shares nothing with the device but the weights. */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 64, HEADS = 2, HD = D / HEADS, FF = 128, VOCABULARY = 64, LAYERS = 2, TOKENS = 8, PROMPT = 3, QK = 32, PADDED = 512 };

struct q4 { _Float16 d; uint8_t q[QK / 2]; };           /* 32 weights: (nibble - 8) * d; the low nibbles first */
struct q8 { _Float16 d, sum; int8_t q[QK]; };           /* 32 activations: q * d, and their sum */

struct layer { float norm1[D], norm2[D]; struct q4 wq[D * D / QK], wk[D * D / QK], wv[D * D / QK], wo[D * D / QK], w1[FF * D / QK], w3[FF * D / QK], w2[D * FF / QK]; };
static struct model { struct layer layer[LAYERS]; float norm[D], cos[TOKENS][HD / 2], sin[TOKENS][HD / 2], embedding[VOCABULARY][D]; struct q4 out[VOCABULARY * D / QK]; } model;
#define EPSILON 1e-5f

/* ---- plain C ---- */

static unsigned
random_bits(void)
{
    static uint64_t s = 88172645463325252ull;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return (unsigned)(s >> 33);
}

static float
uniform(void)
{
    return (float)random_bits() / 0x40000000 - 1;
}

static void
random_q4(struct q4 *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        w[i].d = (_Float16)(0.02f + 0.01f * uniform());
        for (int k = 0; k < QK / 2; k++)
            w[i].q[k] = (uint8_t)random_bits();
    }
}

static void
make_model(void)
{
    for (int l = 0; l < LAYERS; l++) {
        struct layer *y = &model.layer[l];
        struct { struct q4 *w; size_t bytes; } all[] = { { y->wq, sizeof y->wq }, { y->wk, sizeof y->wk }, { y->wv, sizeof y->wv }, { y->wo, sizeof y->wo },
                                                          { y->w1, sizeof y->w1 }, { y->w3, sizeof y->w3 }, { y->w2, sizeof y->w2 } };
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
            random_q4(all[i].w, all[i].bytes / sizeof(struct q4));
        for (int i = 0; i < D; i++)
            y->norm1[i] = 1 + 0.2f * uniform(), y->norm2[i] = 1 + 0.2f * uniform();
    }
    random_q4(model.out, sizeof model.out / sizeof(struct q4));
    for (int i = 0; i < D; i++)
        model.norm[i] = 1 + 0.2f * uniform();
    for (int t = 0; t < VOCABULARY; t++)
        for (int i = 0; i < D; i++)
            model.embedding[t][i] = uniform();
    for (int p = 0; p < TOKENS; p++)
        for (int i = 0; i < HD / 2; i++) {
            double a = p * pow(10000, -2.0 * i / HD);
            model.cos[p][i] = (float)cos(a), model.sin[p][i] = (float)sin(a);
        }
}

static void
c_norm(const float *x, const float *alpha, int n, float *out)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    for (int i = 0; i < n; i++)
        out[i] = (float)(x[i] / sqrt(sum / n + (double)EPSILON) * alpha[i]);
}

static void
c_quantize(const float *x, int n, struct q8 *out)
{
    for (int b = 0; b < n / QK; b++) {
        float most = 0, sum = 0;
        for (int i = 0; i < QK; i++)
            most = fmaxf(most, fabsf(x[b * QK + i])), sum += x[b * QK + i];
        float d = most / 127;
        for (int i = 0; i < QK; i++)
            out[b].q[i] = (int8_t)(most == 0 ? 0 : roundf(x[b * QK + i] / d));
        out[b].d = (_Float16)d, out[b].sum = (_Float16)sum;
    }
}

static void
c_product(const struct q4 *w, const struct q8 *y, int columns, int rows, float *out)
{
    for (int r = 0; r < rows; r++) {
        double total = 0;
        for (int b = 0; b < columns / QK; b++) {
            const struct q4 *x = &w[r * columns / QK + b];
            int dot = 0;
            for (int i = 0; i < QK / 2; i++)
                dot += (x->q[i] & 15) * y[b].q[i] + (x->q[i] >> 4) * y[b].q[i + QK / 2];
            total += (double)x->d * (dot * (double)y[b].d - 8 * (double)y[b].sum);
        }
        out[r] = (float)total;
    }
}

static void
c_rope(const float *x, int p, float *out)
{
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < HD / 2; i++) {
            float a = x[h * HD + i], b = x[h * HD + i + HD / 2];
            out[h * HD + i] = a * model.cos[p][i] - b * model.sin[p][i];
            out[h * HD + i + HD / 2] = a * model.sin[p][i] + b * model.cos[p][i];
        }
}

static void
c_softmax(const float *x, int rows, int n, float *out)
{
    for (int r = 0; r < rows; r++, x += n, out += n) {
        double most = -INFINITY, sum = 0;
        for (int i = 0; i < n; i++)
            most = fmax(most, x[i]);
        for (int i = 0; i < n; i++)
            sum += exp(x[i] - most);
        for (int i = 0; i < n; i++)
            out[i] = (float)(exp(x[i] - most) / sum);
    }
}

static void
c_multiply(const struct q4 *w, const float *x, int columns, int rows, float *out)
{
    struct q8 y[FF / QK];
    c_quantize(x, columns, y);
    c_product(w, y, columns, rows, out);
}

/* One step of the model in plain C, with a cache of its own. */
static int
c_step(int token, int p, float *logits)
{
    static float keys[LAYERS][TOKENS][D], values[LAYERS][TOKENS][D];
    float x[D], h[FF], q[D], k[D], a[D], o[D], one[FF], three[FF], s[TOKENS];
    memcpy(x, model.embedding[token], sizeof x);
    for (int l = 0; l < LAYERS; l++) {
        const struct layer *y = &model.layer[l];
        c_norm(x, y->norm1, D, h);
        c_multiply(y->wq, h, D, D, q);
        c_multiply(y->wk, h, D, D, k);
        c_multiply(y->wv, h, D, D, values[l][p]);
        c_rope(q, p, a);
        c_rope(k, p, keys[l][p]);
        for (int head = 0; head < HEADS; head++) {
            for (int t = 0; t <= p; t++) {
                double dot = 0;
                for (int i = 0; i < HD; i++)
                    dot += (double)a[head * HD + i] * keys[l][t][head * HD + i];
                s[t] = (float)(dot / sqrt(HD));
            }
            c_softmax(s, 1, p + 1, s);
            for (int i = 0; i < HD; i++) {
                double sum = 0;
                for (int t = 0; t <= p; t++)
                    sum += (double)s[t] * values[l][t][head * HD + i];
                o[head * HD + i] = (float)sum;
            }
        }
        c_multiply(y->wo, o, D, D, h);
        for (int i = 0; i < D; i++)
            x[i] += h[i];
        c_norm(x, y->norm2, D, h);
        c_multiply(y->w1, h, D, FF, one);
        c_multiply(y->w3, h, D, FF, three);
        for (int i = 0; i < FF; i++)
            one[i] = one[i] / (1 + expf(-one[i])) * three[i];
        c_multiply(y->w2, one, FF, D, h);
        for (int i = 0; i < D; i++)
            x[i] += h[i];
    }
    c_norm(x, model.norm, D, h);
    c_multiply(model.out, h, D, VOCABULARY, logits);
    int best = 0;
    for (int i = 1; i < VOCABULARY; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* ---- the device ---- */

struct cudaway_kernel { const char *name; unsigned parameters, bytes; };
#define MODULES(X) X(quantized) X(reduce) X(binary) X(unary) X(affine)
#define DECLARE(m) extern const unsigned char m[]; extern const size_t m##_size; extern const struct cudaway_kernel m##_kernels[];
MODULES(DECLARE)
static struct embedded { const char *name; const unsigned char *code; const struct cudaway_kernel *kernels; void *module; } embedded[] = {
#define ROW(m) { #m, m, m##_kernels, NULL },
    MODULES(ROW)
};
static void *hip;
static unsigned launches, failures, compared;

#define CALL(f, ...) do { int (*p_)() = (int (*)())dlsym(hip, #f); int e_ = p_ ? p_(__VA_ARGS__) : -1; if (e_) { fprintf(stderr, "%s: error %d\n", #f, e_); exit(2); } } while (0)

/* The kernel by its name; its module is loaded when the first of its kernels is asked for. */
static void *
function(const char *name, unsigned *bytes)
{
    void *f = NULL;
    for (unsigned m = 0; m < sizeof embedded / sizeof *embedded; m++)
        for (const struct cudaway_kernel *k = embedded[m].kernels; k->name; k++)
            if (!strcmp(k->name, name)) {
                if (!embedded[m].module)
                    CALL(hipModuleLoadData, &embedded[m].module, embedded[m].code);
                CALL(hipModuleGetFunction, &f, embedded[m].module, name);
                *bytes = k->bytes;
                return f;
            }
    fprintf(stderr, "no embedded kernel %s\n", name);
    exit(2);
}

/* Parameters by letters: p pointer, n size_t, i int, f float. */
static void
launch(const char *name, unsigned grid, unsigned x, unsigned y, const char *letters, ...)
{
    unsigned char block[256];
    unsigned bytes;
    size_t at = 0;
    void *f = function(name, &bytes);
    va_list ap;
    va_start(ap, letters);
    for (const char *c = letters; *c; c++) {
        size_t size = *c == 'p' || *c == 'n' ? 8 : 4;
        at = (at + size - 1) / size * size;
        if (*c == 'p')
            memcpy(block + at, &(void *){ va_arg(ap, void *) }, 8);
        else if (*c == 'n')
            memcpy(block + at, &(size_t){ va_arg(ap, size_t) }, 8);
        else if (*c == 'i')
            memcpy(block + at, &(int){ va_arg(ap, int) }, 4);
        else
            memcpy(block + at, &(float){ (float)va_arg(ap, double) }, 4);
        at += size;
    }
    va_end(ap);
    if (at != bytes) {
        fprintf(stderr, "%s takes %u bytes of parameters, not %zu\n", name, bytes, at);
        exit(2);
    }
    void *extra[] = { (void *)1, block, (void *)2, &at, (void *)3 };
    CALL(hipModuleLaunchKernel, f, grid, 1u, 1u, x, y, 1u, 0u, (void *)NULL, (void **)NULL, extra);
    launches++;
}

static void *
device(size_t bytes)
{
    void *p = NULL;
    CALL(hipMalloc, &p, bytes);
    return p;
}

static void *
upload(const void *from, size_t bytes)
{
    void *p = device(bytes);
    CALL(hipMemcpy, p, from, bytes, 1);
    return p;
}

/* A copy on the host, in turn in one of a few buffers. */
static void *
get(const void *p, size_t bytes)
{
    static unsigned char buffers[4][65536];
    static unsigned next;
    void *to = buffers[next++ % 4];
    CALL(hipMemcpy, to, p, bytes, 2);
    return to;
}

static void
compare(const char *what, const float *got, const float *want, int n, double tolerance)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(want[i]));
    for (int i = 0; i < n; i++, compared++)
        if (!(fabs((double)got[i] - want[i]) <= tolerance * most)) {
            if (failures++ < 10)
                fprintf(stderr, "%s: value %d is %.9g, not %.9g\n", what, i, (double)got[i], (double)want[i]);
            return;
        }
}

static void *q8, *shape;

static void
norm(void *x, void *alpha, void *out)
{
    float want[D], in[D];
    launch("rmsnorm_f32", 1, 32, 1, "pppiif", x, out, alpha, D, 32, (double)EPSILON);
    memcpy(in, get(x, sizeof in), sizeof in);
    c_norm(in, get(alpha, sizeof want), D, want);
    compare("rmsnorm_f32", get(out, sizeof want), want, D, 1e-5);
}

/* Into q8, which the products take. */
static void
quantize(void *x, int n)
{
    struct q8 want[FF / QK];
    float in[FF];
    launch("quantize_q8_1", PADDED / 256, 256, 1, "ppii", x, q8, n, PADDED);
    memcpy(in, get(x, (size_t)n * 4), (size_t)n * 4);
    c_quantize(in, n, want);
    const struct q8 *got = get(q8, sizeof want);
    for (int b = 0; b < n / QK; b++, compared++)
        if (memcmp(got[b].q, want[b].q, QK) || got[b].d != want[b].d || fabs((double)got[b].sum - (double)want[b].sum) > 0.002 * 127 * (double)want[b].d * QK / 8) {
            fprintf(stderr, "quantize_q8_1: block %d differs\n", b);
            failures++;
        }
}

static void
product(void *w, int columns, int rows, void *out)
{
    static float want[FF];
    struct q8 y[FF / QK];
    launch("mul_mat_vec_q4_0_q8_1_cuda1", (unsigned)rows, 32, 4, "pppiiii", w, q8, out, columns, rows, PADDED, rows);
    memcpy(y, get(q8, sizeof y), sizeof y);
    c_product(get(w, (size_t)(columns * rows / QK) * sizeof(struct q4)), y, columns, rows, want);
    compare("mul_mat_vec_q4_0_q8_1_cuda1", get(out, (size_t)rows * 4), want, rows, 1e-5);
}

static void
rope(void *x, void *cosines, void *sines, int p, void *out)
{
    float want[D];
    launch("rope_f32", 1, 32, 1, "ppppiiii", x, (char *)cosines + p * HD / 2 * 4, (char *)sines + p * HD / 2 * 4, out, HEADS, HD, HD, 0);
    c_rope(get(x, sizeof want), p, want);
    compare("rope_f32", get(out, sizeof want), want, D, 1e-6);
}

/* out[a][b] = sum over c of x * y, for tensors of three dimensions by their strides. */
static void
contract(void *x, const size_t *xs, void *y, const size_t *ys, const size_t *dims, void *products, void *out)
{
    static float want[HEADS * TOKENS * HD];
    size_t info[9], n = dims[0] * dims[1] * dims[2], flat[2] = { n, 1 };
    for (int i = 0; i < 3; i++)
        info[i] = dims[i], info[3 + i] = xs[i], info[6 + i] = ys[i];
    CALL(hipMemcpy, shape, info, sizeof info, 1);
    launch("bmul_f32", (unsigned)(n + 127) / 128, 128, 1, "nnpppp", n, (size_t)3, shape, x, y, products);
    const float *cx = get(x, TOKENS * D * 4), *cy = get(y, TOKENS * D * 4);
    for (size_t a = 0, i = 0; a < dims[0]; a++)
        for (size_t b = 0; b < dims[1]; b++)
            for (size_t c = 0; c < dims[2]; c++, i++)
                want[i] = cx[a * xs[0] + b * xs[1] + c * xs[2]] * cy[a * ys[0] + b * ys[1] + c * ys[2]];
    compare("bmul_f32", get(products, n * 4), want, (int)n, 0);
    CALL(hipMemcpy, shape, flat, sizeof flat, 1);
    launch("fast_sum_f32", (unsigned)(dims[0] * dims[1]), 32, 1, "nnnppp", n, dims[2], (size_t)1, shape, products, out);
    for (size_t i = 0, r = 0; r < dims[0] * dims[1]; r++) {
        double sum = 0;
        for (size_t c = 0; c < dims[2]; c++)
            sum += (double)want[i++];
        want[r] = (float)sum;
    }
    compare("fast_sum_f32", get(out, dims[0] * dims[1] * 4), want, (int)(dims[0] * dims[1]), 2e-6);
}

static void
elementwise(const char *kernel, void *x, void *y, int n, void *out)
{
    float want[FF], *a = memcpy((float[FF]){ 0 }, get(x, (size_t)n * 4), (size_t)n * 4), *b = y ? memcpy((float[FF]){ 0 }, get(y, (size_t)n * 4), (size_t)n * 4) : NULL;
    if (y)
        launch(kernel, 1, 128, 1, "nnpppp", (size_t)n, (size_t)1, NULL, x, y, out);
    else
        launch(kernel, 1, 128, 1, "nnppp", (size_t)n, (size_t)1, NULL, x, out);
    for (int i = 0; i < n; i++)
        want[i] = !y ? a[i] / (1 + expf(-a[i])) : kernel[1] == 'a' ? a[i] + b[i] : a[i] * b[i];
    compare(kernel, get(out, (size_t)n * 4), want, n, y ? 0 : 1e-6);
}

int
main(int argc, char **argv)
{
    if (argc != 2 || !(hip = dlopen(argv[1], RTLD_NOW))) {
        fprintf(stderr, argc != 2 ? "usage: transformer HIP_LIBRARY\n" : "%s\n", argc == 2 ? dlerror() : "");
        return 2;
    }
    make_model();
    CALL(hipInit, 0u);
    struct model *m = upload(&model, sizeof model);         /* the same layout: addresses of parts are the device's */
    float *x = device(FF * 4), *h = device(FF * 4), *q = device(FF * 4), *a = device(FF * 4), *o = device(FF * 4), *one = device(FF * 4), *three = device(FF * 4);
    float *scores = device(HEADS * TOKENS * 4), *products = device(HEADS * TOKENS * HD * 4), *logits = device(VOCABULARY * 4), *keys[LAYERS], *values[LAYERS];
    unsigned *best = device(4);
    q8 = device(PADDED / QK * sizeof(struct q8));
    shape = device(9 * sizeof(size_t));
    for (int l = 0; l < LAYERS; l++)
        keys[l] = device(TOKENS * D * 4), values[l] = device(TOKENS * D * 4);
    int token = 7, expected = 7;
    printf("tokens:");
    for (int p = 0; p < TOKENS; p++) {
        if (p < PROMPT)
            token = expected = 7 + 11 * p;
        size_t t = (size_t)p + 1;
        CALL(hipMemcpy, x, m->embedding[token], (size_t)D * 4, 3);
        for (int l = 0; l < LAYERS; l++) {
            struct layer *y = &m->layer[l];
            norm(x, y->norm1, h);
            quantize(h, D);
            product(y->wq, D, D, q);
            product(y->wk, D, D, o);
            product(y->wv, D, D, values[l] + p * D);
            rope(q, m->cos, m->sin, p, a);
            rope(o, m->cos, m->sin, p, keys[l] + p * D);
            contract(a, (size_t[]){ HD, 0, 1 }, keys[l], (size_t[]){ HD, D, 1 }, (size_t[]){ HEADS, t, HD }, products, scores);
            launch("affine_f32", 1, 64, 1, "nnpppff", (size_t)HEADS * t, (size_t)1, NULL, scores, scores, 1 / sqrt(HD), 0.0);
            float in[HEADS * TOKENS], want[HEADS * TOKENS];
            memcpy(in, get(scores, sizeof in), sizeof in);
            launch("softmax_f32", HEADS, 1, 32, "ppi", scores, scores, (int)t);
            c_softmax(in, HEADS, (int)t, want);
            compare("softmax_f32", get(scores, sizeof want), want, HEADS * (int)t, 1e-6);
            contract(scores, (size_t[]){ t, 0, 1 }, values[l], (size_t[]){ HD, 1, D }, (size_t[]){ HEADS, HD, t }, products, o);
            quantize(o, D);
            product(y->wo, D, D, h);
            elementwise("badd_f32", x, h, D, x);
            norm(x, y->norm2, h);
            quantize(h, D);
            product(y->w1, D, FF, one);
            product(y->w3, D, FF, three);
            elementwise("usilu_f32", one, NULL, FF, one);
            elementwise("bmul_f32", one, three, FF, one);
            quantize(one, FF);
            product(y->w2, FF, D, h);
            elementwise("badd_f32", x, h, D, x);
        }
        norm(x, m->norm, h);
        quantize(h, D);
        product(m->out, D, VOCABULARY, logits);
        size_t flat[2] = { VOCABULARY, 1 };
        CALL(hipMemcpy, shape, flat, sizeof flat, 1);
        launch("fast_argmax_f32", 1, 64, 1, "nnnppp", (size_t)VOCABULARY, (size_t)VOCABULARY, (size_t)1, shape, logits, best);
        float reference[VOCABULARY];
        expected = c_step(expected, p, reference);
        token = (int)*(unsigned *)get(best, 4);
        compare("logits", get(logits, sizeof reference), reference, VOCABULARY, 2e-3);
        if (token != expected) {
            fprintf(stderr, "token %d is %d, not %d\n", p, token, expected);
            failures++;
        }
        printf(" %d", token);
    }
    printf("; %u launches, %u values compared, %u wrong\n", launches, compared, failures);
    return failures != 0;
}
