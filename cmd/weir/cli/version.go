package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
)

func (a *app) version() *cobra.Command {
	return command.Plain("version", "Say which version this is", "", func(context.Context) error {
		_, err := fmt.Fprintf(a.Stdout, "weir %s %s %s/%s\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
