//go:build kannel

package kanneltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

const token = "a-token-for-these-tests"

// TestMain builds the program once.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "kanneltest")
	if err == nil {
		build := exec.Command("go", "build", "-o", filepath.Join(folder, "weir"), "weir/cmd/weir")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		os.Exit(1)
	}
	_ = os.Setenv("KANNELTEST_WEIR", filepath.Join(folder, "weir"))
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// system is the built program with a real Kannel.
type system struct {
	*testing.T
	k    *kannel
	smsc *smsc
	url  string
	env  []string
	weir *exec.Cmd
	gone chan struct{}
}

type object = map[string]any

func startSystem(t *testing.T) *system {
	t.Helper()
	s := &system{T: t, smsc: newSMSC(t)}
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	s.url = "http://" + address
	s.k = startKannel(t, s.smsc, s.url+"/incoming")
	s.env = append(os.Environ(),
		"DATABASE_URL=sqlite://"+filepath.Join(t.TempDir(), "weir.db"), "LISTEN_ADDR="+address, "PUBLIC_URL="+s.url, "WEIR_API_TOKENS="+token,
		"WEIR_SEND_TIMEOUT=2s", "LOST_AFTER_MINUTES=0.2", "CHNL_BKR_GC_IDLE_MINUTES=0.02", "CHNL_BKR_GC_INTERVAL_MINUTES=0.02",
	)
	s.start()
	t.Cleanup(func() { _ = s.weir.Process.Signal(syscall.SIGTERM); <-s.gone })
	for name, settings := range map[string]object{"sms": {"final_state": "delivered"}, "fake": {"smsc": "FAKE", "final_state": "delivered"}} {
		settings["sendsms_url"], settings["username"], settings["password"] = fmt.Sprintf("http://127.0.0.1:%d/cgi-bin/sendsms", s.k.sendsms), user, password
		settings["admin_url"], settings["status_password"] = fmt.Sprintf("http://127.0.0.1:%d", s.k.admin), "stat"
		s.api("PUT", "/v1/channels/"+name, object{"type": "kannel", "capacity": 50, "settings": settings})
	}
	return s
}

func (s *system) start() {
	s.Helper()
	log, err := os.OpenFile(s.k.path("weir.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(os.Getenv("KANNELTEST_WEIR"), "serve")
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, log, log
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	s.weir, s.gone = cmd, gone
	s.k.until("Weir answers", func() bool { status, _, _ := get(s.Context(), s.url+"/livez"); return status == http.StatusOK })
}

// api makes a request that has to succeed.
func (s *system) api(method, path string, body any) object {
	s.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, bytes.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		s.Fatalf("%s %s: %d %s %v", method, path, response.StatusCode, answer, err)
	}
	var out object
	_ = json.Unmarshal(answer, &out)
	return out
}

// text queues a contact of one message, whose text is its key.
func (s *system) text(channel, key, to string) {
	s.Helper()
	s.api("POST", "/v1/channels/"+channel+"/contacts", object{"contacts": []object{{"key": key, "to": to, "messages": []string{key}}}})
}

// fate returns the state of a contact or, once it is done, its outcome and reason.
func (s *system) fate(channel, key string) string {
	s.Helper()
	for _, c := range s.api("GET", "/v1/contacts?limit=1000&channel="+channel, nil)["contacts"].([]any) {
		c := c.(object)
		if c["key"] != key {
			continue
		}
		if c["state"] != "done" {
			return c["state"].(string)
		}
		reason, _ := c["reason"].(string)
		return strings.TrimSpace(fmt.Sprint(c["outcome"], " ", reason))
	}
	return "missing"
}

func (s *system) wait(channel, key, want string) {
	s.Helper()
	got := ""
	if !polling.Until(patience, 50*time.Millisecond, func() bool { got = s.fate(channel, key); return got == want }) {
		log, _ := os.ReadFile(s.k.path("weir.log"))
		s.Fatalf("%s is %s, want %s; Weir's log:\n%s", key, got, want, log)
	}
}

// arrived returns how often the scripted SMSC got a text.
func (s *system) arrived(key string) int {
	n := 0
	for _, m := range s.smsc.messages() {
		if m.Get("text") == key {
			n++
		}
	}
	return n
}

// phoned returns how often fakesmsc got a text.
func (s *system) phoned(key string) int {
	log, _ := os.ReadFile(s.k.path("fakesmsc.log"))
	n := 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "<") && strings.HasSuffix(strings.TrimRight(line, "\r\n>"), " "+key) {
			n++
		}
	}
	return n
}

// state returns the state of a channel.
func (s *system) state(channel string) string {
	s.Helper()
	return fmt.Sprint(s.api("GET", "/v1/channels/"+channel, nil)["state"])
}

// suspend makes bearerbox take nothing more from smsbox, which then does not answer:
// from the second message on, because it waits for the first one already.
func (s *system) suspend() {
	s.Helper()
	s.k.command("suspend?password=adm")
	s.text("sms", "pilot", "+22229901")
	s.wait("sms", "pilot", "active")
}

