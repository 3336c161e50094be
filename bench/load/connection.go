package main

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	dialTimeout   = 10 * time.Second
	answerTimeout = 30 * time.Second
	maxAnswer     = 1 << 20
)

// connection calls over one TLS connection at a time.
type connection struct {
	dialer   tls.Dialer
	address  string
	conn     net.Conn
	reader   *bufio.Reader
	response fasthttp.Response
}

// Each one has a source address of its own: with a connection per call the ports of one would run out.
func newConnection(u *url.URL, index int) *connection {
	c := &connection{address: u.Host, reader: bufio.NewReader(nil)}
	c.dialer = tls.Dialer{
		NetDialer: &net.Dialer{
			Timeout:   dialTimeout,
			LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+index/250), byte(1+index%250))},
		},
		Config: &tls.Config{
			MinVersion: tls.VersionTLS13,
			// The certificate is the bench's own, and to verify it would cost this side alone.
			InsecureSkipVerify: true,
		},
	}
	return c
}

func (c *connection) open() error {
	conn, err := c.dialer.Dial("tcp", c.address)
	if err != nil {
		return err
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

// call reports whether the answer was the one expected. After an error the connection is closed.
func (c *connection) call(bytes []byte) (bool, error) {
	if c.conn == nil {
		if err := c.open(); err != nil {
			return false, err
		}
	}
	if err := c.exchange(bytes); err != nil {
		c.close()
		return false, err
	}
	right := c.response.StatusCode() == fasthttp.StatusOK && isBlocked(c.response.Body())
	if c.response.ConnectionClose() {
		c.close()
	}
	return right, nil
}

func (c *connection) exchange(bytes []byte) error {
	if err := c.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := c.conn.Write(bytes); err != nil {
		return err
	}
	return c.response.ReadLimitBody(c.reader, maxAnswer)
}
