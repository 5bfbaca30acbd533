package server

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// ProcessesCommand makes "weir processes".
func ProcessesCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	c := r.WatchCommand("processes", "List the processes of the database", `List the processes of the database: the owner, and the standbys that pass requests on
to it and take over when it ends. Any of them answers. The list has the address at which
the others reach a process, since when the owner is the owner, the age of a standby's
last heartbeat, and what is wrong: why it may not take over, whom it cannot reach, which
settings differ. A process that does not reach the owner is not in the list.`, `  weir processes
  weir processes --watch
  weir processes --output jsonl | jq -r 'select(.owner).address'`,
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			answer, err := to.ListProcesses(ctx)
			if err != nil {
				return err
			}
			l := a.Console.NewList(&r.Output, out, app.NumberColumn("START"), app.Column("ADDRESS", 8), app.Column("VERSION", 6), app.NumberColumn("SCHEMA"), app.Column("ROLE"), app.Column("SINCE"), app.Column("HEARTBEAT"), app.Column("REMARKS", 8))
			for i := range answer.Processes {
				p := &answer.Processes[i]
				if err := l.Add(p, processRow(a.Clock, p)...); err != nil {
					return err
				}
			}
			return l.Close()
		})
	r.AddConnectionFlags(c)
	return c
}

func processRow(clock *app.Clock, p *client.ProcessView) []terminal.Cell {
	role, heartbeat := "standby", ""
	if p.HeartbeatAge != nil { // the owner has none
		heartbeat = fmt.Sprintf("%.0f s", math.Ceil(*p.HeartbeatAge))
	}
	switch {
	case p.Owner:
		role = "owner"
	case p.Successor:
		role = "standby, next"
	}
	return app.Cells(terminal.Number(p.Start), p.Address, p.Version, terminal.Number(p.Schema), role, clock.FormatSecond(p.OwnerSince), heartbeat, remarks(p))
}

// remarks says what is wrong with a process.
func remarks(p *client.ProcessView) string {
	var list []string
	if p.TakeOverTrouble != "" {
		list = append(list, p.TakeOverTrouble)
	}
	for _, to := range p.CannotReach {
		list = append(list, fmt.Sprintf("cannot reach %s: %s", to.Address, to.Reason))
	}
	if len(p.Differing) > 0 {
		list = append(list, "differs from the owner: "+strings.Join(p.Differing, ", "))
	}
	return strings.Join(list, "; ")
}
