package dashboard

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
	webapi "weir/web/api"
	"weir/web/dashboard/locale"
)

const (
	deskPath = "/router/desk"
	// maxOnDesk is how many offers and how many jobs a desk shows in detail: each is a call of the API.
	maxOnDesk = 20
)

func deskLink(worker string) string { return deskPath + apiPath(worker) }

func deskCrumbs(l *locale.Locale, worker string, more ...crumb) []crumb {
	return routerCrumbs(l, append([]crumb{{Text: l.T("Desks"), Link: deskPath}, {Text: worker, Link: deskLink(worker)}}, more...)...)
}

// deskList is the data of the page on which people choose their desk.
type deskList struct {
	List     []router.Worker
	Pager    pager
	Worker   string            // as typed
	Mistakes map[string]string // by field
}

func loadDesks(v *visit) (*content, error) {
	l := &deskList{}
	var err error
	l.List, l.Pager, err = listPage[router.Worker](v, "workers", listQuery(v))
	return &content{title: v.T("Choose your desk"), crumbs: routerCrumbs(v.Locale, crumb{Text: v.T("Desks")}), data: l}, err
}

// chooseDesk leads to the desk whose worker was typed: lists of many workers are long.
func chooseDesk(v *visit) (*content, error) {
	id := strings.TrimSpace(v.r.PostForm.Get("worker"))
	mistake := v.T("Enter the ID of a worker.")
	if id != "" {
		_, err := readWorker(v.caller, id)
		if status, _ := statusOf(err); err != nil && status != http.StatusNotFound {
			return nil, err
		}
		if err == nil {
			return &content{to: deskLink(id)}, nil
		}
		mistake = v.T("No worker has this ID.")
	}
	c, err := loadDesks(v)
	if err != nil {
		return nil, err
	}
	l, _ := c.data.(*deskList)
	l.Worker, l.Mistakes, c.status = id, map[string]string{"worker": mistake}, http.StatusUnprocessableEntity
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

func loadDesk(v *visit) (*content, error) {
	w, err := readWorker(v.caller, v.r.PathValue("worker"))
	if err != nil {
		return nil, err
	}
	d := &desk{Worker: w, Hidden: max(0, len(w.Offers)-maxOnDesk) + max(0, len(w.AssignedJobs)-maxOnDesk)}
	for _, o := range w.Offers[:min(maxOnDesk, len(w.Offers))] {
		switch j, ok, err := readJobIfAny(v.caller, o.JobID); {
		case err != nil:
			return nil, err
		case ok:
			d.Offered = append(d.Offered, deskOffer{o, j})
		}
	}
	for _, a := range w.AssignedJobs[:min(maxOnDesk, len(w.AssignedJobs))] {
		switch j, ok, err := readJobIfAny(v.caller, a.JobID); {
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
	return &content{title: title, crumbs: deskCrumbs(v.Locale, w.ID), data: d}, nil
}

// readJobIfAny reads a job that may have been deleted since its id was read.
func readJobIfAny(c *caller, id string) (j routerJob, ok bool, err error) {
	j, err = readJob(c, id)
	if status, _ := statusOf(err); err != nil && status == http.StatusNotFound {
		return j, false, nil
	}
	return j, err == nil, err
}

// atDesk leads a question back to the desk of the worker whom a part of the path names.
func atDesk(part string, ask func(*visit) (*question, error)) func(*visit) (*question, error) {
	return func(v *visit) (*question, error) {
		q, err := ask(v)
		if err != nil {
			return nil, err
		}
		id := v.r.PathValue(part)
		q.back, q.crumbs = deskLink(id), deskCrumbs(v.Locale, id, crumb{Text: q.Button})
		return q, nil
	}
}

// setAvailableAtDesk is setAvailable, and leads to the desk.
func setAvailableAtDesk(on bool) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		out, err := setAvailable(on)(v)
		out.to = deskLink(v.r.PathValue("id"))
		return out, err
	}
}

func askOffer(button, title, text locale.Message) func(*visit) (*question, error) {
	return func(v *visit) (*question, error) {
		w, err := readWorker(v.caller, v.r.PathValue("worker"))
		if err != nil {
			return nil, err
		}
		for _, o := range w.Offers {
			if o.OfferID == v.r.PathValue("offer") {
				return &question{
					title: v.T(title, o.JobID), Button: v.T(button), Text: v.T(text),
					Facts: []fact{{v.T("Job"), o.JobID}, {v.T("Expires in"), v.Span(o.ExpiresAt.Sub(v.Now()))}}, Fields: []field{{Name: "job", Type: "hidden", Value: o.JobID}},
				}, nil
			}
		}
		return nil, &problem{Status: http.StatusNotFound, Detail: v.T("this offer is no longer open")}
	}
}

func answerOffer(step string, became locale.Message) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		worker, job := v.r.PathValue("worker"), v.r.PostForm.Get("job")
		err := clientOf(v.caller).Act(v.r.Context(), step, nil, "workers", worker, "offers", v.r.PathValue("offer"))
		return atDeskDone(v, worker, job, v.T(became, job), err)
	}
}

