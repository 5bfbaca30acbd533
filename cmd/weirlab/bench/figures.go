package bench

import (
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/machine"
)

// Figures are the results of a run. Figures that a mode does not measure are 0 or absent.
type Figures struct {
	Peer      string
	Mode      string
	N         int
	Channels  int
	Capacity  int
	Batch     int
	Variant   string  `json:",omitempty"` // how contacts and provider differ from the standard workload
	Delay     float64 `json:",omitempty"` // seconds from the provider's answer to its report, if it is not the standard
	Events    string  `json:"ContactEvents,omitempty"`
	HookLag   float64 `json:"HookLagS,omitempty"` // seconds from the end of the run until the webhook got the last event
	EnqueuePS float64 `json:"EnqueuePerS"`
	DrainPS   float64 `json:"DrainPerS"`
	PerS      float64
	P50       float64 `json:"P50ms"` // of turnaround: from a free slot to the next contact
	P99       float64 `json:"P99ms"`
	Turn      float64 `json:"TurnMs,omitempty"` // 1 ÷ drain/s − the delay
	CPUClient float64 // CPU seconds of the broker for 10,000 contacts
	CPUOwner  float64 `json:",omitempty"` // of several processes: of the owner of the database
	CPUServer float64 // of the store, if it is a separate process
	CPUStub   float64 // of the provider
	CPULoad   float64 // of the load generator, if it is a separate process
	RSSClient float64 // peak resident memory of the broker, MB
	RSSServer float64 // proportional set size of the store at the end, MB
	Commits   float64 // for 1,000 contacts
	Statement float64 `json:"Statements"`
	Written   float64 `json:"WrittenKB,omitempty"` // kB for a contact: the server's redo log, or what the program wrote to files
	MaxActive int
	Duplicate int `json:"Duplicates"`
	Lost      int
	Queued    int     `json:"BesideQueued,omitempty"` // contacts that existed before
	FirstSend float64 `json:"FirstSendS,omitempty"`   // of restart: seconds from the start of the process
	FullRate  float64 `json:"FullRateS,omitempty"`
	IdleCPU   float64 `json:"IdleCPUPerMin,omitempty"` // of idle: CPU seconds of the broker in a minute
	IdleStore float64 `json:"IdleServerCPUPerMin,omitempty"`
	IdleStmts float64 `json:"IdleStatementsPerS,omitempty"`
	// Of several processes, by their own counts: what the owner and a standby use in idle.
	IdleOwnerCPU     float64 `json:"IdleOwnerCPUPerMin,omitempty"`
	IdleOwnerStmts   float64 `json:"IdleOwnerStatementsPerS,omitempty"`
	IdleStandbyStmts float64 `json:"IdleStandbyStatementsPerS,omitempty"`
	Others           float64
	Error            string `json:",omitempty"`
}

// figuresOf returns the figures that are known before a run.
func figuresOf(w load.Workload) Figures {
	delay := w.Delay.Seconds()
	if w.Delay == load.StandardDelay {
		delay = 0
	}
	return Figures{Delay: delay, Mode: w.Mode, N: w.N, Channels: w.Channels, Capacity: w.Capacity, Batch: w.Batch, Variant: w.Variant(), Events: w.ContactEvents, Queued: w.Queued}
}

// take computes the figures that follow from the provider's record.
func (f *Figures) take(w load.Workload, seen judge.Seen, began, opened, queued time.Time) {
	n := float64(w.N)
	f.EnqueuePS = n / queued.Sub(began).Seconds()
	if w.Prepared() {
		f.EnqueuePS = n / opened.Sub(began).Seconds()
	}
	if !seen.Last.IsZero() {
		f.PerS = n / seen.Last.Sub(began).Seconds()
	}
	f.P50, f.P99 = seen.P50, seen.P99
	if w.Closed() && !seen.Last.IsZero() {
		f.DrainPS = n / seen.Last.Sub(opened).Seconds()
	}
	if w.Mode == load.Turnaround && f.DrainPS > 0 {
		f.Turn = 1000/f.DrainPS - float64(w.Delay+w.Answer)/float64(time.Millisecond)
		f.P50, f.P99 = seen.Gap50, seen.Gap99
	}
	f.MaxActive, f.Duplicate, f.Lost = seen.MaxActive, seen.Twice, max(0, w.N-seen.Distinct)
}

// charge computes what a run has cost.
func (f *Figures) charge(spent cost, n int) {
	f.CPUClient = perTenThousand(spent.cpu, n)
	f.CPUOwner = perTenThousand(spent.owner, n)
	f.CPUServer = perTenThousand(spent.server, n)
	f.CPUStub = perTenThousand(spent.provider, n)
	f.Commits = spent.commits / float64(n) * 1000
	f.Statement = spent.statements / float64(n) * 1000
	f.Written = spent.written / float64(n) / 1000
	f.RSSClient = megabytes(spent.peak)
}

// cost holds the resources used by a broker, its store and the provider since they started.
type cost struct {
	cpu        time.Duration
	server     time.Duration // of its store's process
	provider   time.Duration
	peak       int64 // bytes
	commits    float64
	statements float64
	written    float64 // bytes, to disk

	// Of several processes; unknown if another one has become the owner meanwhile.
	epoch             float64       // of the owner
	owner             time.Duration // its CPU time
	ownerStatements   float64
	standbyStatements float64 // of a standby, on average
}

// since returns the resources used after an earlier reading.
func (c cost) since(before cost) cost {
	c.cpu, c.server, c.provider = c.cpu-before.cpu, c.server-before.server, c.provider-before.provider
	c.commits, c.statements, c.written = c.commits-before.commits, c.statements-before.statements, c.written-before.written
	if c.epoch == before.epoch {
		c.owner, c.ownerStatements, c.standbyStatements = c.owner-before.owner, c.ownerStatements-before.ownerStatements, c.standbyStatements-before.standbyStatements
	} else {
		c.owner, c.ownerStatements, c.standbyStatements = 0, 0, 0
	}
	return c
}

// megabytes converts bytes.
func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

// perTenThousand returns the seconds for 10,000 contacts.
func perTenThousand(d time.Duration, n int) float64 { return d.Seconds() / float64(n) * 10_000 }

// usageOf returns what another process has used.
func usageOf(pid int) (cost, error) {
	u, err := machine.Of(pid)
	return cost{cpu: u.CPU, peak: u.Peak, written: float64(u.Written)}, err
}

// self is this process.
type self struct{}

func (self) used() (cost, error) {
	own := machine.Own()
	return cost{cpu: own.CPU, peak: machine.OwnPeak(), written: float64(own.Written)}, nil
}
