// SPDX-License-Identifier: Apache-2.0
// See language.sh. Go preempts by SIGURG, and makes panics of SIGSEGV.
package main

/*
#cgo LDFLAGS: -lwork -lcuda
int work(int rounds, void (*call)(void *));
int wild(void);
extern void called(void *);
static int work_and_call(int rounds) { return work(rounds, called); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

var calls, wrong int64

//export called
func called(_ unsafe.Pointer) {
	b := make([]byte, 10000)
	atomic.AddInt64(&calls, int64(len(b)/10000))
}

func faults() {
	defer func() {
		if recover() == nil {
			atomic.AddInt64(&wrong, 1)
		}
	}()
	var none *int
	*none = 3
}

func main() {
	var all sync.WaitGroup
	for t := 0; t < 8; t++ {
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			for i := 0; i < 10; i++ {
				if C.work_and_call(5) != 0 {
					atomic.AddInt64(&wrong, 1)
				}
				for k := 0; k < 100; k++ {
					faults()
				}
				runtime.GC()
			}
		}()
	}
	all.Wait()
	fault := C.wild()
	faults()
	fmt.Println("calls", calls, "wrong", wrong, "wild", fault)
	if calls != 400 || wrong != 0 || fault != 700 {
		os.Exit(1)
	}
}
