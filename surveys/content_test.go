package surveys_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir"
	"weir/surveys"
)

func person() surveys.Person {
	return surveys.Person{ID: "r17", Phone: "+5215512345678", Attributes: map[string]string{"first_name": "Ana & <Bo>", "district": "a/b?c=d"}}
}

// contactFor returns the contact of an attempt with the given contents.
func contactFor(t *testing.T, mode surveys.Mode, attempt int, contents ...surveys.Content) weir.Spec {
	t.Helper()
	d := definition()
	d.Modes[mode] = surveys.ModeSpec{Channel: "c"}
	d.Arms = []surveys.Arm{{Modes: []surveys.Mode{mode}}}
	d.Questionnaires = map[string]map[surveys.Mode][]surveys.Content{"q": {mode: contents}}
	got, err := plan(t, d).Contact("s1", person(), surveys.Progress{}, surveys.Outreach{Serial: 4, Mode: mode, Attempt: attempt, Priority: weir.High, NotBefore: start(), NotAfter: at(60)})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestContent_FillsInTheContactOfAnAttempt(t *testing.T) {
	t.Parallel()
	got := contactFor(t, surveys.SMS, 1, surveys.Content{Messages: []string{"{{ first_name }}{{first_name}}, {{district}}", "{{survey}}/{{respondent}}/{{mode}}/{{attempt}} }}"}})
	want := weir.Spec{
		Key: "r17-4", To: "+5215512345678", Priority: weir.High, Survey: "s1", NotBefore: start(), NotAfter: at(60),
		Labels:   map[string]string{"respondent": "r17", "mode": "sms", "attempt": "1", "questionnaire": "q"},
		Messages: []string{"Ana & <Bo>Ana & <Bo>, a/b?c=d", "s1/r17/sms/1 }}"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Contacts carry the attributes that the definition lists as labels, if the
// respondent has them and they are short enough.
func TestContent_LabelsAreShortAttributes(t *testing.T) {
	t.Parallel()
	d := definition()
	d.Labels = []string{"language", "district", "essay"}
	who := surveys.Person{ID: "r1", Attributes: map[string]string{"language": "Spanish", "essay": strings.Repeat("ä", 257), "secret": "x", "first_name": "Ana"}}
	got, err := plan(t, d).Contact("s1", who, surveys.Progress{}, surveys.Outreach{Mode: surveys.IVR, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	delete(got.Labels, "questionnaire")
	if diff := cmp.Diff(map[string]string{"respondent": "r1", "mode": "ivr", "attempt": "1", "language": "Spanish"}, got.Labels); diff != "" {
		t.Error(diff)
	}
}

func TestContent_DiffersByAttempt(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]string{0: "one", 1: "one", 2: "two", 3: "two", 99: "two"} {
		got := contactFor(t, surveys.MobileWeb, attempt, surveys.Content{Messages: []string{"one"}}, surveys.Content{Messages: []string{"two"}})
		if got.Messages[0] != want {
			t.Errorf("attempt %d says %q", attempt, got.Messages[0])
		}
	}
}

// The URL of a call carries the respondent's reference, and never the number.
func TestContent_CallURLCarriesNoNumber(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://ivr.example/start":                       "https://ivr.example/start?respondent=r17",
		"https://ivr.example/start?a=1":                   "https://ivr.example/start?a=1&respondent=r17",
		"https://ivr.example/{{respondent}}/{{district}}": "https://ivr.example/r17/a%2Fb%3Fc=d",
		"http://ivr.example?d={{district}}&n={{attempt}}": "http://ivr.example?d=a%2Fb%3Fc%3Dd&n=2&respondent=r17",
	} {
		got := contactFor(t, surveys.IVR, 2, surveys.Content{Call: &weir.Call{CallbackURL: given}})
		if got.Call.CallbackURL != want || strings.Contains(got.Call.CallbackURL, "55") {
			t.Errorf("%s: %s, want %s", given, got.Call.CallbackURL, want)
		}
	}
	if got := contactFor(t, surveys.IVR, 1, surveys.Content{Call: &weir.Call{CallFlowID: 7}}); *got.Call != (weir.Call{CallFlowID: 7}) {
		t.Errorf("a call flow: %+v", got.Call)
	}
	got := contactFor(t, surveys.IVR, 1, surveys.Content{Call: &weir.Call{TwiML: `<Response><Say voice="{{district}}">{{first_name}}</Say></Response>`}})
	if want := `<Response><Say voice="a/b?c=d">Ana &amp; &lt;Bo&gt;</Say></Response>`; got.Call.TwiML != want {
		t.Errorf("TwiML: %s", got.Call.TwiML)
	}
}

// An interview has notes, a form to open, or both.
func TestContent_InterviewHasNotesOrAForm(t *testing.T) {
	t.Parallel()
	form := &weir.Call{CallbackURL: "https://forms.example/{{respondent}}"}
	both := contactFor(t, surveys.CATI, 1, surveys.Content{Messages: []string{"Ask {{first_name}}"}, Call: form})
	if both.Messages[0] != "Ask Ana & <Bo>" || both.Call == nil || both.Call.CallbackURL != "https://forms.example/r17" {
		t.Errorf("%+v, %+v", both.Messages, both.Call)
	}
	if notes := contactFor(t, surveys.CATI, 1, surveys.Content{Messages: []string{"Ask"}}); notes.Call != nil {
		t.Errorf("a call out of nothing: %+v", notes.Call)
	}
	for name, c := range map[string]surveys.Content{
		"nothing": {}, "for machines": {Call: &weir.Call{TwiML: "<Response/>"}}, "no form": {Call: &weir.Call{}}, "an empty note": {Messages: []string{" "}},
	} {
		d := definition()
		d.Modes[surveys.CATI] = surveys.ModeSpec{Channel: "c"}
		d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.CATI}}}
		d.Questionnaires = map[string]map[surveys.Mode][]surveys.Content{"q": {surveys.CATI: {c}}}
		if _, wrong := d.Compile(surveys.Defaults{}); len(wrong) == 0 {
			t.Errorf("%s is no interview, and passes", name)
		}
	}
}

func TestContent_InvalidOneIsRefused(t *testing.T) {
	t.Parallel()
	call := func(c weir.Call) surveys.Content { return surveys.Content{Call: &c} }
	say := func(s string) surveys.Content { return surveys.Content{Messages: []string{s}} }
	for _, tt := range []struct {
		name string
		mode surveys.Mode
		c    surveys.Content
		want string
	}{
		{"no call", surveys.IVR, say("x"), " content"},
		{"no message", surveys.SMS, call(weir.Call{CallFlowID: 1}), " content"},
		{"nothing", surveys.SMS, surveys.Content{}, " content"},
		{"a blank message", surveys.SMS, say(" "), "/messages/0 length"},
		{"a long message", surveys.SMS, say(strings.Repeat("é", 1601)), "/messages/0 length"},
		{"open braces", surveys.SMS, say("Hello {{first_name"), "/messages/0 format"},
		{"not a name", surveys.SMS, say("Hello {{First Name}}"), "/messages/0 format"},
		{"no name", surveys.SMS, say("Hello {{}}"), "/messages/0 format"},
		{"the number", surveys.SMS, say("{{phone}}"), "/messages/0 format"},
		{"two calls", surveys.IVR, call(weir.Call{CallFlowID: 1, TwiML: "<Response/>"}), "/call content"},
		{"an empty call", surveys.IVR, call(weir.Call{}), "/call content"},
		{"a flow below 1", surveys.IVR, call(weir.Call{CallFlowID: -1}), "/call/call_flow_id range"},
		{"no URL", surveys.IVR, call(weir.Call{CallbackURL: "ivr.example"}), "/call/callback_url format"},
		{"another scheme", surveys.IVR, call(weir.Call{CallbackURL: "ftp://ivr.example/"}), "/call/callback_url format"},
		{"the host of the respondent", surveys.IVR, call(weir.Call{CallbackURL: "https://{{first_name}}/"}), "/call/callback_url format"},
		{"the end of the host", surveys.IVR, call(weir.Call{CallbackURL: "https://ivr.example{{first_name}}"}), "/call/callback_url format"},
		{"the scheme of the respondent", surveys.IVR, call(weir.Call{CallbackURL: "{{first_name}}://ivr.example/"}), "/call/callback_url format"},
		{"a fragment", surveys.IVR, call(weir.Call{CallbackURL: "https://ivr.example/#x"}), "/call/callback_url format"},
		{"the number in the URL", surveys.IVR, call(weir.Call{CallbackURL: "https://ivr.example/{{phone}}"}), "/call/callback_url format"},
		{"broken XML", surveys.IVR, call(weir.Call{TwiML: "<Response>"}), "/call/twiml format"},
		{"another root", surveys.IVR, call(weir.Call{TwiML: "<Say/>"}), "/call/twiml format"},
		{"two roots", surveys.IVR, call(weir.Call{TwiML: "<Response/><Response/>"}), "/call/twiml format"},
		{"an element of the respondent", surveys.IVR, call(weir.Call{TwiML: "<Response><{{first_name}}/></Response>"}), "/call/twiml format"},
		{"too much", surveys.IVR, call(weir.Call{TwiML: "<Response>" + strings.Repeat(" ", 64<<10) + "</Response>"}), "/call/twiml format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := definition()
			d.Modes[tt.mode] = surveys.ModeSpec{Channel: "c"}
			d.Arms = []surveys.Arm{{Modes: []surveys.Mode{tt.mode}}}
			d.Questionnaires["q"][tt.mode] = []surveys.Content{tt.c}
			_, wrong := d.Compile(defaults())
			if diff := cmp.Diff([]string{"/questionnaires/q/" + string(tt.mode) + "/0" + tt.want}, codes(wrong)); diff != "" {
				t.Errorf("%s\n%v", diff, wrong)
			}
		})
	}
}

