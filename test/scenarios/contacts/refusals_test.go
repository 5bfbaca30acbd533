package contacts_test

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
	"weir/test/scenarios/world"
)

// refuser is a proxy in front of a database server. It refuses COMMIT with an error
// of the server.
type refuser struct {
	left   atomic.Int64 // COMMITs still to refuse
	number uint16       // of the error
}

// between starts the proxy and returns a DATABASE_URL that connects through it.
func (r *refuser) between(t *testing.T, url string) string {
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
			go r.pass(client, server)
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
	return account + "@" + l.Addr().String() + "/" + name
}

// pass forwards packets from the client to the server.
func (r *refuser) pass(client, server net.Conn) {
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
		if bytes.HasSuffix(body, []byte("COMMIT")) && r.left.Add(-1) >= 0 {
			if _, err := client.Write(refusal(r.number)); err != nil {
				return
			}
			continue
		}
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

// Scenario 173: errors by which a group member or a proxy reports that it cannot
// commit now do not fail a request. The request waits and is stored.
func TestRefusals_ByMembersAndProxiesFailNoRequest(t *testing.T) {
	t.Parallel()
	for _, number := range []uint16{3100, 3101, 9001, 9006} {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			r := &refuser{number: number}
			w := world.NewWorld(t, r.between(t, testmysql.URL(t)))
			w.Begin()
			w.Channel("ch", 5, world.Fields{"paused": true})
			r.left.Store(3)
			w.Accept("ch", world.Many("k", 3)...)
			if r.left.Load() > 0 {
				t.Fatal("nothing was refused")
			}
			if n := w.Figure("ch", "queued"); n != 3 {
				t.Errorf("%d are queued", n)
			}
		})
	}
}

// Scenario 178: while the server cannot commit (its disk is full), Weir is not ready.
func TestRefusals_NotReadyWhileNothingCanBeCommitted(t *testing.T) {
	t.Parallel()
	const full = 1021
	r := &refuser{number: full}
	w := world.NewWorld(t, r.between(t, testmysql.URL(t)))
	w.Begin()
	w.Channel("ch", 5, world.Fields{"paused": true})
	w.Want(200, "GET", "/readyz", nil)
	r.left.Store(1000)
	answered := make(chan world.Answer, 1)
	go func() {
		answered <- w.Request("POST", "/v1/channels/ch/contacts", world.Fields{"contacts": world.Many("k", 3)})
	}()
	w.Until("it is not ready", func() bool { return w.Call("GET", "/readyz", nil).Status == 503 })
	r.left.Store(0)
	if got := <-answered; got.Status != 202 {
		t.Errorf("with room again the request was answered %d %s", got.Status, got.Text)
	}
	w.Until("it is ready", func() bool { return w.Call("GET", "/readyz", nil).Status == 200 })
	if n := w.Figure("ch", "queued"); n != 3 {
		t.Errorf("%d contacts are queued, want 3", n)
	}
}
