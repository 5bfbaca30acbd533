//go:build kannel

package kanneltest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/polling"
)

const (
	user     = "weir"
	password = "p4ss w0rd%&"
	fake     = "/usr/lib/kannel/test/fakesmsc"
	patience = 30 * time.Second
)

// configuration is Kannel's: a link of type fake for numbers that begin with 1, to
// which fakesmsc connects, and one of type http for numbers with a 2, whose
// SMSC is scripted. Groups hold no empty line.
const configuration = `
group = core
admin-port = %[1]d
admin-interface = 127.0.0.1
admin-password = adm
status-password = stat
smsbox-port = %[2]d
box-deny-ip = "*.*.*.*"
box-allow-ip = "127.0.0.1"
dlr-storage = internal
store-type = file
store-location = "%[6]s/store"
sms-resend-freq = 1
sms-resend-retry = 1

group = smsc
smsc = fake
smsc-id = FAKE
port = %[3]d
connect-allow-ip = 127.0.0.1
allowed-prefix = "+1;1"

group = smsc
smsc = http
smsc-id = SCRIPTED
system-type = generic
port = %[4]d
connect-allow-ip = 127.0.0.1
send-url = "%[7]s/mt?from=%%P&to=%%p&text=%%b&coding=%%c&mask=%%d"
status-success-regex = "^ok"
status-permfail-regex = "^0x"
status-tempfail-regex = "^later"
generic-foreign-id-regex = "id=([a-z0-9]+)"
allowed-prefix = "+2;2"

group = smsc
smsc = fake
smsc-id = NAMED
port = %[9]d
connect-allow-ip = 127.0.0.1
allowed-prefix = "+4;4"
allowed-smsc-id = NAMED

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = %[5]d
sendsms-interface = 127.0.0.1
global-sender = 100
http-request-retry = 5
http-queue-delay = 1

group = sendsms-user
username = weir
password = "p4ss w0rd%%&"
max-messages = 10
concatenation = true
user-allow-ip = "127.0.0.1"

group = sms-service
keyword = default
catch-all = true
get-url = "%[8]s"
max-messages = 0
omit-empty = true
`

// kannel is a running Kannel.
type kannel struct {
	*testing.T
	folder                            string
	admin, boxes, fake, smsc, sendsms int // ports
	bearerbox, smsbox, phone          *program
}

// program is a process of this test.
type program struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// startKannel runs a Kannel whose scripted SMSC is at an address and which requests
// incoming for messages from people.
func startKannel(t *testing.T, scripted *smsc, incoming string) *kannel {
	t.Helper()
	k := &kannel{T: t, folder: t.TempDir()}
	const tries = 5 // another program may take one of the ports first
	for try := 1; !k.runBearerbox(scripted, incoming) || !k.runSmsbox(); try++ {
		if try == tries {
			t.Fatal("bearerbox or smsbox does not start")
		}
		k.bearerbox.kill()
		if k.smsbox != nil {
			k.smsbox.kill()
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{"bearerbox", "smsbox", "fakesmsc"} {
				log, _ := os.ReadFile(k.path(name + ".log"))
				t.Logf("%s:\n%s", name, log[max(0, len(log)-4000):])
			}
		}
	})
	return k
}

// runBearerbox runs bearerbox on free ports, and reports whether it works.
func (k *kannel) runBearerbox(scripted *smsc, incoming string) bool {
	k.Helper()
	for _, port := range []*int{&k.admin, &k.boxes, &k.fake, &k.smsc, &k.sendsms} {
		*port = freePort(k.T)
	}
	scripted.receipts = fmt.Sprintf("http://127.0.0.1:%d/", k.smsc)
	text := fmt.Sprintf(configuration, k.admin, k.boxes, k.fake, k.smsc, k.sendsms, k.folder, scripted.url, incoming, freePort(k.T))
	if err := os.WriteFile(k.path("kannel.conf"), []byte(strings.TrimLeft(text, "\n")), 0o600); err != nil {
		k.Fatal(err)
	}
	k.bearerbox = k.run("bearerbox", "/usr/sbin/bearerbox", "-v", "1", k.path("kannel.conf"))
	return polling.Until(10*time.Second, 50*time.Millisecond, k.runs)
}

// runs reports whether bearerbox says that it is running.
func (k *kannel) runs() bool { return strings.Contains(k.status(), "<status>running") }

func (k *kannel) path(name string) string { return filepath.Join(k.folder, name) }

func (k *kannel) startBearerbox() {
	k.Helper()
	k.bearerbox = k.run("bearerbox", "/usr/sbin/bearerbox", "-v", "1", k.path("kannel.conf"))
	k.until("bearerbox shows its status", k.runs)
}

func (k *kannel) startSmsbox() {
	k.Helper()
	if !k.runSmsbox() {
		k.Fatal("smsbox does not connect")
	}
}

// runSmsbox runs smsbox, and reports whether it works.
func (k *kannel) runSmsbox() bool {
	k.Helper()
	k.smsbox = k.run("smsbox", "/usr/sbin/smsbox", "-v", "1", k.path("kannel.conf"))
	return polling.Until(10*time.Second, 50*time.Millisecond, func() bool { return strings.Contains(k.status(), "on-line") && k.answers(k.sendsms) })
}

// startPhone connects fakesmsc, which sends each message once, as a person would, and
// writes to its log what it gets.
func (k *kannel) startPhone(messages ...string) {
	k.Helper()
	args := []string{"-H", "127.0.0.1", "-r", fmt.Sprint(k.fake), "-i", "0.1", "-m", fmt.Sprint(len(messages))}
	if len(messages) == 0 {
		messages = []string{"1 1 text x"} // it wants one, and sends none
	}
	k.phone = k.run("fakesmsc", fake, append(args, messages...)...)
	k.until("fakesmsc is connected", func() bool { return k.link("FAKE") == "online" })
}

func (k *kannel) run(name, path string, args ...string) *program {
	k.Helper()
	log, err := os.OpenFile(k.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		k.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p := &program{cmd: exec.CommandContext(context.WithoutCancel(k.Context()), path, args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = k.folder, log, log
	if err := p.cmd.Start(); err != nil {
		k.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.ended) }()
	k.Cleanup(p.kill)
	return p
}

// kill ends a program without a chance to clean up.
func (p *program) kill() { p.end(syscall.SIGKILL) }

// end ends a program by a signal, and by SIGKILL if it takes too long: bearerbox
// waits for its boxes.
func (p *program) end(s os.Signal) {
	_ = p.cmd.Process.Signal(s)
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// until waits for a condition.
func (k *kannel) until(what string, done func() bool) {
	k.Helper()
	if !polling.Until(patience, 50*time.Millisecond, done) {
		k.Fatalf("waited in vain: %s", what)
	}
}

// status returns bearerbox's status.xml.
func (k *kannel) status() string { return k.command("status.xml?password=stat") }

// command gives bearerbox a command and returns its answer; empty without one.
func (k *kannel) command(path string) string {
	_, text, _ := get(k.Context(), fmt.Sprintf("http://127.0.0.1:%d/%s", k.admin, path))
	return text
}

// link returns the state of a link.
func (k *kannel) link(id string) string {
	_, after, _ := strings.Cut(k.status(), "<id>"+id+"</id>")
	_, after, _ = strings.Cut(after, "<status>")
	state, _, _ := strings.Cut(after, "</status>")
	state, _, _ = strings.Cut(state, " ")
	return state
}

func (k *kannel) answers(port int) bool {
	status, _, _ := get(k.Context(), fmt.Sprintf("http://127.0.0.1:%d/", port))
	return status == http.StatusNotFound
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
