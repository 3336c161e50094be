// Command load calls a hook over TLS 1.3 again and again, checks every answer, and prints what it measured as JSON.
// It is cheap, so that the server is what is measured: requests are built once, and each connection is one goroutine.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

type options struct {
	url, bodies      string
	connections      int
	duration         time.Duration
	rate             int
	reconnect, fresh bool
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "", "address of the hook")
	flag.StringVar(&o.bodies, "bodies", "", "file of request bodies, one per line")
	flag.IntVar(&o.connections, "connections", 16, "connections at a time")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "how long")
	flag.IntVar(&o.rate, "rate", 0, "calls per second, whether answers come or not; 0: the next call follows the answer")
	flag.BoolVar(&o.reconnect, "reconnect", false, "a new connection for every call")
	flag.BoolVar(&o.fresh, "fresh", false, "count in the placeholder of every body, so that no two requests are the same")
	flag.Parse()
	// The server keeps one core. The dispatcher of an open loop must not wait for its turn.
	runtime.GOMAXPROCS(1)
	if o.rate > 0 {
		runtime.GOMAXPROCS(2)
	}
	result, err := run(o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}
