package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Webhooks that never answer, or switch to another protocol and keep the connection, do
// not hold up the end of the program, however long they may take to answer.
func TestReceivers_TerminationDoesNotWaitForReceivers(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client left
		arrived <- r.URL.Path
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
			return
		}
		conn, in, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(io.Discard, in) // until the program closes it
	}))
	t.Cleanup(func() {
		receiver.CloseClientConnections()
		receiver.Close()
	})
	p := serve(t, filepath.Join(t.TempDir(), "weir.db"), "WEIR_SEND_TIMEOUT=5m", "WEIR_CONTACT_EVENTS=on")
	base := "http://" + p.says(t, "listening") + "/v1/"
	for _, path := range []string{"/silent", "/switch"} {
		request(t, http.MethodPost, base+"webhooks", `{"url":"`+receiver.URL+path+`","types":["weir.contact.done"]}`)
	}
	request(t, http.MethodPut, base+"channels/sms", `{"type":"nuntium","capacity":1,"paused":true,
		"settings":{"base_url":"http://127.0.0.1:9","account":"a","application":"b","token":"c","channel":"d"}}`)
	var made struct{ Contacts []struct{ ID string } }
	answer := request(t, http.MethodPost, base+"channels/sms/contacts", `{"contacts":[{"to":"+15550001","messages":["m"]}]}`)
	if err := json.Unmarshal(answer, &made); err != nil || len(made.Contacts) != 1 {
		t.Fatalf("%s: %v", answer, err)
	}
	request(t, http.MethodDelete, base+"contacts/"+made.Contacts[0].ID, "") // ends the contact, which is an event
	for seen := map[string]bool{}; len(seen) < 2; {
		select {
		case path := <-arrived:
			seen[path] = true
		case <-time.After(30 * time.Second):
			t.Fatalf("only %v got the event", seen)
		}
	}
	begun := time.Now()
	p.send(t, syscall.SIGTERM)
	p.ends(t) // fails the test unless the exit status is 0
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// request makes a request that has to succeed, and returns the answer's body.
func request(t *testing.T, method, url, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode > 299 {
		t.Fatalf("%s %s: %s %s (%v)", method, url, answer.Status, got, err)
	}
	return got
}
