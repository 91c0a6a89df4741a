/* SPDX-License-Identifier: Apache-2.0
 * See patch.h. The jump at an entry is five bytes (jmp rel32); what it reaches lies in memory of ours within two gigabytes:
 *
 *   thunk   0  ff 25 ..             jmp *target(%rip)      target: the next instruction until the function is looked up, then ours
 *           6  4c 8d 1d ..          lea data(%rip), %r11   (%r11 is free at a call: System V ABI, 3.2.1)
 *          13  ff 25 ..             jmp *resolve(%rip)
 *          19  cc cc cc cc cc
 *          24  "CUDAWAY" 01         by which another scan knows what is redirected already
 */
#define _GNU_SOURCE
#include "impl/runtime/redirect/patch.h"
#include "impl/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    JUMP = 5,
    THUNK = 32, MAGIC_AT = 24,
    COMPARED = 16,                      /* bytes of an entry that are compared with the file */
    MAX_CODE = 1 << 28,                 /* bytes between a copy's first function and its last */
    MESSAGE_ERROR = 303,                /* cudaErrorSharedObjectInitFailed */
};
#define REACH 0x7fff0000ll              /* of a jump, with room for what is not exact here */

static const char magic[8] = "CUDAWAY\1";

struct thunk_data {
    void *_Atomic target;
    void       *resolve;
    const char *name;
    struct cw_runtime *runtime;
};

struct cw_patch {
    uint8_t *memory;
    size_t   size;
    uint64_t first;                     /* address, as linked, of the first function with a jump */
    uint64_t (*words)[2];               /* of each function of the copy: its first eight bytes without and with the jump; 0, 0: it has none */
};

/* ---- the first call of a function ---- */

void cw_redirect_resolve(void);

/* Called from cw_redirect_resolve with what %r11 held; returns where to jump. */
__attribute__((used)) static void *resolve(struct thunk_data *d) __asm__("cw_redirect_resolve_in_c");

static int
unavailable(void)
{
    return MESSAGE_ERROR;
}

static const char *
unavailable_text(void)
{
    return "CUDAway's CUDA Runtime cannot be loaded";
}

static _Atomic int holder;              /* the thread that registers; 0: none */

void
cw_patch_hold(bool hold)
{
    atomic_store(&holder, hold ? (int)syscall(SYS_gettid) : 0);
}

