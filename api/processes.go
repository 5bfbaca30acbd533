package api

import "time"

// HoldView reports whether Weir is held.
type HoldView struct {
	Held  bool      `json:"held" doc:"nothing is sent until DELETE /v1/hold"`
	Since time.Time `json:"since,omitzero" doc:"when that began"`
}

// Liveness is the body of /livez.
type Liveness struct {
	Status string `json:"status" enum:"alive" doc:"always alive"`
}

// ProcessView shows one process, as the owner of the database sees it.
type ProcessView struct {
	Start           int64             `json:"start" doc:"number of its start, which grows with each process of the database"`
	Address         string            `json:"address,omitempty" doc:"at which the other processes reach it; absent on SQLite"`
	Version         string            `json:"version" doc:"of the program"`
	Schema          int64             `json:"schema" doc:"the newest step of the schema that it knows"`
	Owner           bool              `json:"owner" doc:"it owns the database; the others pass requests on to it"`
	OwnerSince      time.Time         `json:"owner_since,omitzero" doc:"since when; absent for a standby"`
	HeartbeatAge    *float64          `json:"heartbeat_age_seconds,omitempty" doc:"seconds since its last heartbeat at the owner, to which it sends one every second; absent for the owner"`
	Successor       bool              `json:"successor" doc:"it takes the database when the owner releases it"`
	CannotReach     []UnreachableView `json:"cannot_reach,omitempty" doc:"the processes that it cannot reach; absent: none. The owner tries each standby once a minute"`
	Differing       []string          `json:"differing_settings,omitempty" doc:"variables, and others, that differ from the owner's and have to be the same; absent: none"`
	MayTakeOver     bool              `json:"may_take_over" doc:"it may become the owner; false for the owner"`
	TakeOverTrouble string            `json:"take_over_trouble,omitempty" doc:"why it may not take over, or does so last; absent: there is no reason"`
}

// ProcessesView lists the processes of the database.
type ProcessesView struct {
	Processes []ProcessView `json:"processes" nullable:"false" doc:"the owner of the database, then the standbys whose last heartbeat is younger than 3 s, the oldest first; on SQLite the one process"`
}

// Readiness is the body of /readyz.
type Readiness struct {
	Ready    bool     `json:"ready"`
	Owner    bool     `json:"owner" doc:"this process owns the database; others pass requests on to it"`
	Reasons  []string `json:"reasons,omitempty" doc:"what is wrong"`
	Router   string   `json:"router,omitempty" enum:"serving,replaying,stopping" doc:"phase of the job router: serving: it serves requests; replaying: it loads its state"`
	Database string   `json:"database,omitempty" doc:"HOST:PORT of the database server in use; absent: the database is a file"`
	// HeldSince does not affect readiness: requests are served.
	HeldSince time.Time `json:"held_since,omitzero" doc:"when it was started with --paused: nothing is sent until weir resume"`
}

// UnreachableView is a process that another one cannot reach.
type UnreachableView struct {
	Start   int64  `json:"start" doc:"number of its start"`
	Address string `json:"address" doc:"at which it was tried"`
	Reason  string `json:"reason" doc:"the error"`
}

// WhoView describes the sender of a request.
type WhoView struct {
	Token  string   `json:"token,omitempty" doc:"id of the token; absent: none was needed"`
	Name   string   `json:"name,omitempty" doc:"name of the token; absent for tokens of WEIR_API_TOKENS"`
	Scopes []string `json:"scopes" doc:"what the token allows; one such as contacts:read@north- only for channels and surveys whose names begin with north-"`
	Held   bool     `json:"held,omitempty" doc:"Weir was started with --paused and sends nothing until DELETE /v1/hold"`
	Open   bool     `json:"open" doc:"no token exists: any program on this machine may do everything"`
}
