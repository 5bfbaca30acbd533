package router

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/router"
	"weir/router/label"
	"weir/router/resource"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const (
	deskPath = "/router/desk"
	// maxOnDesk is how many offers and how many jobs a desk shows in detail: each is a call of the API.
	maxOnDesk = 20
)

func deskLink(worker string) string { return deskPath + page.Path(worker) }

func deskCrumbs(l *locale.Locale, worker string, more ...page.Crumb) []page.Crumb {
	return routerCrumbs(l, append([]page.Crumb{{Text: l.T("Desks"), Link: deskPath}, {Text: worker, Link: deskLink(worker)}}, more...)...)
}

// deskList is the data of the page on which people choose their desk.
type deskList struct {
	List     []router.Worker
	Pager    page.Pager
	Worker   string            // as typed
	Mistakes map[string]string // by field
}

func loadDesks(v *page.Visit) (*page.Content, error) {
	l := &deskList{}
	var err error
	l.List, l.Pager, err = listPage[router.Worker](v, "workers", listQuery(v))
	return &page.Content{Title: v.T("Choose your desk"), Crumbs: routerCrumbs(v.Locale, page.Crumb{Text: v.T("Desks")}), Data: l}, err
}

// chooseDesk leads to the desk whose worker was typed: lists of many workers are long.
func chooseDesk(v *page.Visit) (*page.Content, error) {
	id := strings.TrimSpace(v.Request.PostForm.Get("worker"))
	mistake := v.T("Enter the ID of a worker.")
	if id != "" {
		_, err := readWorker(v.Caller, id)
		if status, _ := page.StatusOf(err); err != nil && status != http.StatusNotFound {
			return nil, err
		}
		if err == nil {
			return &page.Content{To: deskLink(id)}, nil
		}
		mistake = v.T("No worker has this ID.")
	}
	c, err := loadDesks(v)
	if err != nil {
		return nil, err
	}
	l, _ := c.Data.(*deskList)
	l.Worker, l.Mistakes, c.Status = id, map[string]string{"worker": mistake}, http.StatusUnprocessableEntity
	return c, nil
}

// desk is the data of a worker's desk.
type desk struct {
	router.Worker
	Offered []deskOffer
	Held    []deskJob
	Hidden  int // offers and jobs that are not shown
}

// deskOffer is an open offer with its job.
type deskOffer struct {
	router.Offer
	Job routerJob
}

// deskJob is a job that the worker has.
type deskJob struct {
	routerJob
	Held router.AssignedJob
}

// Interview returns what a channel to people gives its worker; nil: the job has another source.
func (j routerJob) Interview() *interview {
	if !strings.HasPrefix(j.ChannelReference, "weir:") {
		return nil
	}
	tag := func(name string) string {
		if v, ok := j.Tags[name]; ok {
			return labelText(v)
		}
		return ""
	}
	return &interview{To: tag("to"), Contact: tag("contact"), Survey: tag("survey"), Form: tag("link"), Flow: tag("call_flow")}
}

// interview is what the tags of such a job contain: see docs/workers.md.
type interview struct{ To, Contact, Survey, Form, Flow string }

// Opens reports whether the form is an address that a browser can open.
func (i *interview) Opens() bool {
	return strings.HasPrefix(i.Form, "https://") || strings.HasPrefix(i.Form, "http://")
}

// OtherTags returns the tags that Interview does not.
func (j routerJob) OtherTags() label.Set {
	if j.Interview() == nil {
		return j.Tags
	}
	out := label.Set{}
	for name, value := range j.Tags {
		if !slices.Contains([]string{"to", "contact", "survey", "link", "call_flow"}, name) {
			out[name] = value
		}
	}
	return out
}

func loadDesk(v *page.Visit) (*page.Content, error) {
	w, err := readWorker(v.Caller, v.Request.PathValue("worker"))
	if err != nil {
		return nil, err
	}
	d := &desk{Worker: w, Hidden: max(0, len(w.Offers)-maxOnDesk) + max(0, len(w.AssignedJobs)-maxOnDesk)}
	for _, o := range w.Offers[:min(maxOnDesk, len(w.Offers))] {
		switch j, ok, err := readJobIfAny(v.Caller, o.JobID); {
		case err != nil:
			return nil, err
		case ok:
			d.Offered = append(d.Offered, deskOffer{o, j})
		}
	}
	for _, a := range w.AssignedJobs[:min(maxOnDesk, len(w.AssignedJobs))] {
		switch j, ok, err := readJobIfAny(v.Caller, a.JobID); {
		case err != nil:
			return nil, err
		case ok:
			d.Held = append(d.Held, deskJob{j, a})
		}
	}
	title := v.T("Desk of %s", w.ID)
	if n := len(w.Offers); n > 0 { // read in the list of a browser's tabs
		title = fmt.Sprintf("(%d) %s", n, title)
	}
	return &page.Content{Title: title, Crumbs: deskCrumbs(v.Locale, w.ID), Data: d}, nil
}

