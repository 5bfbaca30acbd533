package dashboard_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/internal/polling"
)

const deskScope = "router pii:read contacts:read"

// offered waits for an offer on the desk of ann, and returns the path of its actions and its job.
func (b *browser) offered() (path, job string) {
	b.t.Helper()
	find := regexp.MustCompile(`action="(/router/desk/ann/offers/[^"]+)/accept"><input type="hidden" name="job" value="([^"]+)"`)
	var found []string
	if !polling.Until(20*time.Second, 20*time.Millisecond, func() bool {
		found = find.FindStringSubmatch(b.get("/router/desk/ann").want(200).body)
		return found != nil
	}) {
		b.t.Fatalf("no offer:\n%s", b.get("/router/desk/ann").body)
	}
	return found[1], found[2]
}

// taken accepts the offer on the desk of ann, and returns the path of the actions of the assignment.
func (b *browser) taken() (path, job string) {
	b.t.Helper()
	offer, job := b.offered()
	b.post(offer+"/accept", url.Values{"job": {job}}).want(303)
	p := b.get("/router/desk/ann").want(200).has("Job " + job + " is yours.")
	found := regexp.MustCompile(`(/router/desk/ann/jobs/[^/"]+/assignments/[^/"]+)/close`).FindStringSubmatch(p.body)
	if found == nil {
		b.t.Fatalf("no job on the desk:\n%s", p.body)
	}
	return found[1], job
}

// An interviewer says that she is available, takes the job of a contact and closes it with a code
// of the channel's settings; the contact ends so.
// Scenario 341.
func TestDesk_AWorkerTakesAJobAndClosesIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, deskScope)
	r.api("PATCH", "/routing/distributionPolicies/first"+version, `{"offerExpiresAfterSeconds":600,"mode":{"kind":"longestIdle"}}`, nil)
	r.api("PATCH", "/routing/queues/calls"+version, `{"distributionPolicyId":"first"}`, nil)
	r.api("PATCH", "/routing/workers/ann"+version, `{"capacity":1,"queues":["calls"],"channels":[{"channelId":"contact","capacityCostPerJob":1}]}`, nil)
	r.api("PUT", "/v1/channels/talk", `{"type":"workers","capacity":5,"settings":{"queue":"calls","outcomes":"wrong_number=failed"}}`, nil)
	var made struct {
		Contacts []struct{ ID string }
	}
	r.api("POST", "/v1/channels/talk/contacts", `{"contacts":[{"key":"k","to":"`+numberCanary+`","labels":{"language":"Spanish"},"messages":["Ask <i>kindly</i>"],"call":{"callback_url":"https://forms.example/flu?r=17"}}]}`, &made)

	b := r.login(deskScope)
	b.get("/router").want(200).has(`href="/router/desk"`, `href="/router/board"`)
	b.get("/router/desk").want(200).has(`href="/router/desk/ann"`)
	b.post("/router/desk", url.Values{"worker": {"ann"}}).want(303)
	b.get("/router/desk/ann").want(200).has("You get no new offers.", `id="on"`, "No open offers.", `data-stream="/live/router/desk/ann"`)
	b.post("/router/desk/ann/on", nil).want(303)
	offer, job := b.offered()
	p := b.get("/router/desk/ann").want(200).has("You are available", `id="off"`, "language Spanish")
	if p.title() != "(1) Desk of ann – Weir" {
		t.Errorf("title %q", p.title())
	}
	b.get(offer+"/accept").want(200).has("Accept job "+job, `href="/router/desk/ann" data-close`)
	held, _ := b.taken()
	b.get("/router/desk/ann").want(200).has(numberCanary, "Ask &lt;i&gt;kindly", `href="https://forms.example/flu?r=17" target="_blank"`, "<dt>language</dt><dd>Spanish</dd>",
		`href="/contacts/`+made.Contacts[0].ID+`"`, "Complete and close").hasNot("<i>kindly", numberCanary+`"`)
	b.get(held+"/close").want(200).has(`<option value="no_answer">no answer`, `<option value="wrong_number">wrong number`).hasNot("callback_at", `value="partial"`)
	b.post(held+"/complete", url.Values{"note": {"a wrong number"}}).want(303)
	b.get("/router/desk/ann").want(200).has("close it when you are ready", "a wrong number", ">Close<").hasNot("Complete and close")
	b.post(held+"/close", url.Values{"disposition": {"wrong_number"}}).want(303)
	b.get("/router/desk/ann").want(200).has("Job "+job+" is closed.", "You have no job.").hasNot(numberCanary)
	var contact struct{ State, Outcome, Reason string }
	if !polling.Until(20*time.Second, 20*time.Millisecond, func() bool {
		r.api("GET", "/v1/contacts/"+made.Contacts[0].ID, "", &contact)
		return contact.State == "done"
	}) || contact.Outcome != "failed" || contact.Reason != "closed as wrong_number" {
		t.Errorf("the contact: %+v", contact)
	}
}

