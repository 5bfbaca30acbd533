package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"weir/cmd/weir/cli/app"
)

// healthTimeout is below the timeout that container engines give a check.
const healthTimeout = 5 * time.Second

// HealthcheckCommand makes "weir healthcheck".
func HealthcheckCommand(a *app.App) *cobra.Command {
	return a.PlainCommand("healthcheck", "Check that the broker on this machine is ready",
		"Check that the broker that listens on LISTEN_ADDR is ready; exit code 1 if not. For\nhealth checks in containers without other programs.", checkHealth)
}

// checkHealth requests /readyz at the address of LISTEN_ADDR.
func checkHealth(ctx context.Context, a *app.App) error {
	cfg, err := a.Environ.LoadConfig(func(string) {}) // serve has logged the warnings
	if err != nil {
		return err
	}
	base := cfg.DerivePublicURL(cfg.ListenAddr)
	if base == "" {
		return errors.New("LISTEN_ADDR has port 0, so the address of Weir is unknown")
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		// The certificate is for the public name, but this request goes to the
		// loopback address; it holds no secret.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}).Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("not ready: %s %s", resp.Status, body)
	}
	_, err = fmt.Fprintln(a.Console.Stdout, "ready")
	return err
}