static void *
resolve(struct thunk_data *d)
{
    int saved = errno;
    for (unsigned ms = 0; ms < 10000 && atomic_load(&holder) && atomic_load(&holder) != (int)syscall(SYS_gettid); ms++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    void *p = cw_runtime_symbol(d->runtime, d->name);
    if (p)
        atomic_store(&d->target, p);
    else
        p = !strcmp(d->name, "cudaGetErrorString") || !strcmp(d->name, "cudaGetErrorName") ? (void *)(uintptr_t)unavailable_text : (void *)(uintptr_t)unavailable;
    errno = saved;
    return p;
}

/* Every register that carries an argument is kept: cudaLaunchKernel has six in registers and more on the stack. */
__asm__(".text\n"
        ".hidden cw_redirect_resolve\n"
        ".globl cw_redirect_resolve\n"
        ".type cw_redirect_resolve, @function\n"
        "cw_redirect_resolve:\n"
        "  .cfi_startproc\n"
        "  endbr64\n"
        "  pushq %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  pushq %rax\n  pushq %rdi\n  pushq %rsi\n  pushq %rdx\n  pushq %rcx\n  pushq %r8\n  pushq %r9\n  pushq %r10\n"
        "  subq $128, %rsp\n"
        "  andq $-16, %rsp\n"
        "  movups %xmm0, (%rsp)\n  movups %xmm1, 16(%rsp)\n  movups %xmm2, 32(%rsp)\n  movups %xmm3, 48(%rsp)\n"
        "  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n  movups %xmm6, 96(%rsp)\n  movups %xmm7, 112(%rsp)\n"
        "  movq %r11, %rdi\n"
        "  call cw_redirect_resolve_in_c\n"
        "  movq %rax, %r11\n"
        "  movups (%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n  movups 32(%rsp), %xmm2\n  movups 48(%rsp), %xmm3\n"
        "  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n  movups 96(%rsp), %xmm6\n  movups 112(%rsp), %xmm7\n"
        "  movq -8(%rbp), %rax\n  movq -16(%rbp), %rdi\n  movq -24(%rbp), %rsi\n  movq -32(%rbp), %rdx\n  movq -40(%rbp), %rcx\n"
        "  movq -48(%rbp), %r8\n  movq -56(%rbp), %r9\n  movq -64(%rbp), %r10\n"
        "  leave\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  jmp *%r11\n"
        "  .cfi_endproc\n"
        ".size cw_redirect_resolve, .-cw_redirect_resolve\n");

/* ---- checks ---- */

bool
cw_memory_read(uintptr_t from, void *to, size_t size)
{
    /* A pipe takes the bytes from where they are, or says EFAULT: this needs no /proc and no right to trace. */
    int p[2];
    bool ok = !pipe2(p, O_CLOEXEC | O_NONBLOCK);
    if (!ok)
        return false;
    for (size_t done = 0; ok && done < size;) {
        size_t n = size - done < 32768 ? size - done : 32768;           /* or what the pipe takes */
        ssize_t w = syscall(SYS_write, p[1], from + done, n);       /* past a sanitizer, which would call it our own read */
        ok = w > 0 && read(p[0], (char *)to + done, (size_t)w) == w;
        done += ok ? (size_t)w : 0;
    }
    close(p[0]);
    close(p[1]);
    return ok;
}

/* Whether a function gets a jump: ours has one of that name. One that is shorter than a jump stays: nothing fits into it but the return
 * of a constant (13.0's __cudaGetProcAddress). */
static bool
redirected(const struct cw_copy_function *f, const struct cw_runtime *r)
{
    return f->size >= JUMP && cw_runtime_exports(r, f->name);
}

/* Whether a compiler's function may begin so: with ENDBR64, a push, a change of the stack pointer, a move, a test, a jump to where
 * the work is done. Zeros, breakpoints and returns are refused: that is no function of a runtime, or somebody's marker. */
static bool
is_entry(const uint8_t *p)
{
    static const uint8_t endbr[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
    if (!memcmp(p, endbr, 4) || (p[0] >= 0x50 && p[0] <= 0x57) || (p[0] >= 0xb8 && p[0] <= 0xbf))
        return true;
    const uint8_t *op = p[0] >= 0x40 && p[0] <= 0x4f ? p + 1 : p;       /* a REX prefix */
    static const uint8_t ordinary[] = { 0x0f, 0x31, 0x33, 0x39, 0x3b, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x63, 0x66, 0x81, 0x83,
                                        0x84, 0x85, 0x89, 0x8b, 0x8d, 0xc7, 0xe9, 0xeb };
    return memchr(ordinary, *op, sizeof ordinary) != NULL;
}

static bool
is_thunk_jump(const uint8_t *entry, uintptr_t at)
{
    int32_t relative;
    char found[sizeof magic];
    memcpy(&relative, entry + 1, sizeof relative);
    return entry[0] == 0xe9 && cw_memory_read(at + JUMP + (uintptr_t)(intptr_t)relative + MAGIC_AT, found, sizeof found) &&
           !memcmp(found, magic, sizeof magic);
}

static void
refuse(const struct cw_copy *c, const char *function, const char *why)
{
    cw_error("%s: the CUDA Runtime inside is not redirected to ours: %s %s; link the program with -cudart shared", c->shown, function, why);
}

/* The code from the first function to the last, in memory and in the file. They are some hundred kilobytes, read at once. */
struct code {
    uint64_t low;
    size_t   size;
    uint8_t *have, *want;
};

static bool
read_code(const struct cw_copy *c, const struct cw_elf *e, struct code *k)
{
    const struct cw_copy_function *last = &c->functions[c->count - 1];
    k->low = c->functions[0].address;
    k->size = last->address - k->low + (last->size < COMPARED ? last->size : COMPARED);
    k->have = k->size < MAX_CODE ? calloc(1, k->size + COMPARED) : NULL;        /* zeros behind: they are compared for the last one */
    k->want = k->size < MAX_CODE ? calloc(1, k->size + COMPARED) : NULL;
    return k->have && k->want && cw_elf_read_address(e, k->low, k->want, k->size) && cw_memory_read(c->bias + k->low, k->have, k->size);
}

enum cw_patch_state
cw_patch_check(const struct cw_copy *c, const struct cw_runtime *r)
{
    struct cw_elf e;
    struct code code = { 0 };
    if (cw_elf_open(&e, c->path)) {
        refuse(c, "its file", "cannot be read");
        return CW_PATCH_REFUSED;
    }
    enum cw_patch_state state = CW_PATCH_NONE;
    size_t jumps = 0;
    bool readable = read_code(c, &e, &code);
    for (size_t i = 0; i < c->count && state == CW_PATCH_NONE; i++) {
        const struct cw_copy_function *f = &c->functions[i];
        const uint8_t *want = readable ? code.want + (f->address - code.low) : NULL, *have = readable ? code.have + (f->address - code.low) : NULL;
        size_t n = f->size < COMPARED ? f->size : COMPARED;
        if (!redirected(f, r))
            continue;
        const Elf64_Phdr *p = cw_elf_segment_at(&e, f->address, f->size);
        state = CW_PATCH_REFUSED;
        if (!p || !(p->p_flags & PF_X))
            refuse(c, f->name, "is not in executable memory");
        else if (i + 1 < c->count && c->functions[i + 1].address != f->address && c->functions[i + 1].address - f->address < f->size)
            refuse(c, f->name, "overlaps the next function");
        else if (!readable)
            refuse(c, f->name, "cannot be read");
        else if (is_thunk_jump(have, c->bias + f->address))
            state = CW_PATCH_OURS;
        else if (memcmp(want, have, n))
            refuse(c, f->name, "is not in memory what it is in the file");
        else if (!is_entry(have))
            refuse(c, f->name, "does not begin as a function does");
        else
            state = CW_PATCH_NONE, jumps++;
    }
    cw_elf_close(&e);
    free(code.have);
    free(code.want);
    if (state == CW_PATCH_NONE && !jumps) {
        refuse(c, "libcudart.so", "has none of its functions");
        state = CW_PATCH_REFUSED;
    }
    return state;
}

/* ---- the jumps ---- */

/* Memory within a jump's reach of [low, high): below first, because what is above a program is its heap. */
static uint8_t *
map_near(uintptr_t low, uintptr_t high, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = low & ~(page - 1), end = (high + page - 1) & ~(page - 1);
    for (unsigned direction = 0; direction < 2; direction++) {
        uintptr_t step = 1 << 16;
        for (uintptr_t away = direction ? step * 256 : 0; away < REACH; away += step, step = away < (64u << 20) ? 1u << 16 : 1u << 20) {
            if (!direction && begin < size + away + (1u << 16))
                break;
            uintptr_t want = direction ? end + away : begin - size - away;
            if (direction ? want + size - low > REACH : high - want > REACH)
                break;
            void *p = mmap((void *)want, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (p == (void *)want)
                return p;
            if (p != MAP_FAILED)            /* a kernel before 4.17 takes the address as a wish */
                munmap(p, size);
        }
    }
    return NULL;
}

static void
put_relative(uint8_t *at, const void *to)
{
    int32_t r = (int32_t)((const uint8_t *)to - (at + 4));
    memcpy(at, &r, sizeof r);
}

static void
write_thunk(uint8_t *t, struct thunk_data *d)
{
    static const uint8_t code[THUNK] = { 0xff, 0x25, 0, 0, 0, 0, 0x4c, 0x8d, 0x1d, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc };
    memcpy(t, code, THUNK);
    memcpy(t + MAGIC_AT, magic, sizeof magic);
    put_relative(t + 2, &d->target);
    put_relative(t + 9, d);
    put_relative(t + 15, &d->resolve);
    atomic_store(&d->target, t + 6);
}

/* The thread sanitizer cannot write down who wrote to a program's code. */
__attribute__((no_sanitize("thread"))) static void
write_word(uint8_t *entry, uint64_t word)
{
    if ((uintptr_t)entry % 8 == 0)          /* in one store: another thread may be about to run it */
        __atomic_store_n((uint64_t *)(void *)entry, word, __ATOMIC_SEQ_CST);
    else
        memcpy(entry, &word, JUMP);
}

/* words: what is there, and what is written. */
static void
write_jump(uint8_t *entry, const uint8_t *thunk, uint64_t words[2])
{
    uint8_t jump[8];
    memcpy(words, entry, sizeof words[0]);
    memcpy(jump, entry, sizeof jump);
    jump[0] = 0xe9;
    int32_t r = (int32_t)(thunk - (entry + JUMP));
    memcpy(jump + 1, &r, sizeof r);
    memcpy(words + 1, jump, sizeof words[1]);
    write_word(entry, words[1]);
}

bool
cw_patch_lift(const struct cw_copy *c, const struct cw_copy_function *f, bool lift)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = c->bias + f->address, first = at & ~(page - 1), last = (at + 8 + page - 1) & ~(page - 1);
    const uint64_t *words = c->patch ? c->patch->words[f - c->functions] : NULL;
    if (!words || words[0] == words[1] || mprotect((void *)first, last - first, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    write_word((uint8_t *)at, words[lift ? 0 : 1]);
    return !mprotect((void *)first, last - first, PROT_READ | PROT_EXEC);
}

cw_result
cw_patch_apply(struct cw_copy *c, struct cw_runtime *r)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = UINTPTR_MAX, high = 0;
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        if (redirected(&c->functions[i], r)) {
            uintptr_t at = c->bias + c->functions[i].address;
            low = at < low ? at : low;
            high = at + 8 > high ? at + 8 : high;
            n++;
        }
    size_t code = (n * THUNK + page - 1) & ~(page - 1), size = code + n * sizeof(struct thunk_data);
    struct cw_patch *patch = calloc(1, sizeof *patch);
    if (!patch || !(patch->words = calloc(c->count, sizeof *patch->words))) {
        free(patch);
        return CW_ERR_NOMEM;
    }
    patch->size = (size + page - 1) & ~(page - 1);
    patch->memory = map_near(low, high, patch->size);
    if (!patch->memory) {
        refuse(c, "memory for jumps", "cannot be had near it");
        free(patch->words);
        free(patch);
        return CW_ERR_UNSUPPORTED;
    }
    struct thunk_data *data = (struct thunk_data *)(void *)(patch->memory + code);
    uint8_t *thunk = patch->memory;
    for (size_t i = 0; i < c->count; i++)
        if (redirected(&c->functions[i], r)) {
            *data = (struct thunk_data){ .resolve = (void *)(uintptr_t)cw_redirect_resolve, .name = c->functions[i].name, .runtime = r };
            write_thunk(thunk, data++);
            thunk += THUNK;
        }
    uintptr_t first = low & ~(page - 1), last = (high + page - 1) & ~(page - 1);
    /* Executable all the time: other threads may be there. */
    if (mprotect(patch->memory, code, PROT_READ | PROT_EXEC) || mprotect((void *)first, last - first, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        refuse(c, "its code", "cannot be made writable");
        munmap(patch->memory, patch->size);
        free(patch->words);
        free(patch);
        return CW_ERR_UNSUPPORTED;
    }
    thunk = patch->memory;
    for (size_t i = 0; i < c->count; i++)
        if (redirected(&c->functions[i], r)) {
            write_jump((uint8_t *)(c->bias + c->functions[i].address), thunk, patch->words[i]);
            thunk += THUNK;
        }
    if (mprotect((void *)first, last - first, PROT_READ | PROT_EXEC))
        cw_warn("%s: its code stays writable: %s", c->shown, strerror(errno));
    patch->first = low - c->bias;
    c->patch = patch;
    cw_info("%s: the CUDA Runtime %u inside is redirected to ours: %zu of its %zu functions, by %s", c->shown, c->major, n, c->count,
            cw_copy_source_text(c->source));
    if (cw_log_enabled(CW_LOG_DEBUG))
        for (size_t i = 0; i < c->count; i++)
            cw_debug("%s: %s %s", c->shown, c->functions[i].name, redirected(&c->functions[i], r) ? "is redirected" : "stays");
    return CW_OK;
}

bool
cw_patch_in_place(const struct cw_copy *c)
{
    uint8_t entry[JUMP];
    uintptr_t at = c->bias + c->patch->first;
    return cw_memory_read(at, entry, sizeof entry) && is_thunk_jump(entry, at);
}

void
cw_patch_forget(struct cw_copy *c)
{
    if (c->patch) {
        munmap(c->patch->memory, c->patch->size);
        free(c->patch->words);
    }
    free(c->patch);
    c->patch = NULL;
}
