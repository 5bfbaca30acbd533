// Package route is the model of a route of the JSON API: its declaration, from which
// the API description is made too, and its handler, which checks the token, the query
// and the body before the route runs.
package route

import (
	"fmt"
	"net/http"
	"reflect"
	"time"

	"weir"
	"weir/operators"
	"weir/web/auth"
	"weir/web/httpjson"
)

// Route is one operation of the JSON API: its handler and its API description.
type Route struct {
	Method, Path string
	ID, Summary  string
	Description  string
	Tag          string
	Query        []httpjson.Parameter
	Body         reflect.Type // nil: none
	BodyTypes    []string
	BodyLimit    int64
	Answers      []Answer
	Codes        []weir.Code // in addition to the codes of every route
	Handle       func(*Call) (Reply, error)
	Access       auth.Access       // what the token needs; set by [Grant]
	Also         []operators.Scope // the token needs all of them besides

	// Lenient: the route itself checks the body against its schema.
	Lenient bool
	// Repeatable: repeating the POST has no further effect, whatever its body.
	Repeatable bool
	// Tagged: responses have an ETag, and a request that changes something may have
	// If-Match.
	Tagged bool
	// Serve replaces Handle where a body or a response is too long for memory
	// and for requestTime. It writes the response itself, unless it returns an
	// error.
	Serve func(*Call, http.ResponseWriter) error
	// File is Serve for bodies of a type in Uploads alone.
	File func(*Call, http.ResponseWriter) error
	// Uploads and Download are the content types of such bodies and responses.
	// Refusal is the type of a problem with additional fields.
	Uploads  []string
	Download string
	Refusal  reflect.Type
	// OnDemand are content types that the answer has, instead of JSON, if the request accepts them.
	OnDemand []string

	// Data are types that bodies hold without declaring them, and that are described.
	Data  []reflect.Type
	Check *httpjson.Checker // of the body; set by openapi.SetCheckers
}

// Answer is one success response of a route.
type Answer struct {
	Status      int
	Description string
	Body        reflect.Type // nil: no body
}

// DryRun is the query parameter of a route that can check a request wholly without doing anything. Its handler asks
// [Call.DryRun] after the last check, and then returns [Checked].
func DryRun() httpjson.Parameter {
	return httpjson.Parameter{Name: "dry_run", Kind: "boolean", Description: "check the request as it would be checked otherwise, and change nothing: 204 if nothing is wrong"}
}

// RightAnswer is the answer to a dry run that finds nothing wrong.
func RightAnswer() Answer {
	return Answer{Status: http.StatusNoContent, Description: "a dry run, and nothing is wrong"}
}

// Checked is the reply to a dry run; err is what the store would have refused.
func Checked(err error) (Reply, error) { return Reply{Status: http.StatusNoContent}, err }

// Create is the query parameter of a route that can refuse to replace what exists. It is [document.Condition.Create] of [Call.Condition].
func Create(what string) httpjson.Parameter {
	return httpjson.Parameter{Name: "create", Kind: "boolean", Description: "refuse (409) to replace a " + what + " that exists"}
}

func TypeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

func LimitParameter(usual, most int64) httpjson.Parameter {
	return httpjson.Parameter{Name: "limit", Kind: "integer", Minimum: 1, Maximum: most, Default: usual, Description: "most entries of a page"}
}

func Paging(usual, most int64) []httpjson.Parameter {
	return []httpjson.Parameter{LimitParameter(usual, most), {Name: "cursor", Kind: "string", Description: "next_cursor of the page before"}}
}

// Grant sets what a token needs for each route.
func Grant(routes []*Route) error {
	table := auth.RouteAccess()
	for _, rt := range routes {
		rt.Access = table[rt.ID]
		if len(rt.Access.OneOf) == 0 {
			return fmt.Errorf("the table of scopes has no row for route %s", rt.ID)
		}
		if rt.Access.Reach == auth.Unset {
			return fmt.Errorf("the table of scopes does not say what requests of route %s are about", rt.ID)
		}
	}
	return nil
}

// requestTime is the time limit of one API request. It is less than the
// server's write timeout, so that the client gets a response.
const requestTime = 20 * time.Second
