package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/machine"
)

const (
	connections = 64 // on which ends are reported
	maxTries    = 5  // for each report
	postLimit   = 10 * time.Second
)

// target is where a report goes.
type target struct {
	secure bool
	host   string // with port
	path   string // and query
}

func newTarget(address string) (target, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return target{}, errors.New("not an http or https URL")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return target{u.Scheme == "https", net.JoinHostPort(u.Hostname(), port), u.RequestURI()}, nil
}

// report is the report of a contact's end.
type report struct {
	due     time.Time
	channel *judge.Channel
	id      int
	key     string // of its state
	target  target
	guid    string // of a message; empty: it is a call
	failed  bool   // the message was not delivered
	from    string // it is no report but this person's answer to a question; empty: a report
}

// append writes the request of a report.
func (p *report) append(out []byte) []byte {
	if p.guid == "" {
		separator := "?"
		if strings.Contains(p.target.path, "?") {
			separator = "&"
		}
		out = append(append(append(out, "GET "...), p.target.path...), separator...)
		out = append(append(append(out, "CallSid="...), p.key...), "&CallStatus=completed HTTP/1.1\r\nHost: "...)
		return append(append(out, p.target.host...), "\r\n\r\n"...)
	}
	if p.from != "" {
		return p.appendAnswer(out)
	}
	guid, channel := url.QueryEscape(p.guid), url.QueryEscape(p.channel.Name)
	state := "delivered"
	if p.failed {
		state = "failed"
	}
	length := len("guid=") + len(guid) + len("&channel=") + len(channel) + len("&state=") + len(state)
	out = append(append(append(out, "POST "...), p.target.path...), " HTTP/1.1\r\nHost: "...)
	out = append(append(out, p.target.host...), "\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "...)
	out = append(strconv.AppendInt(out, int64(length), 10), "\r\n\r\nguid="...)
	out = append(append(append(append(out, guid...), "&channel="...), channel...), "&state="...)
	return append(out, state...)
}

// reports sends the reports of ends when they are due.
type reports struct {
	s     *server
	ready chan report // due

	mu      sync.Mutex
	waiting []report // in the order in which they are due, because the delay of a run is the same for all
	first   int      // index of the next one
	wake    chan struct{}
}

func newReports(s *server) *reports {
	return &reports{s: s, ready: make(chan report, connections), wake: make(chan struct{}, 1)}
}

// add schedules a report.
func (r *reports) add(p report) {
	r.mu.Lock()
	r.waiting = append(r.waiting, p)
	alone := len(r.waiting)-r.first == 1
	r.mu.Unlock()
	if alone {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// drop forgets all reports.
func (r *reports) drop() {
	r.mu.Lock()
	r.waiting, r.first = nil, 0
	r.mu.Unlock()
}

// run sends reports until ctx ends.
func (r *reports) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for range connections {
		all.Go(func() { (&link{s: r.s, conns: map[target]*connection{}}).run(ctx, r.ready) })
	}
	for ctx.Err() == nil {
		p, wait, ok := r.next(time.Now())
		switch {
		case ok:
			select {
			case r.ready <- p:
			case <-ctx.Done():
			}
		case wait > 0:
			machine.Sleep(ctx, wait)
		default:
			select {
			case <-r.wake:
			case <-ctx.Done():
			}
		}
	}
}

// next takes the next report if it is due; otherwise it returns how long to wait. 0:
// until one is added.
func (r *reports) next(now time.Time) (p report, wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == len(r.waiting) {
		return p, 0, false
	}
	if wait := r.waiting[r.first].due.Sub(now); wait > 0 {
		return p, wait, false
	}
	p = r.waiting[r.first]
	r.waiting[r.first] = report{}
	if r.first++; r.first == len(r.waiting) {
		r.waiting, r.first = r.waiting[:0], 0
	} else if r.first > len(r.waiting)/2 && r.first > 1<<10 { // half is free
		r.waiting = r.waiting[:copy(r.waiting, r.waiting[r.first:])]
		r.first = 0
	}
	return p, 0, true
}

// link sends one report after the other, on one connection to each target.
type link struct {
	s     *server
	conns map[target]*connection // their paths do not matter
	out   []byte
}

// connection is an open connection to a target.
type connection struct {
	net.Conn
	in reader
}

func (l *link) run(ctx context.Context, due <-chan report) {
	defer func() {
		for to := range l.conns {
			l.close(to)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-due:
			l.deliver(ctx, p)
		}
	}
}

// deliver sends a report until it is accepted.
func (l *link) deliver(ctx context.Context, p report) {
	if p.from != "" {
		l.s.answers(p.id, time.Now())
	} else {
		if p.id != notQuestion {
			l.s.record.Leaving(p.channel, time.Now())
		}
		l.s.remember(p.key, state{guid: p.guid, done: true})
	}
	for try := range maxTries {
		kept := l.conns[p.target.place()] != nil
		ok, err := l.post(ctx, p)
		if err != nil && kept { // it may have ended while nothing was sent
			ok, err = l.post(ctx, p)
		}
		if ok && err == nil {
			if p.from == "" {
				l.s.record.Done(p.channel, p.id, time.Now())
			}
			return
		}
		if !machine.Sleep(ctx, 100*time.Millisecond<<try) {
			return
		}
	}
	l.s.record.Refused(p.channel)
}

// place returns the target without its path.
func (t target) place() target {
	t.path = ""
	return t
}

// post sends a report once, and reports whether it was accepted.
func (l *link) post(ctx context.Context, p report) (accepted bool, err error) {
	to := p.target.place()
	c, err := l.connect(ctx, to)
	if err != nil {
		return false, err
	}
	l.out = p.append(l.out[:0])
	if err = c.SetDeadline(time.Now().Add(postLimit)); err == nil {
		_, err = c.Write(l.out)
	}
	if err != nil {
		l.close(to)
		return false, err
	}
	m, err := c.in.next(true)
	if err != nil || m.closing {
		l.close(to)
	}
	return err == nil && m.status()/100 == 2, err
}

// connect returns the connection to a target.
func (l *link) connect(ctx context.Context, to target) (*connection, error) {
	if c := l.conns[to]; c != nil {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, postLimit)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.host)
	if err != nil {
		return nil, err
	}
	if to.secure {
		host, _, _ := net.SplitHostPort(to.host)
		c = tls.Client(c, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	}
	l.conns[to] = &connection{c, reader{conn: c}}
	return l.conns[to], nil
}

func (l *link) close(to target) {
	_ = l.conns[to].Close()
	delete(l.conns, to)
}
