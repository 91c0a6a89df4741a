/* SPDX-License-Identifier: Apache-2.0
 * Reads the forms in which programs ship GPU code. The layouts are facts observed in files (little endian).
 *
 *   container  u32 magic 0xBA55ED50, u16 version 1, u16 header size (16), u64 size of what follows; then entries
 *   entry      0  u16 kind: 1 PTX, 2 ELF; others exist          32 u32 name offset   36 u32 name length (from the entry)
 *              2  u16 version 0x101                             40 u64 flags: 0x2000 LZ4 block, 0x8000 Zstd frame
 *              4  u32 entry header size                         48 u64 zero
 *              8  u64 payload size, padded                      56 u64 size when decompressed
 *             16  u32 compressed size (0: not compressed)
 *             20  u32 options offset
 *             24  u16 minor, u16 major; 28 u32 SM version
 *   wrapper    u32 magic 0x466243B1, u32 version 1 or 2, pointer to a container; version 2 (relocatable device code): then a
 *              pointer to a NULL-terminated list of containers that belong together, else to a file name
 *   ELF        machine 190 is a cubin; else a host object, with containers in .nv_fatbin or __nv_relfatbin
 *
 * Bounds: if size is known, nothing outside [data, data + size) is read; decompression is limited. */
#ifndef CWJ_LINK_FATBIN_H
#define CWJ_LINK_FATBIN_H

#include "jit/jit.h"

#define CWJ_FATBIN_MAGIC 0xBA55ED50u

enum {
    CWJ_WRAPPER_MAGIC = 0x466243B1,
    CWJ_FATBIN_PTX = 1, CWJ_FATBIN_ELF = 2,
    CWJ_FATBIN_LZ4 = 0x2000, CWJ_FATBIN_ZSTD = 0x8000, CWJ_FATBIN_OLD_COMPRESSION = 0x1000,
    CWJ_FATBIN_MAX_TEXT = 256 << 20,    /* bytes of one decompressed entry */
    CWJ_FATBIN_MAX_LIST = 65536,        /* containers that a wrapper may list */
};

typedef int cwj_entry_found(void *user, const struct cwj_image_entry *e);

/* See cwj_api.image_scan. */
cw_result cwj_image_scan(const void *data, size_t size, cwj_entry_found *found, void *user, struct cwj_diags *diags) CW_MUST_CHECK;

/* ---- between fatbin.c and fatbin_elf.c ---- */

struct cwj_scan {
    cwj_entry_found *found;
    void *user;
    struct cwj_diags *diags;
    bool stop;                  /* found() asked for it */
    uint32_t group, nptx, ncubin, nother;
    const void *container;      /* that is being scanned */
    bool relocatable;           /* its section is __nv_relfatbin */
    char sms[128];              /* "sm_80 sm_90a": the architectures of the cubins */
};
cw_result cwj_scan_container(struct cwj_scan *s, const uint8_t *p, uint64_t size, uint64_t *used);
cw_result cwj_scan_elf(struct cwj_scan *s, const uint8_t *p, uint64_t size);
/* Completes the entry by where it is, and gives it to found(). */
void cwj_scan_report(struct cwj_scan *s, struct cwj_image_entry *e);

#endif
