/* SPDX-License-Identifier: Apache-2.0
 * OpenMP offload, compiled by GCC for nvptx and run through libgomp's plug-in, which calls libcuda.so.1. Each part is
 * checked against what the host computes serially, or against a closed form. With OMP_TARGET_OFFLOAD=MANDATORY libgomp
 * ends the program where there is no device, and each part also asks where it ran. Usage: openmp [PART]... */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void
check(const char *what, int ok)
{
    printf("%s %s\n", ok ? "ok  " : "FAIL", what);
    failures += !ok;
}

static void
saxpy(void)
{
    enum { N = 100003 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), a = 2.5f;
    int on_host = 1, bad = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 1000);
        y[i] = (float)(i % 77) - 30;
    }
#pragma omp target map(to : x[0 : N]) map(tofrom : y[0 : N], on_host)
    {
        on_host = omp_is_initial_device();
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            y[i] = a * x[i] + y[i];
    }
    for (int i = 0; i < N; i++)     /* small multiples of a half: exact */
        bad += y[i] != 2.5f * (float)(i % 1000) + (float)(i % 77) - 30;
    check("saxpy ran on a device", !on_host);
    check("saxpy", bad == 0);
    free(x);
    free(y);
}

static void
reduction(void)
{
    enum { N = 54321 };
    long sum = 0;
    double squares = 0;
    int largest = -1;
    unsigned bits = 0;
    int *v = malloc(N * sizeof *v);
    for (int i = 0; i < N; i++)
        v[i] = (int)((i * 48271l) % 54323);
#pragma omp target teams distribute parallel for map(to : v[0 : N]) reduction(+ : sum, squares) reduction(max : largest) reduction(^ : bits)
    for (int i = 0; i < N; i++) {
        sum += v[i];
        squares += (double)v[i] * v[i];
        if (v[i] > largest)
            largest = v[i];
        bits ^= (unsigned)v[i] << (i % 16);
    }
    long want_sum = 0;
    double want_squares = 0;        /* integers below 2^53: exact in any order */
    int want_largest = -1;
    unsigned want_bits = 0;
    for (int i = 0; i < N; i++) {
        want_sum += v[i];
        want_squares += (double)v[i] * v[i];
        want_largest = v[i] > want_largest ? v[i] : want_largest;
        want_bits ^= (unsigned)v[i] << (i % 16);
    }
    check("sum", sum == want_sum);
    check("sum of squares", squares == want_squares);
    check("maximum", largest == want_largest);
    check("exclusive or", bits == want_bits);
    free(v);
}

static void
nested(void)
{
    enum { R = 61, C = 83, K = 19 };
    static double a[R][K], b[K][C], c[R][C];
    int bad = 0, teams = 0;
    for (int r = 0; r < R; r++)
        for (int k = 0; k < K; k++)
            a[r][k] = r - k;
    for (int k = 0; k < K; k++)
        for (int j = 0; j < C; j++)
            b[k][j] = (k * j) % 13;
#pragma omp target teams distribute parallel for simd collapse(2) map(to : a, b) map(from : c) map(tofrom : teams)
    for (int r = 0; r < R; r++)
        for (int j = 0; j < C; j++) {
            double s = 0;
            for (int k = 0; k < K; k++)
                s += a[r][k] * b[k][j];
            c[r][j] = s;
            if (r == 0 && j == 0)
                teams = omp_get_num_teams();
        }
    for (int r = 0; r < R; r++)
        for (int j = 0; j < C; j++) {
            double s = 0;           /* small integers: exact */
            for (int k = 0; k < K; k++)
                s += (double)(r - k) * ((k * j) % 13);
            bad += c[r][j] != s;
        }
    check("nested loops over teams, threads and lanes", bad == 0 && teams >= 1);

    /* Loops nested in directives: each row to a team, its elements to threads, an inner loop to lanes. */
    static float m[R][C], row[R];
    memset(row, 0, sizeof row);
#pragma omp target teams distribute map(tofrom : row) map(from : m)
    for (int r = 0; r < R; r++) {
        float total = 0;
#pragma omp parallel for simd reduction(+ : total)
        for (int j = 0; j < C; j++) {
            m[r][j] = (float)(r * j % 32);
            total += m[r][j];
        }
        row[r] = total;
    }
    bad = 0;
    for (int r = 0; r < R; r++) {
        float total = 0;
        for (int j = 0; j < C; j++) {
            total += (float)(r * j % 32);
            bad += m[r][j] != (float)(r * j % 32);
        }
        bad += row[r] != total;
    }
    check("parallel loops inside distribute", bad == 0);
}

#pragma omp declare target
static int
collatz_steps(unsigned long n)
{
    int steps = 0;
    for (; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static int table[4] = { 3, 1, 4, 1 };
#pragma omp end declare target

static void
functions(void)
{
    enum { N = 3000 };
    static int steps[N + 1];
    int total = 0, counter = 0, threads = 0;
#pragma omp target map(from : steps) map(tofrom : total, counter, threads)
    {
#pragma omp parallel
        {
#pragma omp single
            threads = omp_get_num_threads();
#pragma omp for schedule(dynamic, 7)
            for (int i = 1; i <= N; i++)
                steps[i] = collatz_steps((unsigned long)i) + table[i % 4];
#pragma omp barrier
#pragma omp atomic
            counter++;
#pragma omp critical
            total += 2;
        }
    }
    int bad = 0;
    for (int i = 1; i <= N; i++) {
        static const int want[4] = { 3, 1, 4, 1 };
        unsigned long n = (unsigned long)i;
        int s = 0;
        while (n != 1) {
            n = n & 1 ? n * 3 + 1 : n >> 1;
            s++;
        }
        bad += steps[i] != s + want[i % 4];
    }
    check("device functions, dynamic schedule, a declared table", bad == 0);
    check("atomic, critical, single", threads >= 1 && counter == threads && total == 2 * threads);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = { { "saxpy", saxpy }, { "reduction", reduction }, { "nested", nested }, { "functions", functions } };
    printf("%d device(s)\n", omp_get_num_devices());
    int ran = 0;
    for (unsigned p = 0; p < sizeof parts / sizeof *parts; p++) {
        int chosen = argc == 1;
        for (int i = 1; i < argc; i++)
            chosen |= !strcmp(argv[i], parts[p].name);
        if (chosen) {
            parts[p].run();
            ran++;
        }
    }
    return failures || !ran;
}
