// Command outreach sends a text to each person of a list and collects how that ended, and
// what people answer. It uses only Weir's events, and shows what a program needs so
// that kill -9, of itself or of Weir, makes it neither miss nor count anything twice; the
// README has the reasons.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"weir/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "outreach:", err)
		os.Exit(1)
	}
}

// outreach is the program.
type outreach struct {
	weir    *client.Client
	channel string
	name    string // precedes the keys of its contacts
	journal *journal
	people  []person
	log     *slog.Logger
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("outreach", flag.ContinueOnError)
	list := flags.String("people", "people.csv", "list of people: lines id,number,text")
	path := flags.String("journal", "outreach.journal", "file that keeps what is known")
	channel := flags.String("channel", "sms", "channel of Weir")
	name := flags.String("name", "outreach", "name of this campaign; it precedes the keys of its contacts")
	listen := flags.String("listen", "127.0.0.1:9090", "address for webhooks, at /weir, and for the state, at /status")
	every := flags.Duration("every", 10*time.Second, "interval of reading the events that no webhook brought")
	if err := flags.Parse(args); err != nil {
		return err
	}
	people, err := readPeople(*list)
	if err != nil {
		return err
	}
	j, err := openJournal(*path)
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }()
	weir, err := client.New(client.Options{URL: os.Getenv("WEIR_URL"), Token: os.Getenv("WEIR_TOKEN")})
	if err != nil {
		return err
	}
	o := &outreach{weir: weir, channel: *channel, name: *name, journal: j, people: people, log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", o.status)
	if secret := os.Getenv("WEBHOOK_SECRET"); secret != "" {
		key, err := keyOf(secret)
		if err != nil {
			return err
		}
		mux.Handle("POST /weir", &receiver{key: key, now: time.Now, apply: o.apply})
	}
	server := &http.Server{Addr: *listen, Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	broken := make(chan error, 1)
	go func() { broken <- server.ListenAndServe() }()
	defer func() { _ = server.Close() }()
	go o.work(ctx, *every)
	select {
	case <-ctx.Done():
		return nil
	case err := <-broken:
		return err
	}
}

// work sends the contacts and reads events until ctx ends. It reads before it sends: Weir
// writes the events of contacts only while someone wants them.
func (o *outreach) work(ctx context.Context, every time.Duration) {
	for sent := false; ; {
		err := o.sync(ctx)
		if err == nil && !sent {
			if err = o.send(ctx); err == nil {
				sent = true
			}
		}
		if err != nil && ctx.Err() == nil {
			o.log.Warn("Weir not reached; retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// send sends the contacts whose end is not known, again after each start: Weir recognizes
// by its key a contact that it has.
func (o *outreach) send(ctx context.Context) error {
	const batch = 200
	var list []client.ContactBody
	for _, p := range o.people {
		if o.journal.ended(p.id) {
			continue
		}
		list = append(list, client.ContactBody{Key: o.name + "/" + p.id, To: p.number, Messages: []string{p.text}})
	}
	for len(list) > 0 {
		n := min(batch, len(list))
		if _, err := o.weir.PostContacts(ctx, o.channel, client.ContactsBody{Contacts: list[:n]}); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

const types = "weir.contact.done,weir.contact.corrected,weir.message.received"

// sync reads the events after the last one that it read, whatever webhooks brought. What
// an event says and that it was read become durable in this order, or at once: a crash
// between the two repeats the event, which changes nothing.
func (o *outreach) sync(ctx context.Context) error {
	const page = 500
	var list []entry
	for e, err := range o.weir.Events(ctx, client.ListEventsParams{After: int(o.journal.cursor()), Type: types, Limit: page}) {
		if err != nil {
			return err
		}
		data, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		entries, err := o.read(e.Type, data)
		if err != nil {
			return err
		}
		var id int64
		if _, err := fmt.Sscan(e.ID, &id); err != nil {
			return fmt.Errorf("event id %q: %w", e.ID, err)
		}
		if list = append(append(list, entries...), entry{Kind: kindCursor, Cursor: id}); len(list) >= page {
			if err := o.journal.add(list...); err != nil {
				return err
			}
			list = nil
		}
	}
	return o.journal.add(list...)
}

// apply makes the content of an event durable.
func (o *outreach) apply(kind string, data []byte) error {
	entries, err := o.read(kind, data)
	if err != nil {
		return err
	}
	return o.journal.add(entries...)
}

var errEvent = errors.New("not an event of Weir")

// read returns what an event means here: nothing, if it is about something else.
func (o *outreach) read(kind string, data []byte) ([]entry, error) {
	switch kind {
	case "weir.contact.done", "weir.contact.corrected":
		var c struct{ Key, Outcome, Reason string }
		if err := json.Unmarshal(data, &c); err != nil || c.Outcome == "" {
			return nil, errEvent
		}
		id, ours := strings.CutPrefix(c.Key, o.name+"/")
		if !ours {
			return nil, nil
		}
		e := entry{Kind: kindEnded, ID: id, Outcome: c.Outcome, Reason: c.Reason}
		if kind == "weir.contact.corrected" {
			e.Kind = kindCorrected
		}
		return []entry{e}, nil
	case "weir.message.received":
		var m struct {
			Message    string `json:"message_id"`
			Channel    string
			From, Text string
		}
		if err := json.Unmarshal(data, &m); err != nil || m.Message == "" {
			return nil, errEvent
		}
		if m.Channel != o.channel {
			return nil, nil
		}
		return []entry{{Kind: kindReply, ID: m.Message, From: m.From, Text: m.Text}}, nil
	}
	return nil, nil
}

// status answers with what is known.
func (o *outreach) status(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(o.journal.summary(len(o.people)))
}
