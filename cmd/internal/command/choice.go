package command

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is a flag that accepts one of several words.
type Choice struct {
	Value   string
	Allowed []string
}

// NewChoice returns a flag with its default value.
func NewChoice(value string, allowed ...string) Choice { return Choice{value, allowed} }

// String returns the value.
func (c *Choice) String() string { return c.Value }

// Type returns the name of the value in the help.
func (c *Choice) Type() string { return strings.Join(c.Allowed, "|") }

// Set parses the value.
func (c *Choice) Set(text string) error {
	if !slices.Contains(c.Allowed, text) {
		last := len(c.Allowed) - 1
		return fmt.Errorf("want %s or %s", strings.Join(c.Allowed[:last], ", "), c.Allowed[last])
	}
	c.Value = text
	return nil
}
