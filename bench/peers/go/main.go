// Peer of `weft compare`: the rows by goroutines and channels.
//
//	go_peer ROW WORKERS N SIZE
//
// Prints `ops=… ns=… check=…` and what else the row measures; docs/comparison.md tells what each row is.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// What a row is asked to do: n operations, on so much of something.
type job struct{ n, size uint64 }

// What it says: how many operations, how long, what it added up to, and other measures.
type result struct {
	ops, check uint64
	took       time.Duration
	more       string
}

var rows = map[string]func(job) result{
	"yield": yield, "spawn": spawn, "pingpong": pingpong, "pairs": pairs, "ring": ring, "flight": flight, "mailbox": mailbox,
	"fanin": fanin, "skynet": skynet, "fib": fib, "parked": parked, "sleepers": sleepers, "timers": timers, "hog": hog,
	"blocking": blocking, "latency": latency,
}

func number(text string) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return value
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Sec+used.Stime.Sec) + float64(used.Utime.Usec+used.Stime.Usec)/1e6
}

func residentBytes() float64 {
	var all, resident float64
	text, _ := os.ReadFile("/proc/self/statm")
	fmt.Sscan(string(text), &all, &resident)
	return resident * float64(os.Getpagesize())
}

func main() {
	if len(os.Args) != 5 || rows[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: go_peer ROW WORKERS N SIZE")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(int(number(os.Args[2])))
	r := rows[os.Args[1]](job{number(os.Args[3]), number(os.Args[4])})
	fmt.Printf("ops=%d ns=%d check=%d%s\n", r.ops, r.took.Nanoseconds(), r.check, r.more)
}
