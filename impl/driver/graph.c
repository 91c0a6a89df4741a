/* SPDX-License-Identifier: Apache-2.0
 * Graphs: nodes in order of creation, edges kept at both ends, clones, and the questions about them. All structure is under
 * graph_lock; what a node holds is released outside it. */
#include "impl/driver/graph.h"

#include <stdlib.h>

/* Recursive: a reference dropped under it may be the last of a node that another thread destroys against the rules. */
pthread_mutex_t graph_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

#define GRAPH(g, h)                                                                                                    \
    READY();                                                                                                           \
    struct graph *g AUTO_PUT = handle_get(h, KIND_GRAPH);                                                              \
    if (!g)                                                                                                            \
        return CUDA_ERROR_INVALID_VALUE
#define NODE(n, h)                                                                                                     \
    READY();                                                                                                           \
    struct node *n AUTO_PUT = handle_get(h, KIND_NODE);                                                                \
    if (!n)                                                                                                            \
        return CUDA_ERROR_INVALID_VALUE

/* ---- lists ------------------------------------------------------------------------------------------------------------------ */

bool
node_list_add(struct node_list *l, struct node *n)
{
    if (l->n == l->capacity) {
        uint32_t c = l->capacity ? l->capacity * 2 : 4;
        struct node **v = realloc(l->v, c * sizeof *v);
        if (!v)
            return false;
        l->v = v;
        l->capacity = c;
    }
    l->v[l->n++] = n;
    return true;
}

static bool
list_has(const struct node_list *l, const struct node *n)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->v[i] == n)
            return true;
    return false;
}

static void
list_remove(struct node_list *l, const struct node *n)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->v[i] == n) {
            memmove(&l->v[i], &l->v[i + 1], (l->n - i - 1) * sizeof *l->v);
            l->n--;
            return;
        }
}

static bool
edge_exists(const struct node *from, const struct node *to)
{
    return to->deps.n < from->dependents.n ? list_has(&to->deps, from) : list_has(&from->dependents, to);
}

