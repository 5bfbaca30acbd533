package surveys_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"weir/api"
	"weir/surveys"
	"weir/web/webtest"
)

// Whichever way a time zone comes in, the same texts are zones, and are stored under the same name.
func TestTimeZone_HasOneRuleEverywhere(t *testing.T) {
	t.Parallel()
	stored := func(r *webtest.Rig, phone string) string {
		for _, p := range r.RespondentsOf("s1") {
			if p.Phone == phone {
				return p.Attributes["time_zone"]
			}
		}
		return ""
	}
	for way, does := range map[string]func(r *webtest.Rig, phone, zone string) string{ // each returns the zone that is stored
		"a contact": func(r *webtest.Rig, phone, zone string) string {
			g := r.Do("POST", "/v1/channels/texts/contacts", `{"contacts":[{"to":"`+phone+`","messages":["x"],"time_zone":`+zone+`}]}`)
			if g.Status != 202 {
				return ""
			}
			id := webtest.Into[api.AcceptedList](t, g, 202).Contacts[0].ID
			return webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+id, ""), 200).TimeZone
		},
		"respondents as JSON": func(r *webtest.Rig, phone, zone string) string {
			r.Do("POST", webtest.ImportPath, `{"respondents":[{"phone":"`+phone+`","attributes":{"time_zone":`+zone+`}}]}`)
			return stored(r, phone)
		},
		"respondents as NDJSON": func(r *webtest.Rig, phone, zone string) string {
			r.Load("?on_error=skip", "application/x-ndjson", `{"phone":"`+phone+`","time_zone":`+zone+`}`)
			return stored(r, phone)
		},
		"respondents as CSV": func(r *webtest.Rig, phone, zone string) string {
			r.Load("?on_error=skip", "text/csv", "phone,Time Zone\n"+phone+","+zone+"\n")
			return stored(r, phone)
		},
		"a correction by a file": func(r *webtest.Rig, _, zone string) string {
			p := r.Respondent("s1")
			r.Load("?on_error=skip&duplicates=update", "text/csv", "phone,time_zone\n"+p.Phone+","+zone+"\n")
			return stored(r, p.Phone)
		},
		"a correction": func(r *webtest.Rig, _, zone string) string {
			p := r.Respondent("s1")
			r.Do("PATCH", "/v1/surveys/s1/respondents/"+p.ID.String(), `{"attributes":{"time_zone":`+zone+`}}`)
			return stored(r, p.Phone)
		},
		"an application's report": func(r *webtest.Rig, _, zone string) string {
			p, before := r.Respondent("s1", webtest.Active), len(r.People.Reports)
			r.Do("POST", "/v1/surveys/s1/respondents/"+p.ID.String()+"/disposition", `{"answers":{"time_zone":`+zone+`}}`)
			if len(r.People.Reports) == before {
				return ""
			}
			return r.People.Reports[before].Answers["time_zone"]
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := webtest.New(t)
			r.Put("s1", "")
			r.Channel("texts", "texts")
			if way == "an application's report" {
				r.Stands("s1", surveys.Running)
			}
			n := 0
			for given, want := range map[string]string{
				"Africa/Nairobi": "Africa/Nairobi", "africa/nairobi": "Africa/Nairobi", " AFRICA/Nairobi ": "Africa/Nairobi", "america/port-AU-prince": "America/Port-au-Prince",
				"Etc/GMT+3": "Etc/GMT+3", "UTC": "UTC", "utc": "UTC", "US/Eastern": "US/Eastern", "America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires",
				"EAT": "", "UTC+3": "", "+03:00": "", "Africa/Nairoby": "", "Nairobi": "", "Africa": "", "Local": "", "../zone": "", "3": "",
			} {
				n++
				text, err := json.Marshal(given)
				if err != nil {
					t.Fatal(err)
				}
				if got := does(r, fmt.Sprintf("+5255000100%02d", n), string(text)); got != want {
					t.Errorf("%q is stored as %q, want %q", given, got, want)
				}
			}
		})
	}
}
