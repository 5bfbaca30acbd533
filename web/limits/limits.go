package limits

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/internal/validation"
	"weir/limits"
	"weir/operators"
	"weir/people"
	webapi "weir/web/api"
	"weir/web/httpjson"
	"weir/web/route"
)

const limitPath = "/v1/limits/{name}"

// limitRoutes serves limits.
type limitRoutes struct {
	limits   limits.Limits
	prices   limits.Prices
	channels webapi.ChannelReader
}

func (r *limitRoutes) table() []*route.Route {
	view := route.TypeOf[api.LimitView]()
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/limits", ID: "list-limits", Tag: "limits", Summary: "List limits", Handle: r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "all of them", Body: route.TypeOf[api.LimitList]()}},
		},
		{
			Method: "GET", Path: limitPath, ID: "get-limit", Tag: "limits", Summary: "Get a limit", Handle: r.get,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the limit", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PUT", Path: limitPath, ID: "put-limit", Tag: "limits", Summary: "Set a limit that channels share",
			Description: "It bounds what its channels do together, such as the numbers of one account at a provider. It is looked at in the transaction that claims a contact: it is never exceeded, also not after a crash. " +
				"A channel may have several limits; a contact is claimed if all of them have room.",
			Body: route.TypeOf[api.Limit](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.put,
			Query:   []httpjson.Parameter{route.Create("limit"), route.DryRun()},
			Answers: []route.Answer{{Status: http.StatusOK, Description: "set", Body: view}, {Status: http.StatusCreated, Description: "created", Body: view}, route.RightAnswer()},
			Codes:   []weir.Code{weir.CodeConflict},
		},
		{
			Method: "DELETE", Path: limitPath, ID: "delete-limit", Tag: "limits", Summary: "Delete a limit", Handle: r.remove,
			Answers: []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
	}
}

func (r *limitRoutes) view(name string, l *limits.Limit) api.LimitView {
	use := r.limits.LimitUse()[name]
	v := api.LimitView{Name: name, Limit: api.Limit(*l), LimitUse: use.LimitUse}
	if l.CountsMoney() {
		v.MoneyToday, v.MoneyMonth, v.MoneySpent = use.Today.String(), use.Month.String(), use.Spent.String()
	}
	return v
}

func (r *limitRoutes) list(_ *route.Call) (route.Reply, error) {
	known := r.limits.Limits()
	out := api.LimitList{Limits: make([]api.LimitView, 0, len(known))}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out.Limits = append(out.Limits, r.view(name, known[name]))
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

func (r *limitRoutes) get(c *route.Call) (route.Reply, error) {
	name := c.Request.PathValue("name")
	l := r.limits.Limits()[name]
	if l == nil {
		return route.Reply{}, weir.Errorf(weir.CodeNotFound, "there is no limit %q", name)
	}
	return route.Reply{Status: http.StatusOK, Body: r.view(name, l)}, nil
}

func (r *limitRoutes) put(c *route.Call) (route.Reply, error) {
	name := c.Request.PathValue("name")
	if !people.ValidPurposeName(name) {
		c.Errors.Add("/name", "format", "must be 1 to 63 characters of a-z, 0-9, underscore and hyphen, begin with a letter or digit, and not be %s", people.AllPurposes)
	}
	var given limits.Limit
	c.Decode(&given)
	unknown, err := r.unfitChannels(c, &given)
	if err != nil {
		return route.Reply{}, err
	}
	wrong := []weir.FieldError(given.Check())
	wrong = append(wrong, validation.Without(unknown, wrong)...)
	if slices.ContainsFunc(c.Errors, func(e weir.FieldError) bool { return slices.Contains(limitPointers(), e.Pointer) }) {
		// A number is there, but wrong.
		wrong = validation.Without(wrong, []weir.FieldError{{Pointer: ""}})
	}
	c.Errors.Append(validation.Without(wrong, c.Errors)...)
	before := r.limits.Limits()[name]
	on := c.Condition("limit", "/name")
	if before != nil && on.Create {
		return route.Reply{}, c.Taken(on, name)
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if c.DryRun() {
		return route.Checked(r.limits.CheckLimit(c, name, &given, on))
	}
	if err := r.limits.PutLimit(c, name, &given, on); err != nil {
		return route.Reply{}, err
	}
	out := route.Reply{Status: http.StatusOK, Body: r.view(name, &given), Changes: []operators.FieldChange{{Field: "limit", After: limitText(&given)}}}
	if before == nil {
		out.Status = http.StatusCreated
	} else {
		out.Changes[0].Before = limitText(before)
	}
	return out, nil
}

// limitPointers returns the pointers of the fields of which a limit needs one.
func limitPointers() []string {
	list := []string{"/money", "/money_per_day", "/money_per_month"}
	for _, b := range new(api.Limit).Bounds() {
		list = append(list, "/"+b.Member)
	}
	return list
}

// unfitChannels returns the mistakes about channels that do not exist, or have no price in the
// limit's currency.
func (r *limitRoutes) unfitChannels(c *route.Call, l *limits.Limit) (m []weir.FieldError, err error) {
	prices := r.prices.Prices()
	for i, channel := range l.Channels[:min(len(l.Channels), limits.MaxLimitChannels)] {
		_, err := r.channels.Channel(c, channel)
		at := "/channels/" + strconv.Itoa(i)
		switch price := prices[channel]; {
		case weir.CodeOf(err) == weir.CodeNotFound:
			m = append(m, weir.FieldError{Pointer: at, Code: "unknown", Detail: fmt.Sprintf("channel %q does not exist", channel)})
		case err != nil:
			return nil, err
		case l.CountsMoney() && l.Currency != "" && (price == nil || price.Currency != l.Currency):
			m = append(m, weir.FieldError{Pointer: at, Code: "no_price", Detail: fmt.Sprintf("channel %q has no price in %s: set it first", channel, l.Currency)})
		}
	}
	return m, nil
}

// limitText returns a limit as the audit log has it.
func limitText(l *limits.Limit) string {
	var parts []string
	for _, b := range (*api.Limit)(l).Bounds() {
		if b.Most > 0 {
			parts = append(parts, strconv.Itoa(b.Most)+" "+b.Words)
		}
	}
	for _, x := range []struct{ amount, when string }{{l.MoneyPerDay, " a day"}, {l.MoneyPerMonth, " a month"}, {l.Money, " in all"}} {
		if x.amount != "" {
			parts = append(parts, x.amount+" "+l.Currency+x.when)
		}
	}
	text := strings.Join(parts, ", ")
	if len(l.Channels) > 0 {
		text += " over " + strings.Join(l.Channels, ", ")
	}
	if len(l.Surveys) > 0 {
		text += " for " + strings.Join(l.Surveys, ", ")
	}
	return text
}

func (r *limitRoutes) remove(c *route.Call) (route.Reply, error) {
	if err := r.limits.DeleteLimit(c, c.Request.PathValue("name")); err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusNoContent}, nil
}
