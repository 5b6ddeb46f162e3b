package main

import (
	"sort"
	"sync/atomic"
	"time"
)

const (
	pairsAtOnce   = 1000
	flightMembers = 1000
	senders       = 100
	children      = 10
)

// A round trip is a value there and back. A channel with room for one lets the sender go on, as a mailbox does.
func pong(in, out chan uint64) {
	for value := range in {
		out <- value
	}
}

func ping(trips uint64) uint64 {
	there, back := make(chan uint64, 1), make(chan uint64, 1)
	go pong(there, back)
	var sum uint64
	for left := trips; left > 0; left-- {
		there <- left
		sum += <-back
	}
	close(there)
	return sum
}

func somePairs(n, count uint64) result {
	if n < count {
		count = n
	}
	sums := make(chan uint64, count)
	start := time.Now()
	for i := uint64(0); i < count; i++ {
		trips := n / count
		if i < n%count {
			trips++
		}
		go func() { sums <- ping(trips) }()
	}
	var sum uint64
	for i := uint64(0); i < count; i++ {
		sum += <-sums
	}
	return result{ops: n, check: sum, took: time.Since(start)}
}

func pingpong(j job) result { return somePairs(j.n, 1) }
func pairs(j job) result    { return somePairs(j.n, pairsAtOnce) }

// The value says how many hops are left, the one just made included.
func member(in, out chan uint64, number uint64, arrived chan uint64) {
	for left := range in {
		if left > 1 {
			out <- left - 1
		} else {
			arrived <- number + 1
		}
	}
}

func round(hops, members, tokens uint64) result {
	if hops < tokens {
		tokens = hops
	}
	// More room than there are tokens: a ring of full channels would stand still.
	at, arrived := make([]chan uint64, members), make(chan uint64, tokens)
	for i := range at {
		at[i] = make(chan uint64, tokens/members+1)
	}
	for i := range at {
		go member(at[i], at[(i+1)%len(at)], uint64(i), arrived)
	}
	at[1%members] <- members // a lap before the clock: every member has run then, and waits
	<-arrived
	start := time.Now()
	go func() {
		for t := uint64(0); t < tokens; t++ {
			left := hops / tokens
			if t < hops%tokens {
				left++
			}
			at[(t+1)%members] <- left
		}
	}()
	var places uint64
	for t := uint64(0); t < tokens; t++ {
		places += <-arrived
	}
	return result{ops: hops, check: places, took: time.Since(start)}
}

func ring(j job) result   { return round(j.n, j.size, 1) }
func flight(j job) result { return round(j.n, flightMembers, j.size) }

func mailbox(j job) result {
	messages := j.n / j.size * j.size
	if messages == 0 {
		messages = j.size
	}
	box, back := make(chan uint64, j.size), make(chan uint64, 1)
	go func() {
		var sum, had uint64
		for value := range box {
			sum += value
			if had++; had%j.size == 0 {
				back <- sum
			}
		}
	}()
	var sum uint64
	start := time.Now()
	for i := uint64(1); i <= messages; i++ {
		box <- i
		if i%j.size == 0 {
			sum = <-back
		}
	}
	return result{ops: messages, check: sum, took: time.Since(start)}
}

func fanin(j job) result {
	box := make(chan uint64, 1024)
	start := time.Now()
	for i := uint64(0); i < senders; i++ {
		left := j.n / senders
		if i < j.n%senders {
			left++
		}
		go func() {
			for ; left > 0; left-- {
				box <- left
			}
		}()
	}
	var sum uint64
	for i := uint64(0); i < j.n; i++ {
		sum += <-box
	}
	return result{ops: j.n, check: sum, took: time.Since(start)}
}

func skynetNode(up chan uint64, first, leaves uint64) {
	if leaves == 1 {
		up <- first
		return
	}
	count := leaves
	if count > children {
		count = children
	}
	sums := make(chan uint64, count)
	for i := uint64(0); i < count; i++ {
		below := leaves / count
		if i < leaves%count {
			below++
		}
		go skynetNode(sums, first, below)
		first += below
	}
	var sum uint64
	for i := uint64(0); i < count; i++ {
		sum += <-sums
	}
	up <- sum
}

func skynet(j job) result {
	up := make(chan uint64, 1)
	start := time.Now()
	go skynetNode(up, 0, j.n)
	sum := <-up
	return result{ops: j.n, check: sum, took: time.Since(start)}
}

// A goroutine for each call that is not a leaf, as every peer has a task for each.
func fibOf(n uint64) uint64 {
	if n < 2 {
		return n
	}
	other := make(chan uint64, 1)
	go func() { other <- fibOf(n - 1) }()
	return fibOf(n-2) + <-other
}

func fibTasks(n uint64) uint64 {
	if n < 2 {
		return 0
	}
	return 1 + fibTasks(n-1) + fibTasks(n-2)
}

func fib(j job) result {
	start := time.Now()
	sum := fibOf(j.n)
	return result{ops: fibTasks(j.n), check: sum, took: time.Since(start)}
}

// A request every millisecond, while a thousand pairs never pause. One that had to wait for the one before it counts from its own time.
func latency(j job) result {
	var over atomic.Bool
	for i := 0; i < pairsAtOnce; i++ {
		go neverPauses(&over)
	}
	there, back := make(chan uint64, 1), make(chan uint64, 1)
	go pong(there, back)
	time.Sleep(100 * time.Millisecond)
	took := make([]time.Duration, 0, j.n)
	var sum uint64
	start := time.Now()
	for i := uint64(1); i <= j.n; i++ {
		due := start.Add(time.Duration(i) * time.Millisecond)
		if pause := time.Until(due); pause > 0 {
			time.Sleep(pause)
		}
		there <- i
		sum += <-back
		took = append(took, time.Since(due))
	}
	over.Store(true)
	return result{ops: j.n, check: sum, took: time.Since(start), more: percentiles(took)}
}

func neverPauses(over *atomic.Bool) {
	there, back := make(chan uint64, 1), make(chan uint64, 1)
	go pong(there, back)
	for !over.Load() {
		there <- 1
		<-back
	}
	close(there)
}

func sorted(took []time.Duration) []time.Duration {
	sort.Slice(took, func(a, b int) bool { return took[a] < took[b] })
	return took
}
