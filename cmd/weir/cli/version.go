package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) version() *cobra.Command {
	return plain("version", "Say which version this is", "", func(context.Context) error {
		_, err := fmt.Fprintf(a.Stdout, "weir %s %s %s/%s\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
