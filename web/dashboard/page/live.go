package page

import (
	"bytes"
	"context"
	"hash/maphash"
	"net/http"
	"strings"
	"time"
)

const (
	// updateEvery is how often a stream checks for changes.
	updateEvery = 2 * time.Second
	// updatePause makes a stream wait that many times the duration of its last
	// update before the next, because an expensive page may stay open for days.
	updatePause = 10
	// drainCheckEvery is how often a stream checks whether the process is draining.
	drainCheckEvery = 500 * time.Millisecond
	heartbeatEvery  = 15 * time.Second
	// fragmentLife is how long a rendered region is shared.
	fragmentLife = time.Second
	// writeTimeout is the write deadline of an update.
	writeTimeout = 10 * time.Second
	// renderTimeout bounds the work for an update. It does not depend on the request
	// that started it, because other streams may wait for the result.
	renderTimeout = 10 * time.Second
)

// fragmentOf encodes the event that replaces a region of the page.
func fragmentOf(id string, html []byte, seed maphash.Seed) fragment {
	html = bytes.ReplaceAll(html, []byte("\r"), nil)
	event := make([]byte, 0, len(html)+len(html)/4+100)
	event = append(append(append(event, "event: part\ndata: "...), id...), '\n')
	for line := range bytes.Lines(html) {
		event = append(append(append(event, "data: "...), bytes.TrimRight(line, "\n")...), '\n')
	}
	return fragment{id: id, event: append(event, '\n'), hash: maphash.Bytes(seed, html)}
}

// stream serves the updates of a page: each live region when it has changed. A slow
// browser gets fewer updates; one that reads nothing is disconnected.
func (d *Site) stream(p *Page) Handler {
	return func(v *Visit, w http.ResponseWriter) error {
		if d.Ending() {
			return &Problem{Status: http.StatusServiceUnavailable, Detail: v.T("this process is shutting down"), Wait: "2"}
		}
		leave, ok := d.streams.Acquire(v.Request.Context(), v.Who.Token, 0)
		if !ok {
			return &Problem{Status: http.StatusServiceUnavailable, Detail: v.T("too many open pages; close some and try again"), Wait: "10"}
		}
		defer leave()
		page := *v.Request.URL // load runs as if the page itself were requested
		page.Path, page.RawPath = strings.TrimPrefix(page.Path, "/live"), strings.TrimPrefix(page.RawPath, "/live")
		v.Request = v.Request.Clone(v.Request.Context())
		v.Request.URL = &page
		s := &stream{Site: d, page: p, visit: v, conn: http.NewResponseController(w), out: w, sent: map[string]uint64{}}
		_ = s.conn.SetReadDeadline(time.Time{}) // not supported in tests
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // otherwise proxies would buffer the stream
		w.WriteHeader(http.StatusOK)
		if v.Request.Method != http.MethodHead { // HEAD: no write would arrive, or fail
			s.follow()
		}
		return nil
	}
}

// stream is one browser that watches a page.
type stream struct {
	*Site
	page      *Page
	visit     *Visit
	conn      *http.ResponseController
	out       http.ResponseWriter
	sent      map[string]uint64 // hash of the version the browser has, by region
	lastWrite time.Time
	due       time.Time // earliest time of the next update
}

// follow sends updates until the browser disconnects, the session ends or the
// process drains.
func (s *stream) follow() {
	look := time.NewTicker(drainCheckEvery)
	defer look.Stop()
	// The page was rendered a moment ago, possibly after a change. A shared
	// fragment from before would revert it.
	if !s.update(time.Now()) {
		return
	}
	updated := time.Now()
	for {
		select {
		case <-s.visit.Request.Context().Done():
			return
		case now := <-look.C:
			if s.Ending() {
				return
			}
			if now.Sub(updated) < updateEvery {
				continue
			}
			if !s.update(time.Time{}) {
				return
			}
			updated = time.Now()
		}
	}
}

// update sends the regions that changed, or an occasional heartbeat. The regions
// must be as they were at since, or later.
func (s *stream) update(since time.Time) bool {
	err := s.visit.readIdentity()
	if err == nil {
		err = s.page.need(s.page.Scopes).check(s.visit)
	}
	var list []fragment
	if began := time.Now(); err == nil && !began.Before(s.due) {
		list, err = s.fragments(s.page, s.visit, since)
		s.due = time.Now().Add(updatePause * time.Since(began))
	}
	if status, _ := StatusOf(err); err != nil {
		if status < http.StatusInternalServerError && status != http.StatusTooManyRequests {
			s.send("event: end\ndata: end\n\n") // the script requests the page again, which shows the reason
			return false
		}
		return s.send("event: trouble\ndata: " + s.visit.T(titleOf(status)) + "\n\n")
	}
	sent := false
	for i := range list {
		f := &list[i]
		if s.sent[f.id] == f.hash {
			continue
		}
		s.sent[f.id] = f.hash
		if !s.write(f.event) {
			return false
		}
		sent = true
	}
	if !sent && time.Since(s.lastWrite) < heartbeatEvery {
		return true
	}
	return s.send(":\n\n")
}

func (s *stream) send(text string) bool {
	return s.write([]byte(text)) && s.conn.Flush() == nil
}

func (s *stream) write(text []byte) bool {
	s.lastWrite = time.Now()
	_ = s.conn.SetWriteDeadline(s.lastWrite.Add(writeTimeout)) // not supported in tests
	_, err := s.out.Write(text)
	return err == nil
}

// fragments renders the live regions of a page once for all sessions with the same
// rights, not earlier than since.
func (d *Site) fragments(p *Page, v *Visit, since time.Time) ([]fragment, error) {
	key := strings.Join([]string{p.Name, v.Request.URL.EscapedPath(), v.Request.URL.RawQuery, v.RightsKey()}, "\n")
	return d.fragmentCache.getSince(key, since, func() ([]fragment, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Request.Context()), renderTimeout)
		defer cancel()
		own := *v
		own.Request = v.Request.WithContext(ctx)
		c, err := p.Load(&own)
		if err != nil {
			return nil, err
		}
		x := &View{Visit: &own, Title: c.Title, Data: c.Data}
		var list []fragment
		for _, name := range p.Live {
			var b bytes.Buffer
			if err := d.templates[v.Code].execute(&b, p.Name, name, x); err != nil {
				return nil, err
			}
			list = append(list, fragmentOf(name, b.Bytes(), d.files.seed))
		}
		return list, nil
	})
}
