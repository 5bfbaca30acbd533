package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"weir"
	"weir/operators"
	"weir/people"
	webapi "weir/web/api"
	"weir/web/auth"
	"weir/web/callbacks"
	"weir/web/docs"
	"weir/web/httpjson"
	limitsapi "weir/web/limits"
	"weir/web/openapi"
	peopleapi "weir/web/people"
	"weir/web/route"
	"weir/web/surveys"
)

// New returns the handler of all routes.
func New(o Options) (http.Handler, error) {
	if o.DefaultCapacity < weir.MinCapacity || o.DefaultCapacity > weir.MaxCapacity {
		return nil, fmt.Errorf("a default capacity of %d: want %d to %d", o.DefaultCapacity, weir.MinCapacity, weir.MaxCapacity)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refusals == nil {
		o.Refusals = NewRefusalLog(o.Logger)
	}
	if o.Draining == nil {
		o.Draining = func() bool { return false }
	}
	if o.Ending == nil {
		o.Ending = func() bool { return false }
	}
	if o.MaxImport == 0 {
		o.MaxImport = route.MaxImport
	}
	if o.Words == nil {
		o.Words = people.DefaultWords()
	}
	s := &service{Options: o, mux: http.NewServeMux()}
	index := callbacks.NewIndex(o.Store, o.Now)
	receiver := callbacks.NewHandler(callbacks.Handler{
		Index: index, Store: o.Store, Broker: o.Broker, Directory: o.Directory, Surveys: o.Surveys, People: o.People, Words: o.Words,
		Logger: o.Logger, Metrics: o.Metrics.Callbacks, Tracing: o.Tracing, Now: o.Now,
	})
	routes, err := o.routes(index)
	if err != nil {
		return nil, err
	}
	probe := http.HandlerFunc((&webapi.Probe{Store: o.Store, Draining: o.Draining, Hold: o.Hold, Router: o.Router, Database: o.DatabaseServer}).Readyz)
	if err := openapi.SetCheckers(routes); err != nil {
		return nil, err
	}
	steps := map[string]*route.Route{}
	for _, rt := range routes {
		if word, ok := strings.CutPrefix(rt.Path, surveys.Path+":"); ok {
			steps[word] = rt
		} else {
			s.handle(rt.Method+" "+rt.Path, rt.Handler(o.Gate))
		}
	}
	if len(steps) > 0 {
		s.handle("POST "+surveys.Path, surveys.StepHandler(steps, o.Gate))
	}
	asJSON := func() ([]byte, error) { return openapi.JSON(routes, o.Version, o.Prefix) }
	s.plain("GET /openapi.json", written("application/openapi+json", asJSON))
	s.plain("GET /docs", docs.Page(asJSON, httpjson.WriteProblem))
	s.plain("GET /docs/style.css", docs.Style())
	s.plain("GET /livez", http.HandlerFunc(webapi.Livez))
	s.plain("GET /readyz", probe)
	s.plain("GET "+OwnerPath, probe)
	s.plain("GET "+webapi.MetricsPath, s.guarded(promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{}), operators.ScopeMetricsRead))
	for _, path := range []string{callbacks.Pattern, callbacks.PatternBare} {
		s.plain("GET "+path, receiver)
		s.plain("POST "+path, receiver)
	}
	for pattern, h := range o.Mounted {
		s.plain(pattern, h)
	}
	o.Metrics.prepare(s.Directory.Types(), routes)
	return s.outermost(callbacks.Tidy(s.mux)), nil
}

// routes returns the route table of the JSON API, with the scopes of each route.
func (o *Options) routes(index *callbacks.Index) ([]*route.Route, error) {
	apiOptions := o.Options
	apiOptions.APITokens = o.Gate
	downloads := &route.Downloads{Transfers: auth.NewConcurrencyLimit(route.MaxTransfers, route.MaxTransfersPerToken), Ending: o.Ending, Logger: o.Logger}
	links := webapi.Links{
		Store: o.Store, Broker: o.Broker, Index: index, Survey: o.survey, People: o.People, Downloads: downloads,
		Changed: func(weir.Channel) {
			if o.Surveys != nil {
				o.Surveys.Changed(0) // 0: all surveys, since any may use it
			}
		},
		Deleted: func(ch weir.Channel) { o.Metrics.Callbacks.Forget(ch.Name) },
	}
	routes := webapi.Routes(apiOptions, links)
	if o.Surveys != nil {
		routes = append(routes, surveys.Routes(surveys.Options{
			Contacts: o.Store, Surveys: o.Surveys, SurveyStore: o.SurveyStore, Importer: o.Importer, Tokens: o.Tokens, MaxImport: o.MaxImport,
			MayCall: o.MayCall, Purposes: links.People, Downloads: downloads, Now: o.Now,
		})...)
	}
	if o.Limits != nil {
		routes = append(routes, limitsapi.Routes(limitsapi.Options{Store: o.Limits, Channels: o.Store, Now: o.Now})...)
	}
	if o.People != nil {
		routes = append(routes, peopleapi.Routes(peopleapi.Options{
			Store: o.People, Surveys: o.SurveyStore, Channels: o.Store, Broker: o.Broker, Finder: webapi.NewFinder(o.Options, links), Respondents: o.Respondents,
			SurveyBroker: o.Surveys, Remover: o.Importer, Downloads: downloads, MaxImport: o.MaxImport, Now: o.Now,
		})...)
	}
	return routes, route.Grant(routes)
}

// survey returns an error if there is no survey of a name.
func (o *Options) survey(ctx context.Context, name string) error {
	if o.SurveyStore == nil {
		return weir.Errorf(weir.CodeNotFound, "there is no survey %s", name)
	}
	_, err := o.SurveyStore.Survey(ctx, name)
	return err
}

// handle registers a pattern.
func (s *service) handle(pattern string, h http.Handler) {
	if s.served != nil {
		s.served(pattern)
	}
	s.mux.Handle(pattern, h)
}

// plain registers a route outside the JSON API.
func (s *service) plain(pattern string, h http.Handler) {
	s.handle(pattern, route.Matched(h))
}

// guarded requires a token with one of the scopes.
func (s *service) guarded(h http.Handler, oneOf ...operators.Scope) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := route.Admit(s.Gate, w, r, oneOf); err != nil {
			httpjson.WriteProblem(w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// written serves a text that is generated on the first request: generating the
// API description takes longer than all the rest of startup.
func written(contentType string, write func() ([]byte, error)) http.Handler {
	once := sync.OnceValues(write)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, err := once()
		if err != nil {
			httpjson.WriteProblem(w, err)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body) // a disconnected client is not an error
	})
}
