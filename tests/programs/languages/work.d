// SPDX-License-Identifier: Apache-2.0
// See language.sh. D's collector stops threads by a real-time signal, and goes on knowing one that has called it.
import core.atomic, core.memory, core.stdc.stdlib : exit;
import core.thread;
import std.stdio;

extern (C) nothrow int work(int rounds, void function(void*) nothrow call);
extern (C) nothrow int wild();
shared int calls, wrong;

extern (C) nothrow void called(void*) {
    try {
        if (Thread.getThis() is null)
            thread_attachThis();
        int[][] kept;
        foreach (i; 0 .. 50)
            kept ~= new int[200];
        calls.atomicOp!"+="(1);
    } catch (Throwable) {
    }
}

void oneThread() {
    foreach (i; 0 .. 10) {
        if (work(5, &called) != 0)
            wrong.atomicOp!"+="(1);
        foreach (k; 0 .. 20) {
            auto junk = new int[1000];
            junk[0] = k;
        }
        GC.collect();
    }
}

void main() {
    Thread[] threads;
    foreach (i; 0 .. 8)
        threads ~= new Thread(&oneThread).start();
    foreach (t; threads)
        t.join();
    const fault = wild();
    writeln("calls ", calls, " wrong ", wrong, " wild ", fault);
    stdout.flush();
    exit(calls == 400 && wrong == 0 && fault == 700 ? 0 : 1);
}
