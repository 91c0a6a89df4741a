/* SPDX-License-Identifier: Apache-2.0
 * What `cudaway-trace check` found, as text. */
#include "tracer/cli/check.h"

#include <stdio.h>
#include <string.h>

static bool
is(const cJSON *o, const char *key, const char *text)
{
    return !strcmp(check_text(o, key), text);
}

static int
count_of(const cJSON *o, const char *key)
{
    const cJSON *n = CHECK_ITEM(o, key);
    return cJSON_IsNumber(n) ? n->valueint : cJSON_GetArraySize(n);
}

static const char *
plural(int n)
{
    return n == 1 ? "" : "s";
}

static void
print_words(const cJSON *list)
{
    const cJSON *x;
    cJSON_ArrayForEach(x, list)
        printf(" %s", cJSON_GetStringValue(x));
}

/* ---- functions ---- */

static void
print_function(const cJSON *f)
{
    printf("    %s", check_text(f, "name"));
    if (CHECK_ITEM(f, "calls"))
        printf(", called %d time%s", count_of(f, "calls"), plural(count_of(f, "calls")));
    if (count_of(f, "failed"))
        printf(", %d failed", count_of(f, "failed"));
    if (!is(f, "status", "implemented"))
        printf(": %s", is(f, "status", "partial") ? "in part" : CHECK_ITEM(f, "weak") ? "not here, and not needed" : "not here");
    if (*check_text(f, "reason"))
        printf(": %s", check_text(f, "reason"));
    printf("\n");
}

/* A line for each of CUDA's libraries, in the order in which their first functions come. */
static void
print_functions(const cJSON *o, const char *verb, bool every)
{
    const cJSON *functions = CHECK_ITEM(o, "functions"), *first, *f;
    int all = cJSON_GetArraySize(functions);
    if (all)
        printf("  %s %d CUDA function%s, of which %d %s not here\n", verb, all, plural(all), count_of(o, "missing"), count_of(o, "missing") == 1 ? "is" : "are");
    cJSON_ArrayForEach(first, functions) {
        const char *library = check_text(first, "library");
        int n = 0, partial = 0, missing = 0;
        bool before = true, seen = false;
        cJSON_ArrayForEach(f, functions) {
            before &= f != first;
            seen |= before && is(f, "library", library);
            if (!is(f, "library", library))
                continue;
            n++;
            partial += is(f, "status", "partial");
            missing += is(f, "status", "missing");
        }
        if (seen)
            continue;
        printf("  %s: %d function%s", library, n, plural(n));
        if (partial)
            printf(", %d in part", partial);
        if (missing)
            printf(", %d not here", missing);
        printf("\n");
        cJSON_ArrayForEach(f, functions)
            if (is(f, "library", library) && every)
                print_function(f);
    }
    if (count_of(o, "missing")) {
        printf("  not here:");
        print_words(CHECK_ITEM(o, "missing"));
        printf("\n");
    }
}

/* ---- modules ---- */

static void
print_error(const cJSON *e, const char *before)
{
    printf("    %s", before);
    if (count_of(e, "line"))
        printf("%d:%d: ", count_of(e, "line"), count_of(e, "column"));
    printf("%s %s\n", check_text(e, "code"), check_text(e, "message"));
    if (*check_text(e, "source"))
        printf("        %s\n", check_text(e, "source"));
}

static void
print_refused(const cJSON *m)
{
    const cJSON *k;
    printf("  module %d, PTX for %s, is refused", count_of(m, "module"), check_text(m, "ptx"));
    printf(*check_text(m, "message") ? ": %s\n" : "%s\n", check_text(m, "message"));
    cJSON_ArrayForEach(k, CHECK_ITEM(m, "kernels")) {
        if (is(k, "verdict", "refused")) {
            printf("    %s: refused\n", check_text(k, "name"));
            print_error(k, "  ");
        } else {
            printf("    %s: no fault found in it\n", check_text(k, "name"));
        }
    }
    cJSON_ArrayForEach(k, CHECK_ITEM(m, "errors"))
        print_error(k, "outside of kernels: ");
}

static void
print_machine_code(const cJSON *m)
{
    const cJSON *k;
    printf("  module %d has machine code of NVIDIA's alone, without PTX: it cannot run here; build it with -gencode arch=compute_80,code=compute_80\n",
           count_of(m, "module"));
    cJSON_ArrayForEach(k, CHECK_ITEM(m, "kernels")) {
        printf("    %s, machine code for", check_text(k, "name"));
        print_words(CHECK_ITEM(k, "machine_code"));
        printf("\n");
    }
    if (count_of(m, "unnamed")) {
        printf("    kernels that cannot be named, machine code for");
        print_words(CHECK_ITEM(m, "unnamed"));
        printf("\n");
    }
    if (count_of(m, "other_entries"))
        printf("    %d entries of other kinds\n", count_of(m, "other_entries"));
}

