package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/channels/all"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/internal/plainjson"
)

const maxSecret = 64 << 10 // bytes

// flags are the flags that describe a channel.
type flags struct {
	file, typ, name       string
	capacity              int
	paused, force         bool
	settings, unset       []string
	brake                 []string
	secretFile, secretEnv []string
}

// add adds the flags; replaces: those of a command that replaces the whole channel.
func (f *flags) add(c *cobra.Command, replaces bool) {
	if replaces {
		f.addType(c)
	} else {
		f.addUnset(c)
	}
	f.addSettings(c)
	g := c.Flags()
	g.StringVar(&f.name, "title", "", "display name")
	g.BoolVar(&f.paused, "paused", false, "do not dispatch contacts")
	g.StringArrayVar(&f.brake, "brake", nil, `when the channel pauses itself, as KEY=NUMBER of over, minimum, opted_out_percent, failed_percent or "reasons.TEXT"; KEY=none removes one, "none" all; repeatable`)
	g.BoolVar(&f.force, "force", false, "allow another server or account although contacts are in flight at the current one")
}

// addType adds the flags of a channel that need not exist.
func (f *flags) addType(c *cobra.Command) {
	c.Flags().StringVarP(&f.file, "file", "f", "", `JSON file with the channel, "-" for standard input; other flags override it`)
	c.Flags().StringVar(&f.typ, "type", "", "channel type; it cannot be changed later")
	_ = c.RegisterFlagCompletionFunc("type", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return typeNames(), cobra.ShellCompDirectiveNoFileComp
	})
}

// addUnset adds the flag that removes settings of a channel that exists.
func (f *flags) addUnset(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.unset, "unset", nil, "remove this setting; repeatable")
}

// addSettings adds the flags of capacity and settings.
func (f *flags) addSettings(c *cobra.Command) {
	g := c.Flags()
	g.IntVar(&f.capacity, "capacity", 0, "maximum number of slots in flight")
	g.StringArrayVar(&f.settings, "set", nil, "setting as KEY=VALUE, or KEY:=JSON; repeatable")
	g.StringArrayVar(&f.secretFile, "secret-file", nil, `secret setting as KEY=FILE that contains it, "-" for standard input; repeatable`)
	g.StringArrayVar(&f.secretEnv, "secret-env", nil, "secret setting as KEY=NAME of the environment variable that contains it; repeatable")
}

// typeNames lists the channel types that this binary supports.
func typeNames() []string {
	// Types(nil) leaves it out, because it needs a running router.
	out := []string{"workers"}
	for _, t := range all.Types(nil) {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return out
}

// secretSettings lists the settings whose values must not be on a command line.
func secretSettings() []string {
	var out []string
	for _, t := range all.Types(nil) {
		for _, s := range t.Settings {
			// The type of an existing channel is not known here, so that a key is secret if it is
			// for any type.
			if s.Secret {
				out = append(out, s.Key)
			}
		}
	}
	return out
}

const aboutSettings = `Settings depend on the type. Pass secrets (passwords, tokens) with --secret-file or
--secret-env: a command line can be read by other users. Secrets cannot be read back.`

// putCommand makes "weir channel put".
func putCommand(a *app.App, r *app.Connection) *cobra.Command {
	var f flags
	var dry bool
	c := r.APICommand("put NAME", "Create or replace a channel", `Create a channel, or replace all of it, secrets included: settings that are not given
are removed; "weir channel set" changes single settings. The provider is checked
afterwards: "weir channel show" then shows the state, such as error for a wrong
password; "weir channel test" asks it before.

`+aboutSettings, `  weir channel put sms --type nuntium --set base_url=https://nuntium.example --set account=demo \
      --set application=weir --set channel=sms --secret-env password=NUNTIUM_PASSWORD --capacity 50
  weir channel put calls --file calls.json --secret-file password=verboice.password
  weir channel put agents --type workers --set queue=callers --set at_least_once=true`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			body, err := requestBody(a, c, &f)
			if err != nil {
				return err
			}
			if dry {
				query := url.Values{"dry_run": {"true"}}
				if f.force {
					query.Set("force", "true")
				}
				if err := to.Do(ctx, client.Request{Method: http.MethodPut, Path: "/v1/channels/" + url.PathEscape(args[0]), Query: query, Body: body, Idempotent: true}, nil); err != nil {
					return err
				}
				return a.Console.PrintChecked(&r.Output, args[0])
			}
			return sendRequest(ctx, r, to, http.MethodPut, args[0], body, f.force, "saved")
		})
	f.add(c, true)
	app.DryRunFlag(c, &dry)
	return c
}

