package dashboard_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkOverview renders the whole overview of 200 channels; a live update costs
// no more. WEIR_BENCH_CONTACTS sets how many contacts wait in them.
func BenchmarkOverview(b *testing.B) {
	contacts := 10_000
	if text := os.Getenv("WEIR_BENCH_CONTACTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		contacts = n
	}
	r := newRigWith(b, []string{"WEIR_RATE_LIMIT=0", "LOG_LEVEL=error"}, "contacts:read")
	const channels = 200
	for i := range channels {
		r.api("PUT", fmt.Sprintf("/v1/channels/c-%03d", i), `{"type":"nuntium","paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"p"}}`, nil)
	}
	const batch = 1000
	for i := 0; i < contacts; i += batch {
		var body strings.Builder
		for k := range min(batch, contacts-i) {
			fmt.Fprintf(&body, `,{"to":"+1555%07d","messages":["hello"]}`, i+k)
		}
		r.api("POST", fmt.Sprintf("/v1/channels/c-%03d/contacts", i/batch%channels), `{"contacts":[`+body.String()[1:]+`]}`, nil)
	}
	browser := r.login("contacts:read")
	begin := time.Now()
	browser.get("/").want(200)
	first := time.Since(begin)
	for b.Loop() {
		browser.get("/").want(200)
	}
	b.ReportMetric(float64(first.Microseconds())/1000, "ms/first")
}