static CUresult
edge_add(struct node *from, struct node *to)
{
    if (!node_list_add(&to->deps, from))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!node_list_add(&from->dependents, to)) {
        to->deps.n--;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static void
edge_remove(struct node *from, struct node *to)
{
    list_remove(&to->deps, from);
    list_remove(&from->dependents, to);
}

/* ---- making and ending -------------------------------------------------------------------------------------------------------- */

static void
node_finish(struct obj *o)
{
    struct node *n = (struct node *)o;
    work_finish(&n->w);
    free(n->deps.v);
    free(n->dependents.v);
    free(n);
}

static bool
is_special(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE || type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* Take n out of its graph; its handle is to be ended after the lock is released. */
static void
unlink_node(struct node *n)
{
    struct graph *g = n->graph;
    while (n->deps.n)
        edge_remove(n->deps.v[n->deps.n - 1], n);
    while (n->dependents.n)
        edge_remove(n, n->dependents.v[n->dependents.n - 1]);
    *(n->prev ? &n->prev->next : &g->first) = n->next;
    *(n->next ? &n->next->prev : &g->last) = n->prev;
    g->count--;
    g->special -= is_special(n->type);
    n->graph = NULL;
}

static pthread_mutex_t *
node_borrow(struct obj *o)
{
    return &graph_lock;
}

static const struct obj_class node_class = { .kind = KIND_NODE, .finish = node_finish, .borrow = node_borrow };

static void
graph_finish(struct obj *o)
{
    struct graph *g = (struct graph *)o;
    pthread_mutex_lock(&graph_lock);
    struct node *n = g->first;
    for (struct node *i = n; i; i = i->next) {
        i->graph = NULL;
        i->deps.n = i->dependents.n = 0;
    }
    pthread_mutex_unlock(&graph_lock);
    while (n) {
        struct node *next = n->next;
        handle_kill(&n->obj);
        n = next;
    }
    while (g->conditions) {
        struct graph_condition *next = g->conditions->next_of_graph;
        condition_put(g->conditions);
        g->conditions = next;
    }
    struct user_ref *users = g->users;
    const uint32_t nusers = g->nusers;
    free(g);
    users_release(users, nusers);       /* may throw */
}

static const struct obj_class graph_class = { .kind = KIND_GRAPH, .finish = graph_finish };

CUresult
graph_make(struct graph **out)
{
    struct graph *g = calloc(1, sizeof *g);
    if (!g)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult e = handle_new(&g->obj, &graph_class, NULL);
    if (e != CUDA_SUCCESS) {
        free(g);
        return e;
    }
    *out = g;
    return CUDA_SUCCESS;
}

void
graph_end(struct graph *g)
{
    pthread_mutex_lock(&graph_lock);    /* who still uses it does not find the node */
    g->owner = NULL;
    pthread_mutex_unlock(&graph_lock);
    handle_kill(&g->obj);
    handle_put(&g->obj);
}

void
graph_number(struct graph *g)
{
    uint32_t i = 0;
    for (struct node *n = g->first; n; n = n->next)
        n->mark = i++;
}

static bool
bodies_have(const struct node *n, CUgraphNodeType type)
{
    for (unsigned i = 0; n->w.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < n->w.cond.size; i++)
        if (graph_has(n->w.cond.bodies[i], type))
            return true;
    return false;
}

bool
graph_has(const struct graph *g, CUgraphNodeType type)
{
    for (const struct node *n = g->special ? g->first : NULL; n; n = n->next)
        if (n->w.type == type || (n->w.type == CU_GRAPH_NODE_TYPE_GRAPH && n->w.child && graph_has(n->w.child, type)) || bodies_have(n, type))
            return true;
    return false;
}

/* The node that h names in g, or NULL; graph_lock protects it. */
static struct node *
member(struct graph *g, CUgraphNode h)
{
    struct node *n = handle_peek(h, KIND_NODE, NULL);
    return n && n->graph == g ? n : NULL;
}

CUresult
node_add_locked(struct graph *g, const CUgraphNode *deps, size_t n, struct work *w, CUgraphNode *out)
{
    struct node *new = calloc(1, sizeof *new);
    if (!new)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult e = CUDA_SUCCESS;
    new->type = w->type;
    for (size_t i = 0; i < n && e == CUDA_SUCCESS; i++) {
        struct node *d = member(g, deps[i]);
        if (!d || list_has(&new->deps, d))
            e = CUDA_ERROR_INVALID_VALUE;
        else
            e = edge_add(d, new);
    }
    if (e == CUDA_SUCCESS && w->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && !condition_claim(w, g))
        e = CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS)
        e = handle_new(&new->obj, &node_class, NULL);
    if (e != CUDA_SUCCESS) {
        while (new->deps.n)
            edge_remove(new->deps.v[new->deps.n - 1], new);
        free(new->deps.v);
        free(new);
        return e;
    }
    new->graph = g;
    new->w = *w;
    if (w->type == CU_GRAPH_NODE_TYPE_GRAPH)
        w->child->owner = new;
    for (unsigned i = 0; w->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < w->cond.size; i++)
        w->cond.bodies[i]->owner = new;
    new->prev = g->last;
    *(g->last ? &g->last->next : &g->first) = new;
    g->last = new;
    g->count++;
    g->special += is_special(new->type);
    *out = node_handle(new);
    handle_put(&new->obj);              /* graph_lock is held, so nobody can have ended it */
    return CUDA_SUCCESS;
}

CUresult
node_add(struct graph *g, const CUgraphNode *deps, size_t n, struct work *w, CUgraphNode *out)
{
    CUgraphNode h;
    CUresult e = edges_check("cuGraphAddNode", deps, NULL, n);
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&graph_lock);
    e = node_add_locked(g, deps, n, w, &h);
    pthread_mutex_unlock(&graph_lock);
    if (e == CUDA_SUCCESS)
        *out = h;
    return e;
}

CUresult
drv_cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    READY();
    if (!phGraph || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct graph *g;
    CUresult e = graph_make(&g);
    if (e == CUDA_SUCCESS) {
        *phGraph = HANDLE(CUgraph, g);
        handle_put(&g->obj);
    }
    return e;
}

