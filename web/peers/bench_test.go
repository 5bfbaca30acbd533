package peers_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web/forward"
)

// one is an owner that does not change.
type one struct{ owner forward.Owner }

func (o one) Owner() (forward.Owner, <-chan struct{}) { return o.owner, nil }
func (o one) Refused(forward.Owner)                   {}

// BenchmarkPass passes a callback on to another process, which answers at once: what a
// standby adds to a request, at both ends.
func BenchmarkPass(b *testing.B) {
	d := new(database)
	owner, standby := newProcess(b, d, 1), newProcess(b, d, 2)
	owner.Begin(1, func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
		return true
	})
	pools := &forward.Peers{TLS: standby.Client}
	defer pools.Close()
	f := forward.New(forward.Options{Owners: one{owner.owner(1)}, Transports: pools, Logger: slog.New(slog.DiscardHandler)})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/callbacks/c/0123456789/ao?state=delivered", strings.NewReader("guid=0123456789&state=delivered"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		if f.ServeHTTP(w, r); w.Code != http.StatusNoContent {
			b.Fatalf("answered %d", w.Code)
		}
	}
}
