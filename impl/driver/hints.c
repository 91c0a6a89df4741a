/* SPDX-License-Identifier: Apache-2.0
 * Attributes of streams, launches and kernel nodes that only give hints (CUDA driver API, "CUlaunchAttributeID"): refused where NVIDIA's driver
 * refuses them, else kept to be read back. Nothing here changes what is computed. */
#include "impl/driver/driver.h"

enum { SYNC_DOMAINS = 4 };              /* the most that a GPU has; here all are one, so that any map is true */

static const uint8_t takers[] = {
    [CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW] = HINT_STREAM | HINT_KERNEL,
    [CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY] = HINT_STREAM,
    [CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE] = HINT_KERNEL,
    [CU_LAUNCH_ATTRIBUTE_PRIORITY] = HINT_STREAM | HINT_KERNEL,
    [CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP] = HINT_STREAM | HINT_KERNEL,
    [CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN] = HINT_STREAM | HINT_KERNEL,
    [CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = HINT_KERNEL,
};

const struct hints hints_unset = { .sync = CU_SYNC_POLICY_AUTO, .domains.remote = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE };

int
priority_possible(int priority)
{
    return priority < -5 ? -5 : priority > 0 ? 0 : priority;
}

bool
hint_for(unsigned whom, CUlaunchAttributeID id)
{
    return (unsigned)id < COUNT(takers) && takers[id] & whom;
}

/* A window's size and memory are not looked at: no lines of the cache are set aside. */
static bool
window_valid(const CUaccessPolicyWindow *w)
{
    return w->hitRatio >= 0 && w->hitRatio <= 1 && w->missProp != CU_ACCESS_PROPERTY_PERSISTING;
}

CUresult
hint_set(struct hints *h, CUlaunchAttributeID id, const CUlaunchAttributeValue *v)
{
    struct hints new = *h;
    bool ok = true;
    switch ((int)id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        new.window = v->accessPolicyWindow;
        ok = window_valid(&new.window);
        break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        new.sync = v->syncPolicy;
        ok = new.sync >= CU_SYNC_POLICY_AUTO && new.sync <= CU_SYNC_POLICY_BLOCKING_SYNC;
        break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        new.clusters = v->clusterSchedulingPolicyPreference;    /* any: so driver 580 of a node; of a launch it has been checked */
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        new.priority = priority_possible(v->priority);
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        new.domains = v->memSyncDomainMap;
        ok = new.domains.default_ < SYNC_DOMAINS && new.domains.remote < SYNC_DOMAINS;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        new.domain = v->memSyncDomain;
        ok = (unsigned)new.domain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
        break;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        new.carveout = v->sharedMemCarveout;
        ok = new.carveout <= 100;
        break;
    }
    new.set |= 1u << id;
    if (ok)
        *h = new;
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void
hint_get(const struct hints *h, CUlaunchAttributeID id, CUlaunchAttributeValue *v)
{
    switch ((int)id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:              v->accessPolicyWindow = h->window; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:            v->syncPolicy = h->sync; break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: v->clusterSchedulingPolicyPreference = h->clusters; break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:                          v->priority = h->priority; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:               v->memSyncDomainMap = h->domains; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:                   v->memSyncDomain = h->domain; break;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:  v->sharedMemCarveout = h->carveout; break;
    }
}

/* "cuGraphInstantiate" says it of priorities, the CUDA C++ Programming Guide ("Memory Synchronization Domains") of domains and their map. */
void
hints_capture(struct hints *node, const struct func *f, const struct hints *stream, const struct hints *launch)
{
    *node = hints_unset;
    for (unsigned id = 0; id < COUNT(takers); id++) {
        const struct hints *from = launch && launch->set & 1u << id ? launch : takers[id] == (HINT_STREAM | HINT_KERNEL) ? stream : NULL;
        CUlaunchAttributeValue v;
        if (!from)
            continue;
        hint_get(from, (CUlaunchAttributeID)id, &v);
        (void)hint_set(node, (CUlaunchAttributeID)id, &v);      /* as it was set there */
    }
    /* The node says which policy the default is: the function's, or to spread the blocks (an H200; nodes that are added keep the default). */
    if (node->clusters == CU_CLUSTER_SCHEDULING_POLICY_DEFAULT)
        node->clusters = (CUclusterSchedulingPolicy)atomic_load(&f->cluster_policy);
    if (node->clusters == CU_CLUSTER_SCHEDULING_POLICY_DEFAULT)
        node->clusters = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
}
