// Command load calls a hook over TLS 1.3 again and again, checks every answer, and prints what it measured as JSON.
// It is cheap, so that the server is what is measured: requests are built once, and each connection is one goroutine.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"syscall"
	"time"
)

type options struct {
	url         *url.URL
	connections int
	duration    time.Duration
	// Calls per second; 0: each connection calls again as soon as it is answered.
	rate      int
	reconnect bool
	fresh     bool
}

func main() {
	var o options
	address := flag.String("url", "", "address of the hook")
	bodies := flag.String("bodies", "", "file of request bodies, one per line")
	flag.IntVar(&o.connections, "connections", 16, "connections at a time")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "how long")
	flag.IntVar(&o.rate, "rate", 0, "calls per second, whether answers come or not; 0: the next call follows the answer")
	flag.BoolVar(&o.reconnect, "reconnect", false, "a new connection for every call")
	flag.BoolVar(&o.fresh, "fresh", false, "count in the placeholder of every body, so that no two requests are the same")
	flag.Parse()
	result, err := load(o, *address, *bodies)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func load(o options, address, bodies string) (result Result, err error) {
	if o.url, err = url.Parse(address); err != nil {
		return
	}
	text, err := os.ReadFile(bodies)
	if err != nil {
		return
	}
	requests, err := buildRequests(o.url, bytes.Split(bytes.TrimSpace(text), []byte("\n")), o.connections)
	if err != nil {
		return
	}
	// One core is left to the server. The dispatcher of an open loop must not wait for its turn.
	runtime.GOMAXPROCS(1)
	if o.rate > 0 {
		runtime.GOMAXPROCS(2)
	}
	result, err = run(o, requests)
	result.CPUSeconds = cpuSeconds()
	return
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
