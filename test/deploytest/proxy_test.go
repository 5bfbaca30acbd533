//go:build prometheus

package deploytest

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/persistence/testmysql"
	"weir/test/daemontest"
	"weir/web/auth"
)

// proxied is a rig behind a proxy that is configured as in deploy/proxy.
type proxied struct {
	*rig
	addr string
}

// proxy puts nginx in front of the rig, and of further processes of Weir.
func (r *rig) proxy(others ...string) *proxied {
	r.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		nginx = "/usr/sbin/nginx"
	}
	folder, addr := r.TempDir(), free(r.T)
	certificate(r.T, folder)
	text := contents(r.T, filepath.Join(root, "deploy/proxy/nginx.conf"))
	for old, now := range map[string]string{
		"# server 10.0.0.2:8080 fail_timeout=1s;": servers(others), "127.0.0.1:8080": r.addr, "listen 80;": "listen " + free(r.T) + ";", "listen 443 ": "listen " + addr + " ", "/etc/ssl/weir/": folder + "/",
		"worker_processes auto;": "worker_processes 1;\ndaemon off;\npid " + folder + "/pid;\nerror_log " + folder + "/error.log;",
		"http {\n":               "http {\n\taccess_log off;\n\tclient_body_temp_path " + folder + ";\n\tproxy_temp_path " + folder + ";\n\tfastcgi_temp_path " + folder + ";\n\tuwsgi_temp_path " + folder + ";\n\tscgi_temp_path " + folder + ";\n",
	} {
		if !strings.Contains(text, old) {
			r.Errorf("nginx.conf has no %q", old)
		}
		text = strings.ReplaceAll(text, old, now)
	}
	file := filepath.Join(folder, "nginx.conf")
	write(r.T, file, text)
	if out, err := exec.CommandContext(r.Context(), nginx, "-t", "-q", "-c", file).CombinedOutput(); err != nil {
		r.Fatalf("nginx -t: %v\n%s", err, out)
	}
	r.Cleanup(func() {
		if r.Failed() {
			r.Logf("nginx: %s", contents(r.T, folder+"/error.log"))
		}
	})
	return r.behind(exec.CommandContext(context.WithoutCancel(r.Context()), nginx, "-c", file), addr)
}

func servers(addresses []string) string {
	var text strings.Builder
	for _, a := range addresses {
		text.WriteString("server " + a + " fail_timeout=1s;\n")
	}
	return text.String()
}

// caddy runs Caddy with a certificate of the test instead of one that it would request.
func (r *rig) caddy() *proxied {
	r.Helper()
	folder, addr := r.TempDir(), free(r.T)
	certificate(r.T, folder)
	text := contents(r.T, filepath.Join(root, "deploy/proxy/Caddyfile"))
	_, port, _ := net.SplitHostPort(addr)
	for old, now := range map[string]string{
		"127.0.0.1:8080": r.addr,
		"\nweir.example {\n": "\n{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system " + folder + "\n}\n\nhttps://weir.example:" + port +
			" {\n\tbind 127.0.0.1\n\ttls " + folder + "/tls.crt " + folder + "/tls.key\n",
	} {
		if !strings.Contains(text, old) {
			r.Errorf("Caddyfile has no %q", old)
		}
		text = strings.ReplaceAll(text, old, now)
	}
	file := filepath.Join(folder, "Caddyfile")
	write(r.T, file, text)
	command := func(name string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(r.Context()), "caddy", name, "--config", file, "--adapter", "caddyfile")
		cmd.Env = append(os.Environ(), "HOME="+folder, "XDG_CONFIG_HOME="+folder, "XDG_DATA_HOME="+folder)
		return cmd
	}
	if out, err := command("validate").CombinedOutput(); err != nil {
		r.Fatalf("caddy validate: %v\n%s", err, out)
	}
	return r.behind(command("run"), addr)
}