// readJobIfAny reads a job that may have been deleted since its id was read.
func readJobIfAny(c *page.Caller, id string) (j routerJob, ok bool, err error) {
	j, err = readJob(c, id)
	if status, _ := page.StatusOf(err); err != nil && status == http.StatusNotFound {
		return j, false, nil
	}
	return j, err == nil, err
}

// atDesk leads a question back to the desk of the worker whom a part of the path names.
func atDesk(part string, ask func(*page.Visit) (*page.Question, error)) func(*page.Visit) (*page.Question, error) {
	return func(v *page.Visit) (*page.Question, error) {
		q, err := ask(v)
		if err != nil {
			return nil, err
		}
		id := v.Request.PathValue(part)
		q.Back, q.Crumbs = deskLink(id), deskCrumbs(v.Locale, id, page.Crumb{Text: q.Button})
		return q, nil
	}
}

// setAvailableAtDesk is setAvailable, and leads to the desk.
func setAvailableAtDesk(on bool) func(*page.Visit) (*page.Done, error) {
	return func(v *page.Visit) (*page.Done, error) {
		out, err := setAvailable(on)(v)
		out.To = deskLink(v.Request.PathValue("id"))
		return out, err
	}
}

func askOffer(button, title, text locale.Message) func(*page.Visit) (*page.Question, error) {
	return func(v *page.Visit) (*page.Question, error) {
		w, err := readWorker(v.Caller, v.Request.PathValue("worker"))
		if err != nil {
			return nil, err
		}
		for _, o := range w.Offers {
			if o.OfferID == v.Request.PathValue("offer") {
				return &page.Question{
					Title: v.T(title, o.JobID), Button: v.T(button), Text: v.T(text),
					Facts: []page.Fact{{Name: v.T("Job"), Value: o.JobID}, {Name: v.T("Expires in"), Value: v.Span(o.ExpiresAt.Sub(v.Now()))}}, Fields: []page.Field{{Name: "job", Type: "hidden", Value: o.JobID}},
				}, nil
			}
		}
		return nil, &page.Problem{Status: http.StatusNotFound, Detail: v.T("this offer is no longer open")}
	}
}

func answerOffer(step string, became locale.Message) func(*page.Visit) (*page.Done, error) {
	return func(v *page.Visit) (*page.Done, error) {
		worker, job := v.Request.PathValue("worker"), v.Request.PostForm.Get("job")
		err := clientOf(v.Caller).Act(v.Request.Context(), step, nil, "workers", worker, "offers", v.Request.PathValue("offer"))
		return atDeskDone(v, worker, job, v.T(became, job), err)
	}
}

// atDeskDone returns the result of an action at a desk. What came too late is explained on the
// desk, which shows the current offers and jobs.
func atDeskDone(v *page.Visit, worker, job, text string, err error) (*page.Done, error) {
	out := &page.Done{Text: text, To: deskLink(worker)}
	if status, _ := page.StatusOf(err); err != nil && (status == http.StatusNotFound || status == http.StatusConflict) {
		out.Text, out.Bad, err = tooLate(v.Caller, worker, job), true, nil
	}
	return out, err
}

// tooLate explains why an offer or an assignment is no longer there.
func tooLate(c *page.Caller, worker, job string) string {
	j, err := readJob(c, job)
	if err != nil {
		return c.T("Too late: the offer or the job is no longer there.")
	}
	a := j.CurrentAssignment()
	switch {
	case j.Done():
		return c.T("Too late: job %[1]s is %[2]s.", job, j.StatusText(c.Locale))
	case a != nil && a.WorkerID != worker:
		return c.T("Too late: job %[1]s is with %[2]s now.", job, a.WorkerID)
	case a != nil:
		return c.T("Nothing was changed: you have job %[1]s already, and it is %[2]s.", job, j.StatusText(c.Locale))
	}
	return c.T("Too late: the offer of job %[1]s has expired, or the job was taken back. It is %[2]s.", job, j.StatusText(c.Locale))
}

func completeAtDesk(v *page.Visit) (*page.Done, error) {
	out, err := endAssignment("complete", "Job %s is completed; close it when you are ready for the next one.")(v)
	return atDeskDone(v, v.Request.PathValue("worker"), v.Request.PathValue("id"), out.Text, err)
}

