package main

import (
	"bytes"
	"fmt"
	"net/url"
)

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