// setCommand makes "weir channel set".
func setCommand(a *app.App, r *app.Connection) *cobra.Command {
	var f flags
	c := r.APICommand("set NAME", "Change settings of a channel", "Change the given settings of a channel. All others stay as they are, secrets too.\n\n"+aboutSettings, `  weir channel set sms --title "Text messages" --set channel=sms2
  weir channel set sms --secret-file password=new.password
  weir channel set sms --unset reply_reserve
  weir channel set sms --brake opted_out_percent=5 --brake "reasons.number not usable=30"`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			body, err := requestBody(a, c, &f)
			if err != nil {
				return err
			}
			if len(body) == 0 {
				return command.UsageError(c, "no change given")
			}
			return sendRequest(ctx, r, to, http.MethodPatch, args[0], body, f.force, "changed")
		})
	f.add(c, false)
	return c
}

// requestBody builds the request body from file and flags.
func requestBody(a *app.App, c *cobra.Command, f *flags) (map[string]any, error) {
	body := map[string]any{}
	if f.file != "" {
		text, err := a.Console.ReadJSON(c, f.file)
		if err != nil {
			return nil, err
		}
		if err := plainjson.Unmarshal(text, &body); err != nil || body == nil {
			return nil, fmt.Errorf("%s: must be an object such as {\"type\": \"nuntium\", \"settings\": {…}}", f.file)
		}
	}
	given := c.Flags().Changed
	for name, value := range map[string]any{"type": f.typ, "name": f.name, "capacity": f.capacity, "paused": f.paused} {
		flag := name
		if name == "name" {
			flag = "title"
		}
		if given(flag) {
			body[name] = value
		}
	}
	if err := addBrake(c, f, body); err != nil {
		return nil, err
	}
	settings, err := settings(a, c, f)
	if err != nil || len(settings) == 0 {
		return body, err
	}
	all, _ := body["settings"].(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, settings)
	body["settings"] = all
	return body, nil
}

// addBrake adds the brake from its flags to what a file has of it.
func addBrake(c *cobra.Command, f *flags, body map[string]any) error {
	if len(f.brake) == 0 {
		return nil
	}
	if slices.Contains(f.brake, "none") {
		if len(f.brake) > 1 {
			return command.UsageError(c, "--brake none goes with no other --brake")
		}
		if delete(body, "brake"); f.typ == "" && f.file == "" {
			body["brake"] = nil // null removes it in a PATCH; a PUT is without it
		}
		return nil
	}
	brake, _ := body["brake"].(map[string]any)
	if brake == nil {
		brake = map[string]any{}
	}
	body["brake"] = brake
	for _, text := range f.brake {
		at := strings.LastIndex(text, "=") // a reason may contain one
		if at <= 0 {
			return command.UsageError(c, "--brake must be KEY=NUMBER or none")
		}
		key, value := text[:at], any(nil) // null removes a bound in a PATCH
		if number := text[at+1:]; number != "none" {
			n, err := strconv.Atoi(number)
			if err != nil {
				return command.UsageError(c, fmt.Sprintf("--brake %s: %q is neither a whole number nor none", key, number))
			}
			value = n
		}
		if reason, ok := strings.CutPrefix(key, "reasons."); ok {
			reasons, _ := brake["reasons"].(map[string]any)
			if reasons == nil {
				reasons = map[string]any{}
			}
			reasons[reason], brake["reasons"] = value, reasons
			continue
		}
		brake[key] = value
	}
	return nil
}

