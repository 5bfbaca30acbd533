package limits

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/internal/validation"
	"weir/limits"
	"weir/operators"
	webapi "weir/web/api"
	"weir/web/httpjson"
	"weir/web/route"
)

const pricePath = "/v1/prices/{channel}"

// priceRoutes serves prices, and what was spent.
type priceRoutes struct {
	prices   limits.Prices
	limits   limits.Limits
	channels webapi.ChannelReader
	now      func() time.Time
}

func (r *priceRoutes) table() []*route.Route {
	view := route.TypeOf[api.PriceView]()
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/prices", ID: "list-prices", Tag: "limits", Summary: "List prices", Handle: r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "all of them", Body: route.TypeOf[api.PriceList]()}},
		},
		{
			Method: "GET", Path: pricePath, ID: "get-price", Tag: "limits", Summary: "Get the price of a channel", Handle: r.get,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the price", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PUT", Path: pricePath, ID: "put-price", Tag: "limits", Summary: "Set what contacts over a channel cost",
			Description: "From then on each claim reserves what it is expected to cost, and its end corrects that: by the provider's own price if it reports one, by the seconds of a call otherwise. " +
				"What was spent counts for limits of money, which are never exceeded by what is reserved.",
			Body: route.TypeOf[api.Price](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.put,
			Query:   []httpjson.Parameter{route.DryRun()},
			Answers: []route.Answer{{Status: http.StatusOK, Description: "set", Body: view}, {Status: http.StatusCreated, Description: "created", Body: view}, route.RightAnswer()},
			Codes:   []weir.Code{weir.CodeConflict, weir.CodeNotFound},
		},
		{
			Method: "DELETE", Path: pricePath, ID: "delete-price", Tag: "limits", Summary: "Delete the price of a channel", Handle: r.remove,
			Answers: []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
		{
			Method: "GET", Path: "/v1/spending", ID: "list-spending", Tag: "limits", Summary: "List what was spent",
			Description: "The sum of what attempts cost that were claimed on a day, in UTC. Contacts over channels without a price are not in it.",
			Query: append([]httpjson.Parameter{
				{Name: "days", Kind: "integer", Minimum: 1, Maximum: 1000, Default: int64(30), Description: "how many days, today the last"},
			}, route.Paging(1000, 1000)...),
			Handle:  r.spending,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.SpendingList]()}},
		},
	}
}