CUresult
drv_cuGraphDestroy(CUgraph hGraph)
{
    GRAPH(g, hGraph);
    pthread_mutex_lock(&graph_lock);
    bool held = g->owner || g->capture;
    pthread_mutex_unlock(&graph_lock);
    return !held && handle_kill(&g->obj) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* "Nodes" and "dependencies cannot be removed from graphs which contain allocation or free nodes." graph_lock held. */
static bool
keeps_all(const struct graph *g)
{
    return graph_has(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC) || graph_has(g, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

CUresult
drv_cuGraphDestroyNode(CUgraphNode hNode)
{
    NODE(n, hNode);
    CUresult e = CUDA_SUCCESS;
    pthread_mutex_lock(&graph_lock);
    if (!n->graph)
        e = CUDA_ERROR_INVALID_VALUE;
    else if (keeps_all(n->graph))
        e = CUDA_ERROR_NOT_SUPPORTED;
    else
        unlink_node(n);
    pthread_mutex_unlock(&graph_lock);
    if (e == CUDA_SUCCESS)
        handle_kill(&n->obj);
    return e;
}

/* ---- clones ---------------------------------------------------------------------------------------------------------------------- */

/* graph_lock held. */
static CUresult
copy_nodes(struct graph *from, struct graph *to, struct node **copies)
{
    CUresult e = CUDA_SUCCESS;
    uint32_t n = 0;
    graph_number(from);
    for (struct node *k = from->first; k && e == CUDA_SUCCESS; k = k->next) {
        struct work w;
        CUgraphNode h;
        e = work_copy(&w, &k->w);
        if (e != CUDA_SUCCESS)
            break;
        e = node_add_locked(to, NULL, 0, &w, &h);
        if (e != CUDA_SUCCESS) {
            work_finish(&w);
            break;
        }
        copies[n++] = to->last;
        to->last->original = k->obj.handle;
    }
    for (const struct node *k = from->first; k && e == CUDA_SUCCESS; k = k->next)
        for (uint32_t d = 0; d < k->deps.n && e == CUDA_SUCCESS; d++)
            e = edge_add(copies[k->deps.v[d]->mark], copies[k->mark]);
    return e;
}

/* Memory and conditions cannot be in two graphs ("cuGraphClone"). graph_lock held. */
static bool
copyable(const struct graph *g)
{
    return !graph_has(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC) && !graph_has(g, CU_GRAPH_NODE_TYPE_MEM_FREE) && !graph_has(g, CU_GRAPH_NODE_TYPE_CONDITIONAL);
}

CUresult
graph_copy(struct graph *from, struct graph **out)
{
    struct graph *to;
    CUresult e = graph_make(&to);
    if (e != CUDA_SUCCESS)
        return e;
    pthread_mutex_lock(&graph_lock);
    struct node **copies = calloc(from->count + 1, sizeof *copies);
    e = !copyable(from) ? CUDA_ERROR_NOT_SUPPORTED : !copies ? CUDA_ERROR_OUT_OF_MEMORY : users_copy(from->users, from->nusers, &to->users);
    if (e == CUDA_SUCCESS) {
        to->nusers = from->nusers;
        to->clone_of = from->obj.handle;
        e = copy_nodes(from, to, copies);
    }
    pthread_mutex_unlock(&graph_lock);
    free(copies);
    if (e != CUDA_SUCCESS)
        graph_end(to);
    else
        *out = to;
    return e;
}

/* The type of the node that g belongs to, or CU_GRAPH_NODE_TYPE_EMPTY. */
static CUgraphNodeType
owned_by(const struct graph *g)
{
    pthread_mutex_lock(&graph_lock);
    CUgraphNodeType t = g->owner ? g->owner->w.type : CU_GRAPH_NODE_TYPE_EMPTY;
    pthread_mutex_unlock(&graph_lock);
    return t;
}

CUresult
graph_child(struct graph *from, struct graph **out)
{
    return owned_by(from) != CU_GRAPH_NODE_TYPE_EMPTY ? CUDA_ERROR_NOT_SUPPORTED : graph_copy(from, out);
}

CUresult
drv_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    GRAPH(g, originalGraph);
    struct graph *c;
    if (!phGraphClone)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = owned_by(g) == CU_GRAPH_NODE_TYPE_CONDITIONAL ? CUDA_ERROR_NOT_SUPPORTED : graph_copy(g, &c);
    if (e == CUDA_SUCCESS) {
        *phGraphClone = HANDLE(CUgraph, c);
        handle_put(&c->obj);
    }
    return e;
}

CUresult
drv_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph)
{
    GRAPH(g, hClonedGraph);
    if (!phNode || !hOriginalNode)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode h = NULL;
    pthread_mutex_lock(&graph_lock);
    for (struct node *n = g->first; n && !h; n = n->next)
        if (n->original == (uintptr_t)hOriginalNode)
            h = node_handle(n);
    pthread_mutex_unlock(&graph_lock);
    if (h)
        *phNode = h;
    return h ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- questions --------------------------------------------------------------------------------------------------------------------- */

/* Handles for a list of the caller's, collected under graph_lock and written without it: a handler of SIGSEGV may leave the call by a long jump. */
struct found {
    CUgraphNode *v;
    size_t n, room;                     /* n: how many there are, also beyond the room */
};

/* True: there is memory for up to `most` of them, or as many as the caller has room for. */
static bool
found_init(struct found *f, size_t room, size_t most)
{
    *f = (struct found){ .room = room < most ? room : most };
    f->v = f->room ? malloc(f->room * sizeof *f->v) : NULL;
    return f->v || !f->room;
}

static void
found_add(struct found *f, const struct node *n)
{
    if (f->n < f->room)
        f->v[f->n] = node_handle(n);
    f->n++;
}

/* The rule of all the listing functions: no list asks for the number; a longer list is filled up with NULL. */
static void
give(struct found *f, size_t room, CUgraphNode *list)
{
    for (size_t i = 0; list && i < room; i++)
        list[i] = i < f->n ? f->v[i] : NULL;
    free(f->v);
}

static void
give_number(size_t have, size_t *n, const CUgraphNode *list)
{
    if (!list || *n > have)
        *n = have;
}

static CUresult
give_nodes(CUgraph hGraph, CUgraphNode *nodes, size_t *count, bool roots)
{
    GRAPH(g, hGraph);
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    const size_t room = nodes ? *count : 0;
    struct found f;
    pthread_mutex_lock(&graph_lock);
    const bool memory = found_init(&f, room, g->count);
    for (const struct node *n = g->first; n && memory; n = n->next)
        if (!roots || !n->deps.n)
            found_add(&f, n);
    pthread_mutex_unlock(&graph_lock);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    give(&f, room, nodes);
    give_number(f.n, count, nodes);
    return CUDA_SUCCESS;
}

CUresult
drv_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    return give_nodes(hGraph, nodes, numNodes, false);
}

CUresult
drv_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    return give_nodes(hGraph, rootNodes, numRootNodes, true);
}

