package router

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"weir"
	"weir/internal/plainjson"
	"weir/internal/validation"
	"weir/router/resource"
	"weir/web/httpjson"
)

// wording words errors as clients of this API know them.
func wording() *httpjson.Wording {
	return &httpjson.Wording{Text: "must be a string", Unknown: "unknown member", Range: "between %.0f and %.0f", Enum: "unknown", Token: validation.Escape}
}

// patchChecker returns the checker of the PATCH bodies of a kind of resource. Members of
// the specifications that are not in Microsoft's published schema are extensions of Weir,
// shown only if set: closed of a queue, autoAccept of a distribution policy, the mode
// shortestIdle, notAfter of a job. Pools and the list of ready workers are extensions as
// a whole.
func (k resourceKind) patchChecker(v version) *httpjson.Checker {
	c := httpjson.PatchOf(k.spec, false, wording(), append(k.readOnly, "id", "etag")...)
	if k.kind == resource.Worker && v == version2023 {
		c = c.Without("maxConcurrentOffers")
	}
	return c
}

// actionMembers returns the members of [options] that the body of each action may have.
func actionMembers() map[string][]string {
	return map[string][]string{
		"cancel":     {"note", "dispositionCode"},
		"reclassify": {},
		"complete":   {"note"},
		"close":      {"dispositionCode", "closeAt", "note"},
		"unassign":   {"suspendMatching"},
		"accept":     {},
		"decline":    {"retryOfferAt"},
	}
}

// actionCheckers returns the checkers of the bodies of actions.
func actionCheckers() map[string]*httpjson.Checker {
	all, out := httpjson.PatchOf(reflect.TypeFor[options](), true, wording()), map[string]*httpjson.Checker{}
	for action, names := range actionMembers() {
		out[action] = all.Only(names...)
	}
	return out
}

// decode reads a body as an object and checks it; before, which may be
// nil, runs ahead of the checker.
func decode(body []byte, check *httpjson.Checker, before func(map[string]any, *validation.Errors)) (map[string]any, error) {
	v, err := plainjson.Parse(body)
	if errors.Is(err, plainjson.ErrTooMany) {
		return nil, weir.Errorf(weir.CodeTooLarge, "%v", err)
	}
	if err != nil {
		return nil, weir.Errorf(weir.CodeInvalid, "%v", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("", "type", "the body must be an object")
	}
	var mistakes validation.Errors
	if before != nil {
		before(m, &mistakes)
	}
	check.Check(m, "", &mistakes)
	return m, invalidFor(mistakes)
}

// completeMatchingMode adds the kind of a matching mode that has an instant. Without one
// the kind is required: Microsoft's Python client sends {} for both SuspendMode() and
// QueueAndMatchMode(), and guessing would either offer jobs that must stay suspended, or
// suspend jobs that should be matched.
func completeMatchingMode(job map[string]any, mistakes *validation.Errors) {
	mode, ok := job["matchingMode"].(map[string]any)
	if _, stated := mode["kind"]; !ok || stated {
		return
	}
	if _, scheduled := mode["scheduleAt"]; scheduled {
		mode["kind"] = string(resource.ScheduleAndSuspend)
		return
	}
	mistakes.Add("/matchingMode/kind", "required", "must be one of queueAndMatch, suspend, scheduleAndSuspend; "+
		`some clients leave it out: in Python pass {"kind": "suspend"}, not SuspendMode()`)
	delete(job, "matchingMode")
}

// boundTexts limits what an action copies into a job. The engine enforces the same limit
// on resources.
func boundTexts(action map[string]any, mistakes *validation.Errors) {
	const limit = 16 << 10
	for _, name := range slices.Sorted(maps.Keys(action)) {
		if s, ok := action[name].(string); ok && len(s) > limit {
			mistakes.Add("/"+name, "length", "at most %d bytes", limit)
		}
	}
}
