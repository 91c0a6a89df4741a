#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does test_interleave.c see what it is there for? Each line takes one step of impl/driver/handle.c away; the test must then fail.
# interleave_mutants.sh CC SOURCE-DIR GENERATED-DIR FOLDER
cc=$1 source=$2 gen=$3 folder=$4
mkdir -p "$folder" && cd "$source" || exit 2
failed=0
while IFS='|' read -r name change; do
    [ -n "$name" ] || continue
    sed -e "$change" impl/driver/handle.c >"$folder/handle.c"
    if cmp -s impl/driver/handle.c "$folder/handle.c"; then
        echo "$name: the change matches nothing"
        failed=1
        continue
    fi
    "$cc" -O1 -I. -I"$gen" -DHANDLE_C="\"$folder/handle.c\"" tests/driver/test_interleave.c -o "$folder/mutant" || exit 2
    if (ulimit -c 0; "$folder/mutant") >"$folder/output" 2>&1; then
        echo "$name: not seen"
        failed=1
    else
        echo "$name: seen ($(tail -1 "$folder/output" | cut -d, -f1-3 | cut -c1-90))"
    fi
done <<END
objects are taken by a context that has ended|s/bool open = !atomic_load.*/bool open = true;/
the maker has no reference|s/ALIVE | 2;/ALIVE | 1;/
no wait for who borrows|s/pthread_mutex_t \*borrow = .*/pthread_mutex_t *borrow = NULL;/
no wait for queued work at all|s/if (o->class->quiesce)/if (0)/
retired objects are finished without waiting|s/(void)memory_settle(c);//
retired objects are finished while work uses them|s/if (memory_settled(c))/if (1)/
slots keep their generation|s/(generation + 1) & 0xffffff/generation/
the end of a context takes no reference|/handle_ref(o);/d; s/^        handle_put(o);//
a handle ends twice|s/if (!(before & ALIVE))/if (0)/
on the list before it is alive|s/^        atomic_store_explicit(&s->state, alive.*//; s/^    if (open)$/    if (open) atomic_store(\&s->state, alive);\n    if (open)/
closed under one lock alone|s/pthread_mutex_\(un\)*lock(&c->order);//
END
exit $failed
