/* SPDX-License-Identifier: Apache-2.0
 * Golden tests of passes: golden [--update] CASE.ll...
 *
 * A case is LLVM IR, and behind each line ";---- PASS TARGET" what that pass makes of it for that target, as text. TARGET is a processor that
 * cudaway-cc knows ("gfx1100", "sm_90"), "host", or "x86:CPU". The module before and after the pass must satisfy LLVM's verifier. PASS is a name that
 * `cudaway-cc --print-pipeline` lists: a pass over LLVM IR runs alone, and where it asks for the clean-up behind it, its text begins with "; changed"; for one of the
 * code generator's the text is what the code generator has behind it, IR or machine IR. "codegen" stands for the whole code generator; its text is the code of
 * the functions.
 *
 * --update writes what the passes make into the cases. Whoever does that reads the difference: the comments of a case must still derive it. */
#include "impl/base/buf.h"
#include "impl/base/file.h"
#include "jit/llvm/llvm.h"
#include "jit/llvm/pipeline.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    const char *path;
    unsigned line;              /* of ";----" */
    char pass[32], target[32];
    LLVMModuleRef m;
    LLVMTargetMachineRef tm;
    enum cwj_target kind;
    struct cwj_diags *diags;
};

/* ---- text --------------------------------------------------------------------------------------------------------------------------- */

static bool
begins(const char *line, const char *word)
{
    return !strncmp(line, word, strlen(word));
}

/* The length of a line without the comment, or white space, at its end. */
static size_t
length_of(const char *line, size_t n, const char *comment)
{
    const char *at = NULL;
    for (size_t i = 0; comment && i + strlen(comment) <= n && !at; i++)
        if (!strncmp(line + i, comment, strlen(comment)))
            at = line + i;
    n = at ? (size_t)(at - line) : n;
    while (n && isspace((unsigned char)line[n - 1]))
        n--;
    return n;
}

/* Of a line of a module, what a case shows: no heading of the module, no declaration or list of the attributes of LLVM's own functions, no predecessors. */
static bool
is_shown(const char *line, size_t n)
{
    static const char *const left_out[] = { "; ModuleID", "source_filename", "target datalayout", "target triple", "; Function Attrs" };

    for (unsigned i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (begins(line, left_out[i]))
            return false;
    const char *name = memchr(line, '@', n);
    return !(begins(line, "declare ") && name && begins(name, "@llvm."));
}

/* Is "attributes #N" of a group that the text before it names? */
static bool
is_unused_group(const char *line, const struct cw_buf *before)
{
    unsigned number;
    char name[16];
    int length = 0;

    if (sscanf(line, "attributes #%u%n", &number, &length) != 1)
        return false;
    snprintf(name, sizeof name, "#%u", number);
    for (const char *at = before->data; at && (at = strstr(at, name)); at++)
        if (!isdigit((unsigned char)at[strlen(name)]))
            return false;
    return true;
}

static void
print_module(const char *text, struct cw_buf *out)
{
    bool blank = false, any = false;

    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        size_t n = length_of(line, (size_t)(end - line), ":  ");     /* of a label, whose predecessors follow */
        n += begins(line + n, ":  ");
        if (!n || !is_shown(line, n) || is_unused_group(line, out)) {
            blank |= !n;
            continue;
        }
        cw_buf_printf(out, "%s%.*s\n", blank && any ? "\n" : "", (int)n, line);
        any = true;
        blank = false;
    }
}

/* Of machine IR the functions' names and bodies, without metadata and constants. */
static void
print_machine(const char *text, struct cw_buf *out)
{
    bool body = false;

    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        size_t n = length_of(line, (size_t)(end - line), NULL);
        bool name = begins(line, "name: ");
        body = begins(line, "body: ") || (body && !begins(line, "..."));
        if (n && (name || body))
            cw_buf_printf(out, "%s%.*s\n", name && out->size ? "\n" : "", (int)n, line);
    }
}

/* Labels and instructions of the functions, and of kernels the number of vector registers and the stack. */
static void
print_code(const char *text, struct cw_buf *out)
{
    bool inside = false, blank = true;

    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        size_t n = length_of(line, (size_t)(end - line), ";");
        bool label = n && !isspace((unsigned char)*line) && line[n - 1] == ':';
        if (label && begins(line, ".Lfunc_end")) {
            inside = false;
            continue;
        }
        inside |= label && *line != '.';
        const char *word = line + strspn(line, "\t ");
        bool kept = begins(word, ".amdhsa_next_free_vgpr") || begins(word, ".amdhsa_private_segment_fixed_size");
        if (begins(word, ".amdgpu_metadata"))
            return;
        if (!inside || !n || (isspace((unsigned char)*line) && *word == '.' && !kept) || *word == ';')
            continue;
        if (label && *line != '.' && !blank)
            cw_buf_puts(out, "\n");
        blank = false;
        cw_buf_printf(out, "%.*s\n", (int)n, line);
    }
}

