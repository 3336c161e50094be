package main

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	pauseAfterFailure = 10 * time.Millisecond
	// After the last handshake, so that the server's work for it is not measured.
	pauseAfterConnecting = 500 * time.Millisecond
)

// Result has times in milliseconds; those of an open loop count from when the call was due.
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
	// CPU time of this process.
	CPUSeconds float64 `json:"cpuSeconds"`
}

type runner struct {
	options
	connections []*connection
	// Another number for every request, also of later runs.
	counter   atomic.Uint64
	mutex     sync.Mutex
	histogram *hdrhistogram.Histogram
	result    Result
}

func run(o options) (Result, error) {
	connections, err := newConnections(o)
	if err != nil {
		return Result{}, err
	}
	r := &runner{options: o, connections: connections, histogram: hdrhistogram.New(1, time.Minute.Microseconds(), 3)}
	r.counter.Store(uint64(time.Now().UnixMicro()))
	if !o.reconnect {
		for _, c := range connections {
			if err := c.open(); err != nil {
				return Result{}, err
			}
			defer c.close()
		}
		time.Sleep(pauseAfterConnecting)
	}
	begun := time.Now()
	if o.rate > 0 {
		r.openLoop()
	} else {
		r.closedLoop()
	}
	ms := func(quantile float64) float64 { return float64(r.histogram.ValueAtQuantile(quantile)) / 1000 }
	r.result.Seconds, r.result.P50, r.result.P99 = time.Since(begun).Seconds(), ms(50), ms(99)
	r.result.CPUSeconds, err = cpuSeconds()
	return r.result, err
}

func (r *runner) closedLoop() {
	end := time.Now().Add(r.duration)
	var wait sync.WaitGroup
	for _, c := range r.connections {
		wait.Go(func() {
			for time.Now().Before(end) {
				if r.call(c, time.Now()) != nil {
					time.Sleep(pauseAfterFailure)
				}
			}
		})
	}
	wait.Wait()
}

// openLoop: a call that is due while its connection still waits for an answer is late, and its time counts from when
// it was due (no coordinated omission).
func (r *runner) openLoop() {
	calls := int(float64(r.rate) * r.duration.Seconds())
	due := make([]chan time.Time, len(r.connections))
	var wait sync.WaitGroup
	for i, c := range r.connections {
		due[i] = make(chan time.Time, calls/len(due)+1)
		wait.Go(func() {
			for at := range due[i] {
				r.call(c, at)
			}
		})
	}
	begun := time.Now()
	for k := range calls {
		at := begun.Add(time.Duration(float64(k) / float64(r.rate) * float64(time.Second)))
		sleepUntil(at)
		due[k%len(due)] <- at
	}
	for _, channel := range due {
		close(channel)
	}
	wait.Wait()
}

func (r *runner) call(c *connection, due time.Time) error {
	q := c.next()
	if r.fresh {
		q.patch(r.counter.Add(1))
	}
	right, err := c.call(q)
	if r.reconnect {
		c.close()
	}
	took := time.Since(due).Microseconds()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.result.Calls++
	if err != nil {
		r.result.Failed++
		if r.result.FirstFailure == "" {
			r.result.FirstFailure = err.Error()
		}
	} else if !right {
		r.result.Wrong++
	}
	_ = r.histogram.RecordValue(min(took, r.histogram.HighestTrackableValue()))
	return err
}

// Go's own timers wake up to a millisecond late where nothing else happens, which is more than what is measured.
func sleepUntil(at time.Time) {
	if rest := time.Until(at); rest > 0 {
		pause := syscall.NsecToTimespec(rest.Nanoseconds())
		_ = syscall.Nanosleep(&pause, nil)
	}
}

func cpuSeconds() (float64, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9, err
}
