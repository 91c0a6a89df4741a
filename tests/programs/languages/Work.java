// SPDX-License-Identifier: Apache-2.0
// See language.sh. Java makes exceptions of SIGSEGV at null and at the end of a stack, and stops threads at pages that it protects.
import java.util.concurrent.atomic.AtomicInteger;

public class Work {
    static native int work(int rounds);         // work.c's, by way of jni.c, with called()
    static native int wild();
    static final AtomicInteger calls = new AtomicInteger(), wrong = new AtomicInteger();
    static class Cell { int value; }
    static Cell none;

    static void called() {
        byte[] b = new byte[10000];
        calls.addAndGet(b.length / 10000);
    }

    static int deep(int n) { return 1 + deep(n + 1); }

    static void faults() {
        try {
            none.value = 3;
            wrong.incrementAndGet();
        } catch (NullPointerException e) {
        }
    }

    static void overflows() {
        try {
            deep(0);
            wrong.incrementAndGet();
        } catch (StackOverflowError e) {
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        Thread[] threads = new Thread[8];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 10; i++) {
                    if (work(5) != 0)
                        wrong.incrementAndGet();
                    for (int k = 0; k < 2000; k++)
                        faults();
                    overflows();
                    System.gc();
                }
            });
            threads[t].start();
        }
        for (Thread t : threads)
            t.join();
        int fault = wild();
        faults();
        overflows();
        System.out.println("calls " + calls + " wrong " + wrong + " wild " + fault);
        System.exit(calls.get() == 400 && wrong.get() == 0 && fault == 700 ? 0 : 1);
    }
}