// behind runs a proxy until the test ends, and waits until it listens.
func (r *rig) behind(cmd *exec.Cmd, addr string) *proxied {
	r.Helper()
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	p := &proxied{r, addr}
	r.until("the proxy listens", 20*time.Second, func() bool {
		c, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return p
}

// free returns an address on which no program listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func certificate(t *testing.T, folder string) {
	t.Helper()
	certificate, key := daemontest.Certificate(t, 1)
	write(t, filepath.Join(folder, "tls.crt"), string(certificate))
	write(t, filepath.Join(folder, "tls.key"), string(key))
}

// ask sends a request through the proxy from the given address of this machine.
func (p *proxied) ask(from, path, bearer string) *http.Response {
	p.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "weir.example"}, //nolint:gosec // it is made above
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, p.addr)
		},
	}}
	req, err := http.NewRequestWithContext(p.Context(), "GET", "https://weir.example"+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("X-Forwarded-For", "203.0.113.9")
	req.Header.Set("Accept", "text/event-stream, application/json")
	resp, err := client.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// Scenario 195: behind nginx with the configuration of deploy/proxy, streams arrive at
// once, and limits apply to each client's real address, whatever address it claims.
func TestProxy_NginxPassesStreamsAndAddressesOn(t *testing.T) {
	t.Parallel()
	r := start(t, "WEIR_TRUSTED_PROXIES", "127.0.0.1")
	r.proxy().passes()
}

// Scenario 195: the same behind Caddy.
func TestProxy_CaddyPassesStreamsAndAddressesOn(t *testing.T) {
	t.Parallel()
	r := start(t, "WEIR_TRUSTED_PROXIES", "127.0.0.1")
	r.caddy().passes()
}

// passes checks behind the proxy what the README promises to clients.
func (p *proxied) passes() {
	p.Helper()
	if resp := p.ask("127.0.0.3", "/v1/whoami", token); resp.StatusCode != http.StatusOK {
		p.Errorf("whoami: %s", resp.Status)
	}
	if resp := p.ask("127.0.0.3", "/metrics", token); resp.StatusCode != http.StatusNotFound {
		p.Errorf("metrics: %s", resp.Status)
	}
	begin := time.Now()
	if line, err := bufio.NewReader(p.ask("127.0.0.3", "/v1/events", token).Body).ReadString('\n'); err != nil || time.Since(begin) > 10*time.Second {
		p.Errorf("the stream began with %q after %v: %v", line, time.Since(begin), err)
	}
	for range auth.MaxStreamsPerToken { // a stream closed by its client takes no slot
		_ = p.ask("127.0.0.3", "/v1/events", token).Body.Close()
	}
	p.until("a closed stream frees its slot", 10*time.Second, func() bool {
		resp := p.ask("127.0.0.3", "/v1/events", token)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	for i := range 30 {
		p.ask("127.0.0.2", "/v1/whoami", fmt.Sprintf("guess-%d", i))
	}
	if one, other := p.ask("127.0.0.2", "/v1/whoami", token).StatusCode, p.ask("127.0.0.3", "/v1/whoami", token).StatusCode; one != 429 || other != 200 {
		p.Errorf("the guesser gets %d, its neighbor %d", one, other)
	}
}

// Three processes behind nginx with the configuration of deploy/proxy: each serves what one
// does, and when all of them are started again, one after the other, under load, no request
// is refused.
func TestProxy_NginxRefusesNothingWhileThreeProcessesRestart(t *testing.T) {
	t.Parallel()
	database := testmysql.URL(t)
	variables := func(addr string) []string {
		return []string{"DATABASE_URL", database, "WEIR_TRUSTED_PROXIES", "127.0.0.1", "LISTEN_ADDR", addr, "PUBLIC_URL", "https://weir.example"}
	}
	var rigs [3]*rig
	for i := range rigs {
		rigs[i] = start(t, variables(free(t))...)
	}
	p := rigs[0].proxy(rigs[1].addr, rigs[2].addr)
	p.passes()

	rigs[0].do("PUT", "/v1/channels/sms", object{"type": "nuntium", "capacity": 20, "settings": object{
		"base_url": rigs[0].texts, "account": "demo", "application": "weir", "password": "secret", "channel": "sms"}})
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var asked atomic.Int64
	for client := range 4 {
		clients.Go(func() {
			c := p.client("127.0.0.3")
			defer c.CloseIdleConnections()
			for n := 0; ctx.Err() == nil; n++ {
				method, path, body := "GET", "/v1/channels/sms", ""
				if n%2 == 0 {
					method, path, body = "POST", "/v1/channels/sms/contacts", fmt.Sprintf(`{"contacts":[{"key":"%d-%d","to":"+15550001","messages":["hello"]}]}`, client, n)
				}
				asked.Add(1)
				if status, text := p.once(c, method, path, body); status >= 300 {
					t.Errorf("%s: %d %s", method, status, text)
				}
			}
		})
	}
	for i := range rigs { // the owner first
		begun := time.Now()
		p.until("there is some load, and nginx passes over none", 30*time.Second, func() bool { return asked.Load() > 50 && time.Since(begun) > 1200*time.Millisecond })
		asked.Store(0)
		rigs[i].stop()
		rigs[i] = start(t, variables(rigs[i].addr)...)
		p.until("it is ready", 30*time.Second, func() bool {
			_, status := rigs[i].get("GET", "http://"+rigs[i].addr+"/readyz", nil)
			return status == 200
		})
	}
	stop()
	clients.Wait()
}

// client is a client of the proxy that keeps its connections.
func (p *proxied) client(from string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "weir.example"}, //nolint:gosec // it is made above
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, p.addr)
		},
	}}
}

// once makes one request. 999: it was not answered.
func (p *proxied) once(c *http.Client, method, path, body string) (status int, text string) {
	req, err := http.NewRequestWithContext(p.Context(), method, "https://weir.example"+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return 999, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		return 999, err.Error()
	}
	return resp.StatusCode, string(all)
}
