/* SPDX-License-Identifier: Apache-2.0
 * See va.h. Blocks in use are a tree by address; a block's pages are accessible while a block lies on them. Blocks of 1 MiB and
 * more start and end on pages of their own and are followed by an inaccessible page, so that running past one is a fault. */
#define _GNU_SOURCE
#include "impl/va.h"
#include "impl/base/fault.h"
#include "impl/base/file.h"
#include "impl/base/log.h"
#include "impl/base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#ifndef CW_VA_MANY                      /* tests/host/va_test.c */
#define CW_VA_MANY 8192
#endif
#define PAGE 4096ull
#define LARGE (1ull << 20)

struct block {
    struct cw_tree_node node;   /* first; its key is the address */
    uint64_t size;              /* includes the guard page of a large block */
    uint64_t gap, largest_gap;  /* bytes that first_fit may give before this block, and the most of those below it in the tree */
};

struct cw_va_phys {
    int fd;
    bool own;                   /* a file for it alone, from its beginning; else a part of `physical` */
    uint64_t offset;
    size_t size;
    struct cw_fd_file file;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t base, region_size;      /* set once under lock */
static uint64_t window_size;            /* of cw_va_window_open, while window_users > 0 */
static unsigned window_users;

/* ---- a region that another process shares (cw_va_share_all) ------------------------------------------------------------- */

static int share_fd = -1;               /* lock: the file that others can map, as large as the region */
static struct cw_fd_file share_file;    /* lock: of share_fd */
static bool all_shared;                 /* lock: it is the whole region */
static cw_va_changed_fn *changed;       /* with all_shared */

/* Lock held. False with errno. */
static bool
make_share(const char *name)
{
    return share_fd >= 0 || ((share_fd = cw_memory_file(name, region_size)) >= 0 && cw_fd_file(share_fd, &share_file));
}

/* Lock held. The program may have closed it. */
static bool
share_is_open(void)
{
    return share_fd >= 0 && cw_fd_is(share_fd, &share_file);
}

/* Lock held. */
static bool
tell(uint64_t from, uint64_t to, int prot, enum cw_va_memory memory)
{
    return !changed || from >= to || changed(&(struct cw_va_pages){ .address = from, .size = to - from, .prot = prot, .memory = memory, .fd = -1 });
}

static uint64_t
round_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) & ~(align - 1);
}

static bool
region_init(void)
{
    if (base)
        return true;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const char *preloaded = secure_getenv("LD_PRELOAD");
    const uint64_t most = preloaded && strstr(preloaded, "/vgpreload_") ? 1ull << 34 : CW_VA_SIZE;     /* Valgrind has a record of each 64 KiB */
    for (uint64_t size = most; size >= (1ull << 28); size >>= 2) {         /* less where the process's address space is limited */
        void *p = mmap((void *)(uintptr_t)CW_VA_BASE, size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
        if (!p) {               /* the thread sanitizer's answer for addresses that it refuses */
            p = MAP_FAILED;
            errno = EEXIST;
        }
        if (p == MAP_FAILED && errno != ENOMEM)         /* taken; without memory, less may be had there */
            p = mmap(NULL, size, PROT_NONE, flags, -1, 0);
        if (p == MAP_FAILED)
            continue;
        if ((uintptr_t)p != CW_VA_BASE)
            cw_info("the device address region is at %p, not at its fixed place; recorded addresses cannot be reproduced", p);
        /* Modules with 32-bit addresses want a multiple of 4 GiB; not at its fixed place, a small region has none. */
        base = round_up((uintptr_t)p, size > 1ull << 33 ? 1ull << 32 : CW_VA_GRANULE);
        region_size = size - (base - (uintptr_t)p);
        return true;
    }
    cw_error("cannot reserve the device address region: %s", strerror(errno));
    return false;
}

/* ---- runs of pages: sorted, apart from each other ------------------------------------------------------------------------ */

struct run {
    uint64_t address, size;
};

struct runs {
    struct run *at;
    size_t n, capacity;
};

/* Index of the first run that ends behind a. */
static size_t
runs_at(const struct runs *r, uint64_t a)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->at[mid].address + r->at[mid].size <= a)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Room for n runs. */
static bool
runs_reserve(struct runs *r, size_t n)
{
    size_t capacity = r->capacity ? r->capacity : 16;
    while (capacity < n)
        capacity *= 2;
    struct run *b = capacity == r->capacity ? r->at : realloc(r->at, capacity * sizeof *b);
    if (!b)
        return false;
    r->at = b;
    r->capacity = capacity;
    return true;
}

