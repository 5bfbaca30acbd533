package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"weir/client"
)

// Paths of the application.
const (
	callPath    = "/call"
	messagePath = "/messages"

	announcePath = "/announce"
)

// application is the program that conducts the conversations: Verboice asks it what
// to say in a call, Weir forwards the messages of people to it, and it reports the
// results to Weir.
type application struct {
	url    string
	secret string
	weir   *client.Client
	jobs   chan job
	stop   func() // may be called again

	mu        sync.Mutex
	open      int             // reports that are not made yet
	completed map[string]bool // respondents whose completion Weir has accepted
	sent      map[string]int  // messages that Weir has accepted, or may have, by respondent
	wrote     int             // messages of people that Weir has forwarded
	late      map[string]bool // respondents who were already final when they were reported
	wrong     []string        // errors
}

// job is a report to be made to Weir.
type job struct {
	survey, respondent string
	report             client.HearingBody
}

const (
	reporters  = 8
	maxJobs    = 10_000
	maxBody    = 1 << 20
	maxTries   = 20 // tries of a report: the broker may be dead for a while
	retryPause = 100 * time.Millisecond
)

// startApplication starts the application; weirURL is the future address of Weir.
func startApplication(ctx context.Context, weirURL, token string) (*application, error) {
	to, err := client.New(client.Options{URL: weirURL, Token: token, MaxTries: maxTries, RetryDelay: retryPause})
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &application{
		url: "http://" + l.Addr().String(), secret: secret(), weir: to, jobs: make(chan job, maxJobs),
		completed: map[string]bool{}, sent: map[string]int{}, late: map[string]bool{},
	}
	server := &http.Server{Handler: a.handler(), ReadHeaderTimeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) }) // ends when the server is closed
	for range reporters {
		running.Go(func() { a.work(ctx) })
	}
	a.stop = sync.OnceFunc(func() {
		cancel()
		_ = server.Close()
		running.Wait()
		to.Close()
	})
	return a, nil
}

func (a *application) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+callPath, a.call)
	mux.HandleFunc("POST "+messagePath, a.message)
	mux.HandleFunc("POST "+announcePath, announce)
	return mux
}

// call answers a call: with the question, and after a key was pressed, with thanks.
func (a *application) call(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	who := job{survey: q.Get("survey"), respondent: q.Get("respondent")}
	w.Header().Set("Content-Type", "application/xml")
	if digits := r.PostFormValue("Digits"); digits != "" {
		who.report = client.HearingBody{Disposition: "completed", Answers: map[string]any{"answer": digits}}
		a.take(who)
		_, _ = io.WriteString(w, "<Response><Say>Thank you. Good bye.</Say><Hangup/></Response>")
		return
	}
	again := strings.ReplaceAll(callPath+"?"+url.Values{"survey": {who.survey}, "respondent": {who.respondent}}.Encode(), "&", "&amp;")
	_, _ = fmt.Fprintf(w, `<Response><Gather numDigits="1" action="%s"><Say>Is it good? Press 1 for yes, 2 for no.</Say></Gather><Hangup/></Response>`, again)
}

// announce answers a call outside the surveys: with a sentence.
func announce(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, "<Response><Say>This is an announcement. Good bye.</Say><Hangup/></Response>")
}

// webhookBody is Weir's webhook body for a message.
type webhookBody struct {
	Type string `json:"type"`
	Data struct {
		Survey     string `json:"survey"`
		Respondent string `json:"respondent"`
		Text       string `json:"text"`
	} `json:"data"`
}

// message receives a person's message.
func (a *application) message(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !signed(a.secret, r.Header, body, time.Now()) {
		a.complain("a message without Weir's signature")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var t webhookBody
	if err := json.Unmarshal(body, &t); err != nil {
		a.complain("a message that is no JSON")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch {
	case t.Type != messageType:
	case strings.TrimSpace(t.Data.Text) == stopWord: // Weir handles it, too
	default:
		a.note(func() { a.wrote++ })
		a.take(job{t.Data.Survey, t.Data.Respondent, answerTo(t.Data.Respondent, t.Data.Text)})
	}
	w.WriteHeader(http.StatusNoContent)
}

// answerTo returns the report that follows from a message. It is deterministic, because
// Weir may forward a message more than once.
func answerTo(respondent, text string) client.HearingBody {
	switch text = strings.TrimSpace(text); text {
	case "1", "2":
		return client.HearingBody{
			Disposition: "completed", Answers: map[string]any{"answer": text},
			Messages: []string{"Thank you. Good bye."}, Key: respondent + "-thanks",
		}
	default:
		return client.HearingBody{
			Disposition: "started", Messages: []string{"Please answer 1 for yes or 2 for no, or STOP."}, Key: respondent + "-again",
		}
	}
}

// take queues a report to Weir.
func (a *application) take(j job) {
	select {
	case a.jobs <- j:
		a.note(func() { a.open++ })
	default:
		a.complain("more to report than there is room for")
	}
}

func (a *application) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-a.jobs:
			a.report(ctx, j)
		}
	}
}

func (a *application) report(ctx context.Context, j job) {
	is, err := a.weir.PostDisposition(ctx, j.survey, j.respondent, j.report)
	a.note(func() {
		a.open--
		switch {
		case err == nil && is.MessagesWithheld: // the quota is full
			a.late[j.respondent] = true
		case err == nil:
			a.sent[j.respondent] += len(j.report.Messages)
			if j.report.Disposition == "completed" {
				a.completed[j.respondent] = true
			}
		case client.StatusOf(err) == http.StatusConflict: // the respondent's status was already final
			a.late[j.respondent] = true
		case ctx.Err() == nil:
			a.wrong = append(a.wrong, err.Error())
		}
	})
}

func (a *application) note(what func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what()
}

func (a *application) complain(what string) {
	a.note(func() { a.wrong = append(a.wrong, what) })
}

// forget drops what is known of the respondents so far.
func (a *application) forget() {
	a.note(func() {
		clear(a.completed)
		clear(a.sent)
		clear(a.late)
		a.wrong = nil
	})
}

// idle reports whether all reports were made.
func (a *application) idle() (idle bool) {
	a.note(func() { idle = a.open == 0 })
	return idle
}
