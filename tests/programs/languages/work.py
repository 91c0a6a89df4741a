# SPDX-License-Identifier: Apache-2.0
# See language.sh. Python's faulthandler takes over the signals of faults, and timers interrupt its calls.
import ctypes
import faulthandler
import gc
import signal
import sys
import threading

faulthandler.enable()
library = ctypes.CDLL("libwork.so")
calls, wrong = [], []


def called(_):
    calls.append(len([[i] for i in range(1000)]))


callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(called)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def one_thread():
    for _ in range(10):
        if library.work(5, callback):
            wrong.append(1)
        gc.collect()


threads = [threading.Thread(target=one_thread) for _ in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
signal.setitimer(signal.ITIMER_REAL, 0)
fault = library.wild()
print("calls", len(calls), "wrong", len(wrong), "wild", fault)
sys.exit(len(calls) != 400 or len(wrong) != 0 or fault != 700)
