package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// variable is one field of a Config.
type variable struct {
	name    string
	preset  string // default
	allowed string
	min     string // of a number; empty: it is no number
	max     string
	secret  bool
	field   reflect.Value
}

// fileName returns the name of the variable for a file with the secret.
func (v variable) fileName() string { return v.name + "_FILE" }

// variables lists the fields of a Config that are variables.
func variables(c *Config) []variable {
	var out []variable
	s := reflect.ValueOf(c).Elem()
	for i := range s.NumField() {
		tag := s.Type().Field(i).Tag
		if name := tag.Get("envconfig"); name != "" {
			out = append(out, variable{name, tag.Get("default"), tag.Get("allowed"), tag.Get("min"), tag.Get("max"), tag.Get("secret") == "true", s.Field(i)})
		}
	}
	return out
}

// read reads and decodes the value of a variable; nil: it decodes.
func (v variable) read(env map[string]string, c *Config) *InvalidVariable {
	value, origin := env[v.name], "environment"
	if file := env[v.fileName()]; v.secret && file != "" {
		if value != "" {
			return &InvalidVariable{v.fileName(), file, "absent while " + v.name + " is set"}
		}
		var err error
		if value, err = readSecret(file); err != nil {
			return &InvalidVariable{v.fileName(), file, "the path of a file that Weir can read"}
		}
		if value == "" {
			return &InvalidVariable{v.fileName(), file, "the path of a file that is not empty"}
		}
		origin = v.fileName()
		c.files[v.name] = file
	}
	if value == "" {
		value, origin = v.preset, "default"
	}
	c.origins[v.name] = origin
	decoded, err := v.decode(value)
	if err != nil {
		m := v.invalid(value)
		if parse, ok := errors.AsType[*envconfig.ParseError](err); ok {
			if what, ok := errors.AsType[mistake](parse.Err); ok {
				m.Allowed += " (" + what.Error() + ")"
			}
		}
		return m
	}
	v.field.Set(decoded)
	return nil
}

// readSecret reads the secret in a file. Editors end a file with a line break.
func readSecret(file string) (string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it
	return strings.TrimSpace(string(text)), err
}

// inBounds reports whether a number is within the bounds of its tags min and max.
func (v variable) inBounds() bool {
	if v.min == "" {
		return true
	}
	least, errLeast := v.decode(v.min)
	most, errMost := v.decode(v.max)
	return errLeast == nil && errMost == nil && least.Int() <= v.field.Int() && v.field.Int() <= most.Int()
}

// decode passes one value to envconfig. That package reads only the process's own
// environment, and stops at the first mistake. So it gets a struct of one field,
// whose value is its default and whose name no environment can contain ("=" ends
// a name).
func (v variable) decode(value string) (reflect.Value, error) {
	one := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "Value", Type: v.field.Type(), Tag: reflect.StructTag("default:" + strconv.Quote(value)),
	}}))
	err := envconfig.Process("=", one.Interface())
	return one.Elem().Field(0), err
}

func (v variable) invalid(value string) *InvalidVariable {
	switch {
	case v.isSecretURL():
		value = Redact(value)
	case v.secret:
		value = redacted
	}
	return &InvalidVariable{v.name, value, v.allowed}
}

// isSecretURL reports whether the value may be shown without its password. Other secrets
// have a type whose String hides them.
func (v variable) isSecretURL() bool { return v.secret && v.field.Kind() == reflect.String }

// redacted is shown instead of a secret.
const redacted = "REDACTED"

// Redact hides the password of a URL, and the whole text if it is not recognized as a
// URL.
func Redact(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if s == "" {
		return ""
	}
	if !ok || strings.ContainsAny(scheme, ":@/,") {
		return redacted
	}
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return s
	}
	account := rest[:at]
	if user, _, has := strings.Cut(account, ":"); has {
		account = user + ":" + redacted
	}
	return scheme + "://" + account + rest[at:]
}

func index(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	return env
}

// InvalidVariable is a variable whose value is not allowed.
type InvalidVariable struct {
	Variable string
	Value    string // secrets are redacted
	Allowed  string // the allowed values
}

// Error holds every mistake in an environment.
type Error struct{ Invalid []InvalidVariable }

// Error returns the invalid variables, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Invalid))
	for i, m := range e.Invalid {
		lines[i] = fmt.Sprintf("%s is %q; allowed: %s", m.Variable, m.Value, m.Allowed)
	}
	return strings.Join(lines, "\n")
}
