package httponce_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"time"

	"weir/internal/httponce"
)

// BenchmarkTransport is a small POST and its answer, with the work of both ends, beside the
// transport of net/http.
func BenchmarkTransport(b *testing.B) {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	plain, secure := httptest.NewServer(server), httptest.NewTLSServer(server)
	defer plain.Close()
	defer secure.Close()
	trust := func() *tls.Config { return secure.Client().Transport.(*http.Transport).TLSClientConfig.Clone() }
	theirs := &http.Transport{TLSClientConfig: trust(), DisableCompression: true, MaxIdleConnsPerHost: 256}
	defer theirs.CloseIdleConnections()
	ours := httponce.New(httponce.Options{TLS: trust()})
	defer ours.CloseIdleConnections()
	body := bytes.Repeat([]byte("x"), 300)
	for _, c := range []struct {
		name, url string
		transport http.RoundTripper
	}{
		{"plain/nethttp", plain.URL, theirs}, {"plain/httponce", plain.URL, ours},
		{"TLS/nethttp", secure.URL, theirs}, {"TLS/httponce", secure.URL, ours},
	} {
		target, err := url.Parse(c.url + "/send.json")
		if err != nil {
			b.Fatal(err)
		}
		header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"weir"}, "Accept-Encoding": {"identity"}}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				r := &http.Request{
					Method: http.MethodPost, URL: target, Host: target.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
					Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
				}
				answer, err := c.transport.RoundTrip(r.WithContext(b.Context()))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
			b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpu is the CPU time of the process: the goroutines of both ends work beside the caller.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