// What becomes of contacts, as the operator decides.
func TestWeir_ContactsThroughKannel(t *testing.T) {
	s := startSystem(t)
	for key, c := range map[string]struct {
		to, want string
		arrived  int
	}{
		"delivered":    {"+22220001", "completed", 1},
		"failed":       {"+22220002", "failed failed at the provider", 1},
		"expired":      {"+22220003", "failed window closed", 1},
		"buffered":     {"+22220004", "completed", 1},
		"refused":      {"+22220005", "failed number not usable", 1},
		"not-routable": {"+33330001", "failed number not usable", 0},
		"silent":       {"+22220006", "lost its outcome is unknown", 1},
	} {
		s.text("sms", key, c.to)
		s.wait("sms", key, c.want)
		if n := s.arrived(key); n != c.arrived {
			t.Errorf("%s arrived %d times", key, n)
		}
	}
}

// The link is down: messages wait in Kannel, survive its crash and leave once.
func TestWeir_MessageArrivesOnceAfterBearerboxIsKilled(t *testing.T) {
	s := startSystem(t)
	s.text("fake", "waits", "+15550001")
	s.wait("fake", "waits", "active")
	s.k.until("the channel is down", func() bool { return s.state("fake") == "down" })
	s.k.bearerbox.kill()
	s.k.until("smsbox notices", func() bool {
		select {
		case <-s.k.smsbox.ended:
			return true
		default:
			return !s.k.answers(s.k.sendsms)
		}
	})
	s.k.smsbox.kill()
	s.k.startBearerbox()
	s.k.startSmsbox()
	s.k.startPhone()
	s.wait("fake", "waits", "completed")
	if n := s.phoned("waits"); n != 1 {
		t.Errorf("it arrived %d times", n)
	}
}

// smsbox is down: contacts wait in Weir, and leave once when it is back.
func TestWeir_SmsboxDown(t *testing.T) {
	s := startSystem(t)
	s.k.until("the channel is up", func() bool { return s.state("sms") == "up" })
	s.k.smsbox.kill()
	s.text("sms", "early", "+22220001")
	s.k.until("the channel is not", func() bool { return s.state("sms") != "up" })
	if n := s.arrived("early"); n != 0 {
		t.Errorf("it arrived %d times", n)
	}
	s.k.startSmsbox()
	s.wait("sms", "early", "completed")
	if n := s.arrived("early"); n != 1 {
		t.Errorf("it arrived %d times", n)
	}
}

// bearerbox takes nothing for a while: the answer is lost, the message is not. It is
// settled by its report and never sent again.
func TestWeir_AnswerLost(t *testing.T) {
	s := startSystem(t)
	s.suspend()
	s.text("sms", "slow", "+22220001")
	s.wait("sms", "slow", "unknown")
	s.k.command("resume?password=adm")
	s.wait("sms", "slow", "completed")
	s.wait("sms", "pilot", "completed")
	if n := s.arrived("slow"); n != 1 {
		t.Errorf("it arrived %d times", n)
	}
}

// smsbox is killed with a request that bearerbox has not answered: Weir cannot know
// what became of it, and does not send it again.
func TestWeir_SmsboxKilledBeforeTheAnswer(t *testing.T) {
	s := startSystem(t)
	s.suspend()
	s.text("sms", "cut", "+22220001")
	s.k.until("smsbox has the request", func() bool {
		log, _ := os.ReadFile(s.k.path("smsbox.log"))
		return strings.Contains(string(log), "to:<+22220001>")
	})
	s.k.smsbox.kill()
	s.wait("sms", "cut", "unknown")
	s.k.command("resume?password=adm")
	s.k.startSmsbox()
	s.k.until("it is settled", func() bool { f := s.fate("sms", "cut"); return f == "lost its outcome is unknown" || f == "completed" })
	if n := s.arrived("cut"); n > 1 {
		t.Errorf("it arrived %d times", n)
	}
	s.text("sms", "next", "+22220001")
	s.wait("sms", "next", "completed")
}

// Weir is killed while it sends, again and again: no message is doubled.
func TestWeir_DoublesNoMessageWhenItIsKilled(t *testing.T) {
	s := startSystem(t)
	const contacts = 60
	for i := range contacts {
		s.text("sms", fmt.Sprint("m", i), "+22220001")
		if i%20 == 10 {
			_ = s.weir.Process.Kill()
			<-s.gone
			s.start()
		}
	}
	completed := 0
	for i := range contacts {
		key := fmt.Sprint("m", i)
		s.k.until(key+" is done", func() bool { f := s.fate("sms", key); return f == "completed" || strings.HasPrefix(f, "lost") })
		n := s.arrived(key)
		if n > 1 {
			t.Errorf("%s arrived %d times", key, n)
		}
		if s.fate("sms", key) == "completed" {
			completed++
		} else if n > 0 {
			t.Errorf("%s arrived, and was reported until Weir took it, but ended as %s", key, s.fate("sms", key))
		}
	}
	if completed < contacts-15 { // only what was on its way to Kannel as Weir was killed is lost
		t.Errorf("%d of %d completed", completed, contacts)
	}
}