// A missing field is refused at launch; the error names the respondents that lack it.
func TestContent_MissingAttributesNameTheRespondents(t *testing.T) {
	t.Parallel()
	pl := plan(t, definition())
	gaps := surveys.MissingAttributes{Needs: pl.RequiredAttributes()}
	if diff := cmp.Diff([]string{"first_name"}, gaps.Needs); diff != "" {
		t.Error(diff)
	}
	gaps.Check("r1", map[string]string{"first_name": "Ana"})
	if gaps.Err() != nil {
		t.Error(gaps.Err())
	}
	gaps.Check("r2", map[string]string{"first_name": "  "})
	gaps.Check("r3", nil)
	for i := range 1000 {
		gaps.Check(fmt.Sprint("x", i), nil)
	}
	e, ok := errors.AsType[*weir.Error](gaps.Err())
	if !ok || gaps.Respondents != 1002 || len(e.Fields) != 100 || e.Fields[0].Pointer != "/respondents/r2/attributes/first_name" || e.Fields[1].Pointer != "/respondents/r3/attributes/first_name" {
		t.Errorf("%d, %v", gaps.Respondents, gaps.Err())
	}
	if _, err := pl.Contact("s1", surveys.Person{ID: "r3"}, surveys.Progress{}, surveys.Outreach{Mode: surveys.SMS, Attempt: 1}); weir.CodeOf(err) != weir.CodeInvalid {
		t.Errorf("a contact without its fields: %v", err)
	}
	if pl.Size(surveys.SMS) != 2 || pl.Size(surveys.IVR) != 1 {
		t.Errorf("sizes %d and %d", pl.Size(surveys.SMS), pl.Size(surveys.IVR))
	}
}

