package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	pauseAfterFailure = 10 * time.Millisecond
	// After the last handshake, so that what the server still does for it is no part of what is measured.
	pauseAfterConnecting = 500 * time.Millisecond
)

// Result: times in milliseconds; of an open loop from when the call was due, whether it could begin then or not.
type Result struct {
	Calls int64 `json:"calls"`
	// Answered, but not blocked.
	Wrong int64 `json:"wrong"`
	// Not answered.
	Failed       int64   `json:"failed"`
	FirstFailure string  `json:"firstFailure,omitempty"`
	Seconds      float64 `json:"seconds"`
	P50          float64 `json:"p50"`
	P99          float64 `json:"p99"`
	// Of this process.
	CPUSeconds float64 `json:"cpuSeconds"`
}

type recorder struct {
	// Another number for every request, also of later runs.
	counter   atomic.Uint64
	mutex     sync.Mutex
	histogram *hdrhistogram.Histogram
	result    Result
}

func (r *recorder) record(begun time.Time, right bool, err error) {
	took := time.Since(begun).Microseconds()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.result.Calls++
	switch {
	case err != nil:
		r.result.Failed++
		if r.result.FirstFailure == "" {
			r.result.FirstFailure = err.Error()
		}
	case !right:
		r.result.Wrong++
	}
	_ = r.histogram.RecordValue(min(took, r.histogram.HighestTrackableValue()))
}

func run(o options, requests [][]request) (Result, error) {
	r := &recorder{histogram: hdrhistogram.New(1, time.Minute.Microseconds(), 3)}
	r.counter.Store(uint64(time.Now().UnixMicro()))
	connections := make([]*connection, o.connections)
	for i := range connections {
		connections[i] = newConnection(o.url, i)
		defer connections[i].close()
		if o.reconnect {
			continue
		}
		if err := connections[i].open(); err != nil {
			return Result{}, fmt.Errorf("connection %d: %w", i, err)
		}
	}
	if !o.reconnect {
		time.Sleep(pauseAfterConnecting)
	}
	begun := time.Now()
	if o.rate > 0 {
		openLoop(o, connections, requests, r)
	} else {
		closedLoop(o, connections, requests, r)
	}
	ms := func(quantile float64) float64 { return float64(r.histogram.ValueAtQuantile(quantile)) / 1000 }
	r.result.Seconds, r.result.P50, r.result.P99 = time.Since(begun).Seconds(), ms(50), ms(99)
	return r.result, nil
}

func closedLoop(o options, connections []*connection, requests [][]request, r *recorder) {
	end := time.Now().Add(o.duration)
	var wait sync.WaitGroup
	for i, c := range connections {
		wait.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				if !callOnce(o, c, requests[i][n%len(requests[i])], time.Now(), r) {
					time.Sleep(pauseAfterFailure)
				}
			}
		})
	}
	wait.Wait()
}

// callOnce reports whether the call was answered.
func callOnce(o options, c *connection, q request, due time.Time, r *recorder) bool {
	if o.fresh {
		q.patch(r.counter.Add(1))
	}
	right, err := c.call(q.bytes)
	if o.reconnect {
		c.close()
	}
	r.record(due, right, err)
	return err == nil
}

// openLoop: a call that is due while its connection still waits for an answer is late, and its time counts from when
// it was due (no coordinated omission).
func openLoop(o options, connections []*connection, requests [][]request, r *recorder) {
	calls := int(float64(o.rate) * o.duration.Seconds())
	due := make([]chan time.Time, len(connections))
	var wait sync.WaitGroup
	for i, c := range connections {
		due[i] = make(chan time.Time, calls/len(connections)+1)
		wait.Go(func() {
			n := 0
			for at := range due[i] {
				callOnce(o, c, requests[i][n%len(requests[i])], at, r)
				n++
			}
		})
	}
	begun := time.Now()
	for k := range calls {
		at := begun.Add(time.Duration(float64(k) / float64(o.rate) * float64(time.Second)))
		sleepUntil(at)
		due[k%len(due)] <- at
	}
	for _, channel := range due {
		close(channel)
	}
	wait.Wait()
}

// Go's own timers wake up to a millisecond late where nothing else happens, which is more than what is measured.
func sleepUntil(at time.Time) {
	rest := time.Until(at)
	if rest <= 0 {
		return
	}
	pause := syscall.NsecToTimespec(rest.Nanoseconds())
	_ = syscall.Nanosleep(&pause, nil)
}