CUresult
drv_cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData, size_t *numEdges)
{
    GRAPH(g, hGraph);
    if (!numEdges || !from != !to || (edgeData && !from))
        return CUDA_ERROR_INVALID_VALUE;
    const size_t room = from ? *numEdges : 0;
    size_t most = 0;
    struct found f, t = { 0 };
    pthread_mutex_lock(&graph_lock);
    for (const struct node *n = g->first; n; n = n->next)
        most += n->dependents.n;
    const bool memory = found_init(&f, room, most) && found_init(&t, room, most);
    for (const struct node *n = g->first; n && memory; n = n->next)
        for (uint32_t i = 0; i < n->dependents.n; i++) {
            found_add(&f, n);
            found_add(&t, n->dependents.v[i]);
        }
    pthread_mutex_unlock(&graph_lock);
    if (!memory) {
        free(f.v);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (edgeData)
        memset(edgeData, 0, room * sizeof *edgeData);   /* every edge is an ordinary one */
    give(&f, room, from);
    give(&t, room, to);
    give_number(most, numEdges, from);
    return CUDA_SUCCESS;
}

CUresult
drv_cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
    return drv_cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

static CUresult
give_neighbours(CUgraphNode hNode, CUgraphNode *list, CUgraphEdgeData *data, size_t *count, bool dependents)
{
    NODE(n, hNode);
    if (!count || (data && !list))
        return CUDA_ERROR_INVALID_VALUE;
    const size_t room = list ? *count : 0;
    struct found f;
    pthread_mutex_lock(&graph_lock);
    const struct node_list *l = dependents ? &n->dependents : &n->deps;
    const bool memory = found_init(&f, room, l->n);
    for (size_t i = 0; i < l->n && memory; i++)
        found_add(&f, l->v[i]);
    pthread_mutex_unlock(&graph_lock);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (data)
        memset(data, 0, room * sizeof *data);
    give(&f, room, list);
    give_number(f.n, count, list);
    return CUDA_SUCCESS;
}

CUresult
drv_cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData, size_t *numDependencies)
{
    return give_neighbours(hNode, dependencies, edgeData, numDependencies, false);
}

