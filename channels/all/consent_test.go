package all_test

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/all"
	"weir/channels/drivertest"
	"weir/channels/httpgateway"
	"weir/router/routertest"
)

// answers answers every request alike.
type answers struct {
	status int
	body   string
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

const sid = "SM00000000000000000000000000000001"

// signal is something that a provider says.
type signal struct {
	answer *answers // to a contact that is dispatched; nil: it is a callback
	path   string
	form   url.Values
	json   string
}

// speaker is a channel type, or a template, with what its provider is documented to say about
// refusals.
type speaker struct {
	settings        weir.Settings
	out, in, others map[string]signal
}

func answered(status int, body string) signal { return signal{answer: &answers{status, body}} }

func incoming(optOutType string) signal {
	return signal{path: "incoming", form: url.Values{"MessageSid": {sid}, "From": {"+15550001234"}, "Body": {"BASTA"}, "OptOutType": {optOutType}}}
}

func twilioStatus(path, status, code string) signal {
	return signal{path: path, form: url.Values{"MessageSid": {sid}, "MessageStatus": {status}, "ErrorCode": {code}, "OptOutType": {"STOP"}}}
}

func update(content string) signal {
	return signal{path: "incoming", json: `{"update_id": 7, ` + content + `}`}
}

func member(chat, status string) signal {
	return update(`"my_chat_member": {"chat": {"id": 15550001234, "type": "` + chat + `"}, "old_chat_member": {"status": "kicked"}, "new_chat_member": {"status": "` + status + `"}}`)
}

// gateway returns the settings of a channel with a template that comes with the program.
func gateway(template string) weir.Settings {
	return weir.Settings{
		"template": string(httpgateway.Template(template)), "values": map[string]any{"from": "HEALTH", "username": "u", "api_key": "k"},
		"secrets": map[string]any{"api_key": "k", "api_secret": "k", "password": "p", "token": "t", "webhook": "w"},
	}
}

func speakers() map[string]speaker {
	account := weir.Settings{"account_sid": "AC" + sid[2:], "api_key": "SK" + sid[2:], "api_secret": "x", "unsigned_callbacks": true, "from": "+15550100100"}
	twilio := func(code int) signal { return answered(400, `{"status": 400, "code": `+strconv.Itoa(code)+`}`) }
	africa := func(code int, status string) signal {
		return answered(201, `{"SMSMessageData": {"Recipients": [{"statusCode": `+strconv.Itoa(code)+`, "status": "`+status+`", "messageId": "None"}]}}`)
	}
	infobip := func(id string) signal {
		return answered(200, `{"messages": [{"messageId": "m", "status": {"groupId": 5, "id": `+id+`}}]}`)
	}
	telegram := func(status int, text string) signal {
		return answered(status, `{"ok": false, "error_code": `+strconv.Itoa(status)+`, "description": "`+text+`"}`)
	}
	receipt := func(status, code string) signal {
		return signal{path: "report", form: url.Values{"msisdn": {"15550001234"}, "to": {"HEALTH"}, "messageId": {"m"}, "client-ref": {"7-1z-2.0"}, "status": {status}, "err-code": {code}}}
	}
	notice := func(path string, fields ...string) signal {
		form := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		return signal{path: path, form: form}
	}
	return map[string]speaker{
		// https://www.twilio.com/docs/api/errors/21610 and /63014, and
		// https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out
		"twilio": {account,
			map[string]signal{"21610": twilio(21610), "21610 later": twilioStatus("message/7-1z-2", "failed", "21610"), "63014": twilioStatus("message/7-1z-2/0", "undelivered", "63014"), "OptOutType": incoming("STOP")},
			map[string]signal{"OptOutType": incoming("START")},
			map[string]signal{
				"help": incoming("HELP"), "none": incoming(""), "another": incoming("stop it"), "a status with the parameter": twilioStatus("message/7-1z-2", "delivered", ""),
				"blocked by the carrier": twilioStatus("message/7-1z-2", "undelivered", "30004"), "filtered": twilioStatus("message/7-1z-2", "undelivered", "30007"),
				"a limit of WhatsApp": twilioStatus("message/7-1z-2", "failed", "63032"), "region": twilio(21408), "not verified": twilio(21608), "landline": twilio(21614),
			}},
		"twilio_voice": {account, nil, nil, map[string]signal{
			"blocked for fraud": twilio(21216), "busy": {path: "call/7-1z-2", form: url.Values{"CallSid": {"CA" + sid[2:]}, "CallStatus": {"busy"}}},
		}},
		"nuntium": {weir.Settings{"base_url": "https://p.example", "account": "a", "application": "b", "password": "c", "channel": "d"}, nil, nil, map[string]signal{
			"failed": {path: "ack", form: url.Values{"guid": {"7-1z.0"}, "state": {"failed"}}}, "canceled": {path: "ack", form: url.Values{"guid": {"7-1z.0"}, "state": {"cancelled"}}},
		}},
		"kannel": {weir.Settings{"sendsms_url": "https://p.example", "username": "a", "password": "b"}, nil, nil, map[string]signal{
			"denied": answered(400, "Number(s) has/have been denied"), "not routable": answered(403, "Not routable. Do not try again."),
		}},
		"verboice": {weir.Settings{"base_url": "https://p.example", "token": "a", "channel": "b"}, nil, nil, map[string]signal{
			"hung up": {path: "status/7-1z-2", form: url.Values{"CallSid": {"7"}, "CallStatus": {"failed"}, "CallStatusReason": {"Busy"}}},
		}},
		"workers":     {},
		"http kannel": {settings: gateway("kannel"), others: map[string]signal{"denied": answered(400, "Number(s) has/have been denied")}},
		// https://developers.africastalking.com/docs/sms/sending/bulk and /docs/sms/notifications: the
		// notice has the parameters senderId and phoneNumber.
		"http africastalking": {gateway("africastalking"),
			map[string]signal{"406": africa(406, "UserInBlacklist"), "the notice": notice("consent", "senderId", "HEALTH", "phoneNumber", "+15550001234")}, nil,
			map[string]signal{
				"do not disturb": africa(409, "DoNotDisturbRejection"), "held for its risk": africa(401, "RiskHold"),
				"of another sender": notice("consent", "senderId", "TAXES", "phoneNumber", "+15550001234"), "of no sender": notice("consent", "phoneNumber", "+15550001234"),
				"a delivery report": notice("consent", "id", "m", "status", "Failed", "phoneNumber", "+15550001234", "failureReason", "UserInBlacklist"),
				"a message":         notice("incoming", "id", "m", "from", "+15550001234", "to", "HEALTH", "text", "hello"),
			}},
		// https://developer.vonage.com/en/opt-out-assist/guides/messaging-opted-out-numbers
		"http vonage": {gateway("vonage"), map[string]signal{"failed with 9": receipt("failed", "9"), "rejected with 9": receipt("rejected", "9")}, nil, map[string]signal{
			"delivered": receipt("delivered", "0"), "absent": receipt("failed", "6"), "99": receipt("failed", "99"), "barred": answered(200, `{"messages": [{"status": "7"}]}`),
			"a message": notice("incoming", "msisdn", "15550001234", "to", "HEALTH", "text", "9", "messageId", "m"),
		}},
		// https://www.infobip.com/docs/essentials/api-essentials/response-status-and-error-codes
		"http infobip": {settings: gateway("infobip"), out: map[string]signal{"10": infobip("10")}, others: map[string]signal{"12": infobip("12"), "14": infobip("14"), "20": infobip("20")}},
		// https://core.telegram.org/bots/api#update: for private chats, my_chat_member comes only when
		// the bot is blocked or unblocked by the user.
		"http telegram": {gateway("telegram"),
			map[string]signal{"blocked": telegram(403, "Forbidden: bot was blocked by the user"), "kicked": member("private", "kicked")},
			map[string]signal{"member": member("private", "member")},
			map[string]signal{
				"deactivated": telegram(403, "Forbidden: user is deactivated"), "never begun": telegram(403, "Forbidden: bot can't initiate conversation with a user"),
				"a bot": telegram(403, "Forbidden: bot can't send messages to bots"), "not found": telegram(400, "Bad Request: chat not found"), "token": telegram(401, "Unauthorized"),
				"removed from a channel": member("channel", "kicked"), "a group": member("supergroup", "kicked"), "left": member("private", "left"), "restricted": member("private", "restricted"),
				"a message": update(`"message": {"chat": {"id": 15550001234, "type": "private"}, "text": "kicked"}`), "edited": update(`"edited_message": {"chat": {"id": 15550001234, "type": "private"}, "text": "STOP"}`),
				"of another": update(`"chat_member": {"chat": {"id": 15550001234, "type": "private"}, "new_chat_member": {"status": "kicked"}}`), "a button": update(`"callback_query": {"id": "1", "data": "stop"}`),
				"of the future": update(`"something": {}`),
			}},
	}
}

// says plays a signal, and returns what it reports of a person: "out", "in" or nothing.
func (s speaker) says(t *testing.T, typ channels.Type, x signal) (list []string) {
	t.Helper()
	transport := answers{http.StatusTeapot, ""}
	if x.answer != nil {
		transport = *x.answer
	}
	d := drivertest.NewDriver(t, typ, s.settings, &http.Client{Transport: transport})
	if x.answer != nil {
		r := d.Send(t.Context(), drivertest.NewAttempt(71, "hello"))
		if r.Reason == channels.OptedOut && r.Outcome == weir.Failed {
			list = append(list, "out")
		}
		return list
	}
	c := channels.Callback{Method: http.MethodPost, Path: x.path, Form: x.form, Body: []byte(x.json), At: time.Unix(1, 0), Header: http.Header{"X-Telegram-Bot-Api-Secret-Token": {"w"}}}
	if c.Path, _ = typ.CallbackPath(x.path); c.Path != x.path {
		t.Errorf("%s: no such path", x.path)
	}
	got, err := d.ParseCallback(c)
	if err != nil {
		t.Errorf("%+v: %v", x, err) // it would be repeated, or is lost
	}
	for _, r := range got.Reports {
		if r.Reason == channels.OptedOut && r.Outcome == weir.Failed {
			list = append(list, "out")
		}
	}
	for _, one := range got.Consents {
		if strings.TrimPrefix(one.Address, "+") != drivertest.Number[1:] || one.At.IsZero() {
			t.Errorf("%+v", one)
		}
		list = append(list, map[bool]string{true: "out", false: "in"}[one.Refused])
	}
	return list
}

// documented returns the rows of the table of the manual: whether there are messages from people,
// what says that a person is out, and what that the person is back.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	manual, err := os.ReadFile("../../docs/consent.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(manual), "### What providers report")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)`(?:, template `(\\w+)`)? \\| ([^|]*?) \\| ([^|]*?) \\| ([^|]*?) ?\\|$").FindAllStringSubmatch(table, -1) {
		rows[strings.TrimSpace(row[1]+" "+row[2])] = row[3:]
	}
	return rows
}

