package compat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Breaks lists the changes that break clients of the old description.
func Breaks(was, now []byte) ([]Break, error) {
	c := comparison{seen: map[string]bool{}}
	if err := errors.Join(json.Unmarshal(was, &c.was), json.Unmarshal(now, &c.now)); err != nil {
		return nil, fmt.Errorf("read a description of the API: %w", err)
	}
	for _, path := range c.was.at("paths").names() {
		for _, method := range c.was.at("paths", path).names() {
			c.where = strings.ToUpper(method) + " " + path
			before, after := c.was.at("paths", path, method), c.now.at("paths", path, method)
			if after == nil {
				c.breaks("operation removed")
				continue
			}
			c.operation(before, after)
		}
	}
	// Maps have no order, and the same break may be found through several operations.
	slices.SortFunc(c.found, func(a, b Break) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(c.found), nil
}

func (c *comparison) operation(was, now node) {
	if id := was.text("operationId"); id != now.text("operationId") {
		c.breaks("operationId %s is now %s, which renames it in generated clients", id, now.text("operationId"))
	}
	// The generated client of the old description repeats such a request after a lost answer.
	if was.flag("x-repeatable") && !now.flag("x-repeatable") {
		c.breaks("no longer repeatable, but clients retry it")
	}
	c.security(was, now)
	c.parameters(was, now)
	c.body(was.at("requestBody"), now.at("requestBody"))
	for _, status := range was.at("responses").names() {
		before, after := was.at("responses", status), now.at("responses", status)
		if after == nil {
			c.breaks("response %s removed", status)
			continue
		}
		for _, header := range before.at("headers").names() {
			if after.at("headers", header) == nil {
				c.breaks("response %s: header %s removed", status, header)
			}
		}
		for _, kind := range before.at("content").names() {
			if after.at("content", kind) == nil {
				c.breaks("response %s is no longer %s", status, kind)
				continue
			}
			c.schema("response "+status, before.at("content", kind, "schema"), after.at("content", kind, "schema"), responses)
		}
	}
}

// security compares which tokens an operation accepts: a token needs one of the scopes.
func (c *comparison) security(was, now node) {
	before, after := scopes(was), scopes(now)
	switch {
	case len(after) == 0: // no token is required
	case len(before) == 0:
		c.breaks("now requires a token")
	default:
		// A token of the old description may have this scope and no other.
		for _, scope := range before {
			if !slices.Contains(after, scope) {
				c.breaks("scope %s alone is no longer sufficient", scope)
			}
		}
	}
}

func scopes(op node) []string {
	var out []string
	for _, alternative := range op.list("security") {
		for _, scheme := range alternative.names() {
			out = append(out, scheme+" "+strings.Join(alternative.words(scheme), " and "))
		}
	}
	return out
}

func (c *comparison) parameters(was, now node) {
	before, after := parameters(was), parameters(now)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			c.breaks("%s removed", name)
			continue
		}
		if after[name].flag("required") && !before[name].flag("required") {
			c.breaks("%s is now required", name)
		}
		c.schema(name, before[name].at("schema"), after[name].at("schema"), requests)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] == nil && after[name].flag("required") {
			c.breaks("%s is new and required", name)
		}
	}
}

func parameters(op node) map[string]node {
	out := map[string]node{}
	for _, p := range op.list("parameters") {
		// A query parameter and a header of the same name are two parameters.
		out[p.text("in")+" parameter "+p.text("name")] = p
	}
	return out
}

func (c *comparison) body(was, now node) {
	switch {
	case was == nil && now == nil:
		return
	case was == nil:
		if now.flag("required") {
			c.breaks("a body is now required")
		}
		return
	case now == nil:
		c.breaks("no longer accepts a body")
		return
	}
	if now.flag("required") && !was.flag("required") {
		c.breaks("a body is now required")
	}
	for _, kind := range was.at("content").names() {
		if now.at("content", kind) == nil {
			c.breaks("the body may no longer be %s", kind)
			continue
		}
		c.schema("body", was.at("content", kind, "schema"), now.at("content", kind, "schema"), requests)
	}
}