static bool
runs_insert(struct runs *r, size_t at, uint64_t from, uint64_t to)
{
    if (!runs_reserve(r, r->n + 1))
        return false;
    memmove(r->at + at + 1, r->at + at, (r->n - at) * sizeof *r->at);
    r->at[at] = (struct run){ from, to - from };
    r->n++;
    return true;
}

static void
runs_remove(struct runs *r, size_t at)
{
    memmove(r->at + at, r->at + at + 1, (r->n - at - 1) * sizeof *r->at);
    r->n--;
}

/* Without memory for a run more, some of what remains is forgotten. */
static void
runs_cut(struct runs *r, uint64_t from, uint64_t to)
{
    for (size_t i = runs_at(r, from); i < r->n && r->at[i].address < to;) {
        uint64_t a = r->at[i].address, b = a + r->at[i].size;
        runs_remove(r, i);
        if (a < from && runs_insert(r, i, a, from))
            i++;
        if (to < b && runs_insert(r, i, to, b))
            i++;
    }
}

static void
runs_add(struct runs *r, uint64_t from, uint64_t to)
{
    size_t i = runs_at(r, from ? from - 1 : 0);         /* also one that ends here */
    while (i < r->n && r->at[i].address <= to) {
        uint64_t a = r->at[i].address, b = a + r->at[i].size;
        from = a < from ? a : from;
        to = b > to ? b : to;
        runs_remove(r, i);
    }
    (void)runs_insert(r, i, from, to);
}

/* Accessible pages. A process has 65,530 mappings (vm.max_map_count), of which each run takes two, and needs its own: where there are CW_VA_MANY runs,
 * what is freed inside of one loses its contents and stays accessible, and a large block goes without the page between it and the one before. Memory may
 * have been short when this was noted: it counts mappings, and decides nothing else. */
static struct runs opened;

static bool
are_many(void)
{
    return opened.n >= CW_VA_MANY;
}