// Whatever an attribute contains, the URL keeps its host and its parameters, and
// the TwiML its elements.
func TestContent_AttributesAreEscaped(t *testing.T) {
	t.Parallel()
	d := definition()
	d.Questionnaires["q"][surveys.IVR] = []surveys.Content{
		{Call: &weir.Call{CallbackURL: "https://ivr.example/{{a}}?x={{b}}"}},
		{Call: &weir.Call{TwiML: `<Response><Say voice="{{a}}">{{b}}</Say></Response>`}},
	}
	pl := plan(t, d)
	rapid.Check(t, func(t *rapid.T) {
		who := surveys.Person{ID: "r1", Attributes: map[string]string{"a": "x" + rapid.String().Draw(t, "a"), "b": "x" + rapid.String().Draw(t, "b")}}
		one, err := pl.Contact("s", who, surveys.Progress{}, surveys.Outreach{Mode: surveys.IVR, Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(one.Call.CallbackURL)
		if err != nil || u.Host != "ivr.example" || u.Path != "/"+who.Attributes["a"] || u.Query().Get("x") != who.Attributes["b"] || u.Query().Get("respondent") != "r1" || len(u.Query()) != 2 {
			t.Fatalf("%q: %v %v", one.Call.CallbackURL, u, err)
		}
		two, err := pl.Contact("s", who, surveys.Progress{}, surveys.Outreach{Mode: surveys.IVR, Attempt: 2})
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			XMLName xml.Name `xml:"Response"`
			Say     []struct {
				Voice string `xml:"voice,attr"`
				Text  string `xml:",chardata"`
			}
		}
		if err := xml.Unmarshal([]byte(two.Call.TwiML), &said); err != nil || len(said.Say) != 1 {
			t.Fatalf("%q: %v", two.Call.TwiML, err)
		}
	})
}

// Each text in which a field of another program was left is named; what has braces for another reason is not.
func TestContent_NamesWhatLooksLikeAField(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Hello {first_name}": "{first_name}", "Hello ${first_name}, {{first_name}}": "${first_name}", "Hello { First Name }.": "{ First Name }", "#{name}": "#{name}",
		"Hello ｛｛first_name｝｝": "｛｛first_name｝｝", "{{{name}}}": "", "{año}": "{año}", "a {b} {c}": "{b}", "%{name}": "%{name}",
		"Hello {{first_name}}": "", "1 {2}": "", "{}": "", "{ }": "", "{-:": "", ":-}": "", "{\"a\":1}": "", "Choose {1, 2}": "", "$5": "",
	} {
		d := smsOnly("")
		d.Questionnaires["q"] = map[surveys.Mode][]surveys.Content{surveys.SMS: {{Messages: []string{"fine"}}, {Messages: []string{"fine", text}}}}
		d.Arms = []surveys.Arm{{Questionnaire: "q", Modes: []surveys.Mode{surveys.SMS}}}
		d.QuotaMessage, d.Answer = text, &surveys.Answer{Thanks: text}
		pl, wrong := d.Compile(surveys.Defaults{})
		if text == "{{{name}}}" { // refused: no name is within the inner braces
			if len(wrong) == 0 {
				t.Errorf("%q is a text", text)
			}
			continue
		}
		if len(wrong) > 0 {
			t.Fatalf("%q: %v", text, wrong)
		}
		var at []string
		for _, w := range pl.Warnings() {
			if !strings.HasPrefix(w.Detail, strconv.Quote(want)+" is sent") {
				t.Errorf("%q: %s", text, w.Detail)
			}
			at = append(at, w.Pointer)
		}
		if all := []string{"/questionnaires/q/sms/1/messages/1", "/quota_message", "/answer/thanks"}; want == "" && at != nil || want != "" && !slices.Equal(at, all) {
			t.Errorf("%q: warnings at %q", text, at)
		}
	}
}

