package httpgateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/drivertest"
	"weir/channels/httpgateway"
)

// says answers each request with the same body.
type says struct {
	status int
	body   string
}

func (s says) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: s.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(s.body))}, nil
}

func sendBy(t *testing.T, vendor string, answer says) channels.SendResult {
	t.Helper()
	return vendorDriver(t, vendor, answer).Send(t.Context(), drivertest.NewAttempt(7, "hello"))
}

func vendorDriver(t *testing.T, vendor string, answer http.RoundTripper) channels.Driver {
	t.Helper()
	settings := weir.Settings{
		"template": string(httpgateway.Template(vendor)), "values": map[string]any{"username": "weir", "from": "HEALTH", "api_key": "k"},
		"secrets": map[string]any{"api_key": "k", "api_secret": "k", "token": "t", "webhook": "w", "password": "p"},
	}
	return drivertest.NewDriver(t, httpgateway.Type(), settings, &http.Client{Transport: answer})
}

// Every code that a vendor documents leads to a fate, and the finest code says whose fault it is.
// What may have been accepted stays unclear.
func TestVendors_EveryDocumentedCodeHasAFate(t *testing.T) {
	t.Parallel()
	refused := func(reason string) channels.SendResult {
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: reason}
	}
	channel := channels.SendResult{Status: channels.NotSent, ChannelFault: true}
	contact := channels.SendResult{Status: channels.NotSent}
	later := channels.SendResult{Status: channels.NotSent, Later: true}
	unclear := channels.SendResult{Status: channels.Unclear, Answered: true}
	accepted, completed := channels.SendResult{Status: channels.Accepted}, channels.SendResult{Status: channels.Accepted, Outcome: weir.Completed}
	unusable, content, optOut, failed := refused(channels.NumberNotUsable), refused(channels.MessageNotAcceptable), refused(channels.OptedOut), refused(channels.FailedAtProvider)
	// It may be sent later, so that it is not tried again: that is for a person to decide.
	held := refused("held by the provider")
	type cases map[string]channels.SendResult
	verdict := func(format string) func(code string) says {
		return func(code string) says { return says{200, fmt.Sprintf(format, code)} }
	}
	infobip := func(code string) says {
		group, id, _ := strings.Cut(code, "/")
		return says{200, fmt.Sprintf(`{"messages": [{"messageId": "m", "status": {"groupId": %s, "id": %s}}]}`, group, id)}
	}
	telegram := func(code string) says {
		status := 0
		_, _ = fmt.Sscan(code, &status)
		return says{status, fmt.Sprintf(`{"ok": false, "error_code": %d, "description": %q, "parameters": {"retry_after": 3}}`, status, code[4:])}
	}
	kannel := func(code string) says {
		status := 0
		_, _ = fmt.Sscan(code, &status)
		return says{status, code[4:]}
	}
	codes := cases{
		"100": completed, "101": completed, "102": completed, "401": held, "402": channel, "403": unusable, "404": unusable, "405": channel,
		"406": optOut, "407": unusable, "409": contact, "500": channel, "501": channel, "502": failed,
	}
	for name, v := range map[string]struct {
		vendor string
		answer func(code string) says
		want   cases
	}{
		// https://developers.africastalking.com/docs/sms/sending/bulk
		"Africa's Talking by code": {"africastalking", verdict(`{"SMSMessageData": {"Recipients": [{"statusCode": %s, "messageId": "ATXid_1"}]}}`), codes},
		"Africa's Talking by word": {"africastalking", verdict(`{"SMSMessageData": {"Recipients": [{"status": %q}]}}`), cases{
			"RiskHold": held, "InvalidSenderId": channel, "InvalidPhoneNumber": unusable, "UnsupportedNumberType": unusable, "InsufficientBalance": channel,
			"UserInBlacklist": optOut, "CouldNotRoute": unusable, "DoNotDisturbRejection": contact, "InternalServerError": channel, "GatewayError": channel,
			"RejectedByGateway": failed, "Success": unclear,
		}},
		"Africa's Talking, nobody": {"africastalking", verdict(`{"SMSMessageData": {"Message": %q, "Recipients": []}}`), cases{
			"InvalidSenderId": channel, "InsufficientBalance": channel, "Sent to 0/1": contact,
		}},
		"Africa's Talking, no id": {"africastalking", verdict(`{"SMSMessageData": {"Recipients": [{"status": %q, "messageId": "None"}]}}`), cases{"Another": contact}},
		// https://developer.vonage.com/en/api-errors/sms. The status says whether the message was queued for sending, and no
		// other than 0 says that it was: https://developer.vonage.com/en/messaging/sms/guides/troubleshooting-sms.
		"Vonage": {"vonage", verdict(`{"messages": [{"status": %q, "message-id": "m"}]}`), cases{
			"0": accepted, "1": channel, "2": content, "3": content, "4": channel, "5": channel, "6": unusable, "7": unusable,
			"8": channel, "9": channel, "10": channel, "11": channel, "12": content, "13": channel, "14": channel, "15": channel, "16": contact, "19": channel,
			"20": channel, "22": contact, "23": channel, "29": contact, "32": channel, "33": unusable, "34": unusable, "99": contact,
		}},
		"Vonage, no code": {"vonage", verdict(`{"messages": [%s]}`), cases{"{}": unclear, `{"status": ""}`: unclear, `{"status": null}`: unclear}},
		// https://www.infobip.com/docs/essentials/api-essentials/response-status-and-error-codes
		"Infobip": {"infobip", infobip, cases{
			"1/3": accepted, "1/7": accepted, "1/26": accepted, "2/4": failed, "2/9": unusable, "2/31": contact, "5/6": contact, "5/8": unusable, "5/10": optOut,
			"5/11": channel, "5/12": channel, "5/13": channel, "5/14": unusable, "5/17": channel, "5/18": contact, "5/19": channel, "5/20": later, "5/21": channel,
			"5/23": unclear, "5/24": content, "5/25": content, "5/51": unusable, "5/52": unusable, "5/87": failed, "5/99": contact, "5/100": contact, "3/5": accepted, "4/15": accepted, "9/1": unclear,
		}},
		// https://core.telegram.org/bots/api#making-requests
		"Telegram": {"telegram", telegram, cases{
			"400 Bad Request: chat not found": unusable, "400 Bad Request: user not found": unusable, "400 Bad Request: message is too long": content,
			"401 Unauthorized": channel, "403 Forbidden: bot was blocked by the user": optOut, "403 Forbidden: user is deactivated": unusable,
			"403 Forbidden: bot can't initiate conversation with a user": unusable, "404 Not Found": channel, "429 Too Many Requests: retry after 3": channel,
		}},
		// gw/smsbox.c of Kannel
		"Kannel": {"kannel", kannel, cases{
			"202 0: Accepted for delivery": accepted, "202 3: Queued for later delivery": accepted, "202 Sent.": accepted,
			"400 Missing receiver": unusable, "400 Empty receiver": unusable, "400 Sender missing": channel, "400 DLR-URL": channel, "400 UDH": content,
			"400 Charset": content, "403 Authorization failed": channel, "403 Not routable. Do not try again.": unusable, "503 Temporal failure": channel,
		}},
	} {
		for code, want := range v.want {
			got := sendBy(t, v.vendor, v.answer(code))
			if got.Status == channels.NotSent && got.Reason == "" || got.Status == channels.Refused && got.Reason != want.Reason {
				t.Errorf("%s %s: reason %q, want %q", name, code, got.Reason, want.Reason)
			}
			got.Reason, got.RetryAfter, got.ProviderRef = want.Reason, time.Duration(0), ""
			if want.Status == channels.Unclear && want.Reason == "" && !want.ChannelFault {
				got.ChannelFault = false // by the template or by HTTP itself
			}
			if got != want {
				t.Errorf("%s %s: got %+v, want %+v", name, code, got, want)
			}
		}
	}
}

// A status without a body that the vendor writes, as a proxy before it answers, means what HTTP says: it is no word about a person.
func TestVendors_StatusesWithoutTheirBodyAreHTTP(t *testing.T) {
	t.Parallel()
	for _, vendor := range []string{"africastalking", "infobip", "kannel", "telegram", "vonage"} {
		answer := says{}
		d := vendorDriver(t, vendor, &answer)
		for status := 400; status < 600; status++ {
			for _, body := range []string{"", "<html>Forbidden</html>", "{}"} {
				answer = says{status, body}
				got, want := d.Send(t.Context(), drivertest.NewAttempt(7, "hello")), drivertest.Meaning(status)
				got.Reason, got.RetryAfter, got.Answered = "", 0, false
				if got != want {
					t.Errorf("%s, %d with %q: got %+v, want %+v", vendor, status, body, got, want)
				}
			}
		}
	}
}
