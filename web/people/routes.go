// Package people holds the routes of what is done for the sake of people: what they said about
// being contacted, and the rules of purposes; with the types of their bodies.
package people

import (
	"context"
	"slices"
	"strconv"
	"time"

	"weir/people"
	"weir/surveys"
	webapi "weir/web/api"
	"weir/web/route"
)

// Options are the parts of Weir that the routes use.
type Options struct {
	Store    people.Store
	Surveys  SurveyLister // which may name a purpose; nil: there are none
	Channels webapi.ChannelReader
	Broker   Broker
	// Downloads bounds transfers; MaxImport the bytes of one file.
	Downloads *route.Downloads
	MaxImport int64
	// Finder finds contacts and messages, Respondents respondents; nil: there are none.
	Finder      *webapi.Finder
	Respondents RespondentFinder
	// SurveyBroker and Remover end and remove respondents; nil: there are none.
	SurveyBroker SurveyBroker
	Remover      RespondentRemover
	Now          func() time.Time
}

// Broker calls off contacts in flight.
type Broker interface {
	// CallOff asks the providers to cancel what is in flight and was withdrawn, and returns how
	// many contacts that is.
	CallOff(ctx context.Context, w *people.Withdrawal) int
}

// SurveyLister lists surveys.
type SurveyLister interface {
	Surveys(ctx context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error)
}

// Routes returns the route table.
func Routes(o Options) []*route.Route {
	purposes := &purposeRoutes{o.Store, o.Surveys}
	skipped := &skippedRoutes{o.Store, o.Channels, o.Now}
	undecided := &undecidedRoutes{o.Store}
	person := &personRoutes{
		consents: o.Store, history: o.Store, purposes: o.Store, finder: o.Finder, respondents: o.Respondents, broker: o.SurveyBroker, remover: o.Remover, now: o.Now, zones: &people.Zones{},
	}
	consents := &consentRoutes{consents: o.Store, purposes: o.Store, broker: o.Broker, downloads: o.Downloads, maxImport: o.MaxImport, now: o.Now}
	return slices.Concat(purposes.table(), skipped.table(), undecided.table(), person.table(), consents.table())
}

// cursorOf returns the id behind which a page begins.
func cursorOf(c *route.Call) (after int64) {
	if cursor := c.Query.Text("cursor"); cursor != "" {
		var err error
		if after, err = strconv.ParseInt(cursor, 10, 64); err != nil || after < 1 {
			c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
		}
	}
	return after
}

func text(body map[string]any, name string) string {
	s, _ := body[name].(string)
	return s
}
