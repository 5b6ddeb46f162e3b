package main

import (
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	burst  = 32
	hogs   = 4
	period = time.Millisecond
	nap    = 10 * time.Millisecond
)

func percentiles(took []time.Duration) string {
	took = sorted(took)
	at := func(part float64) float64 { return float64(took[int(part*float64(len(took)-1))].Nanoseconds()) / 1e3 }
	return fmt.Sprintf(" p50_us=%.3f p99_us=%.3f p999_us=%.3f", at(0.5), at(0.99), at(0.999))
}

func yield(j job) result {
	var both sync.WaitGroup
	var turned atomic.Uint64
	both.Add(2)
	turn := func(count uint64) {
		var had uint64
		for ; had < count; had++ {
			runtime.Gosched()
		}
		turned.Add(had)
		both.Done()
	}
	start := time.Now()
	go turn(j.n / 2)
	go turn(j.n - j.n/2)
	both.Wait()
	return result{ops: j.n, check: turned.Load(), took: time.Since(start)}
}

// In bursts, so that those that have ended leave their stacks to the next. All of it on a goroutine of the scheduler's own.
func spawn(j job) result {
	var all sync.WaitGroup
	done := make(chan result)
	go func() {
		start := time.Now()
		all.Add(int(j.n))
		for i := uint64(1); i <= j.n; i++ {
			go all.Done()
			if i%burst == 0 {
				runtime.Gosched()
			}
		}
		all.Wait() // returns when as many have ended as were added
		done <- result{ops: j.n, check: j.n, took: time.Since(start)}
	}()
	return <-done
}

func parked(j job) result {
	var had sync.WaitGroup
	had.Add(int(j.n))
	boxes := make([]chan uint64, j.n)
	runtime.GC()
	before := residentBytes()
	start := time.Now()
	for i := range boxes {
		box := make(chan uint64, 1)
		boxes[i] = box
		go func() {
			<-box
			had.Done()
			<-box
		}()
		box <- uint64(i)
		if i%burst == 0 {
			runtime.Gosched()
		}
	}
	had.Wait()
	took := time.Since(start)
	runtime.GC()
	each := (residentBytes() - before) / float64(j.n)
	runtime.KeepAlive(boxes)
	return result{ops: j.n, check: j.n, took: took, more: fmt.Sprintf(" bytes_each=%.1f", each)}
}

// The package's own source of numbers has a lock.
func ownRandom() *rand.Rand { return rand.New(rand.NewSource(88172645463325252)) }

func sleepers(j job) result {
	var all sync.WaitGroup
	var woken atomic.Uint64
	random := ownRandom()
	before, start := cpuSeconds(), time.Now()
	all.Add(int(j.n))
	for i := uint64(0); i < j.n; i++ {
		pause := time.Duration(random.Int63n(int64(time.Second)))
		go func() {
			time.Sleep(pause)
			woken.Add(1)
			all.Done()
		}()
	}
	all.Wait()
	took := time.Since(start)
	late := float64((took - time.Second).Nanoseconds()) / 1e6
	return result{ops: j.n, check: woken.Load(), took: took, more: fmt.Sprintf(" late_ms=%.3f cpu_s=%.4f", late, cpuSeconds()-before)}
}

// `size` timers stay armed; the oldest is stopped and armed again.
func timers(j job) result {
	random := ownRandom()
	in := func() time.Duration { return time.Hour + time.Duration(random.Int63n(int64(time.Second))) }
	armed := make([]*time.Timer, j.size)
	for i := range armed {
		armed[i] = time.AfterFunc(in(), func() {})
	}
	var stopped uint64
	start := time.Now()
	for i := uint64(0); i < j.n; i++ {
		timer := armed[i%j.size]
		if timer.Stop() {
			stopped++
		}
		timer.Reset(in())
	}
	return result{ops: j.n, check: stopped, took: time.Since(start)}
}

func hog(j job) result {
	var over atomic.Bool
	for i := 0; i < hogs; i++ {
		go func() {
			for !over.Load() {
			}
		}()
	}
	late := make([]time.Duration, 0, j.n)
	done := make(chan time.Duration)
	go func() {
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		for next := start.Add(period); uint64(len(late)) < j.n; next = next.Add(period) {
			time.Sleep(time.Until(next))
			now := time.Now()
			late = append(late, now.Sub(next))
			if now.Sub(next) > period {
				next = now
			}
		}
		done <- time.Since(start)
	}()
	took := <-done
	over.Store(true)
	return result{ops: j.n, check: uint64(len(late)), took: took, more: percentiles(late)}
}

// A real call of the kernel, which keeps its thread.
func blocking(j job) result {
	var all sync.WaitGroup
	var back atomic.Uint64
	start := time.Now()
	all.Add(int(j.n))
	for i := uint64(0); i < j.n; i++ {
		go func() {
			pause := syscall.NsecToTimespec(nap.Nanoseconds())
			syscall.Nanosleep(&pause, nil)
			back.Add(1)
			all.Done()
		}()
	}
	all.Wait()
	return result{ops: j.n, check: back.Load(), took: time.Since(start)}
}
