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

// The placeholder is in an annotation or a setting that no rule reads.
var placeholder = []byte(`"000000000000"`)

// request holds the bytes to send. It belongs to one connection, which may patch them.
type request struct {
	bytes []byte
	// The digits of the placeholder, a part of bytes.
	counter []byte
}

// newRequest has the headers of Cluster API's runtime client, which sends no Content-Type.
func newRequest(u *url.URL, body []byte) (request, error) {
	head := fmt.Sprintf(
		"POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: %d\r\nAccept-Encoding: gzip\r\n\r\n",
		u.RequestURI(), u.Host, len(body))
	all := append([]byte(head), body...)
	at := bytes.Index(all, placeholder)
	if at < 0 {
		return request{}, fmt.Errorf("a body has no placeholder %s", placeholder)
	}
	return request{bytes: all, counter: all[at+1 : at+len(placeholder)-1]}, nil
}

func (r request) patch(value uint64) {
	for i := len(r.counter) - 1; i >= 0; i-- {
		r.counter[i] = byte('0' + value%10)
		value /= 10
	}
}

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
