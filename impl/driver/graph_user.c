/* SPDX-License-Identifier: Apache-2.0
 * User objects: application data with a counted destructor. Graphs and executable graphs hold counts and give them back when they go;
 * the destructor runs in the thread that drops the last one (of ours where a launch had to end first: later.c), with no lock held (CUDA driver API, "cuUserObjectCreate"). */
#include "impl/driver/graph.h"

#include <stdlib.h>

struct user_object {
    struct obj obj;                     /* KIND_USER */
    void *data;
    CUhostFn destroy;
    uint64_t count;                     /* graph_lock */
};

static void
user_finish(struct obj *o)
{
    free(o);
}

static void
leave(const bool *within)
{
    cwb_in_host_function = *within;
}

/* The destructor may throw, to a caller of the call that we are in. */
static void
destroy(const struct user_object *o)
{
    bool within __attribute__((cleanup(leave))) = cwb_in_host_function;
    cwb_in_host_function = true;        /* it may make the same calls, says an H200 */
    o->destroy(o->data);
}

/* Drop n counts; false when there are not so many. */
static bool
release(struct user_object *o, uint64_t n)
{
    pthread_mutex_lock(&graph_lock);
    bool ok = n <= o->count;
    bool last = ok && (o->count -= n) == 0;
    pthread_mutex_unlock(&graph_lock);
    if (last && handle_kill(&o->obj))
        destroy(o);
    return ok;
}

static void
free_users(struct user_ref *const *users)
{
    free(*users);
}

/* Behind a destructor that throws the others are not called. */
void
users_release(struct user_ref *users, uint32_t n)
{
    struct user_ref *list __attribute__((cleanup(free_users))) = users;
    for (uint32_t i = 0; i < n; i++) {
        struct user_object *o AUTO_PUT = list[i].o;
        (void)release(o, list[i].count);
    }
}

CUresult
users_copy(const struct user_ref *from, uint32_t n, struct user_ref **out)
{
    *out = NULL;
    if (!n)
        return CUDA_SUCCESS;
    struct user_ref *u = malloc(n * sizeof *u);
    if (!u)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(u, from, n * sizeof *u);
    for (uint32_t i = 0; i < n; i++) {
        u[i].o->count += u[i].count;
        handle_ref(&u[i].o->obj);
    }
    *out = u;
    return CUDA_SUCCESS;
}

static const struct obj_class user_class = { .kind = KIND_USER, .finish = user_finish };

#define USER(o, h)                                                                                                     \
    READY();                                                                                                           \
    struct user_object *o AUTO_PUT = handle_get(h, KIND_USER);                                                         \
    if (!o)                                                                                                            \
        return CUDA_ERROR_INVALID_VALUE

CUresult
drv_cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initialRefcount, unsigned int flags)
{
    READY();
    if (!object_out || !destroy || !initialRefcount || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    struct user_object *o = calloc(1, sizeof *o);
    if (!o)
        return CUDA_ERROR_OUT_OF_MEMORY;
    o->data = ptr;
    o->destroy = destroy;
    o->count = initialRefcount;
    CUresult e = handle_new(&o->obj, &user_class, NULL);
    if (e == CUDA_SUCCESS) {
        *object_out = HANDLE(CUuserObject, o);
        handle_put(&o->obj);
    } else {
        free(o);
    }
    return e;
}

CUresult
drv_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    USER(o, object);
    if (!count || count > INT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&graph_lock);
    o->count += count;
    pthread_mutex_unlock(&graph_lock);
    return CUDA_SUCCESS;
}

CUresult
drv_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    USER(o, object);
    return count && count <= INT32_MAX && release(o, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
drv_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
    USER(o, object);
    struct graph *g AUTO_PUT = handle_get(graph, KIND_GRAPH);
    if (!g || !count || count > INT32_MAX || flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&graph_lock);
    uint32_t i = 0;
    while (i < g->nusers && g->users[i].o != o)
        i++;
    if (flags & CU_GRAPH_USER_OBJECT_MOVE && count > o->count)
        e = CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS && i == g->nusers) {
        struct user_ref *u = realloc(g->users, (i + 1) * sizeof *u);
        if (u) {
            g->users = u;
            g->users[g->nusers++] = (struct user_ref){ o, 0 };
            handle_ref(&o->obj);
        } else {
            e = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    if (e == CUDA_SUCCESS) {
        g->users[i].count += count;
        if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
            o->count += count;
    }
    pthread_mutex_unlock(&graph_lock);
    return e;
}

/* A graph gives back what it has: more is no error (driver 580). */
CUresult
drv_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    USER(o, object);
    struct graph *g AUTO_PUT = handle_get(graph, KIND_GRAPH);
    if (!g || !count || count > INT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&graph_lock);
    uint32_t i = 0;
    while (i < g->nusers && g->users[i].o != o)
        i++;
    uint64_t had = i < g->nusers ? g->users[i].count : 0, given = count < had ? count : had;
    bool gone = given && given == had;
    if (gone)
        g->users[i] = g->users[--g->nusers];
    else if (given)
        g->users[i].count -= given;
    pthread_mutex_unlock(&graph_lock);
    struct user_object *of_graph __attribute__((unused)) AUTO_PUT = gone ? o : NULL;
    if (given)
        (void)release(o, given);        /* may throw */
    return CUDA_SUCCESS;
}
