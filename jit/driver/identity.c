/* SPDX-License-Identifier: Apache-2.0
 * See identity.h. Process-wide state, written once. */
#define _GNU_SOURCE
#include "jit/driver/identity.h"

#include "jit/llvm/options.h"

#include <link.h>
#include <llvm-c/Core.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

/* Without memory of its own: a key that lacked a part of this would be another build's as well. */
static struct {
    char   text[256];
    size_t size;
} identity;

static void
add(const void *data, size_t size)
{
    size_t room = sizeof identity.text - identity.size;
    memcpy(identity.text + identity.size, data, size < room ? size : room);
    identity.size += size < room ? size : room;
}

/* Find the build id note of the object that contains this code. */
static int
find_build_id(struct dl_phdr_info *info, size_t size, void *user)
{
    uintptr_t here = (uintptr_t)find_build_id;
    bool mine = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + ph->p_vaddr;
        mine = mine || (ph->p_type == PT_LOAD && here >= start && here - start < ph->p_memsz);
    }
    for (int i = 0; mine && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_NOTE)
            continue;
        const char *p = (const char *)(info->dlpi_addr + ph->p_vaddr), *end = p + ph->p_memsz;
        while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *n = (const void *)p;
            const char *name = p + sizeof *n, *desc = name + ((n->n_namesz + 3) & ~3u);
            if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
                add(desc, n->n_descsz);
                return 1;
            }
            p = desc + ((n->n_descsz + 3) & ~3u);
        }
    }
    /* Built without the note: use the file's time and size. */
    struct stat st;
    if (mine && info->dlpi_name && *info->dlpi_name && !stat(info->dlpi_name, &st))
        for (unsigned i = 0; i < 3; i++)
            add(&(const int64_t[]){ st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_size }[i], 8);
    return mine;
}

static void
find_identity(void)
{
    unsigned version[3];
    LLVMGetVersion(&version[0], &version[1], &version[2]);
    add(version, sizeof version);
    dl_iterate_phdr(find_build_id, NULL);
}

void
cwj_identity_hash(struct cw_sha256 *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_identity);
    cw_sha256_update(s, identity.text, identity.size);
    cwj_options_hash(s);
}