// atDeskDone returns the result of an action at a desk. What came too late is explained on the
// desk, which shows the current offers and jobs.
func atDeskDone(v *visit, worker, job, text string, err error) (*done, error) {
	out := &done{text: text, to: deskLink(worker)}
	if status, _ := statusOf(err); err != nil && (status == http.StatusNotFound || status == http.StatusConflict) {
		out.text, out.bad, err = tooLate(v.caller, worker, job), true, nil
	}
	return out, err
}

// tooLate explains why an offer or an assignment is no longer there.
func tooLate(c *caller, worker, job string) string {
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

func completeAtDesk(v *visit) (*done, error) {
	out, err := endAssignment("complete", "Job %s is completed; close it when you are ready for the next one.")(v)
	return atDeskDone(v, v.r.PathValue("worker"), v.r.PathValue("id"), out.text, err)
}

// askClose asks for the disposition of a job.
func askClose(v *visit) (*question, error) {
	q, err := askAssignment(2, "Close", "Close job %s", "The job ends, and you can get the next one. This cannot be undone.")(v)
	if err != nil {
		return nil, err
	}
	j, err := readJob(v.caller, v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	i := j.Interview()
	if i == nil {
		return q, nil
	}
	q.Fields = []field{
		{Name: "disposition", Label: v.T("Disposition"), Type: "select", Options: dispositionOptions(v.caller, i)},
		{Name: "other", Label: v.T("Another code"), Type: "text", Help: v.T("Instead of one of the list.")},
	}
	if i.Survey != "" {
		q.Fields = append(q.Fields, field{Name: "callback_at", Label: v.T("Call back at, UTC"), Type: "datetime-local", Help: v.T("Optional, with the disposition callback.")})
	}
	q.Fields = append(q.Fields, endFields(v.Locale)[0])
	return q, nil
}

// dispositionOptions returns the codes to choose from: those that the channel's type defines, and
// those of the channel's settings if the token may read them.
func dispositionOptions(c *caller, i *interview) []option {
	codes := contactCodes()
	if i.Survey != "" {
		codes = slices.Concat(endCodes()[:4], []string{codeCallback}, endCodes()[4:])
	}
	list := []option{{"", c.T("none")}}
	for _, code := range slices.Concat(codes, channelCodes(c, i.Contact)) {
		if !slices.ContainsFunc(list, func(o option) bool { return o.Value == code }) {
			list = append(list, option{code, c.Word(code)})
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
func channelCodes(c *caller, contact string) (codes []string) {
	var of api.ContactView
	var ch webapi.ChannelView
	if contact == "" || !c.May(operators.ScopeContactsRead) || c.get(apiPath("v1", "contacts", contact), nil, &of) != nil ||
		c.get(apiPath("v1", "channels", of.Channel), nil, &ch) != nil {
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
func closeAtDesk(v *visit) (*done, error) {
	worker, id := v.r.PathValue("worker"), v.r.PathValue("id")
	body, err := closeBody(v.Locale, v.r.PostForm, v.Now())
	if err != nil {
		return nil, err
	}
	end := func(step string, body any) error { return actOnAssignment(v, step, body) }
	// Closing first has the whole form checked before anything changes.
	err = end("close", body)
	if status, _ := statusOf(err); err != nil && status == http.StatusConflict {
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
		at, err := readMoment("callback_at", text)
		switch {
		case err != nil:
			_, p := statusOf(err)
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
		return nil, &problem{Status: http.StatusUnprocessableEntity, Detail: l.T("the job was not closed"), Errors: wrong}
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
