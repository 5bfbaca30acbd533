package provider

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"time"
)

// Limits of a message, in bytes.
const (
	maxHead = 16 << 10
	maxBody = 1 << 20
)

var errFormat = errors.New("not an HTTP/1.1 message of known length")

// message is a request or a response. Its slices are valid until the next one is read.
type message struct {
	start   []byte // the first line
	length  int    // of the body; -1: unknown
	basic   []byte // credentials of basic authentication
	closing bool   // the connection ends after it
	body    []byte
	arrived time.Time // when its first byte reached this machine
}

// reader reads messages from a connection, one at a time: the next one is only sent
// after the previous one is answered.
type reader struct {
	conn    net.Conn
	stamped *stamped // nil: the system has no timestamps of arrival
	buf     []byte
	used    int // bytes of buf that belong to the previous message
}

// next reads a message. response reports whether a body of unknown length may follow,
// which is not read.
func (r *reader) next(response bool) (m message, err error) {
	r.buf = r.buf[:copy(r.buf, r.buf[r.used:])]
	r.used = 0
	if len(r.buf) > 0 {
		m.arrived = time.Now()
	}
	end := bytes.Index(r.buf, []byte("\r\n\r\n"))
	for end < 0 {
		if len(r.buf) > maxHead {
			return m, errFormat
		}
		if err := r.fill(&m); err != nil {
			return m, err
		}
		end = bytes.Index(r.buf, []byte("\r\n\r\n"))
	}
	if err := m.head(r.buf[:end+2]); err != nil {
		return m, err
	}
	if m.length < 0 && response && !bodiless(m.status()) {
		m.closing = true
	}
	total := end + 4 + max(0, m.length)
	if m.length > maxBody {
		return m, errFormat
	}
	for len(r.buf) < total {
		if err := r.fill(&m); err != nil {
			return m, err
		}
	}
	// fill may have moved the buffer.
	m.start, m.body = r.buf[:len(m.start)], r.buf[end+4:total]
	r.used = total
	return m, nil
}

// fill reads what has arrived.
func (r *reader) fill(m *message) (err error) {
	const room = 4 << 10
	if cap(r.buf)-len(r.buf) < room/4 {
		r.buf = append(make([]byte, 0, 2*cap(r.buf)+room), r.buf...)
	}
	var n int
	var at time.Time
	space := r.buf[len(r.buf):cap(r.buf)]
	if r.stamped != nil {
		n, at, err = r.stamped.read(space)
	} else {
		n, err = r.conn.Read(space)
	}
	if n > 0 && m.arrived.IsZero() {
		if m.arrived = at; at.IsZero() {
			m.arrived = time.Now()
		}
	}
	r.buf = r.buf[:len(r.buf)+n]
	if err == io.EOF && len(r.buf) > 0 { //nolint:errorlint // as io.Reader has it
		return io.ErrUnexpectedEOF
	}
	return err
}

// head parses the lines before the body.
func (m *message) head(lines []byte) error {
	m.length = -1
	for first := true; len(lines) > 0; first = false {
		line, rest, _ := bytes.Cut(lines, []byte("\r\n"))
		lines = rest
		if first {
			m.start = line
			continue
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			return errFormat
		}
		if err := m.field(line[:colon], bytes.TrimSpace(line[colon+1:])); err != nil {
			return err
		}
	}
	return nil
}

func (m *message) field(name, value []byte) (err error) {
	switch len(name) {
	case len("Content-Length"):
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if m.length, err = strconv.Atoi(string(value)); err != nil || m.length < 0 {
				return errFormat
			}
		}
	case len("Authorization"):
		if bytes.EqualFold(name, []byte("Authorization")) {
			m.basic = bytes.TrimPrefix(value, []byte("Basic "))
		}
	case len("Connection"):
		m.closing = m.closing || bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close"))
	case len("Transfer-Encoding"):
		if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			m.closing = true // its body is not read
		}
	}
	return nil
}

// request returns method and target of a request.
func (m *message) request() (method, target []byte) {
	method, rest, _ := bytes.Cut(m.start, []byte(" "))
	target, _, _ = bytes.Cut(rest, []byte(" "))
	return method, target
}

// status returns the status of a response; 0: it has none.
func (m *message) status() int {
	_, rest, _ := bytes.Cut(m.start, []byte(" "))
	if len(rest) < 3 {
		return 0
	}
	status, _ := strconv.Atoi(string(rest[:3]))
	return status
}

// bodiless reports whether responses of a status never have a body.
func bodiless(status int) bool { return status/100 == 1 || status == 204 || status == 304 }