// What the provider of each type is documented to report of people who refuse, or are back, is
// taken for that, and nothing else is.
func TestTypes_ReportTheRefusalsOfTheirProvidersAndNoOthers(t *testing.T) {
	t.Parallel()
	said, manual := speakers(), documented(t)
	for _, typ := range all.Types(routertest.New(time.Now)) {
		names := []string{typ.Name}
		for _, o := range typ.Templates {
			names = append(names, typ.Name+" "+o.Name)
		}
		if len(typ.Templates) > 0 { // the type says nothing by itself
			names = names[1:]
		}
		for _, name := range names {
			s, ok := said[name]
			if !ok {
				t.Errorf("nothing is known of %s", name)
			}
			delete(said, name)
			if row := manual[name]; row == nil || strings.HasPrefix(row[1], "nothing") == (len(s.out) > 0) || (row[2] != "" && row[2] != "nothing") != (len(s.in) > 0) {
				t.Errorf("docs/consent.md has of %s: %q", name, row)
			}
			for want, signals := range map[string]map[string]signal{"out": s.out, "in": s.in, "": s.others} {
				for what, x := range signals {
					if got := strings.Join(s.says(t, typ, x), " "); got != want {
						t.Errorf("%s, %s: %q, want %q", name, what, got, want)
					}
				}
			}
		}
	}
	if len(said) > 0 {
		t.Errorf("there are no %v", slices.Collect(maps.Keys(said)))
	}
}
