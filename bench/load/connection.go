package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	dialTimeout   = 10 * time.Second
	answerTimeout = 30 * time.Second
	maxAnswer     = 1 << 20
)

var retry = regexp.MustCompile(`"retryAfterSeconds": *[1-9]`)

// connection sends its requests in turn, over one TLS connection at a time.
type connection struct {
	dialer   tls.Dialer
	address  string
	requests []request
	sent     int
	conn     net.Conn
	reader   *bufio.Reader
	response fasthttp.Response
}

// newConnections deals the bodies out to the connections; where there are fewer bodies, connections get copies.
func newConnections(o options) ([]*connection, error) {
	u, err := url.Parse(o.url)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(o.bodies)
	if err != nil {
		return nil, err
	}
	connections := make([]*connection, o.connections)
	for i := range connections {
		// With a connection per call the ports of one source address would run out.
		local := &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i/250), byte(1+i%250))}
		connections[i] = &connection{address: u.Host, reader: bufio.NewReader(nil), dialer: tls.Dialer{
			NetDialer: &net.Dialer{Timeout: dialTimeout, LocalAddr: local},
			// The certificate is the bench's own, and to verify it would cost this side alone.
			Config: &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true},
		}}
	}
	bodies := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for i := range max(len(bodies), len(connections)) {
		r, err := newRequest(u, bodies[i%len(bodies)])
		if err != nil {
			return nil, err
		}
		c := connections[i%len(connections)]
		c.requests = append(c.requests, r)
	}
	return connections, nil
}

func (c *connection) open() error {
	conn, err := c.dialer.Dial("tcp", c.address)
	if err != nil {
		return fmt.Errorf("from %v: %w", c.dialer.NetDialer.LocalAddr, err)
	}
	c.conn = conn
	c.reader.Reset(conn)
	return nil
}

func (c *connection) close() {
	if c.conn != nil {
		c.conn.Close()
	}
	c.conn = nil
}

// next returns the request of the next call.
func (c *connection) next() request {
	c.sent++
	return c.requests[(c.sent-1)%len(c.requests)]
}

// call reports whether the answer tells Cluster API to wait. After an error the connection is closed.
func (c *connection) call(r request) (bool, error) {
	if err := c.exchange(r); err != nil {
		c.close()
		return false, err
	}
	if c.response.ConnectionClose() {
		c.close()
	}
	return c.response.StatusCode() == fasthttp.StatusOK && retry.Match(c.response.Body()), nil
}

func (c *connection) exchange(r request) error {
	if c.conn == nil {
		if err := c.open(); err != nil {
			return err
		}
	}
	if err := c.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := c.conn.Write(r.bytes); err != nil {
		return err
	}
	return c.response.ReadLimitBody(c.reader, maxAnswer)
}
