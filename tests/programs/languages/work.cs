// SPDX-License-Identifier: Apache-2.0
// See language.sh. Mono stops threads by a real-time signal, also ours once they have called it, and makes exceptions of SIGSEGV (on an alternate stack) and SIGFPE (on the thread's).
using System;
using System.Runtime.InteropServices;
using System.Threading;

class Work {
    delegate void Call(IntPtr unused);
    [DllImport("libwork.so")] static extern int work(int rounds, Call call);
    [DllImport("libwork.so")] static extern int wild();
    [DllImport("libc.so.6")] static extern void _exit(int status);

    class Cell { public int value; }
    static Cell none = null;
    static int calls, wrong;
    public static object kept;

    static void Faults(int n) {
        try {
            none.value = 3;
            Interlocked.Increment(ref wrong);
        } catch (NullReferenceException) {
        }
        try {
            kept = n / (n - n);
            Interlocked.Increment(ref wrong);
        } catch (DivideByZeroException) {
        }
    }

    static void OneThread(Call call) {
        for (int i = 0; i < 10; i++) {
            if (work(5, call) != 0)
                Interlocked.Increment(ref wrong);
            for (int k = 0; k < 200; k++)
                Faults(k);
            GC.Collect();
        }
    }

    static void Main() {
        Call call = unused => {
            kept = new byte[10000];
            Interlocked.Increment(ref calls);
        };
        var threads = new Thread[8];
        for (int t = 0; t < threads.Length; t++) {
            threads[t] = new Thread(() => OneThread(call));
            threads[t].Start();
        }
        foreach (var t in threads)
            t.Join();
        int fault = wild();
        Faults(1);
        Console.WriteLine("calls " + calls + " wrong " + wrong + " wild " + fault);
        Console.Out.Flush();
        _exit(calls == 400 && wrong == 0 && fault == 700 ? 0 : 1);      // Mono's own end waits for every thread that has called it, of whatever library
    }
}
