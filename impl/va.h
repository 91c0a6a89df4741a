/* SPDX-License-Identifier: Apache-2.0
 * The device address region of backends whose device memory is this process's memory (host, null): a reserved range of
 * virtual addresses at the same place in every process, so that a recorded address can be requested again. Blocks are handed
 * out first fit from the bottom, hence the same sequence of requests gives the same addresses. What is freed becomes inaccessible, but for holes beyond
 * some thousands, since each costs the process two of its mappings. If the fixed place is taken
 * (sanitizers) the operating system chooses another and a line at info level says so.
 *
 * Thread: any; one internal lock (a leaf). Also the CPU implementation of rectangular copies and fills. */
#ifndef CW_VA_H
#define CW_VA_H

#include "impl/backend.h"

#ifdef __SANITIZE_THREAD__       /* whose runtime lays out the address space: between its heap and the libraries */
#define CW_VA_BASE 0x7e8000000000ull
#define CW_VA_SIZE (1ull << 38)
#else
#define CW_VA_BASE 0x700000000000ull
#define CW_VA_SIZE (1ull << 40)
#endif
#define CW_VA_GRANULE (2ull << 20)
/* The region's first pages are allocated only on request: 32-bit modules see them at address 0. */
#define CW_VA_LOW (64ull << 10)

/* Reserve address space only (PROT_NONE). align: a power of two. hint as in cwb_backend.va_reserve; size is rounded up to
 * pages. */
cwb_result cw_va_reserve(size_t size, size_t align, uint64_t hint, uint64_t *address);
/* Give a whole reservation back: contents and mapping are dropped. */
cwb_result cw_va_release(uint64_t address, size_t size);
/* Reserve and make readable and writable, zero-filled on first touch. Small blocks (below 1 MiB) share pages. */
cwb_result cw_va_alloc(size_t size, size_t align, uint64_t *address);
/* The same on pages of its own, which cw_va_share moves for no other block: for what the program itself accesses, also by system calls. */
cwb_result cw_va_alloc_pages(size_t size, size_t align, uint64_t *address);
cwb_result cw_va_free(uint64_t address, size_t size);
/* Give a block that cw_va_alloc gave `more` bytes at its end, pages that are not used yet; both sizes are of whole pages. CWB_ADDRESS_IN_USE: something lies there. */
cwb_result cw_va_extend(uint64_t address, uint64_t more);
/* Free [from, from + size) of the block at address, whole pages: what is left are one or two blocks. */
cwb_result cw_va_cut(uint64_t address, uint64_t from, uint64_t size);
/* Parts of a block. Used: the pages under it are readable and writable. Not used: the pages that lie in it as a whole lose their contents, and are not
 * accessible (but for many holes, as above). */
cwb_result cw_va_use(uint64_t address, size_t size, bool used);
/* 32-bit modules (docs/host-engine.md) address the region's first 4 GiB, `size` bytes of which are for memory. From open to the
 * close that belongs to it every block lies in these: open fails with CWB_NOMEM, and a line at error level, where one does not, and so
 * does then what would give others. *window: the address of the region, a multiple of 4 GiB. */
cwb_result cw_va_window_open(uint64_t size, uint64_t *window);
void       cw_va_window_close(void);
bool       cw_va_window_is_open(void);
/* Where the region is; size 0 before the first use. */
void cw_va_region(uint64_t *address, uint64_t *size);
/* Is [address, address + size) inside the region (allocated or not)? For fault messages. */
bool cw_va_contains(uint64_t address, size_t size);
/* Has every page of it something in it that is not device memory? What a program may register. */
bool cw_va_is_of_program(uint64_t address, size_t size);

/* Physical memory for va_map: of a file (cw_memory_file), which is its own where it is for other processes too, and else one for all. It is destroyed when
 * nothing of it is mapped any more. */
struct cw_va_phys;
cwb_result cw_va_phys_create(size_t size, bool shared, struct cw_va_phys **out);
void       cw_va_phys_destroy(struct cw_va_phys *p);
/* A second name for the memory behind fd, which is duplicated; size bytes of it. */
cwb_result cw_va_phys_import(int fd, size_t size, struct cw_va_phys **out);
cwb_result cw_va_phys_export(struct cw_va_phys *p, int *fd);    /* of what is shared; the caller's to close */
/* Make the pages under [address, address + size), which cw_va_alloc gave, those of a file that other processes can map: *fd (this file's, one a
 * process), *offset there. Contents are kept, also what others write meanwhile. Whole pages are shared, with other blocks on
 * them. CWB_INVALID: it lies in no block. */
cwb_result cw_va_share(uint64_t address, size_t size, int *fd, uint64_t *offset);
/* All of the region is one file from the start, so that another process can have the same memory at the same addresses; `changed` hears of every
 * change to what its pages are. Before the region is used; CWB_NOMEM and a line at error level where it cannot be. The file is sealed against a change
 * of its size, and stays this module's. */
enum cw_va_memory { CW_VA_OF_REGION, CW_VA_OF_FILE, CW_VA_AS_BEFORE };     /* the region's file at address - base; another's; what is there */
struct cw_va_pages {
    uint64_t address, size;
    int prot;
    enum cw_va_memory memory;
    int fd;                     /* OF_FILE: whose that stays, */
    bool lasts;                 /* for as long as the process; */
    uint64_t offset;            /* the place in it */
};
typedef bool cw_va_changed_fn(const struct cw_va_pages *p);     /* the internal lock is held; false: no memory, and the change is not to be */
cwb_result cw_va_share_all(cw_va_changed_fn *changed, int *fd, uint64_t *base, uint64_t *size);
cwb_result cw_va_map(uint64_t address, size_t size, struct cw_va_phys *p, size_t offset);
cwb_result cw_va_unmap(uint64_t address, size_t size);
cwb_result cw_va_protect(uint64_t address, size_t size, bool readable, bool writable);

/* Unmap memory of the process that is not used any more. Where the system has no mapping for what is left on both sides, it keeps the addresses alone. */
void cw_give_back(void *address, size_t size);

/* Rectangular copy and fill by the CPU. Array ends must have been rewritten to HOST with address, pitch and slice. */
void cw_cpu_copy(const struct cwb_copy *c);
void cw_cpu_fill(const struct cwb_fill *f);

#endif