// Offers expire and others are quicker: the desk says so, and nothing changes.
// Scenario 342.
func TestDesk_SaysWhatCameTooLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, deskScope)
	r.routed()
	b := r.login(deskScope)
	first, job := b.offered()
	b.post("/router/desk/ann/off", nil).want(303) // takes the offer back, as its end does
	b.get("/router/desk/ann").want(200).has("No open offers.").hasNot("(1)")
	b.get(first + "/accept").want(404).has("no longer open")
	b.post(first+"/accept", url.Values{"job": {job}}).want(303)
	b.get("/router/desk/ann").want(200).has("Too late: the offer of job one has expired, or the job was taken back. It is queued.", `class="flash bad"`, "You have no job.")

	r.api("PATCH", "/routing/workers/bob"+version, `{"availableForOffers":true,"labels":{"level":5}}`, nil)
	var bob struct {
		Offers []struct {
			ID string `json:"offerId"`
		} `json:"offers"`
	}
	r.api("GET", "/routing/workers/bob"+version, "", &bob)
	r.api("POST", "/routing/workers/bob/offers/"+bob.Offers[0].ID+":accept"+version, "", nil)
	b.post(first+"/decline", url.Values{"job": {job}}).want(303)
	b.get("/router/desk/ann").want(200).has("Too late: job one is with bob now.")

	r.api("POST", "/routing/jobs/one:cancel"+version, "", nil)
	b.post(first+"/accept", url.Values{"job": {job}}).want(303)
	b.get("/router/desk/ann").want(200).has("Too late: job one is cancelled.")
	b.post(first+"/accept", nil).want(303)
	b.get("/router/desk/ann").want(200).has("Too late: the offer or the job is no longer there.")
}

// An offer that ended by itself is explained, too.
// Scenario 342.
func TestDesk_SaysThatAnOfferExpired(t *testing.T) {
	t.Parallel()
	r := newRig(t, deskScope)
	r.routed()
	r.api("PATCH", "/routing/distributionPolicies/first"+version, `{"offerExpiresAfterSeconds":1}`, nil)
	b := r.login(deskScope)
	b.post("/router/desk/ann/off", nil).want(303)
	b.post("/router/desk/ann/on", nil).want(303)
	offer, job := b.offered()
	if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool { return !strings.Contains(b.get("/router/desk/ann").body, offer) }) {
		t.Fatal("the offer does not expire")
	}
	b.post(offer+"/accept", url.Values{"job": {job}}).want(303)
	b.get("/router/desk/ann").want(200).has("Too late: the offer of job one has expired")
}

// A job that was ended by somebody else stays as it is.
// Scenario 342.
func TestDesk_AJobThatWasEndedIsNotClosedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, deskScope)
	r.routed()
	b := r.login(deskScope)
	held, _ := b.taken()
	r.api("POST", "/routing/jobs/one:cancel"+version, "", nil)
	b.post(held+"/close", url.Values{"disposition": {"sold"}}).want(303)
	b.get("/router/desk/ann").want(200).has("Too late: job one is cancelled.", "You have no job.")
	b.post(held+"/complete", nil).want(303)
	b.get("/router/desk/ann").want(200).has("Too late: job one is cancelled.")
	if code := r.disposition("one"); code == "sold" {
		t.Errorf("closed as %s", code)
	}
}

// disposition returns the disposition code of a job.
func (r *rig) disposition(job string) string {
	r.t.Helper()
	var j struct {
		Code string `json:"dispositionCode"`
	}
	r.api("GET", "/routing/jobs/"+job+version, "", &j)
	return j.Code
}