CUresult
drv_cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies)
{
    return give_neighbours(hNode, dependencies, NULL, numDependencies, false);
}

CUresult
drv_cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes, CUgraphEdgeData *edgeData,
                                    size_t *numDependentNodes)
{
    return give_neighbours(hNode, dependentNodes, edgeData, numDependentNodes, true);
}

CUresult
drv_cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes)
{
    return give_neighbours(hNode, dependentNodes, NULL, numDependentNodes, true);
}

CUresult
drv_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    NODE(n, hNode);
    if (!type)
        return CUDA_ERROR_INVALID_VALUE;
    *type = n->type;
    return CUDA_SUCCESS;
}

/* ---- edges --------------------------------------------------------------------------------------------------------------------------- */

static bool
edge_ordinary(const CUgraphEdgeData *d)
{
    return !d->from_port && !d->to_port && d->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
}

CUresult
edges_check(const char *function, const CUgraphNode *from, const CUgraphEdgeData *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct node *k AUTO_PUT = handle_get(from[i], KIND_NODE);
        if (!k)
            return CUDA_ERROR_INVALID_VALUE;
        if (!d || edge_ordinary(&d[i]))
            continue;
        if (k->type != CU_GRAPH_NODE_TYPE_KERNEL || d[i].type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
            return CUDA_ERROR_INVALID_VALUE;
        return unsupported(function, "an edge with a port or of the programmatic type");
    }
    return CUDA_SUCCESS;
}

CUresult
drv_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                              size_t numDependencies)
{
    GRAPH(g, hGraph);
    if (numDependencies && (!from || !to))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult e = edges_check("cuGraphAddDependencies_v2", from, edgeData, numDependencies);
    if (e == CUDA_SUCCESS)
        e = edges_check("cuGraphAddDependencies_v2", to, NULL, numDependencies);
    if (e != CUDA_SUCCESS)
        return e;
    size_t i;
    pthread_mutex_lock(&graph_lock);
    for (i = 0; i < numDependencies && e == CUDA_SUCCESS; i++) {
        struct node *a = member(g, from[i]), *b = member(g, to[i]);
        if (!a || !b || a == b || edge_exists(a, b))
            e = CUDA_ERROR_INVALID_VALUE;
        else
            e = edge_add(a, b);
    }
    for (; e != CUDA_SUCCESS && i > 1; i--) {   /* all or none */
        struct node *a = member(g, from[i - 2]), *b = member(g, to[i - 2]);
        if (a && b)
            edge_remove(a, b);
    }
    pthread_mutex_unlock(&graph_lock);
    return e;
}

CUresult
drv_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies)
{
    return drv_cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

CUresult
drv_cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                 size_t numDependencies)
{
    GRAPH(g, hGraph);
    if (numDependencies && (!from || !to))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; edgeData && k < numDependencies; k++)
        if (!edge_ordinary(&edgeData[k]))
            return CUDA_ERROR_INVALID_VALUE;    /* there is no such edge */
    CUresult e = edges_check("cuGraphRemoveDependencies_v2", from, NULL, numDependencies);
    if (e == CUDA_SUCCESS)
        e = edges_check("cuGraphRemoveDependencies_v2", to, NULL, numDependencies);
    size_t i;
    pthread_mutex_lock(&graph_lock);
    if (numDependencies && keeps_all(g))
        e = CUDA_ERROR_NOT_SUPPORTED;
    for (i = 0; i < numDependencies && e == CUDA_SUCCESS; i++) {
        struct node *a = member(g, from[i]), *b = member(g, to[i]);
        if (!a || !b || !edge_exists(a, b))
            e = CUDA_ERROR_INVALID_VALUE;
        else
            edge_remove(a, b);
    }
    for (; e != CUDA_SUCCESS && i > 1; i--) {   /* all or none */
        struct node *a = member(g, from[i - 2]), *b = member(g, to[i - 2]);
        if (a && b)
            (void)edge_add(a, b);
    }
    pthread_mutex_unlock(&graph_lock);
    return e;
}

CUresult
drv_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies)
{
    return drv_cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}
