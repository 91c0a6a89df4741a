/* SPDX-License-Identifier: Apache-2.0
 * config_show NAME...: each setting's value and where it comes from, then what is wrong with the files. For config.sh. */
#include "impl/base/env.h"

#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
    char origin[4200];
    for (int i = 1; i < argc; i++)
        for (unsigned v = 0; v < CW_ENV_COUNT; v++)
            if (!strcmp(argv[i], cw_env_name((enum cw_env)v))) {
                const char *value = cw_env_get((enum cw_env)v);
                printf("%s=%s from %s\n", argv[i], value ? value : "(none)", cw_env_origin((enum cw_env)v, origin, sizeof origin) ? origin : "nowhere");
            }
    cw_env_warn_unknown();
    return 0;
}