func FuzzContent(f *testing.F) {
	for _, s := range []string{"Hello {{first_name}}", "{{", "}}{{a}}", "https://h/{{a}}?{{b}}", "https://h{{a}}", `<Response a="{{a}}"/>`} {
		f.Add(s, "v")
	}
	f.Fuzz(func(t *testing.T, s, value string) {
		d := definition()
		for _, c := range []weir.Call{{CallbackURL: s}, {TwiML: s}} {
			d.Questionnaires["q"][surveys.IVR] = []surveys.Content{{Call: &c}}
			pl, wrong := d.Compile(defaults())
			if len(wrong) > 0 {
				continue
			}
			who := surveys.Person{ID: "r1", Attributes: map[string]string{}}
			for _, name := range pl.RequiredAttributes() {
				who.Attributes[name] = "x" + value
			}
			spec, err := pl.Contact("s", who, surveys.Progress{}, surveys.Outreach{Mode: surveys.IVR, Attempt: 1})
			if err != nil {
				t.Fatal(err)
			}
			if spec.Call.CallbackURL != "" {
				if u, err := url.Parse(spec.Call.CallbackURL); err != nil || u.Host == "" {
					t.Errorf("%q becomes %q", s, spec.Call.CallbackURL)
				}
			}
		}
	})
}