/* ---- a run -------------------------------------------------------------------------------------------------------------------------- */

static bool
fail(const struct run *r, const char *what, const char *why)
{
    printf("%s:%u: %s %s: %s: %s\n", r->path, r->line, r->pass, r->target, what, why ? why : "");
    return false;
}

static bool
failed_with_diags(const struct run *r, const char *what)
{
    return fail(r, what, r->diags->first ? r->diags->first->text : "no message");
}

static bool
verify(const struct run *r, const char *when)
{
    char *message = NULL;
    bool broken = LLVMVerifyModule(r->m, LLVMReturnStatusAction, &message);
    if (broken)
        fail(r, when, message);
    LLVMDisposeMessage(message);
    return !broken;
}

static bool
make_machine(struct run *r)
{
    const char *cpu = r->target;
    r->kind = begins(cpu, "gfx") ? CWJ_TARGET_AMDGCN : begins(cpu, "sm_") ? CWJ_TARGET_NVPTX : CWJ_TARGET_HOST;
    if (r->kind == CWJ_TARGET_HOST) {
        if (!begins(cpu, "x86:") && strcmp(cpu, "host"))
            return fail(r, "there is no such target", "a gfx or sm processor, host, or x86:CPU");
        cpu = begins(cpu, "x86:") ? cpu + 4 : NULL;
    }
    if (cwj_llvm_machine(r->kind, cpu, NULL, 3, &r->tm, r->diags) != CW_OK)
        return failed_with_diags(r, "no machine");
    char *triple = LLVMGetTargetMachineTriple(r->tm);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(r->tm);
    LLVMSetTarget(r->m, triple);
    LLVMSetModuleDataLayout(r->m, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
    return true;
}

static bool
generate(struct run *r, struct cwj_pipeline *p, struct cw_buf *out)
{
    LLVMMemoryBufferRef code = NULL;
    struct cw_buf printed;
    struct cwj_pass_options options = { .printed = &printed, .verify = true };
    bool all = !strcmp(r->pass, "codegen"), ok = false;

    cw_buf_init(&printed);
    if (!all)
        options.stop_after = r->pass;
    p->passes = &options;
    if (cwj_pipeline_codegen(p, LLVMAssemblyFile, &code, NULL) != CW_OK)
        failed_with_diags(r, "no code");
    else if (!all && !p->stopped)
        fail(r, "there is no such pass", "see cudaway-cc --print-pipeline");
    else if (all)
        print_code(LLVMGetBufferStart(code), out);
    else if (strstr(printed.data, "\nbody: "))
        print_machine(printed.data, out);
    else
        print_module(printed.data, out);
    ok = out->size != 0;
    if (code)
        LLVMDisposeMemoryBuffer(code);
    cw_buf_finish(&printed);
    return ok;
}

static bool
run_pass(struct run *r, struct cw_buf *out)
{
    struct cwj_pipeline p = { .m = r->m, .tm = r->tm, .target = r->kind, .opt_level = 3, .diags = r->diags };
    bool changed = false;
    cw_result result = cwj_pipeline_run_pass(&p, r->pass, &changed);

    if (result == CW_ERR_NOT_FOUND)
        return generate(r, &p, out);
    if (result != CW_OK)
        return failed_with_diags(r, "the pass fails");
    if (!verify(r, "the pass breaks the module"))
        return false;
    cw_buf_puts(out, changed ? "; changed\n" : "");
    char *text = LLVMPrintModuleToString(r->m);
    print_module(text, out);
    LLVMDisposeMessage(text);
    return true;
}

/* What the pass makes of the text. */
static bool
run(struct run *r, const char *text, size_t size, struct cw_buf *out)
{
    struct cwj_diags diags;
    char *message = NULL;
    bool ok = false;

    cwj_diags_init(&diags);
    r->diags = &diags;
    LLVMContextRef c = cwj_llvm_context(true, &diags);
    if (!c || LLVMParseIRInContext(c, LLVMCreateMemoryBufferWithMemoryRangeCopy(text, size, r->path), &r->m, &message)) {
        fail(r, "the input", message);
        LLVMDisposeMessage(message);
    } else {
        ok = make_machine(r) && verify(r, "the input") && run_pass(r, out);
        if (r->tm)
            LLVMDisposeTargetMachine(r->tm);
        LLVMDisposeModule(r->m);
    }
    if (c)
        LLVMContextDispose(c);
    cwj_diags_finish(&diags);
    return ok;
}

/* ---- a case ------------------------------------------------------------------------------------------------------------------------- */

static const char separator[] = ";---- ";
enum { LARGEST_CASE = 1 << 20 };

/* The next separator at or behind `at`, or the end of the text. *line: its number, counted from `at`'s. */
static const char *
next_section(const char *at, unsigned *line)
{
    while (*at && !begins(at, separator)) {
        const char *end = strchr(at, '\n');
        at = end ? end + 1 : at + strlen(at);
        ++*line;
    }
    return at;
}

/* Where the two begin to differ. */
static void
show_difference(const struct run *r, const char *want, const char *got)
{
    unsigned line = r->line + 1;
    while (*want && *got) {
        size_t n = strcspn(want, "\n"), k = strcspn(got, "\n");
        if (n != k || strncmp(want, got, n))
            break;
        want += n + (want[n] != 0);
        got += k + (got[k] != 0);
        line++;
    }
    printf("%s:%u: %s %s makes something else\n  want: %.*s\n  got:  %.*s\nFrom there on it makes:\n%s", r->path, line, r->pass, r->target,
           (int)strcspn(want, "\n"), want, (int)strcspn(got, "\n"), got, got);
}

/* The text between a separator's line and the next, without blank lines around it. */
static bool
section_is(const char *begin, const char *end, const struct cw_buf *text, struct cw_buf *copy)
{
    while (begin < end && *begin == '\n')
        begin++;
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    cw_buf_printf(copy, "%.*s\n", (int)(end - begin), begin);
    return !copy->failed && !text->failed && copy->size == text->size && !memcmp(copy->data, text->data, text->size);
}

static bool
check_case(const char *path, bool update)
{
    struct cw_buf now;
    char *text;
    size_t size;
    bool ok = true, changed = false;
    unsigned line = 1;

    if (cw_file_read(path, LARGEST_CASE, &text, &size) != CW_OK) {
        printf("%s: cannot be read\n", path);
        return false;
    }
    cw_buf_init(&now);
    const char *at = next_section(text, &line);
    size_t input = (size_t)(at - text);
    if (!*at) {
        printf("%s: no line \"%sPASS TARGET\"\n", path, separator);
        ok = false;
    }
    cw_buf_append(&now, text, input);
    while (*at) {
        struct run r = { .path = path, .line = line };
        struct cw_buf made, want;
        const char *begin = strchr(at, '\n');
        if (sscanf(at + sizeof separator - 1, "%31s %31s", r.pass, r.target) != 2 || !begin) {
            printf("%s:%u: not \"%sPASS TARGET\"\n", path, line, separator);
            ok = false;
            break;
        }
        cw_buf_init(&made);
        cw_buf_init(&want);
        line++;
        const char *next = next_section(begin + 1, &line);
        bool ran = run(&r, text, input, &made);
        if (ran && !section_is(begin + 1, next, &made, &want)) {
            changed = true;
            if (!update) {
                show_difference(&r, want.data, made.data);
                ok = false;
            }
        }
        cw_buf_append(&now, at, (size_t)(begin - at) + 1);
        cw_buf_append(&now, made.data, made.size);
        cw_buf_puts(&now, *next ? "\n" : "");
        ok &= ran;
        cw_buf_finish(&made);
        cw_buf_finish(&want);
        at = next;
    }
    if (update && ok && changed) {
        ok = !now.failed && cw_file_write_atomic(path, now.data, now.size, 0644) == CW_OK;
        printf(ok ? "%s: updated\n" : "%s: cannot be written\n", path);
    }
    cw_buf_finish(&now);
    free(text);
    return ok;
}

int
main(int argc, char **argv)
{
    bool update = argc > 1 && !strcmp(argv[1], "--update");
    int bad = 0, first = update ? 2 : 1;

    if (first >= argc) {
        fprintf(stderr, "usage: golden [--update] CASE.ll...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        bad += !check_case(argv[i], update);
    printf("%d cases, %d failed\n", argc - first, bad);
    return bad != 0;
}
