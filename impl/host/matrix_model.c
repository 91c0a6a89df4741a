/* SPDX-License-Identifier: Apache-2.0
 * Which generation's matrix instructions are computed: by the compute capability, or as CUDAWAY_MATRIX_MODEL says. */
#include "impl/base/env.h"
#include "impl/base/log.h"
#include "jit/builtins/core/matrix_core.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

const struct cwh_matrix_model *
cwh_matrix_model_named(const char *name)
{
    for (unsigned i = 0; i < MATRIX_MODELS; i++)
        if (!strcmp(matrix_models[i].name, name))
            return &matrix_models[i];
    return NULL;
}

static const struct cwh_matrix_model *model;    /* written once */
static pthread_once_t model_once = PTHREAD_ONCE_INIT;

static void
choose_model(void)
{
    const char *name = cw_env_get(CW_ENV_MATRIX_MODEL);
    if (name && (model = cwh_matrix_model_named(name)))
        return;
    if (name && strcmp(name, "native"))
        cw_warn("%s=%s is not one of volta, turing, ampere, ada, hopper, native", cw_env_name(CW_ENV_MATRIX_MODEL), name);
    unsigned cc = cw_env_compute_capability();
    model = &matrix_models[0];
    for (unsigned i = 1; i < MATRIX_MODELS; i++)
        if (cc >= matrix_models[i].sm)
            model = &matrix_models[i];
}

bool
cwh_matrix_native(void)
{
    const char *name = cw_env_get(CW_ENV_MATRIX_MODEL);
    return name && !strcmp(name, "native");
}

const struct cwh_matrix_model *
cwh_matrix_model(void)
{
    pthread_once(&model_once, choose_model);
    return model;
}