// An interview is closed with a time to call back; mistakes are named all at once, and nothing changes.
// Scenario 341.
func TestDesk_AnInterviewIsCalledBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, deskScope)
	r.routed()
	r.api("PATCH", "/routing/jobs/talk"+version, `{"channelId":"voice","queueId":"calls","priority":50,"channelReference":"weir:7-1z-1","tags":{"to":"`+numberCanary+`","survey":"flu","link":"javascript:alert(1)","desk":"14"}}`, nil)
	b := r.login(deskScope)
	b.post("/router/desk/ann/off", nil).want(303)
	b.post("/router/desk/ann/on", nil).want(303)
	held, job := b.taken()
	if job != "talk" {
		t.Fatalf("job %s", job)
	}
	b.get("/router/desk/ann").want(200).has("<dt>Survey</dt><dd>flu</dd>", "<dt>desk</dt><dd>14</dd>").hasNot(`href="javascript`, "#ZgotmplZ")
	b.get(held+"/close").want(200).has(`<option value="partial">`, `name="callback_at"`)
	b.post(held+"/close", url.Values{"disposition": {"refused"}, "other": {"mine"}, "callback_at": {"2001-02-03T04:05"}, "note": {"kept"}}).want(422).
		has("not both", "in the future", `value="kept"`, `<option value="refused" selected>`)
	b.post(held+"/close", url.Values{"disposition": {"refused"}, "callback_at": {"2101-02-03T04:05"}}).want(422).has("needs the disposition callback")
	b.post(held+"/close", url.Values{"disposition": {"callback"}, "callback_at": {"tomorrow"}}).want(422).has("must be a date and a time in UTC")
	b.get("/router/jobs/talk").want(200).has(`id="complete"`).hasNot("kept")
	b.post(held+"/close", url.Values{"disposition": {"callback"}, "callback_at": {"2101-02-03T04:05"}, "note": {"tomorrow"}}).want(303)
	b.get("/router/desk/ann").want(200).has("Job talk is closed.")
	if code := r.disposition("talk"); code != "callback@2101-02-03T04:05:00Z" {
		t.Errorf("closed as %s", code)
	}
}

func TestDesk_IsChosenByTheWorkersID(t *testing.T) {
	t.Parallel()
	r := newRig(t, deskScope)
	b := r.login(deskScope)
	b.get("/router/desk").want(200).has("No workers yet", "weir route seed")
	r.routed()
	b.post("/router/desk", nil).want(422).has("Enter the ID of a worker.", `aria-invalid="true"`)
	b.post("/router/desk", url.Values{"worker": {"zoe<"}}).want(422).has("No worker has this ID.", `value="zoe&lt;"`, `href="/router/desk/bob"`)
	b.get("/router/desk/zoe").want(404)
	b.post("/router/desk/zoe/on", nil).want(404)
	b.get("/router/desk/zoe").want(404)
	if to := b.post("/router/desk", url.Values{"worker": {" ann "}}).want(303).header.Get("Location"); to != "/router/desk/ann" {
		t.Errorf("leads to %s", to)
	}
}

func TestDesk_UpdatesItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, deskScope)
	r.routed()
	w := r.login(deskScope).watch(r.serve(), "/live/router/desk/bob")
	w.until("desk", `data-title="Desk of bob – Weir"`)
	r.api("PATCH", "/routing/workers/bob"+version, `{"availableForOffers":true,"channels":[{"channelId":"fax","capacityCostPerJob":1}]}`, nil)
	w.until("desk", `data-title="(1) Desk of bob – Weir"`)
	w.end()
	<-w.done
}

func TestBoard_ShowsWhoWorksAndWhatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, deskScope)
	b := r.login(deskScope)
	b.get("/router/board").want(200).has("No workers yet.", "No queues yet.")
	r.routed()
	p := b.get("/router/board").want(200).has("is offered 1 job", "no new offers", `href="/router/queues/calls"`, `href="/router/desk/ann"`, `href="/router/board?wall=1"`)
	if waiting := regexp.MustCompile(`<td class="number">2</td>`).FindString(p.body); waiting == "" {
		t.Errorf("no 2 waiting jobs:\n%s", p.body)
	}
	held, _ := b.taken()
	b.get("/router/board").want(200).has("has 1 job", "100 %", `href="/router/jobs/one"`, "accepted job")
	b.post(held+"/close", nil).want(303)
	b.get("/router/board").want(200).has("waits for a job", "closed job")
}

func TestDesk_NeedsItsScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router", "contacts:read pii:read", deskScope)
	r.routed()
	offer, job := r.login(deskScope).offered()
	half, stranger := r.login("router"), r.login("contacts:read pii:read")
	for _, path := range []string{"/router/desk", "/router/desk/ann", "/router/board", offer + "/accept"} {
		half.get(path).want(403).has("pii:read").hasNot("calls")
		stranger.get(path).want(403).hasNot("calls")
	}
	for _, b := range []*browser{half, stranger} {
		b.post("/router/desk/ann/off", nil).want(403)
		b.post("/router/desk", url.Values{"worker": {"ann"}}).want(403)
		b.post(offer+"/accept", url.Values{"job": {job}}).want(403)
	}
	r.visitor().post(offer+"/decline", nil).want(303)
	r.login(deskScope).get("/router/desk/ann").want(200).has(offer, "You are available")
}