// settings builds the settings from their flags.
func settings(a *app.App, c *cobra.Command, f *flags) (map[string]any, error) {
	out := map[string]any{}
	secret, typed := secretSettings(), all.JSONSettings()
	for _, text := range f.settings {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, command.UsageError(c, "--set must be KEY=VALUE or KEY:=JSON")
		}
		bare, isJSON := strings.CutSuffix(key, ":")
		if slices.Contains(secret, bare) {
			return nil, command.UsageError(c, fmt.Sprintf("%s is a secret, which others could read on the command line; use --secret-file %s=FILE or --secret-env %s=NAME", bare, bare, bare))
		}
		var v any
		if !isJSON {
			// Numbers, booleans and objects need no :=. A text that is no JSON is sent as it is,
			// and the server reports the mistake.
			if slices.Contains(typed, key) && plainjson.Unmarshal([]byte(value), &v) == nil {
				out[key] = v
			} else {
				out[key] = value
			}
			continue
		}
		if err := plainjson.Unmarshal([]byte(value), &v); err != nil {
			return nil, command.UsageError(c, fmt.Sprintf("--set %s: %q is not JSON; for a text write %s=TEXT", bare, value, bare))
		}
		out[bare] = v
	}
	for _, key := range f.unset {
		// null removes a setting in a PATCH.
		out[key] = nil
	}
	return out, errors.Join(secretFiles(a.Console, c, f, out), secretVariables(a.Environ, c, f, out))
}

// secretFiles adds the settings that are given as files. Line breaks at the end are not
// part of a secret.
func secretFiles(console *app.Console, c *cobra.Command, f *flags, into map[string]any) error {
	for _, text := range f.secretFile {
		key, name, ok := strings.Cut(text, "=")
		if !ok || key == "" || name == "" {
			return command.UsageError(c, "--secret-file must be KEY=FILE")
		}
		from, _, done, err := console.OpenInput(c, name)
		if err != nil {
			return err
		}
		secret, err := io.ReadAll(io.LimitReader(from, maxSecret+1))
		done()
		switch value := strings.TrimRight(string(secret), "\r\n"); {
		case err != nil:
			return err
		case value == "":
			return fmt.Errorf("the secret %s: %s is empty", key, name)
		case len(secret) > maxSecret:
			return fmt.Errorf("the secret %s: %s exceeds %s", key, name, terminal.Bytes(maxSecret))
		default:
			into[key] = value
		}
	}
	return nil
}

// secretVariables adds the settings that are given as environment variables.
func secretVariables(environ app.Environ, c *cobra.Command, f *flags, into map[string]any) error {
	for _, text := range f.secretEnv {
		key, name, ok := strings.Cut(text, "=")
		if !ok || key == "" || name == "" {
			return command.UsageError(c, "--secret-env must be KEY=NAME of a variable")
		}
		value := environ.Value(name)
		if value == "" {
			return command.UsageError(c, fmt.Sprintf("the secret %s: the variable %s is not set", key, name))
		}
		into[key] = value
	}
	return nil
}

// sendRequest creates or changes a channel.
func sendRequest(ctx context.Context, r *app.Connection, to *client.Client, method, name string, body map[string]any, force bool, done string) error {
	// PUT and PATCH set values, so that repeating one after a lost response is harmless.
	request := client.Request{Method: method, Path: "/v1/channels/" + url.PathEscape(name), Body: body, Idempotent: true}
	if force {
		request.Query = url.Values{"force": {"true"}}
	}
	var ch client.ChannelView
	if err := to.Do(ctx, request, &ch); err != nil {
		return err
	}
	state := app.ChannelState(&ch)
	if _, settings := body["settings"]; state == "up" && settings {
		// A channel is reported as up before its provider has answered, even with a wrong password.
		return r.PrintResult("%s: %s (capacity %d); checking provider…", name, done, ch.Capacity)
	}
	return r.PrintResult("%s: %s, %s, capacity %d", name, done, state, ch.Capacity)
}