static void
print_modules(const cJSON *modules)
{
    const cJSON *m, *k;
    int good = 0;
    cJSON_ArrayForEach(m, modules)
        good += is(m, "verdict", "compiles") ? count_of(m, "kernels") : 0;
    if (good)
        printf("  %d kernel%s with PTX that compiles\n", good, plural(good));
    cJSON_ArrayForEach(m, modules)
        if (is(m, "verdict", "compiles"))
            cJSON_ArrayForEach(k, CHECK_ITEM(m, "kernels"))
                printf("    %s, from PTX for %s%s\n", check_text(k, "name"), check_text(m, "ptx"),
                       cJSON_IsTrue(CHECK_ITEM(m, "newer_than_device")) ? ", newer than the device; it is tried" : "");
    cJSON_ArrayForEach(m, modules) {
        if (is(m, "verdict", "refused"))
            print_refused(m);
        else if (is(m, "verdict", "no PTX"))
            print_machine_code(m);
        else if (is(m, "verdict", "damaged"))
            printf("  damaged: %s\n", check_text(m, "message"));
    }
}

/* ---- a file ---- */

static void
print_libraries(const cJSON *o)
{
    const cJSON *x;
    cJSON_ArrayForEach(x, CHECK_ITEM(o, "libraries")) {
        printf("  loads %s: %s", check_text(x, "name"), cJSON_IsTrue(CHECK_ITEM(x, "here")) ? "CUDAway has it" : "CUDAway does not have it");
        printf(*check_text(x, "file") ? "; this one is here: %s\n" : "%s\n", check_text(x, "file"));
    }
    cJSON_ArrayForEach(x, CHECK_ITEM(o, "loads"))
        printf("  loads %s, needed by %s: %s\n", check_text(x, "file"), check_text(x, "needed_by"), check_text(x, "verdict"));
    if (count_of(o, "loads_without_cuda"))
        printf("  loads %d librar%s without CUDA\n", count_of(o, "loads_without_cuda"), count_of(o, "loads_without_cuda") == 1 ? "y" : "ies");
    cJSON_ArrayForEach(x, CHECK_ITEM(o, "not_found"))
        printf("  not found: %s, needed by %s\n", check_text(x, "name"), check_text(x, "needed_by"));
}

void
check_print_file(const cJSON *o, bool functions)
{
    const cJSON *inside = CHECK_ITEM(o, "runtime_inside");
    printf("%s: %s", check_text(o, "file"), check_text(o, "verdict"));
    if (count_of(o, "loaded_by")) {
        printf(" (loaded by");
        print_words(CHECK_ITEM(o, "loaded_by"));
        printf(")");
    }
    printf("\n");
    print_functions(o, "imports", functions);
    if (inside && CHECK_ITEM(inside, "version"))
        printf("  has NVIDIA's CUDA Runtime %d inside: CUDAway's is used in its place\n", count_of(inside, "version"));
    else if (inside)
        printf("  has %s\n", check_text(inside, "message"));
    print_libraries(o);
    print_modules(CHECK_ITEM(o, "modules"));
}

/* ---- a recording ---- */

void
check_print_recording(const cJSON *o)
{
    const cJSON *x;
    double launches = 0;
    printf("%s: %s%s\n", check_text(o, "recording"), check_text(o, "verdict"),
           cJSON_IsTrue(CHECK_ITEM(o, "complete")) ? "" : " (the recording is not complete)");
    print_functions(o, "called", true);
    cJSON_ArrayForEach(x, CHECK_ITEM(o, "refused"))
        printf("  refused: %s gave %s, %d time%s\n", check_text(x, "function"), check_text(x, "result"), count_of(x, "count"), plural(count_of(x, "count")));
    cJSON_ArrayForEach(x, CHECK_ITEM(o, "not_found"))
        printf("  asked for and not found: %s, %d time%s\n", check_text(x, "name"), count_of(x, "asked"), plural(count_of(x, "asked")));
    cJSON_ArrayForEach(x, CHECK_ITEM(o, "images")) {
        printf("  image: %s, %.0f bytes%s%s%s%.16s, loaded %d time%s", check_text(x, "kind"), CHECK_ITEM(x, "size")->valuedouble,
               *check_text(x, "file") ? ", " : "", check_text(x, "file"), *check_text(x, "sha256") ? ", sha256 " : "", check_text(x, "sha256"),
               count_of(x, "loads"), plural(count_of(x, "loads")));
        if (count_of(x, "refused"))
            printf(", refused %d time%s", count_of(x, "refused"), plural(count_of(x, "refused")));
        printf("%s\n", cJSON_IsTrue(CHECK_ITEM(x, "kept")) ? "" : "; it was not kept");
        print_modules(CHECK_ITEM(x, "modules"));
    }
    cJSON_ArrayForEach(x, CHECK_ITEM(o, "kernels"))
        launches += CHECK_ITEM(x, "launches")->valuedouble;
    if (launches > 0)
        printf("  %.0f launch%s of %d kernel%s\n", launches, launches == 1 ? "" : "es", count_of(o, "kernels"), plural(count_of(o, "kernels")));
    cJSON_ArrayForEach(x, CHECK_ITEM(o, "kernels")) {
        printf("    %s: %d launch%s", check_text(x, "name"), count_of(x, "launches"), count_of(x, "launches") == 1 ? "" : "es");
        if (count_of(x, "failed"))
            printf(", %d failed", count_of(x, "failed"));
        printf("%s%s\n", *check_text(x, "verdict") ? "; its PTX: " : "", check_text(x, "verdict"));
    }
}
