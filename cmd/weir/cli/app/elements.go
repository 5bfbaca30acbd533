package app

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"weir/client"
)

// RejectedElements returns the elements of a list of n in a request's body that an error
// response names, by their index, each with its first reason. It is nil unless Weir
// rejected the request because of these elements alone: without them, it may succeed.
func RejectedElements(err error, list string, n int) map[int]client.RowError {
	// 429 and 5xx say nothing about elements.
	problem, ok := errors.AsType[*client.Error](err)
	if !ok || problem.Status < 400 || problem.Status >= 500 || problem.Status == http.StatusTooManyRequests {
		return nil
	}
	out := map[int]client.RowError{}
	for _, field := range problem.Fields {
		i, column, ok := element(field.Pointer, list)
		if !ok || i >= n {
			return nil
		}
		if _, known := out[i]; !known {
			out[i] = client.RowError{Column: column, Reason: field.Detail}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// element parses the JSON pointer of a validation error: /contacts/7/to.
func element(pointer, list string) (i int, column string, ok bool) {
	rest, ok := strings.CutPrefix(pointer, "/"+list+"/")
	if !ok {
		return 0, "", false
	}
	number, column, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	return i, column, err == nil && i >= 0
}
