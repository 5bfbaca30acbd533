package app

import (
	"errors"
	"net/http"

	"weir"
	"weir/client"
	"weir/client/routerclient"
	"weir/cmd/internal/command"
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
  0  success
  1  failure, or interrupted
  2  wrong command line or configuration
  3  not found
  4  rejected (validation, permission, conflict), or some rows of a file were
  5  no response from Weir, or it is unavailable`

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
	switch status := statusOf(err); {
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

// NoResponse reports whether err is the error of a request without a complete
// response.
func NoResponse(err error) bool { return client.NoResponse(err) || routerclient.NoResponse(err) }

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
		return "\ncheck that Weir is running there (on its machine: \"weir healthcheck\"); --url or WEIR_URL sets the address"
	case ofRouter: // its errors contain their own advice
		return ""
	case status == http.StatusUnauthorized:
		return "\nset the token with WEIR_TOKEN, WEIR_TOKEN_FILE or --token-file; \"weir token create\" creates one"
	case status == http.StatusForbidden:
		return "\n\"weir token list\" shows the scopes of tokens; \"weir token create\" creates one with other scopes"
	default:
		return ""
	}
}
