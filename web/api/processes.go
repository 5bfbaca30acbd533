package api

import (
	"net/http"
	"time"

	"weir/web/route"
)

// ProcessesView lists the processes of the database.
type ProcessesView struct {
	Processes []ProcessView `json:"processes" nullable:"false" doc:"the owner of the database, then the standbys that said hello to it in the last 3 s, the oldest first; on SQLite the one process"`
}

// ProcessView shows one process, as the owner of the database sees it.
type ProcessView struct {
	Start           int64             `json:"start" doc:"number of its start, which grows with each process of the database"`
	Address         string            `json:"address,omitempty" doc:"at which the other processes reach it; absent on SQLite"`
	Version         string            `json:"version" doc:"of the program"`
	Schema          int64             `json:"schema" doc:"the newest step of the schema that it knows"`
	Owner           bool              `json:"owner" doc:"it owns the database; the others pass requests on to it"`
	OwnerSince      *time.Time        `json:"owner_since,omitempty" doc:"since when; absent for a standby"`
	HelloAge        *float64          `json:"hello_age_seconds,omitempty" doc:"seconds since it said hello to the owner, which it does every second; absent for the owner"`
	Successor       bool              `json:"successor" doc:"it takes the database when the owner releases it"`
	CannotReach     []UnreachableView `json:"cannot_reach,omitempty" doc:"the processes that it cannot reach; absent: none. The owner tries each standby once a minute"`
	Differing       []string          `json:"differing_settings,omitempty" doc:"variables, and others, that differ from the owner's and have to be the same; absent: none"`
	MayTakeOver     bool              `json:"may_take_over" doc:"it may become the owner; false for the owner"`
	TakeOverTrouble string            `json:"take_over_trouble,omitempty" doc:"why it may not take over, or does so last; absent: there is no reason"`
}

// UnreachableView is a process that another one cannot reach.
type UnreachableView struct {
	Start   int64  `json:"start" doc:"number of its start"`
	Address string `json:"address" doc:"at which it was tried"`
	Reason  string `json:"reason" doc:"the error"`
}

func (s *Service) processRoutes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/processes", ID: "list-processes", Tag: "access",
		Summary:     "List the processes of the database: its owner and the standbys",
		Description: "Every process answers the same: a standby passes the request on to the owner. A process that does not reach the owner is not in the list.",
		Handle:      s.listProcesses,
		Answers:     []route.Answer{{Status: http.StatusOK, Description: "the processes, the owner first", Body: route.TypeOf[ProcessesView]()}},
	}}
}

func (s *Service) listProcesses(*route.Call) (route.Reply, error) {
	list := []ProcessView{}
	if s.Processes != nil {
		list = append(list, s.Processes()...)
	}
	return route.Reply{Status: http.StatusOK, Body: ProcessesView{list}}, nil
}
