package api

import (
	"net/http"
	"slices"

	"weir/ops"
	"weir/web/route"
)

// WhoView describes the sender of a request.
type WhoView struct {
	Token  string      `json:"token,omitempty" doc:"id of the token; absent: none was needed"`
	Name   string      `json:"name,omitempty" doc:"name of the token; absent for tokens of WEIR_API_TOKENS"`
	Scopes []ops.Scope `json:"scopes" doc:"what the token allows"`
	Held   bool        `json:"held,omitempty" doc:"Weir was started with --paused and sends nothing until DELETE /v1/hold"`
	Open   bool        `json:"open" doc:"no token exists: any program on this machine may do everything"`
}

func (s *Service) whoRoutes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/whoami", ID: "whoami", Tag: "access",
		Summary: "Identify the token of the request and its scopes", Handle: s.whoami,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the token that the request carries", Body: route.TypeOf[WhoView]()}},
	}}
}

func (s *Service) whoami(c *route.Call) (route.Reply, error) {
	v := WhoView{Token: c.Principal.ID(), Held: !s.heldSince().IsZero()}
	if name, ok := c.Principal.Name(); ok {
		v.Name = name
	} else {
		v.Open = true
	}
	v.Scopes = slices.DeleteFunc(ops.Scopes(), func(scope ops.Scope) bool { return !c.Principal.Has(scope) })
	return route.Reply{Status: http.StatusOK, Body: v}, nil
}
