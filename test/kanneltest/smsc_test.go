//go:build kannel

package kanneltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/polling"
)

// smsc is a scripted SMSC behind Kannel's link of type http. The end of the number
// decides what becomes of a message; outcomes names the same for the simulator.
type smsc struct {
	url      string
	receipts string // where Kannel takes receipts

	mu   sync.Mutex
	got  []url.Values
	hold chan struct{} // not nil: no answer before it is closed
	all  sync.WaitGroup
}

// outcomes are the simulator's rules for the numbers of the scripted SMSC, and for
// fakesmsc, for which Kannel makes up receipts.
var outcomes = []string{"failed:*02", "expired:*03", "buffered:*04", "refused:*05", "sent:*06"}

func newSMSC(t *testing.T) *smsc {
	s := &smsc{}
	server := httptest.NewServer(s)
	s.url = server.URL
	t.Cleanup(func() { server.Close(); s.all.Wait() })
	return s
}

func (s *smsc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	s.got = append(s.got, q)
	id := fmt.Sprintf("m%d", len(s.got))
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	to := q.Get("to")
	if strings.HasSuffix(to, "05") {
		_, _ = io.WriteString(w, "0x0000000b/Invalid Destination Address")
		return
	}
	_, _ = io.WriteString(w, "ok id="+id)
	script := map[string][]string{"02": {"2 UNDELIV"}, "03": {"2 EXPIRED"}, "04": {"4 ENROUTE", "1 DELIVRD"}, "06": {}}
	receipts, ok := script[to[len(to)-2:]]
	if !ok {
		receipts = []string{"1 DELIVRD"}
	}
	if mask, _ := strconv.Atoi(q.Get("mask")); mask&3 == 0 { // no receipt was asked for
		return
	}
	s.all.Go(func() {
		for _, r := range receipts {
			state, word, _ := strings.Cut(r, " ")
			s.receipt(id, to, state, word)
		}
	})
}

// receipt gives Kannel a receipt. Kannel knows the message only once it has read the
// answer to it, so that this is repeated until Kannel takes it.
func (s *smsc) receipt(id, to, state, word string) {
	q := url.Values{
		"dlr-mask": {state}, "dlr-mid": {id}, "to": {to}, "from": {"100"},
		"text": {"id:1 sub:001 dlvrd:001 submit date:2601020304 done date:2601020305 stat:" + word + " err:000 text:hello"},
	}
	polling.Until(patience, 50*time.Millisecond, func() bool {
		_, text, _ := get(context.Background(), s.receipts+"?"+q.Encode())
		return strings.HasPrefix(text, "Sent")
	})
}

// messages returns the messages that the SMSC got so far.
func (s *smsc) messages() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]url.Values(nil), s.got...)
}

// stall makes the SMSC answer nothing until release is called.
func (s *smsc) stall() (release func()) {
	hold := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.hold = nil
		s.mu.Unlock()
		close(hold)
	})
}

func get(ctx context.Context, target string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