func (r *priceRoutes) list(c *route.Call) (route.Reply, error) {
	known := r.prices.Prices()
	out := api.PriceList{Prices: make([]api.PriceView, 0, len(known))}
	for _, channel := range slices.Sorted(maps.Keys(known)) {
		if !c.Reaches(operators.Channel(channel)) {
			continue
		}
		view := api.PriceView{Channel: channel, Price: api.Price(*known[channel].Price)}
		view.Prefixes = nil // there may be thousands
		out.Prices = append(out.Prices, view)
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

func (r *priceRoutes) get(c *route.Call) (route.Reply, error) {
	channel := c.Request.PathValue("channel")
	known := r.prices.Prices()[channel]
	if known == nil {
		return route.Reply{}, weir.Errorf(weir.CodeNotFound, "channel %q has no price", channel)
	}
	return route.Reply{Status: http.StatusOK, Body: api.PriceView{Channel: channel, Price: api.Price(*known.Price)}}, nil
}

// mayChange returns an error if the price of a channel decides how much of a limit of money is
// used and the sender may not change the limit itself: without a price nothing would count.
func (r *priceRoutes) mayChange(c *route.Call, channel string) error {
	for _, l := range r.limits.Limits() {
		if l.CountsMoney() && (len(l.Channels) == 0 || slices.Contains(l.Channels, channel)) {
			return c.RequireReach(operators.Subject{})
		}
	}
	return nil
}

func (r *priceRoutes) put(c *route.Call) (route.Reply, error) {
	channel := c.Request.PathValue("channel")
	if err := r.mayChange(c, channel); err != nil {
		return route.Reply{}, err
	}
	if _, err := r.channels.Channel(c, channel); err != nil {
		return route.Reply{}, err
	}
	var given limits.Price
	c.Decode(&given)
	wrong := []weir.FieldError(given.Check())
	if slices.ContainsFunc(c.Errors, func(e weir.FieldError) bool { return strings.HasPrefix(e.Pointer, "/per_") }) {
		wrong = validation.Without(wrong, []weir.FieldError{{Pointer: ""}}) // an amount is there, but wrong
	}
	c.Errors.Append(validation.Without(wrong, c.Errors)...)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if c.DryRun() {
		return route.Checked(r.prices.CheckPrice(c, channel, &given))
	}
	before := r.prices.Prices()[channel]
	if err := r.prices.PutPrice(c, channel, &given); err != nil {
		return route.Reply{}, err
	}
	out := route.Reply{Status: http.StatusOK, Body: api.PriceView{Channel: channel, Price: api.Price(given)}, Changes: []operators.FieldChange{{Field: "price", After: priceText(&given)}}}
	if before == nil {
		out.Status = http.StatusCreated
	} else {
		out.Changes[0].Before = priceText(before.Price)
	}
	return out, nil
}

// priceText returns a price as the audit log has it.
func priceText(p *limits.Price) string {
	var parts []string
	for _, x := range []struct{ amount, of string }{{p.PerAttempt, "an attempt"}, {p.PerSegment, "a segment"}, {p.PerMinute, "a minute"}} {
		if x.amount != "" {
			parts = append(parts, x.amount+" "+p.Currency+" "+x.of)
		}
	}
	if n := len(p.Prefixes); n > 0 {
		parts = append(parts, strconv.Itoa(n)+" prefixes in "+p.Currency)
	}
	return strings.Join(parts, ", ")
}

func (r *priceRoutes) remove(c *route.Call) (route.Reply, error) {
	channel := c.Request.PathValue("channel")
	if err := r.mayChange(c, channel); err != nil {
		return route.Reply{}, err
	}
	if err := r.prices.DeletePrice(c, channel); err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusNoContent}, nil
}

func (r *priceRoutes) spending(c *route.Call) (route.Reply, error) {
	after, ok := readPlace(c.Query.Text("cursor"))
	if !ok {
		c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	today, limit := weir.DayOf(r.now()), c.Query.Int("limit")
	names := webapi.NewChannelNames(r.channels)
	list, more, err := route.FillPage(limit, after,
		func(after *limits.Spending, limit int) ([]limits.Spending, error) {
			return r.prices.Spending(c, today-c.Query.Int("days")+1, today, after, limit)
		},
		func(x *limits.Spending) (bool, error) {
			name, err := names.Of(c, x.Channel)
			return c.Reaches(operators.Channel(name)), err
		})
	if err != nil {
		return route.Reply{}, err
	}
	out := api.SpendingList{Spending: make([]api.SpendingView, len(list))}
	for i, x := range list {
		name, err := names.Of(c, x.Channel)
		if err != nil {
			return route.Reply{}, err
		}
		out.Spending[i] = api.SpendingView{Day: weir.DayText(x.Day), Channel: name, Survey: x.Survey, Currency: x.Currency, Amount: x.Amount.String()}
	}
	if more {
		out.NextCursor = placeText(&list[limit-1])
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

// placeText returns the place of an entry, as a cursor.
func placeText(x *limits.Spending) string {
	text, _ := json.Marshal([]any{x.Day, x.Channel, x.Survey, x.Currency}) // numbers and texts
	return base64.RawURLEncoding.EncodeToString(text)
}

// readPlace reads what placeText wrote. Empty is the beginning: nil.
func readPlace(cursor string) (*limits.Spending, bool) {
	if cursor == "" {
		return nil, true
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, false
	}
	var x limits.Spending
	err = json.Unmarshal(text, &[]any{&x.Day, &x.Channel, &x.Survey, &x.Currency})
	return &x, err == nil && placeText(&x) == cursor
}
