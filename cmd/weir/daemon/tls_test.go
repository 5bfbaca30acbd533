package daemon_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/cmd/weir/cli"
	"weir/cmd/weir/daemon"
	"weir/config"
	"weir/internal/polling"
	"weir/test/daemontest"
)

// tlsRig is a daemon that serves HTTPS.
type tlsRig struct {
	*testing.T
	cert, key, addr string
	environ         []string
}

func newTLSRig(t *testing.T, log *daemontest.Log) *tlsRig {
	t.Helper()
	folder := t.TempDir()
	r := &tlsRig{T: t, cert: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key")}
	certificate, key := daemontest.Certificate(t, 1)
	r.write(certificate, key)
	r.environ = []string{"DATABASE_URL=" + sqliteURL(t), "WEIR_TLS_CERT=" + r.cert, "WEIR_TLS_KEY=" + r.key}
	d, _ := daemontest.Run(t, daemon.Options{
		Config: configuration(t, append(r.environ, "LISTEN_ADDR=127.0.0.1:0")...), Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	r.addr = d.Addr()
	return r
}

func (r *tlsRig) write(certificate, key []byte) {
	r.Helper()
	for file, text := range map[string][]byte{r.cert: certificate, r.key: key} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			r.Fatal(err)
		}
	}
}

// serial returns the serial number of the certificate that a new client receives.
func (r *tlsRig) serial() int64 {
	r.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}).Get("https://" + r.addr + "/livez")
	if err != nil {
		r.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Proto != "HTTP/1.1" {
		r.Fatalf("%s %s", resp.Proto, resp.Status)
	}
	return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
}

// wait polls until ok, for two reload intervals and the delay of a slow machine.
func (r *tlsRig) wait(what string, ok func() bool) {
	r.Helper()
	if !polling.Until(30*time.Second, 100*time.Millisecond, ok) {
		r.Fatalf("not within 30 s: %s", what)
	}
}

// Scenario 185: Weir serves HTTPS itself, rejects TLS versions older than 1.2, and
// loads a changed pair without a restart; a broken pair changes nothing.
func TestTLS_IsServedAndReloadedWithoutARestart(t *testing.T) {
	t.Parallel()
	log := &daemontest.Log{}
	r := newTLSRig(t, log)
	if n := r.serial(); n != 1 {
		t.Fatalf("the certificate %d is served, want 1", n)
	}
	if _, err := tls.Dial("tcp", r.addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is served")
	}
	if c, err := tls.Dial("tcp", r.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}); err == nil {
		_ = c.Close()
		t.Error("HTTP/2 is served")
	}
	healthy := append(r.environ, "LISTEN_ADDR="+r.addr)
	var out, errors bytes.Buffer
	if code := cli.Run(t.Context(), []string{"healthcheck"}, cli.Options{Environ: healthy, Stdout: &out, Stderr: &errors}); code != 0 {
		t.Errorf("healthcheck exits with %d: %s", code, &errors)
	}
	second, secondKey := daemontest.Certificate(t, 2)
	_, stranger := daemontest.Certificate(t, 3)
	r.write(second, stranger)
	r.wait("a broken pair is logged", func() bool { return strings.Contains(log.String(), "TLS certificate not reloaded") })
	if n := r.serial(); n != 1 {
		t.Errorf("the certificate %d is served after a broken change, want 1", n)
	}
	r.write(second, secondKey)
	r.wait("the second pair is served", func() bool { return r.serial() == 2 })
}

// Scenario 185: config check and serve report an invalid pair as a configuration
// error.
func TestTLS_InvalidPairIsAConfigurationError(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certificate, key := daemontest.Certificate(t, 1)
	other, _ := daemontest.Certificate(t, 2)
	for name, text := range map[string][]byte{"a.crt": certificate, "a.key": key, "b.crt": other} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ cert, key, want string }{
		{"a.crt", "a.key", ""}, {"b.crt", "a.key", "WEIR_TLS_CERT"}, {"none", "a.key", "WEIR_TLS_CERT"}, {"a.crt", "none", "WEIR_TLS_KEY"}, {"a.key", "a.key", "WEIR_TLS_CERT"},
	} {
		environ := []string{"WEIR_TLS_CERT=" + filepath.Join(folder, tc.cert), "WEIR_TLS_KEY=" + filepath.Join(folder, tc.key)}
		var out, errors bytes.Buffer
		code := cli.Run(t.Context(), []string{"config", "check"}, cli.Options{Environ: environ, Stdout: &out, Stderr: &errors})
		if (code == 0) != (tc.want == "") || !strings.Contains(errors.String(), tc.want) {
			t.Errorf("%s with %s: %d %s", tc.cert, tc.key, code, &errors)
		}
		_, err := daemon.New(t.Context(), daemon.Options{Config: configuration(t, append(environ, "LISTEN_ADDR=192.0.2.1:0", "WEIR_API_TOKENS=a-token-that-is-long", "DATABASE_URL=sqlite://"+filepath.Join(t.TempDir(), "w.db"))...)})
		if err == nil || tc.want != "" && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("serve with %s and %s: %v", tc.cert, tc.key, err)
		}
	}
	for alone, missing := range map[string]string{"WEIR_TLS_CERT": "WEIR_TLS_KEY", "WEIR_TLS_KEY": "WEIR_TLS_CERT"} {
		if _, _, err := config.Load([]string{alone + "=x"}); err == nil || !strings.HasPrefix(err.Error(), missing) {
			t.Errorf("%s alone: %v", alone, err)
		}
	}
	if c := configuration(t, "WEIR_TLS_CERT=x", "WEIR_TLS_KEY=y", "LISTEN_ADDR=:443"); c.PublicURL != "https://127.0.0.1:443" {
		t.Errorf("PUBLIC_URL is derived as %s", c.PublicURL)
	}
}

// Scenario 185.
func TestTLS_HSTSIsSentForAPublicHTTPSURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"https://weir.example": "max-age=31536000", "http://weir.example": ""} {
		d, _ := daemontest.Open(t, daemon.Options{
			Config: configuration(t, "PUBLIC_URL="+url, "LISTEN_ADDR=127.0.0.1:0", "DATABASE_URL="+sqliteURL(t)),
		})
		w := httptest.NewRecorder()
		d.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", url+"/livez", nil))
		if got := w.Header().Get("Strict-Transport-Security"); got != want || w.Code != 200 {
			t.Errorf("%s: %d %q, want %q", url, w.Code, got, want)
		}
	}
}