static bool
is_open(uint64_t page)
{
    const size_t i = runs_at(&opened, page);
    return i < opened.n && opened.at[i].address <= page;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

static void
note_largest_gap(struct cw_tree_node *n)
{
    struct block *b = (struct block *)(void *)n;
    b->largest_gap = b->gap;
    for (int i = 0; i < 2; i++) {
        const struct block *below = (const struct block *)(const void *)(i ? n->left : n->right);
        if (below && below->largest_gap > b->largest_gap)
            b->largest_gap = below->largest_gap;
    }
}

static struct cw_tree blocks = { .refresh = note_largest_gap };      /* lock */

/* The block with the greatest address up to a, and with the least beyond it; NULL: there is none. */
static struct block *
block_up_to(uint64_t a)
{
    return (struct block *)(void *)cw_tree_up_to(&blocks, a);
}

static struct block *
block_beyond(uint64_t a)
{
    return (struct block *)(void *)cw_tree_beyond(&blocks, a);
}

/* The block at a, or NULL. */
static struct block *
block_at(uint64_t a)
{
    struct block *b = block_up_to(a);
    return b && b->node.key == a ? b : NULL;
}

static uint64_t
end_of(const struct block *b)
{
    return b->node.key + b->size;
}

/* Where first_fit may begin behind b; NULL: behind none. */
static uint64_t
free_behind(const struct block *b)
{
    const uint64_t low = base + CW_VA_LOW;
    return b && end_of(b) > low ? end_of(b) : low;
}

/* b, which may be NULL, or the block before it has changed. */
static void
measure_gap(struct block *b)
{
    if (!b)
        return;
    const uint64_t from = free_behind(b->node.key ? block_up_to(b->node.key - 1) : NULL);
    b->gap = b->node.key > from ? b->node.key - from : 0;
    cw_tree_refresh(&blocks, &b->node);
}

static bool
insert(uint64_t address, uint64_t size)
{
    struct block *b = calloc(1, sizeof *b);
    if (!b)
        return false;
    b->node.key = address;
    b->size = size;
    cw_tree_insert(&blocks, &b->node);
    measure_gap(b);
    measure_gap(block_beyond(address));
    return true;
}

/* Bytes of the region that may be allocated. Lock held. */
static uint64_t
limit(void)
{
    return window_users ? window_size : region_size;
}

/* Lock held. */
static cwb_result
no_room(uint64_t size)
{
    if (window_users)
        cw_error("no room for %llu bytes in the %llu MiB of device memory that a loaded module with 32-bit addresses can name",
                 (unsigned long long)size, (unsigned long long)(window_size >> 20));
    return CWB_NOMEM;
}

/* The lowest place for size bytes before one of the blocks from b on down the tree; 0: none. */
static uint64_t
fit(const struct block *b, uint64_t size, uint64_t align)
{
    if (!b || b->largest_gap < size)
        return 0;
    uint64_t a = fit((const struct block *)(const void *)b->node.left, size, align);
    if (a)
        return a;
    a = round_up(b->node.key - b->gap, align);
    if (b->gap >= size && a <= b->node.key && b->node.key - a >= size)
        return a;
    return fit((const struct block *)(const void *)b->node.right, size, align);
}

/* Find room for size bytes; align > 0. Lock held. Returns 0 when there is none. */
static uint64_t
first_fit(uint64_t size, uint64_t align)
{
    uint64_t a = fit((const struct block *)(const void *)blocks.root, size, align);
    if (a)
        return a;
    const uint64_t from = free_behind(block_up_to(UINT64_MAX)), end = base + limit();
    a = round_up(from, align);
    return a >= from && a <= end && end - a >= size ? a : 0;
}

/* ---- pages that other processes can map: a sparse file as large as the region ------------------------------------------ */

static struct runs shared;

/* Pages that move into the file are read-only meanwhile. Other blocks lie on them too, and a kernel or a copy may write there; the program's own accesses,
 * whose thread may block signals, are to blocks with pages of their own. The writer faults, waits in the handler until `moves` is even, and writes then. A thread whose fault is handled after the move cannot tell it
 * from a real one, so inside all that ever moved each thread may repeat an access once after each move. */
static _Atomic uint64_t moves;          /* odd: under way */
static _Atomic uint64_t moved_from = UINT64_MAX, moved_to;
/* The value of `moves` at which the thread last repeated an access. initial-exec: a handler must not allocate. */
static _Thread_local uint64_t tried __attribute__((tls_model("initial-exec")));

static bool
moved_meanwhile(uintptr_t address)
{
    if (address < atomic_load(&moved_from) || address >= atomic_load(&moved_to))
        return false;
    uint64_t n;
    while ((n = atomic_load(&moves)) & 1)
        sched_yield();
    if (tried == n)
        return false;
    tried = n;
    return true;
}

/* Pages that are not the file's yet. Lock held. */
static bool
share_run(uint64_t from, uint64_t to)
{
    cw_faults_again(moved_meanwhile);
    cw_faults_claim();
    if (from < atomic_load(&moved_from))
        atomic_store(&moved_from, from);
    if (to > atomic_load(&moved_to))
        atomic_store(&moved_to, to);
    atomic_fetch_add(&moves, 1);
    const size_t at = runs_at(&shared, from);
    const bool recorded = runs_insert(&shared, at, from, to);
    bool ok = recorded && !mprotect((void *)(uintptr_t)from, to - from, PROT_READ);
    ok = ok && cw_write_all_at(share_fd, (const void *)(uintptr_t)from, to - from, from - base);     /* the protection orders this read and the writes */
    /* By number: to the thread sanitizer, mmap writes. The next write waits for it, by its fault. */
    ok = ok && syscall(SYS_mmap, from, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, share_fd, (off_t)(from - base)) != -1;
    if (recorded && !ok) {
        if (mprotect((void *)(uintptr_t)from, to - from, PROT_READ | PROT_WRITE))
            cw_error("device memory cannot be made writable again: %s", strerror(errno));
        runs_remove(&shared, at);
    }
    atomic_fetch_add(&moves, 1);
    return ok;
}

/* False: none of it was. */
static bool
shared_drop(uint64_t from, uint64_t to)
{
    const size_t first = runs_at(&shared, from);
    if (first == shared.n || shared.at[first].address >= to)
        return false;
    for (size_t i = first; i < shared.n && shared.at[i].address < to && share_is_open(); i++) {
        uint64_t a = shared.at[i].address, b = a + shared.at[i].size;
        uint64_t lo = a > from ? a : from, hi = b < to ? b : to;
        (void)fallocate(share_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(lo - base), (off_t)(hi - lo));
    }
    runs_cut(&shared, from, to);
    return true;
}

cwb_result
cw_va_share(uint64_t address, size_t size, int *fd, uint64_t *offset)
{
    cwb_result r = CWB_OK;
    uint64_t from = address & ~(PAGE - 1), to = round_up(address + size, PAGE);
    pthread_mutex_lock(&lock);
    const struct block *b = block_up_to(address);
    if (!b || size > b->size || address - b->node.key > b->size - size)
        r = CWB_INVALID;                /* another thread has freed it */
    if (r == CWB_OK && !(make_share("cudaway-shared") && share_is_open()))
        r = CWB_NOMEM;
    for (uint64_t a = from; r == CWB_OK && !all_shared && a < to;) {
        size_t i = runs_at(&shared, a);
        uint64_t next = i < shared.n ? shared.at[i].address : to;
        if (next > a && !share_run(a, next < to ? next : to))
            r = CWB_NOMEM;
        i = runs_at(&shared, a);
        a = i < shared.n ? shared.at[i].address + shared.at[i].size : to;
    }
    *fd = share_fd;
    *offset = address - base;
    pthread_mutex_unlock(&lock);
    return r;
}

/* The pages lose their contents, and are inaccessible if `close` is set. */
static bool
empty_pages(uint64_t from, uint64_t to, bool close)
{
    if (from >= to)
        return true;
    bool ok = true;
    if (all_shared) {
        if (close)
            (void)tell(from, to, PROT_NONE, CW_VA_OF_REGION);
        if (!share_is_open())
            return false;
        (void)fallocate(share_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(from - base), (off_t)(to - from));
        if (close)
            ok = mmap((void *)(uintptr_t)from, to - from, PROT_NONE, MAP_SHARED | MAP_FIXED, share_fd, (off_t)(from - base)) != MAP_FAILED;
    } else if (shared_drop(from, to) || close) {
        ok = mmap((void *)(uintptr_t)from, to - from, close ? PROT_NONE : PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
    } else {
        ok = !madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED);       /* which splits no mapping */
    }
    if (ok && close)
        runs_cut(&opened, from, to);
    return ok;
}

static bool
close_pages(uint64_t from, uint64_t to)
{
    return empty_pages(from, to, true);
}

/* Of what is not used any more. */
static bool
drop_pages(uint64_t from, uint64_t to)
{
    const size_t i = runs_at(&opened, from);
    const bool inside = i < opened.n && opened.at[i].address < from && opened.at[i].address + opened.at[i].size > to;
    return empty_pages(from, to, !(inside && are_many()));
}

cwb_result
cw_va_share_all(cw_va_changed_fn *fn, int *fd, uint64_t *at, uint64_t *size)
{
    cwb_result r = CWB_NOMEM;
    pthread_mutex_lock(&lock);
    if (all_shared) {
        r = CWB_OK;
    } else if (blocks.root) {
        cw_error("device memory cannot be shared with another process: some of it is in use already");
    } else if (region_init()) {
        /* It may be there, of an attempt before this that could not map it. */
        if (make_share("cudaway-device") && mmap((void *)(uintptr_t)base, region_size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, share_fd, 0) != MAP_FAILED)
            r = CWB_OK;
        else
            cw_error("device memory cannot be shared with another process: %s", strerror(errno));
        all_shared = r == CWB_OK;
    }
    if (r == CWB_OK) {
        changed = fn;
        *fd = share_fd;
        *at = base;
        *size = region_size;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

static cwb_result
remove_block(uint64_t address)
{
    struct block *b = block_at(address);
    if (!b)
        return CWB_INVALID;
    cw_tree_remove(&blocks, &b->node);
    const struct block *before = block_up_to(address);
    struct block *behind = block_beyond(address);
    measure_gap(behind);
    /* Pages that no neighbour uses, and those beside them that stayed accessible when what was there was freed. */
    const uint64_t low = before ? round_up(end_of(before), PAGE) : base;
    const uint64_t high = behind ? behind->node.key & ~(PAGE - 1) : base + region_size;
    uint64_t from = address & ~(PAGE - 1), to = round_up(end_of(b), PAGE);
    for (size_t i = runs_at(&opened, from); i < opened.n && opened.at[i].address < to; i++) {
        const uint64_t end = opened.at[i].address + opened.at[i].size;
        from = opened.at[i].address < from ? opened.at[i].address : from;
        to = end > to ? end : to;
    }
    from = from < low ? low : from;
    to = to > high ? high : to;
    if (!drop_pages(from, to))
        cw_warn("cannot give device memory back to the system: %s", strerror(errno));
    free(b);
    return CWB_OK;
}

cwb_result
cw_va_reserve(size_t size, size_t align, uint64_t hint, uint64_t *address)
{
    if (!size || size > CW_VA_SIZE || align & (align - 1))
        return CWB_INVALID;
    uint64_t sz = round_up(size, PAGE);
    if (align < PAGE)
        align = PAGE;
    cwb_result r = CWB_OK;
    pthread_mutex_lock(&lock);
    uint64_t a = 0;
    if (!region_init()) {
        r = CWB_NOMEM;
    } else if (hint) {
        a = hint;
        if (a & (align - 1) || a < base || sz > limit() || a - base > limit() - sz) {
            r = CWB_ADDRESS_IN_USE;
        } else {
            const struct block *before = block_up_to(a), *behind = block_beyond(a);
            if ((before && end_of(before) > a) || (behind && behind->node.key - a < sz))
                r = CWB_ADDRESS_IN_USE;
        }
    } else if (!(a = first_fit(sz, align))) {
        r = no_room(sz);
    }
    if (r == CWB_OK && !insert(a, sz))
        r = CWB_NOMEM;
    const size_t open = runs_at(&opened, a);            /* what was freed there stayed accessible */
    if (r == CWB_OK && open < opened.n && opened.at[open].address < a + sz && !close_pages(a, a + sz)) {
        remove_block(a);
        r = CWB_NOMEM;
    }
    pthread_mutex_unlock(&lock);
    if (r == CWB_OK)
        *address = a;
    return r;
}

cwb_result
cw_va_release(uint64_t address, size_t size __attribute__((unused)))
{
    pthread_mutex_lock(&lock);
    cwb_result r = remove_block(address);
    pthread_mutex_unlock(&lock);
    return r;
}

/* The page from which a block, or a part of one, becomes accessible: where runs are many, the end of what the block before it uses. Lock held. */
static uint64_t
open_from(uint64_t address)
{
    const uint64_t page = address & ~(PAGE - 1);
    const size_t run = runs_at(&opened, page);
    const struct block *b = block_up_to(address);
    if (!are_many() || !run || !b)
        return page;
    const struct block *before = b->node.key == address ? block_up_to(address - 1) : NULL;
    const uint64_t end = opened.at[run - 1].address + opened.at[run - 1].size;
    const uint64_t used_to = before ? end_of(before) : page;
    return end + PAGE >= used_to ? end : page;
}

/* Lock held. */
static cwb_result
open_pages(uint64_t address, uint64_t size)
{
    const uint64_t from = open_from(address), to = round_up(address + size, PAGE);
    if (mprotect((void *)(uintptr_t)from, to - from, PROT_READ | PROT_WRITE))
        return CWB_NOMEM;
    runs_add(&opened, from, to);
    if (size >= CW_VA_GRANULE && !are_many())           /* a mapping of its own */
        madvise((void *)(uintptr_t)from, to - from, MADV_HUGEPAGE);
    return tell(from, to, PROT_READ | PROT_WRITE, CW_VA_OF_REGION) ? CWB_OK : CWB_NOMEM;
}

cwb_result
cw_va_use(uint64_t address, size_t size, bool used)
{
    pthread_mutex_lock(&lock);
    cwb_result r = used ? open_pages(address, size) : drop_pages(round_up(address, PAGE), (address + size) & ~(PAGE - 1)) ? CWB_OK : CWB_NOMEM;
    pthread_mutex_unlock(&lock);
    return r;
}

cwb_result
cw_va_alloc(size_t size, size_t align, uint64_t *address)
{
    if (!size || size > CW_VA_SIZE || align & (align - 1))
        return CWB_INVALID;
    if (align < 256)
        align = 256;
    uint64_t need = size;
    if (size >= LARGE) {
        need = round_up(size, PAGE) + PAGE;
        uint64_t a = size >= CW_VA_GRANULE ? CW_VA_GRANULE : PAGE;
        if (align < a)
            align = a;
    }
    cwb_result r = CWB_OK;
    pthread_mutex_lock(&lock);
    uint64_t a = 0;
    if (!region_init()) {
        r = CWB_NOMEM;
    } else if (!(a = first_fit(need, align))) {
        r = no_room(size);
    } else if (!insert(a, need)) {
        r = CWB_NOMEM;
    } else {
        const uint64_t behind = round_up(a + size, PAGE);
        r = open_pages(a, size);
        if (r != CWB_OK)
            remove_block(a);
        else if (need > size && is_open(behind))        /* what was freed there stayed accessible */
            (void)drop_pages(behind, behind + PAGE);
    }
    pthread_mutex_unlock(&lock);
    if (r == CWB_OK)
        *address = a;
    return r;
}

cwb_result
cw_va_alloc_pages(size_t size, size_t align, uint64_t *address)
{
    return size > CW_VA_SIZE ? CWB_INVALID : cw_va_alloc(round_up(size, PAGE), align > PAGE ? align : PAGE, address);
}

cwb_result
cw_va_free(uint64_t address, size_t size)
{
    return cw_va_release(address, size);
}

cwb_result
cw_va_extend(uint64_t address, uint64_t more)
{
    cwb_result r = CWB_ADDRESS_IN_USE;
    pthread_mutex_lock(&lock);
    struct block *b = block_at(address);
    if (!b || more % PAGE || end_of(b) % PAGE) {
        r = CWB_INVALID;
    } else {
        struct block *behind = block_beyond(address);
        uint64_t end = end_of(b), next = behind ? behind->node.key & ~(PAGE - 1) : base + limit();
        if (next >= end && next - end >= more) {
            b->size += more;
            measure_gap(behind);
            r = CWB_OK;
        }
    }
    pthread_mutex_unlock(&lock);
    return r;
}

cwb_result
cw_va_cut(uint64_t address, uint64_t from, uint64_t size)
{
    cwb_result r = CWB_INVALID;
    pthread_mutex_lock(&lock);
    struct block *b = block_at(address);
    uint64_t end = b ? end_of(b) : 0, to = from + size;
    if (b && address <= from && to <= end && size < b->size && !(from % PAGE) && !(to % PAGE)) {
        r = CWB_OK;
        if (from == address) {
            b->node.key = to;
            b->size = end - to;
            measure_gap(b);
        } else if (to < end && !insert(to, end - to)) {
            r = CWB_NOMEM;
        } else {
            b->size = from - address;
            measure_gap(block_beyond(address));
        }
        if (r == CWB_OK && !drop_pages(from, to))
            cw_warn("cannot give device memory back to the system: %s", strerror(errno));
    }
    pthread_mutex_unlock(&lock);
    return r;
}

cwb_result
cw_va_window_open(uint64_t size, uint64_t *window)
{
    cwb_result r = CWB_OK;
    pthread_mutex_lock(&lock);
    const struct block *last = block_up_to(UINT64_MAX);
    if (!region_init() || base & 0xffffffffu) {
        r = CWB_NOMEM;
    } else if (last && end_of(last) - base > size) {
        cw_error("a module with 32-bit addresses cannot be loaded: the device memory at 0x%llx lies beyond the %llu MiB that it can name; "
                 "load it earlier, or allocate less", (unsigned long long)last->node.key, (unsigned long long)(size >> 20));
        r = CWB_NOMEM;
    } else {
        window_users++;
        window_size = size;
        *window = base;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

void
cw_va_window_close(void)
{
    pthread_mutex_lock(&lock);
    window_users--;
    pthread_mutex_unlock(&lock);
}

bool
cw_va_window_is_open(void)
{
    pthread_mutex_lock(&lock);
    bool is = window_users > 0;
    pthread_mutex_unlock(&lock);
    return is;
}

void
cw_va_region(uint64_t *address, uint64_t *size)
{
    pthread_mutex_lock(&lock);
    *address = base;
    *size = base ? region_size : 0;
    pthread_mutex_unlock(&lock);
}

bool
cw_va_contains(uint64_t address, size_t size)
{
    pthread_mutex_lock(&lock);
    bool in = base && address >= base && size <= region_size && address - base <= region_size - size;
    pthread_mutex_unlock(&lock);
    return in;
}

bool
cw_va_is_of_program(uint64_t address, size_t size)
{
    unsigned char pages[4096];
    uint64_t region, bytes, end = address + size;
    cw_va_region(&region, &bytes);
    if (address < region + bytes && region < end)
        return false;
    for (uint64_t at = address & ~4095ull, n; at < end; at += n) {
        n = end - at < sizeof pages * 4096 ? end - at : sizeof pages * 4096;
        if (mincore((void *)(uintptr_t)at, n, pages) && errno == ENOMEM)
            return false;
    }
    return true;
}

/* The physical memory that no other process can have: parts of one file, since a program may have more of them than descriptors. */
static struct {
    int fd;
    struct cw_fd_file file;
    struct runs used;           /* with room for `parts`, so that giving one back needs no memory */
    size_t parts;
} physical = { .fd = -1 };      /* lock */

/* False: it gets a file of its own. Lock held. */
static bool
take_part(struct cw_va_phys *p)
{
    if (physical.fd < 0 && ((physical.fd = cw_memory_file("cudaway-physical", CW_VA_SIZE)) < 0 || !cw_fd_file(physical.fd, &physical.file)))
        return false;
    if (!cw_fd_is(physical.fd, &physical.file) || !runs_reserve(&physical.used, physical.parts + 1))
        return false;
    uint64_t at = 0;
    for (size_t i = 0; i < physical.used.n && physical.used.at[i].address - at < p->size; i++)
        at = physical.used.at[i].address + physical.used.at[i].size;
    if (at > CW_VA_SIZE || p->size > CW_VA_SIZE - at)
        return false;
    runs_add(&physical.used, at, at + p->size);
    physical.parts++;
    p->fd = physical.fd;
    p->file = physical.file;
    p->offset = at;
    return true;
}

static void
give_part(const struct cw_va_phys *p)
{
    if (cw_fd_is(p->fd, &p->file))
        (void)fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)p->offset, (off_t)p->size);
    pthread_mutex_lock(&lock);
    runs_cut(&physical.used, p->offset, p->offset + p->size);
    physical.parts--;
    pthread_mutex_unlock(&lock);
}

cwb_result
cw_va_phys_create(size_t size, bool shared_with_others, struct cw_va_phys **out)
{
    struct cw_va_phys *p = calloc(1, sizeof *p);
    if (!p)
        return CWB_NOMEM;
    p->size = size;
    pthread_mutex_lock(&lock);
    p->own = shared_with_others || !take_part(p);
    pthread_mutex_unlock(&lock);
    if (p->own && ((p->fd = cw_memory_file("cudaway", size)) < 0 || !cw_fd_file(p->fd, &p->file))) {
        free(p);
        return CWB_NOMEM;
    }
    *out = p;
    return CWB_OK;
}

cwb_result
cw_va_phys_import(int fd, size_t size, struct cw_va_phys **out)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < size)
        return CWB_INVALID;
    struct cw_va_phys *p = malloc(sizeof *p);
    if (!p)
        return CWB_NOMEM;
    *p = (struct cw_va_phys){ fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), true, 0, size, { st.st_dev, st.st_ino } };
    if (p->fd < 0) {
        free(p);
        return CWB_NOMEM;
    }
    *out = p;
    return CWB_OK;
}

