/* SPDX-License-Identifier: Apache-2.0
 * cudaway-trace: the command line's first word picks the sub-command. */
#include "tracer/cli/cli.h"

const struct cw_program trace_program = {
    .name = "cudaway-trace",
    .summary = "record a program's CUDA calls, and look at recordings",
    .description = "Records every CUDA driver call of a program with its arguments and results, and shows, sums up and exports what was recorded.",
    .commands = (const struct cw_program *const[]){ &record_command, &show_command, &report_command, &export_command, &check_command,
                                                     &list_command, &stop_command, &snapshot_command, NULL },
    .exits = (const struct cw_exit[]){ { "0", "done" }, { "1", "the recording is damaged: what could be read was" }, { "2", "trouble" }, { "125, 126, 127", "as of record" }, { 0 } },
    .see_also = "cudaway(1), cudaway-replay(1), cudaway-diff(1), cudaway.conf(5)",
    .usage_status = EXIT_USAGE,
};

int
main(int argc, char **argv)
{
    return cw_run_command(&trace_program, argc, argv, NULL);
}
