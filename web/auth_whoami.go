package web

import (
	"net/http"

	"weir/ops"
)

// WhoView describes the sender of a request.
type WhoView struct {
	Token  string      `json:"token,omitempty" doc:"id of the token; absent: none was needed"`
	Name   string      `json:"name,omitempty" doc:"what the token is called; absent for those of WEIR_API_TOKENS"`
	Scopes []ops.Scope `json:"scopes" doc:"what the token allows"`
	Held   bool        `json:"held,omitempty" doc:"Weir was started with --paused and sends nothing until DELETE /v1/hold"`
	Open   bool        `json:"open" doc:"there is no token at all: everybody on this machine may do everything"`
}

func (s *service) whoRoutes() []*route {
	return []*route{{
		method: "GET", path: "/v1/whoami", id: "whoami", tag: "access",
		summary: "Who one is, and what one may do", handle: s.whoami,
		answers: []answer{{http.StatusOK, "the token that the request carries", typeOf[WhoView]()}},
	}}
}

func (s *service) whoami(c *call) (reply, error) {
	v := WhoView{Token: c.who.id(), Scopes: []ops.Scope{}, Open: c.who.key == nil, Held: !s.heldSince().IsZero()}
	if c.who.key != nil {
		v.Name = c.who.key.Name
	}
	for _, scope := range ops.Scopes() {
		if c.who.has(scope) {
			v.Scopes = append(v.Scopes, scope)
		}
	}
	return reply{status: http.StatusOK, body: v}, nil
}