cwb_result
cw_va_phys_export(struct cw_va_phys *p, int *fd)
{
    *fd = p->own && cw_fd_is(p->fd, &p->file) ? fcntl(p->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    return *fd < 0 ? CWB_NOMEM : CWB_OK;
}

void
cw_va_phys_destroy(struct cw_va_phys *p)
{
    if (!p)
        return;
    if (p->own)
        cw_fd_close(p->fd, &p->file);
    else
        give_part(p);
    free(p);
}

static bool
inside(uint64_t address, size_t size)
{
    return size && cw_va_contains(address, size) && !(address % PAGE) && !(size % PAGE);
}

cwb_result
cw_va_map(uint64_t address, size_t size, struct cw_va_phys *p, size_t offset)
{
    if (!inside(address, size) || offset > p->size || size > p->size - offset || offset % PAGE)
        return CWB_INVALID;
    offset += p->offset;
    pthread_mutex_lock(&lock);
    bool ok = cw_fd_is(p->fd, &p->file) &&
              mmap((void *)(uintptr_t)address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, p->fd, (off_t)offset) != MAP_FAILED;
    const struct cw_va_pages now = { address, size, PROT_NONE, CW_VA_OF_FILE, p->fd, !p->own, offset };
    if (ok && changed && !changed(&now)) {
        ok = false;
        (void)close_pages(address, address + size);
    }
    pthread_mutex_unlock(&lock);
    return ok ? CWB_OK : CWB_NOMEM;
}

cwb_result
cw_va_unmap(uint64_t address, size_t size)
{
    if (!inside(address, size))
        return CWB_INVALID;
    pthread_mutex_lock(&lock);
    bool ok = close_pages(address, address + size);
    pthread_mutex_unlock(&lock);
    return ok ? CWB_OK : CWB_NOMEM;
}

cwb_result
cw_va_protect(uint64_t address, size_t size, bool readable, bool writable)
{
    if (!inside(address, size))
        return CWB_INVALID;
    int prot = (readable ? PROT_READ : 0) | (writable ? PROT_READ | PROT_WRITE : 0);
    pthread_mutex_lock(&lock);
    bool ok = !mprotect((void *)(uintptr_t)address, size, prot) && tell(address, address + size, prot, CW_VA_AS_BEFORE);
    pthread_mutex_unlock(&lock);
    return ok ? CWB_OK : CWB_NOMEM;
}

void
cw_give_back(void *address, size_t size)
{
    if (munmap(address, size) && madvise(address, size, MADV_DONTNEED))
        cw_warn("cannot give host memory back to the system: %s", strerror(errno));
}

static uint8_t *
row_of(const struct cwb_side *s, size_t y, size_t z)
{
    return (uint8_t *)(uintptr_t)(s->address + s->x + (s->y + y) * s->pitch + (s->z + z) * s->slice);
}

void
cw_cpu_copy(const struct cwb_copy *c)
{
    /* Rows without gaps on both sides are one block. */
    size_t width = c->width, height = c->height, depth = c->depth;
    bool rows = c->src.pitch == width && c->dst.pitch == width;
    bool slices = rows && c->src.slice == width * height && c->dst.slice == width * height;
    if (height == 1 && depth == 1) {
        rows = slices = true;
    }
    if (slices)
        width *= height * depth, height = depth = 1;
    else if (rows)
        width *= height, height = 1;
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++)
            cw_copy_row(row_of(&c->dst, y, z), row_of(&c->src, y, z), width);
}

void
cw_cpu_fill(const struct cwb_fill *f)
{
    for (size_t z = 0; z < f->depth; z++) {
        for (size_t y = 0; y < f->height; y++) {
            uint8_t *row = row_of(&f->dst, y, z);
            if (f->size == 1) {
                cw_fault_now(row, f->width);
                memset(row, (int)(f->value & 0xff), f->width);
            } else if (f->size == 2) {
                uint16_t v = (uint16_t)f->value;
                for (size_t x = 0; x < f->width; x++)
                    memcpy(row + 2 * x, &v, 2);
            } else {
                for (size_t x = 0; x < f->width; x++)
                    memcpy(row + 4 * x, &f->value, 4);
            }
        }
    }
}
