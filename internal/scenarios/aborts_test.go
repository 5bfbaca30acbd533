package scenarios_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"weir/persistence/testmysql"
)

// aborter is a proxy in front of a database server. It rolls a transaction back
// between two of its statements without reporting an error, as Galera does to a
// transaction that conflicts with a replicated one.
type aborter struct {
	left   atomic.Int64 // transactions still to roll back
	behind string       // prefix of the statement after which to roll back
	number uint16       // of the error with which COMMIT fails instead; 0: COMMIT does not fail
}

// between starts the proxy and returns a DATABASE_URL that connects through it.
func (a *aborter) between(t *testing.T, url string) string {
	t.Helper()
	account, place, _ := strings.Cut(url, "@")
	address, name, _ := strings.Cut(place, "/")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				_ = client.Close()
				continue
			}
			go a.pass(client, server)
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
	return account + "@" + l.Addr().String() + "/" + name
}

// pass forwards packets from the client to the server.
func (a *aborter) pass(client, server net.Conn) {
	defer func() { _ = client.Close(); _ = server.Close() }()
	head := make([]byte, 4)
	for {
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if a.number != 0 && bytes.HasSuffix(body, []byte("COMMIT")) && a.left.Add(-1) >= 0 {
			if _, err := client.Write(refusal(a.number)); err != nil {
				return
			}
			continue
		}
		body = a.abort(body)
		binary.LittleEndian.PutUint32(head, uint32(len(body))|uint32(head[3])<<24)
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
	}
}

// refusal returns an error packet of the server.
func refusal(number uint16) []byte {
	body := append(binary.LittleEndian.AppendUint16([]byte{0xff}, number), "#HY000made up by the test"...)
	return append([]byte{byte(len(body)), 0, 0, 1}, body...)
}

// abort inserts a ROLLBACK into a packet that holds a whole transaction.
func (a *aborter) abort(body []byte) []byte {
	const separator = "\n;"
	at := bytes.Index(body, []byte(separator+a.behind))
	if a.behind == "" || at < 0 || !bytes.HasSuffix(body, []byte(separator+"COMMIT")) || a.left.Load() <= 0 {
		return body
	}
	end := at + 1 + bytes.Index(body[at+1:], []byte(separator))
	a.left.Add(-1)
	return bytes.Join([][]byte{body[:end], body[end:]}, []byte(separator+"ROLLBACK"))
}

// Scenario 171: a transaction that the server rolls back in the middle without
// an error is written again: no 202 for contacts that are not stored.
func TestScenario171_RolledBackInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]string{
		"before the contacts": "UPDATE writers", "behind the contacts": "INSERT INTO contacts",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &aborter{behind: behind}
			w := newWorld(t, a.between(t, testmysql.URL(t)))
			w.start()
			w.channel("ch", 5, fields{"paused": true})
			w.accept("ch", many("known", 1)...) // from now on each request is one packet to the server
			ids := map[string]string{}
			a.left.Store(20)
			for i := range 40 {
				for key, id := range w.accept("ch", many(fmt.Sprintf("k%d", i), 3)...) {
					ids[key] = id
				}
			}
			if left := a.left.Load(); left > 0 {
				t.Fatalf("%d transactions were not rolled back", left)
			}
			for key, id := range ids {
				if c := w.contact(id); c["key"] != key {
					t.Errorf("contact %s was accepted and is not stored", key)
				}
			}
			if n := w.figure("ch", "queued"); n != len(ids)+1 {
				t.Errorf("%d are counted as queued, want %d", n, len(ids)+1)
			}
		})
	}
}

// Scenario 173: errors by which a group member or a proxy reports that it cannot
// commit now do not fail a request. The request waits and is stored.
func TestScenario173_MembersAndProxiesThatCannotCommitNow(t *testing.T) {
	t.Parallel()
	for _, number := range []uint16{3100, 3101, 9001, 9006} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			a := &aborter{number: number}
			w := newWorld(t, a.between(t, testmysql.URL(t)))
			w.start()
			w.channel("ch", 5, fields{"paused": true})
			a.left.Store(3)
			w.accept("ch", many("k", 3)...)
			if a.left.Load() > 0 {
				t.Fatal("nothing was refused")
			}
			if n := w.figure("ch", "queued"); n != 3 {
				t.Errorf("%d are queued", n)
			}
		})
	}
}

// Scenario 178: while the server cannot commit (its disk is full), Weir is not ready.
func TestScenario178_NotReadyWhileNothingCanBeCommitted(t *testing.T) {
	t.Parallel()
	const full = 1021
	a := &aborter{number: full}
	w := newWorld(t, a.between(t, testmysql.URL(t)))
	w.start()
	w.channel("ch", 5, fields{"paused": true})
	w.want(200, "GET", "/readyz", nil)
	a.left.Store(1000)
	answered := make(chan answer, 1)
	go func() {
		answered <- w.request("POST", "/v1/channels/ch/contacts", fields{"contacts": many("k", 3)})
	}()
	w.until("it is not ready", func() bool { return w.call("GET", "/readyz", nil).Status == 503 })
	a.left.Store(0)
	if got := <-answered; got.Status != 202 {
		t.Errorf("with room again the request was answered %d %s", got.Status, got.Text)
	}
	w.until("it is ready", func() bool { return w.call("GET", "/readyz", nil).Status == 200 })
	if n := w.figure("ch", "queued"); n != 3 {
		t.Errorf("%d contacts are queued, want 3", n)
	}
}
