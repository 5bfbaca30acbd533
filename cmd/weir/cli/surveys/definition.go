package surveys

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
)

// definitionOf returns the part of a survey that a client writes, of the response with
// a survey.
func definitionOf(response []byte) (definition map[string]any, hasSecret bool, _ error) {
	if err := json.Unmarshal(response, &definition); err != nil {
		return nil, false, err
	}
	written := membersOf(reflect.TypeFor[client.SurveyBody]())
	for name := range membersOf(reflect.TypeFor[client.SurveyView]()) {
		if !written[name] {
			delete(definition, name)
		}
	}
	if application, ok := definition["application"].(map[string]any); ok {
		hasSecret, _ = application["has_secret"].(bool)
		delete(application, "has_secret")
	}
	return definition, hasSecret, nil
}

// membersOf returns the names that the fields of a struct have in JSON.
func membersOf(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	for _, field := range reflect.VisibleFields(t) { // also of the types that are embedded
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			out[name] = true
		}
	}
	return out
}

// writeDefinition prints a definition as "weir survey put" reads it.
func writeDefinition(out io.Writer, response []byte) error {
	definition, _, err := definitionOf(response)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(definition); err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}

// cloneCommand makes "weir survey clone".
func cloneCommand(console *app.Console, r *app.Connection) *cobra.Command {
	return r.APICommand("clone NAME NEW", "Create a draft with the definition of a survey", `Create a draft with the definition of another survey, in any state. Respondents are not
copied. The secret of the application cannot be read and is not copied either; set it with
"weir survey put" before the launch.`, "  weir survey clone flu flu-2027\n  weir survey import people.csv flu-2027",
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			if args[0] == args[1] {
				return command.UsageError(c, "NEW must be another name")
			}
			if _, err := to.GetSurvey(ctx, args[1]); client.StatusOf(err) != http.StatusNotFound {
				if err == nil {
					err = command.UsageError(c, "survey "+args[1]+" exists; choose another name")
				}
				return err
			}
			if _, err := to.GetSurvey(ctx, args[0]); err != nil {
				return err
			}
			definition, hasSecret, err := definitionOf(r.Body)
			if err != nil {
				return err
			}
			body, err := json.Marshal(definition)
			if err != nil {
				return err
			}
			var s client.SurveyView
			put := client.Request{Method: http.MethodPut, Path: "/v1/surveys/" + url.PathEscape(args[1]), Body: json.RawMessage(body)}
			if err := to.Do(ctx, put, &s); err != nil {
				return err
			}
			if hasSecret {
				console.Warn("the secret of the application is not copied; requests are not signed until it is set")
			}
			return r.PrintResult("%s: created from %s, %s", args[1], args[0], stateText(s.State, s.Cause, s.Locked))
		})
}
