/* SPDX-License-Identifier: Apache-2.0
 * Memory and events between processes of one user on one machine ("cuIpc..." of the driver API; pools' pointers too).
 * A handle's 64 bytes name a file descriptor of the process that exported it, which is opened through /proc: that the kernel allows to
 * processes of the same user, and it needs no server and leaves nothing behind when a process dies. An event is some pages of such a file. */
#define _GNU_SOURCE
#include "impl/driver/driver.h"

#include "impl/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ull
#define GRANULE (2ull << 20)

enum { MAGIC_MEMORY = 0x4d495743, MAGIC_EVENT = 0x32495743 };      /* the event's changes with its layout: versions do not mix */

struct handle {
    uint32_t magic, pid;
    int32_t  fd;
    uint32_t zero;
    uint64_t inode;                     /* a descriptor that was closed and used again is recognised */
    uint64_t offset, size;              /* in the file */
    uint64_t address, rest[2];          /* in the process that exported it */
};
_Static_assert(sizeof(struct handle) == CU_IPC_HANDLE_SIZE, "a handle has 64 bytes");

static bool
inode_of(int fd, uint64_t *inode)
{
    struct stat st;
    if (fstat(fd, &st))
        return false;
    *inode = st.st_ino;
    return true;
}

static int
open_at(int process, const char *path)
{
    return cw_fd_keep(openat(process, path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
}

/* Where the first thread of the process has ended, its other threads have the descriptors. */
static int
open_of_thread(int process, int fd)
{
    int tasks = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -1;
    DIR *d = tasks >= 0 ? fdopendir(tasks) : NULL;
    char path[64];
    if (tasks >= 0 && !d)
        close(tasks);
    for (struct dirent *e; found < 0 && d && (e = readdir(d));)
        if (*e->d_name != '.' && snprintf(path, sizeof path, "task/%.20s/fd/%d", e->d_name, fd) > 0)
            found = open_at(process, path);
    if (d)
        closedir(d);
    return found;
}

int
ipc_open_fd(uint32_t pid, int fd, uint64_t inode)
{
    char path[64];
    uint64_t got;
    (void)snprintf(path, sizeof path, "/proc/%u", pid);
    int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process < 0)
        return -1;
    (void)snprintf(path, sizeof path, "fd/%d", fd);
    int mine = open_at(process, path);
    if (mine < 0)
        mine = open_of_thread(process, fd);
    close(process);
    if (mine >= 0 && inode_of(mine, &got) && got == inode)
        return mine;
    if (mine >= 0)
        close(mine);
    return -1;
}

/* ---- memory --------------------------------------------------------------------------------------------------------------------- */

/* Memory of another process that is mapped here. */
struct import {
    struct import *next;
    struct handle from;
    uint64_t address;                   /* of the allocation */
    uint64_t base, size;                /* of the mapping: pages */
    uint32_t refs;                      /* 0: being unmapped, found by nobody */
    uint64_t pool;                      /* handle of the pool that it was imported by; 0: none */
    const struct cwb_backend *b;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   /* before ctx.lock: held while an import is made */
static struct import *imports;          /* lock */

CUresult
ipc_memory_export(CUdeviceptr address, enum range_kind kind, void *out)
{
    struct range r;
    struct handle h = { .magic = MAGIC_MEMORY, .pid = (uint32_t)getpid() };
    if (!g.backend->mem_share)
        return unsupported("cuIpcGetMemHandle", "memory between processes on this device");
    if (!range_find(address, &r) || r.kind != kind)
        return CUDA_ERROR_INVALID_VALUE;
    struct ctx *c;
    CUresult e = ctx_from_handle(r.handle, &c);
    if (e != CUDA_SUCCESS)
        return e;
    int fd = -1;
    e = result_of(c->b->mem_share(r.base, r.size, &fd, &h.offset));
    ctx_unref(c);
    if (e != CUDA_SUCCESS)
        return e;
    h.fd = fd;
    h.size = r.size;
    h.address = r.base;
    if (!inode_of(fd, &h.inode))
        return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(out, &h, sizeof h);
    return CUDA_SUCCESS;
}

/* Lock held. */
static CUresult
import_make(struct ctx *c, const struct handle *h, struct import **out)
{
    int fd = ipc_open_fd(h->pid, h->fd, h->inode);
    if (fd < 0)
        return CUDA_ERROR_MAP_FAILED;   /* the process is gone, or another user's */
    struct import *i = calloc(1, sizeof *i);
    struct cwb_phys *p = NULL;
    uint64_t within = h->offset & (PAGE - 1);
    CUresult e = i ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS) {
        *i = (struct import){ .from = *h, .size = (within + h->size + PAGE - 1) & ~(PAGE - 1), .refs = 1, .b = c->b };
        e = result_of(c->b->phys_import(c->dev->index, fd, h->offset - within + i->size, &p));
    }
    close(fd);
    if (e == CUDA_SUCCESS)
        e = result_of(c->b->va_reserve((i->size + GRANULE - 1) & ~(GRANULE - 1), GRANULE, 0, &i->base));
    if (e == CUDA_SUCCESS) {
        e = result_of(c->b->va_map(i->base, i->size, p, h->offset - within));
        if (e == CUDA_SUCCESS)
            e = result_of(c->b->va_protect(i->base, i->size, true, true));
        if (e != CUDA_SUCCESS)
            (void)c->b->va_release(i->base, i->size);
    }
    if (p)
        c->b->phys_destroy(p);          /* the mapping keeps the memory */
    if (e != CUDA_SUCCESS) {
        free(i);
        return e;
    }
    i->address = i->base + within;
    *out = i;
    return CUDA_SUCCESS;
}

static void
import_free(struct import *i)
{
    (void)i->b->va_unmap(i->base, i->size);
    (void)i->b->va_release(i->base, (i->size + GRANULE - 1) & ~(GRANULE - 1));
    free(i);
}

CUresult
ipc_memory_open(struct ctx *c, const void *handle, uint64_t pool, uint32_t pid, CUdeviceptr *address)
{
    struct handle h;
    memcpy(&h, handle, sizeof h);
    if (!c->b->phys_import)
        return unsupported("cuIpcOpenMemHandle", "memory between processes on this device");
    if (h.magic != MAGIC_MEMORY || h.zero || (pid && pid != h.pid) || !h.size || h.offset + h.size < h.size)
        return CUDA_ERROR_INVALID_VALUE;
    if (h.pid == (uint32_t)getpid())
        return CUDA_ERROR_INVALID_CONTEXT;      /* a process does not open its own handles */
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    struct import *i = imports;
    while (i && (!i->refs || memcmp(&i->from, &h, sizeof h) || i->pool != pool))
        i = i->next;
    if (i) {
        i->refs++;
    } else {
        e = import_make(c, &h, &i);
        if (e == CUDA_SUCCESS) {
            struct range r = { .base = i->address, .size = h.size, .kind = RANGE_IPC, .ctx = c, .device = c->device,
                               .device_address = i->address, .pool = pool, .preferred = CU_DEVICE_INVALID, .prefetched = CU_DEVICE_INVALID };
            i->pool = pool;
            i->next = imports;
            imports = i;
            e = range_add(&r);
            if (e != CUDA_SUCCESS) {
                imports = i->next;
                import_free(i);
            }
        }
    }
    const uint64_t at = e == CUDA_SUCCESS ? i->address : 0;
    pthread_mutex_unlock(&lock);
    if (e == CUDA_SUCCESS)
        *address = at;
    return e;
}

void
ipc_memory_unmap(uint64_t address)
{
    struct import *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct import **l = &imports; *l; l = &(*l)->next) {
        if ((*l)->address == address) {
            found = *l;
            *l = found->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (found)
        import_free(found);
}

CUresult
ipc_memory_close(CUdeviceptr address)
{
    struct range r;
    bool last = false, known = false;
    pthread_mutex_lock(&lock);
    for (struct import *i = imports; i && !known; i = i->next) {
        known = i->address == address && i->refs;
        last = known && --i->refs == 0;
    }
    pthread_mutex_unlock(&lock);
    if (!known)
        return CUDA_ERROR_INVALID_VALUE;
    if (!last || !range_remove(address, 1u << RANGE_IPC, &r))
        return CUDA_SUCCESS;
    CUresult e = memory_settle(r.ctx), f = memory_release(&r);
    return e == CUDA_SUCCESS ? f : e;
}

CUresult
drv_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    USABLE(c);
    (void)c;
    CAPTURE_SAFE();
    return pHandle ? ipc_memory_export(dptr, RANGE_DEVICE, pHandle) : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    USABLE(c);
    CAPTURE_SAFE();
    if (!pdptr || !(Flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))        /* other bits have no meaning */
        return CUDA_ERROR_INVALID_VALUE;
    return ipc_memory_open(c, &handle, 0, 0, pdptr);
}

CUresult
drv_cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return drv_cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

CUresult
drv_cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    USABLE(c);
    (void)c;
    CAPTURE_SAFE();
    return ipc_memory_close(dptr);
}

