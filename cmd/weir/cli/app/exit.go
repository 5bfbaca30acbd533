package app

import (
	"errors"
	"net/http"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/routerclient"
	"weir/config"
)

// Exit codes, the same for every command.
const (
	OK          = command.OK
	Failure     = command.Failure
	Usage       = command.Usage // wrong command line or configuration
	NotFound    = 3             // the object does not exist
	Rejected    = 4             // Weir rejected all or part of the request: permission, validation or conflict
	Unreachable = 5             // no Weir answered, or it is unavailable
)

// AboutExitCodes is the help text about the exit codes.
const AboutExitCodes = `Exit codes, the same for every command:
  0  fine
  1  it failed, or was interrupted
  2  wrong command line or configuration
  3  what it is about is not there
  4  refused: by the rules, for lack of a scope, because of the state of things,
     or some rows of a file were
  5  no Weir answered there, or it could not work`

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	if code, ok := command.CodeOf(err); ok {
		return code
	}
	if _, ok := errors.AsType[*config.Error](err); ok {
		return Usage
	}
	if wrong, ok := errors.AsType[*weir.Error](err); ok && wrong.Code == weir.CodeNotFound {
		return NotFound
	}
	if NoResponse(err) {
		return Unreachable
	}
	return exitCodeOfStatus(statusOf(err))
}

// exitCodeOfStatus returns the exit code for the HTTP status of an error response.
func exitCodeOfStatus(status int) int {
	switch {
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
		return Unreachable
	case status >= 400 && status < 500:
		return Rejected
	default:
		return Failure
	}
}

// statusOf returns the HTTP status of an error response of Weir or of its router;
// 0: there was no response.
func statusOf(err error) int {
	if e, ok := errors.AsType[*routerclient.Error](err); ok {
		return e.Status
	}
	return client.StatusOf(err)
}

// NoResponse reports whether no response of Weir arrived.
func NoResponse(err error) bool { return client.NoResponse(err) || routerclient.Unanswered(err) }

// Retryable reports whether a later attempt may succeed.
func Retryable(err error) bool {
	status := statusOf(err)
	return NoResponse(err) || status >= 500 || status == http.StatusTooManyRequests
}

// Advice returns a hint about an error, on a line of its own; empty: none.
func Advice(err error) string {
	_, ofRouter := errors.AsType[*routerclient.Error](err)
	switch status := statusOf(err); {
	case NoResponse(err):
		return "\nis Weir running there? --url or WEIR_URL says where it is; on its machine, \"weir healthcheck\" asks it"
	case ofRouter: // its errors contain their own advice
		return ""
	case status == http.StatusUnauthorized:
		return "\nWEIR_TOKEN, WEIR_TOKEN_FILE or --token-file give the token; \"weir token list\" lists the tokens, \"weir token create\" makes one"
	case status == http.StatusForbidden:
		return "\n\"weir token list\" shows the scopes of a token; \"weir token create\" makes one that has others"
	default:
		return ""
	}
}
