package surveys_test

import (
	"encoding/json"
	"testing"

	"weir/surveys"
	"weir/web/api"
	"weir/web/webtest"
)

// Whichever way a time zone comes in, the same texts are zones, and are stored under the same name.
func TestTimeZone_HasOneRuleEverywhere(t *testing.T) {
	t.Parallel()
	respondents := func(r *webtest.Rig) string {
		if len(r.People.StoredRespondents) == 0 {
			return ""
		}
		return r.People.StoredRespondents[len(r.People.StoredRespondents)-1].Attributes["time_zone"]
	}
	for way, does := range map[string]func(r *webtest.Rig, zone string) string{ // each returns the zone that is stored
		"a contact": func(r *webtest.Rig, zone string) string {
			g := r.Do("POST", "/v1/channels/texts/contacts", `{"contacts":[{"to":"+525500000001","messages":["x"],"time_zone":`+zone+`}]}`)
			if g.Status != 202 {
				return ""
			}
			id := webtest.Into[api.AcceptedList](t, g, 202).Contacts[0].ID
			return webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+id, ""), 200).TimeZone
		},
		"respondents as JSON": func(r *webtest.Rig, zone string) string {
			r.Do("POST", webtest.ImportPath, `{"respondents":[{"phone":"+525500000001","attributes":{"time_zone":`+zone+`}}]}`)
			return respondents(r)
		},
		"respondents as NDJSON": func(r *webtest.Rig, zone string) string {
			r.Load("?on_error=skip", "application/x-ndjson", `{"phone":"+525500000001","time_zone":`+zone+`}`)
			return respondents(r)
		},
		"respondents as CSV": func(r *webtest.Rig, zone string) string {
			r.Load("?on_error=skip", "text/csv", "phone,Time Zone\n+525500000001,"+zone+"\n")
			return respondents(r)
		},
		"a correction by a file": func(r *webtest.Rig, zone string) string {
			p := r.Respondent(1)
			r.Load("?on_error=skip&duplicates=update", "text/csv", "phone,time_zone\n"+p.Phone+","+zone+"\n")
			return respondents(r)
		},
		"a correction": func(r *webtest.Rig, zone string) string {
			r.Respondent(1)
			r.Do("PATCH", "/v1/surveys/s1/respondents/r1", `{"attributes":{"time_zone":`+zone+`}}`)
			return respondents(r)
		},
		"an application's report": func(r *webtest.Rig, zone string) string {
			r.Respondent(1, webtest.Active)
			r.Do("POST", "/v1/surveys/s1/respondents/r1/disposition", `{"answers":{"time_zone":`+zone+`}}`)
			if len(r.People.Heard) == 0 {
				return ""
			}
			return r.People.Heard[0].Answers["time_zone"]
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
			for given, want := range map[string]string{
				"Africa/Nairobi": "Africa/Nairobi", "africa/nairobi": "Africa/Nairobi", " AFRICA/Nairobi ": "Africa/Nairobi", "america/port-AU-prince": "America/Port-au-Prince",
				"Etc/GMT+3": "Etc/GMT+3", "UTC": "UTC", "utc": "UTC", "US/Eastern": "US/Eastern", "America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires",
				"EAT": "", "UTC+3": "", "+03:00": "", "Africa/Nairoby": "", "Nairobi": "", "Africa": "", "Local": "", "../zone": "", "3": "",
			} {
				r.People.StoredRespondents, r.People.Heard = nil, nil
				text, err := json.Marshal(given)
				if err != nil {
					t.Fatal(err)
				}
				if got := does(r, string(text)); got != want {
					t.Errorf("%q is stored as %q, want %q", given, got, want)
				}
			}
		})
	}
}
