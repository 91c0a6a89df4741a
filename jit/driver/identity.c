/* SPDX-License-Identifier: Apache-2.0
 * See identity.h. Process-wide state, written once. */
#define _GNU_SOURCE
#include "jit/driver/identity.h"

#include "impl/base/buf.h"
#include "jit/llvm/options.h"

#include <link.h>
#include <llvm-c/Core.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

static struct cw_buf identity;

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
                cw_buf_append(user, desc, n->n_descsz);
                return 1;
            }
            p = desc + ((n->n_descsz + 3) & ~3u);
        }
    }
    /* Built without the note: use the file's time and size. */
    struct stat st;
    if (mine && info->dlpi_name && *info->dlpi_name && !stat(info->dlpi_name, &st))
        cw_buf_printf(user, "%lld.%ld %lld", (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size);
    return mine;
}

static void
find_identity(void)
{
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    cw_buf_init(&identity);
    cw_buf_printf(&identity, "LLVM %u.%u.%u\n", major, minor, patch);
    dl_iterate_phdr(find_build_id, &identity);
}

void
cwj_identity_hash(struct cw_sha256 *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_identity);
    cw_sha256_update(s, identity.data, identity.size);
    cwj_options_hash(s);
}
