package router

import (
	"time"

	"weir/router/journal"
)

// State is the complete state of the router. Its decisions and its matcher state which events
// follow from a command or from the time; the applier makes the changes that these state. Only
// [State.Execute], [State.Replay] and [Restore] change it; it is not safe for concurrent use.
type State struct {
	applier

	decisions decisions
	matcher   matcher
	emitted   []journal.Event // events of the running Execute
}

// Settings are the limits that the API leaves open or that operators choose.
type Settings struct {
	KeepFinished time.Duration `json:"keepFinished"` // how long finished jobs can be read
	JobLife      time.Duration `json:"jobLife"`      // after this time an open job expires
	IdleLife     time.Duration `json:"idleLife"`     // after this time an idle worker is deregistered
	MaxStored    int           `json:"maxStored"`    // max bytes that clients store, as size.go estimates them
}

// DefaultSettings returns the limits of the API, one day for finished jobs, and room for
// about a million jobs.
func DefaultSettings() Settings {
	const day = 24 * time.Hour
	return Settings{KeepFinished: day, JobLife: 90 * day, IdleLife: 7 * day, MaxStored: 1 << 30}
}

// New returns an empty router. The settings are part of the state: a snapshot
// carries them, and a log of events must be replayed with the same settings.
func New(settings Settings) *State {
	s := &State{applier: applier{entities: newEntities(settings)}}
	s.decisions = decisions{view: &s.entities, emit: s.emit}
	s.matcher = matcher{view: &s.entities, agenda: &s.agenda, decisions: &s.decisions}
	return s
}