// askClose asks for the disposition of a job.
func askClose(v *page.Visit) (*page.Question, error) {
	q, err := askAssignment(2, "Close", "Close job %s", "The job ends, and you can get the next one. This cannot be undone.")(v)
	if err != nil {
		return nil, err
	}
	j, err := readJob(v.Caller, v.Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	i := j.Interview()
	if i == nil {
		return q, nil
	}
	q.Fields = []page.Field{
		{Name: "disposition", Label: v.T("Disposition"), Type: "select", Options: dispositionOptions(v.Caller, i)},
		{Name: "other", Label: v.T("Another code"), Type: "text", Help: v.T("Instead of one of the list.")},
	}
	if i.Survey != "" {
		q.Fields = append(q.Fields, page.Field{Name: "callback_at", Label: v.T("Call back at, UTC"), Type: "datetime-local", Help: v.T("Optional, with the disposition callback.")})
	}
	q.Fields = append(q.Fields, endFields(v.Locale)[0])
	return q, nil
}

// dispositionOptions returns the codes to choose from: those that the channel's type defines, and
// those of the channel's settings if the token may read them.
func dispositionOptions(c *page.Caller, i *interview) []page.Option {
	codes := contactCodes()
	if i.Survey != "" {
		codes = slices.Concat(endCodes()[:4], []string{codeCallback}, endCodes()[4:])
	}
	list := []page.Option{{Value: "", Text: c.T("none")}}
	for _, code := range slices.Concat(codes, channelCodes(c, i.Contact)) {
		if !slices.ContainsFunc(list, func(o page.Option) bool { return o.Value == code }) {
			list = append(list, page.Option{Value: code, Text: c.Word(code)})
		}
	}
	return list
}

// contactCodes returns the codes that every channel to people knows.
func contactCodes() []string { return []string{"completed", "no_answer", "busy", "failed", "canceled"} }

// endCodes returns the codes of interviews after which nothing is arranged with the person: the
// first four conclude a respondent.
func endCodes() []string {
	return []string{"completed", "partial", "refused", "ineligible", "no_answer", "busy", "failed"}
}

// codeCallback is the code that continues a survey's respondent, at an instant if one follows.
const codeCallback = "callback"

// channelCodes returns the codes in the settings of a contact's channel. It is a help while closing
// a job, so that an error leaves it empty.
func channelCodes(c *page.Caller, contact string) (codes []string) {
	var of api.ContactView
	var ch api.ChannelView
	if contact == "" || !c.May(operators.ScopeContactsRead) || c.Get(page.Path("v1", "contacts", contact), nil, &of) != nil ||
		c.Get(page.Path("v1", "channels", of.Channel), nil, &ch) != nil {
		return nil
	}
	for _, setting := range []string{"dispositions", "outcomes"} {
		text, _ := ch.Settings[setting].(string)
		for pair := range strings.SplitSeq(text, ",") {
			if code, _, ok := strings.Cut(pair, "="); ok && strings.TrimSpace(code) != "" {
				codes = append(codes, strings.TrimSpace(code))
			}
		}
	}
	return codes
}

// closeAtDesk closes a job, and completes it first if the worker has not.
func closeAtDesk(v *page.Visit) (*page.Done, error) {
	worker, id := v.Request.PathValue("worker"), v.Request.PathValue("id")
	body, err := closeBody(v.Locale, v.Request.PostForm, v.Now())
	if err != nil {
		return nil, err
	}
	end := func(step string, body any) error { return actOnAssignment(v, step, body) }
	// Closing first has the whole form checked before anything changes.
	err = end("close", body)
	if status, _ := page.StatusOf(err); err != nil && status == http.StatusConflict {
		if err = end("complete", nil); err == nil {
			err = end("close", body)
		}
	}
	return atDeskDone(v, worker, id, v.T("Job %s is closed.", id), err)
}

// closeBody returns the body that closes a job as the form demands.
func closeBody(l *locale.Locale, form url.Values, now time.Time) (map[string]any, error) {
	chosen, other := form.Get("disposition"), strings.TrimSpace(form.Get("other"))
	var wrong []weir.FieldError
	if chosen != "" && other != "" {
		wrong = append(wrong, weir.FieldError{Pointer: "/other", Code: "conflict", Detail: l.T("choose a disposition or enter another code, not both")})
	}
	code := cmp.Or(other, chosen)
	if text := form.Get("callback_at"); text != "" {
		at, err := page.ReadMoment("callback_at", text)
		switch {
		case err != nil:
			_, p := page.StatusOf(err)
			wrong = append(wrong, p.Errors...)
		case !at.After(now):
			wrong = append(wrong, weir.FieldError{Pointer: "/callback_at", Code: "range", Detail: l.T("must be in the future")})
		}
		if code == "" || slices.Contains(endCodes(), code) {
			wrong = append(wrong, weir.FieldError{Pointer: "/disposition", Code: "conflict", Detail: l.T("a time to call back needs the disposition callback, or a code of your own for it")})
		}
		code += "@" + at.Format(time.RFC3339)
	}
	if len(wrong) > 0 {
		return nil, &page.Problem{Status: http.StatusUnprocessableEntity, Detail: l.T("the job was not closed"), Errors: wrong}
	}
	body := map[string]any{}
	for name, value := range map[string]string{"note": form.Get("note"), "dispositionCode": code} {
		if value != "" {
			body[name] = value
		}
	}
	return body, nil
}

// Completed reports whether only the close of the job is missing.
func (j routerJob) Completed() bool { return j.Status == resource.JobCompleted }
