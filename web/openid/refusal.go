package openid

import (
	"errors"
	"net/http"
	"regexp"

	"golang.org/x/oauth2"

	"weir/web/auth"
)

// Reason says why a log-in failed, in logs and the audit log.
type Reason string

// The reasons.
const (
	ReasonNotBegun    Reason = "not begun here"
	ReasonState       Reason = "wrong state"
	ReasonRepeated    Reason = "repeated"
	ReasonDenied      Reason = "denied by the provider"
	ReasonIssuer      Reason = "another issuer"
	ReasonCode        Reason = "code refused"
	ReasonToken       Reason = "invalid ID token"
	ReasonNonce       Reason = "wrong nonce"
	ReasonTooMany     Reason = "too many groups"
	ReasonNoName      Reason = "no name"
	ReasonUnreachable Reason = "provider unreachable"
)

// RefusalError is the error of a log-in that failed.
type RefusalError struct {
	Reason Reason
	Cause  error // for the log, without secrets; may be nil
}

func refuse(reason Reason, cause error) *RefusalError { return &RefusalError{reason, cause} }

// maxCause is the max length of a cause: it may quote what the provider wrote.
const maxCause = 300

// Error returns the reason and the cause, for the log. It has no number of a person.
func (r *RefusalError) Error() string {
	text := "log-in by name: " + string(r.Reason)
	if r.Cause == nil {
		return text
	}
	cause := []rune(auth.MaskText(describe(r.Cause)))
	if len(cause) > maxCause {
		cause = append(cause[:maxCause], '…')
	}
	return text + ": " + string(cause)
}

// describe returns the text of an error without the body of the provider's response, which may
// hold tokens.
func describe(err error) string {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return err.Error()
	}
	text := "the token endpoint answered " + answer.Response.Status
	if answer.ErrorCode != "" {
		text += ", " + answer.ErrorCode + ": " + answer.ErrorDescription
	}
	return text
}

// Unwrap returns the cause.
func (r *RefusalError) Unwrap() error { return r.Cause }

// Status returns the HTTP status of the page.
func (r *RefusalError) Status() int {
	if r.Reason == ReasonUnreachable {
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// ByProvider reports whether the provider vouched for the sender, or made a mistake, so that the
// audit log records the refusal. Anybody can cause the others.
func (r *RefusalError) ByProvider() bool {
	switch r.Reason {
	case ReasonToken, ReasonNonce, ReasonTooMany, ReasonNoName:
		return true
	default:
		return false
	}
}

// Text returns what a page says to the person.
func (r *RefusalError) Text() string {
	switch r.Reason {
	case ReasonNotBegun, ReasonState:
		return "This log-in was not begun in this browser, was begun again in another tab, or took longer than 10 minutes. Begin again."
	case ReasonRepeated:
		return "This log-in has been used already. Begin again."
	case ReasonDenied:
		text := "The provider did not log you in."
		if r.Cause != nil && errorCode.MatchString(r.Cause.Error()) {
			text = "The provider did not log you in: " + errorCode.FindString(r.Cause.Error()) + "."
		}
		return text
	case ReasonIssuer:
		return "The answer came from another provider than Weir is configured for."
	case ReasonCode:
		return "The provider refused the code of this log-in: it may have expired or been used already, or Weir's registration at the provider is wrong. Begin again; if that does not help, ask the operator of this server."
	case ReasonNonce:
		return "The provider's answer belongs to another log-in. Begin again."
	case ReasonTooMany:
		return "You are in so many groups that the provider left them out. Ask whoever manages the provider to send only the groups that are assigned to Weir."
	case ReasonNoName:
		return "The provider did not send your name in the claim that Weir is configured for. Ask the operator of this server."
	case ReasonUnreachable:
		return "The provider cannot be reached at the moment. Try again in a minute, or log in with a token."
	default: // ReasonToken
		return "The provider's answer could not be verified, so you are not logged in. Ask the operator of this server: the log says why."
	}
}

// errorCode matches the code of an error, at the beginning of a cause. Anybody can write the rest.
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}\b`)
