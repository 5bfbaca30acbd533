package web_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/operators"
	"weir/people"
	"weir/web"
	"weir/web/webtest"
)

// personRequests are requests about one number, by route. NUMBER stands for it.
func personRequests() map[string][]string {
	const refuse = `{"consents":[{"to":"NUMBER","status":"refused"}]}`
	return map[string][]string{
		"POST /v1/consents": {
			refuse, `{"consents":[{"to":"NUMBER","status":"given"}]}`, `{"consents":[{"to":"NUMBER","status":"given","at":"2020-01-01T00:00:00Z"}]}`,
			`{"consents":[{"to":"NUMBER","status":"refused","at":"2020-01-01T00:00:00Z","key":"k"}]}`,
			`{"to":"NUMBER","status":"given"}`, `{"to":"NUMBER","status":"refused"}`, // lines of a file
		},
		"POST /v1/consents:search": {`{"to":"NUMBER"}`},
		"POST /v1/people:find":     {`{"to":"NUMBER"}`},
		"POST /v1/people:erase":    {`{"to":"NUMBER"}`},
		"POST /v1/contacts:search": {`{"to":"NUMBER"}`},
		"POST /v1/channels/{channel}/contacts": {
			`{"contacts":[{"to":"NUMBER","messages":["hello"]}]}`, `{"contacts":[{"to":"NUMBER","messages":["hello"],"purpose":"none"}]}`,
		},
	}
}

// TestPerson_NoAnswerAboutANumberDependsOnItWithoutPII: every route that takes a number in its body answers without
// pii:read in the same way about one that is known and has refused as about one that is nobody's, or not at all.
func TestPerson_NoAnswerAboutANumberDependsOnItWithoutPII(t *testing.T) {
	t.Parallel()
	table := personRequests()
	spec := webtest.New(t).Spec()
	for pattern, ops := range spec.Paths {
		for method, op := range ops {
			ref, _ := op.RequestBody.Content["application/json"].Schema["$ref"].(string)
			body, _ := spec.Components.Schemas[path.Base(ref)].(map[string]any)
			fields, _ := body["properties"].(map[string]any)
			if route := strings.ToUpper(method) + " " + pattern; fields["to"] != nil && table[route] == nil {
				t.Errorf("%s is about a number and not in the table", route)
			}
		}
	}
	scopes := []string{}
	for _, s := range operators.Scopes() {
		if s != operators.ScopePIIRead {
			scopes = append(scopes, string(s))
		}
	}
	ids := regexp.MustCompile(`"(id|key|state|request_id|instance)":"[^"]*"|[0-9]{12,}`)
	for route, bodies := range table {
		for _, body := range bodies {
			t.Run(route+" "+body, func(t *testing.T) {
				t.Parallel()
				b := webtest.NewBearers(t, time.Now)
				r := webtest.New(t, func(o *web.Options) { o.Gate = b.Gate })
				webtest.Someone(r)
				said := people.Consent{Address: people.Canonical(webtest.PhoneCanary), Purpose: people.AllPurposes, Status: people.Refused, Source: people.FromWord, At: webtest.Start()}
				if _, err := r.RecordConsents(t.Context(), []people.Consent{said}); err != nil { // what others record changes nothing
					t.Fatal(err)
				}
				token := r.Token(scopes...)
				method, target, _ := strings.Cut(strings.ReplaceAll(route, "{channel}", "a"), " ")
				var got []string
				for _, number := range []string{webtest.PhoneCanary, "+15559990000"} {
					header := []string{"Authorization", "Bearer " + token}
					if strings.Contains(route, "consents") && !strings.Contains(body, "[") && !strings.Contains(route, "search") {
						header = append(header, "Content-Type", "application/x-ndjson")
					}
					g := r.Do(method, target, strings.ReplaceAll(body, "NUMBER", number), header...)
					text := strings.ReplaceAll(ids.ReplaceAllString(g.Body, "…"), number, "NUMBER")
					got = append(got, strings.ReplaceAll(text, number[len(number)-2:], "NN"))
				}
				if got[0] != got[1] {
					t.Errorf("of a known number: %s\nof nobody's: %s", got[0], got[1])
				}
			})
		}
	}
}
