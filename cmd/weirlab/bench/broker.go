package bench

import (
	"context"
	"fmt"
	"os"
	"time"

	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/machine"
)

const readyWithin = 60 * time.Second

// broker is a Weir in a separate process, set up as in production: with a token,
// metrics and the log level info.
type broker struct{ *machine.Server }

// newBroker prepares a broker; nothing runs yet. Its rate limit is enforced but not
// reached: one token makes all requests.
func newBroker(ctx context.Context, program, database, folder, mode string) (*broker, error) {
	s, err := machine.NewServer(ctx, program, folder,
		"DATABASE_URL="+database, "WEIR_API_TOKENS="+token, "WEIR_RATE_LIMIT=1000000", "LOG_FORMAT=json", "LOG_LEVEL=info")
	if err != nil {
		return nil, err
	}
	if mode == load.Crash { // otherwise it would take minutes until the provider is asked
		s.Env = append(s.Env, "CHNL_BKR_GC_IDLE_MINUTES=0.05", "CHNL_BKR_GC_INTERVAL_MINUTES=0.02")
	}
	return &broker{s}, nil
}

// start starts the process and waits until it accepts requests.
func (b *broker) start(ctx context.Context) error {
	err := b.Start(ctx, readyWithin)
	if err != nil {
		return fmt.Errorf("%w%s", err, b.logTail())
	}
	return nil
}

// logTail returns the end of the log.
func (b *broker) logTail() string {
	const most = 1000
	raw, err := os.ReadFile(b.Log())
	if err != nil || len(raw) == 0 {
		return ""
	}
	return "\n" + string(raw[max(0, len(raw)-most):])
}

// used returns the resources that the process has used.
func (b *broker) used() (cost, error) { return usageOf(b.Cmd.Process.Pid) }