/* ---- events ---------------------------------------------------------------------------------------------------------------------- */

/* Records have numbers, 1 and so on. Those of several streams are over in any order, so each has a word of its own, which it shares with the
 * records SLOTS before and behind: one of them is over no sooner than those before. When a process is gone, its records are over. */
enum { SLOTS = 4000, PID_BITS = 22 };    /* Linux has no process number of more bits */
_Static_assert(sizeof(pid_t) == 4, "a process number and that of a record fit a word");

struct shared_event {                   /* in the file; all zero at first: never recorded */
    _Atomic uint64_t latest;            /* number of the latest record, and below it PID_BITS of who made it */
    struct {
        _Atomic uint64_t done;          /* number of the latest one here that is over */
        _Atomic uint64_t latest;        /* as above, of those here */
    } slots[SLOTS];
};
#define EVENT_SIZE ((sizeof(struct shared_event) + PAGE - 1) & ~(PAGE - 1))

struct ipc_event {
    _Atomic uint32_t refs;
    struct shared_event *s;
    int fd;
    struct cw_fd_file file;
    struct handle handle;
};

static CUresult
event_map(int fd, struct ipc_event **out)
{
    struct ipc_event *e = calloc(1, sizeof *e);
    void *p = e ? mmap(NULL, EVENT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        free(e);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    atomic_init(&e->refs, 1);
    e->s = (struct shared_event *)p;
    e->fd = fd;
    (void)cw_fd_file(fd, &e->file);
    *out = e;
    return CUDA_SUCCESS;
}

CUresult
ipc_event_make(struct ipc_event **out)
{
    int fd = cw_memory_file("cudaway-event", EVENT_SIZE);
    CUresult e = fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : event_map(fd, out);
    if (e != CUDA_SUCCESS) {
        if (fd >= 0)
            close(fd);
        return e;
    }
    (*out)->handle = (struct handle){ .magic = MAGIC_EVENT, .pid = (uint32_t)getpid(), .fd = fd, .size = EVENT_SIZE };
    (void)inode_of(fd, &(*out)->handle.inode);
    return CUDA_SUCCESS;
}

void
ipc_event_unref(struct ipc_event *e)
{
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    munmap(e->s, EVENT_SIZE);
    cw_fd_close(e->fd, &e->file);
    free(e);
}

struct moment {
    struct ipc_event *e;                /* owned reference */
    uint64_t record, before;            /* record and who made it; of a record, also the one SLOTS before */
};

static uint64_t
number_of(uint64_t record)
{
    return record >> PID_BITS;
}

static _Atomic uint64_t *
done_of(struct ipc_event *e, uint64_t record)
{
    return &e->s->slots[number_of(record) % SLOTS].done;
}

static void
mark_done(struct ipc_event *e, uint64_t record)
{
    _Atomic uint64_t *v = done_of(e, record);
    uint64_t now = atomic_load(v), to = number_of(record);
    while (now < to && !atomic_compare_exchange_weak(v, &now, to))
        ;
}

/* True also of a process whose parent has not asked for its status yet; kill finds such a one. False while any thread runs, also after the first one's end. */
static bool
process_ended(pid_t pid)
{
    int fd = cw_fd_keep((int)syscall(SYS_pidfd_open, pid, 0));
    struct pollfd p = { .fd = fd, .events = POLLIN };
    if (fd < 0)                         /* no such process, or no such system call, or no descriptors */
        return kill(pid, 0) && errno == ESRCH;
    bool ended = poll(&p, 1, 0) == 1 && p.revents & POLLIN;
    close(fd);
    return ended;
}

static bool
reached(struct ipc_event *e, uint64_t record)
{
    if (atomic_load_explicit(done_of(e, record), memory_order_acquire) >= number_of(record))
        return true;
    pid_t pid = (pid_t)(record & ((1u << PID_BITS) - 1));
    return pid != getpid() && process_ended(pid);
}

static void
wait_for(struct ipc_event *e, uint64_t record)
{
    for (long ns = 20000; !reached(e, record); ns = ns < 1000000 ? ns * 2 : ns)
        nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void
on_recorded(void *p, cwb_result status)
{
    struct moment *m = p;
    if (status == CWB_OK)               /* a record of this stream is over; another one's, if SLOTS of them are pending, need not be */
        wait_for(m->e, m->before);
    mark_done(m->e, m->record);
    ipc_event_unref(m->e);
    free(m);
}

static void
on_wait(void *p, cwb_result status)
{
    struct moment *m = p;
    if (status == CWB_OK)
        wait_for(m->e, m->record);
    ipc_event_unref(m->e);
    free(m);
}

static CUresult
submit(struct ipc_event *e, uint64_t record, uint64_t before, const struct ctx *c, struct cwb_stream *s, cwb_host_fn *fn)
{
    struct moment *m = malloc(sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (struct moment){ e, record, before };
    atomic_fetch_add(&e->refs, 1);
    CUresult r = result_of(c->b->stream_host_fn(s, fn, m));
    if (r != CUDA_SUCCESS) {
        ipc_event_unref(e);
        free(m);
    }
    return r;
}

CUresult
ipc_event_record(struct ipc_event *e, const struct ctx *c, struct cwb_stream *s)
{
    uint64_t now = atomic_load(&e->s->latest), record;
    do
        record = (number_of(now) + 1) << PID_BITS | (uint64_t)getpid();
    while (!atomic_compare_exchange_weak(&e->s->latest, &now, record));
    uint64_t before = atomic_exchange(&e->s->slots[number_of(record) % SLOTS].latest, record);
    CUresult r = submit(e, record, before, c, s, on_recorded);
    if (r != CUDA_SUCCESS)
        mark_done(e, record);
    return r;
}

CUresult
ipc_event_stream_wait(struct ipc_event *e, const struct ctx *c, struct cwb_stream *s)
{
    uint64_t record = atomic_load(&e->s->latest);
    return reached(e, record) ? CUDA_SUCCESS : submit(e, record, 0, c, s, on_wait);
}

bool
ipc_event_done(struct ipc_event *e)
{
    return reached(e, atomic_load(&e->s->latest));
}

void
ipc_event_wait(struct ipc_event *e)
{
    wait_for(e, atomic_load(&e->s->latest));
}

CUresult
drv_cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event)
{
    USABLE(c);
    (void)c;
    if (!pHandle || !event)
        return CUDA_ERROR_INVALID_VALUE;
    struct event *ev AUTO_PUT = handle_get(event, KIND_EVENT);
    if (!ev)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ev->ipc || !ev->ipc->handle.magic)
        return CUDA_ERROR_INVALID_HANDLE;       /* not made for it, or opened from another process */
    memcpy(pHandle, &ev->ipc->handle, sizeof *pHandle);
    return CUDA_SUCCESS;
}

CUresult
drv_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    USABLE(c);
    struct handle h;
    struct stat st;
    memcpy(&h, &handle, sizeof h);
    if (!phEvent)
        return CUDA_ERROR_INVALID_VALUE;
    if (h.magic != MAGIC_EVENT || h.zero)
        return CUDA_ERROR_MAP_FAILED;           /* it names nothing */
    if (h.pid == (uint32_t)getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    int fd = ipc_open_fd(h.pid, h.fd, h.inode);
    if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)EVENT_SIZE) {
        if (fd >= 0)
            close(fd);
        return CUDA_ERROR_MAP_FAILED;
    }
    struct ipc_event *e;
    CUresult r = event_map(fd, &e);
    if (r != CUDA_SUCCESS) {
        close(fd);
        return r;
    }
    return event_from_ipc(c, e, phEvent);
}
