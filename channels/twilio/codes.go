package twilio

import (
	"encoding/json"
	"net/http"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// queueFull is the pause after an answer that a queue or limit at Twilio is full.
const queueFull = time.Minute

// recipientLimit is the code of WhatsApp's rate for one recipient. In a callback it ends
// the message.
const recipientLimit = 63018

// errorCode returns the code of Twilio's error document, 0 without one.
func errorCode(body []byte) int {
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &e) != nil {
		return 0
	}
	return e.Code
}

// refusal interprets an answer that is not a success. Only a 4xx with an error
// document is decided by its code; 5xx, also 503, may have been carried out.
func refusal(r provider.Result) channels.SendResult {
	s := r.Sent()
	if r.Delivery != provider.Answered {
		return s
	}
	code := 0
	if r.Err == nil {
		code = errorCode(r.Body)
	}
	if r.Status >= 500 || r.Status == http.StatusRequestTimeout {
		return channels.SendResult{
			Status: channels.Unclear, Reason: s.Reason, ChannelFault: true, RetryAfter: r.RetryAfter, Answered: code != 0,
		}
	}
	if r.Status < 400 || code == 0 {
		return s
	}
	if reason := unusable(code); reason != "" {
		return provider.Refused(weir.Failed, reason)
	}
	if code == recipientLimit {
		return channels.SendResult{Status: channels.NotSent, Later: true, Reason: channels.RateLimited, RetryAfter: r.RetryAfter}
	}
	if r.Status == http.StatusTooManyRequests {
		return s
	}
	if reason := notPermitted(code); reason != "" {
		return channels.SendResult{Status: channels.NotSent, Reason: reason, RetryAfter: r.RetryAfter}
	}
	if reason, pause := ours(code); reason != "" {
		return channels.SendResult{
			Status: channels.NotSent, ChannelFault: true, Reason: reason, RetryAfter: max(pause, r.RetryAfter),
		}
	}
	// An unknown code of a 400 may be this contact's fault: it is retried, and counted, so that
	// one contact cannot pause the channel and is not retried forever.
	if r.Status != http.StatusUnauthorized && r.Status != http.StatusForbidden && r.Status != http.StatusNotFound {
		s = channels.SendResult{Status: channels.NotSent, Reason: "request refused", RetryAfter: r.RetryAfter}
	}
	return s
}

// unusable returns the reason of a code that concerns the person or the content;
// such a contact is not retried. It is empty for other codes.
func unusable(code int) string {
	switch code {
	// 63014: the person has blocked the sender, in WhatsApp for example
	// (https://www.twilio.com/docs/api/errors/63014). A limit of WhatsApp (63032) and a block of a
	// carrier (30004) are not the person's wish.
	case 21610, 63014:
		return channels.OptedOut
	case 21211, 21214, 21217, 21614, 21635, 13224, 13225, 21612, 21201, 21202, 21216, 21265, 21266, 63003, 63024, 63031:
		return channels.NumberNotUsable
	case 21617, 21602, 21604, 21619, 21654, 21656, 63027, 63028:
		return channels.MessageNotAcceptable
	}
	return ""
}

// notPermitted returns the reason of a code by which the account lacks permission for this
// recipient only. Such a contact is retried and ends as a dead letter, which can be requeued once
// the account has the permission.
func notPermitted(code int) string {
	switch code {
	case 21408, 21215, 13227, 21657:
		return "region not permitted"
	case 21608, 21219, 63015:
		return "recipient not verified"
	}
	return ""
}

// ours returns the reason of a code that concerns the account or the sender, and
// how long to pause.
func ours(code int) (reason string, pause time.Duration) {
	switch code {
	case 20003:
		return "credentials refused", 0
	case 20404:
		return "not found at the provider", 0
	case 20429:
		return channels.RateLimited, 0
	case 21611, 22005, 10004:
		return channels.RateLimited, queueFull
	case 63038:
		return "daily limit of the account", queueFull
	case 20005, 10001:
		return "account not active", queueFull
	case 21606, 21659, 21660, 21661, 21212, 21213, 21210, 21267, 21601, 21603, 21701, 21703, 21704, 63001, 63007, 63020:
		return "sender not usable", 0
	case 21205, 21609:
		return "Twilio does not accept the address of callbacks", 0
	}
	return "", 0
}

// failure returns the outcome of a message that Twilio could not deliver.
func failure(code int) (weir.Outcome, string) {
	if reason := unusable(code); reason != "" {
		return weir.Failed, reason
	}
	switch code {
	case 30036:
		return weir.Expired, channels.WindowClosed
	case recipientLimit, 30001, 21611:
		return weir.Failed, channels.RateLimited
	case 30003:
		return weir.Failed, "handset not reachable"
	case 30004:
		return weir.Failed, "blocked"
	case 30005, 30006:
		return weir.Failed, channels.NumberNotUsable
	case 30007:
		return weir.Failed, "filtered by the carrier"
	}
	return weir.Failed, channels.FailedAtProvider
}
