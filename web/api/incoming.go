package api

import (
	"context"
	"math"
	"net/http"
	"strconv"

	"weir"
	"weir/api"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// incomingReader reads the messages that people sent.
type incomingReader interface {
	// IncomingSince lists messages with a greater ID, oldest first.
	IncomingSince(ctx context.Context, channel weir.ChannelID, after int64, limit int) ([]weir.Incoming, error)
}

// incomingRoutes serves incoming messages.
type incomingRoutes struct {
	lookup channelLookup
	store  incomingReader
}

func (r *incomingRoutes) table() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/channels/{channel}/incoming", ID: "list-incoming", Tag: "channels",
		Summary: "List incoming messages of a channel, oldest first",
		Query: []httpjson.Parameter{
			{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Default: int64(0), Description: "only messages with a greater id"},
			route.LimitParameter(100, 1000),
		},
		Handle:  r.lookup.onChannel(r.list),
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.IncomingList]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}}
}

func (r *incomingRoutes) list(c *route.Call, ch weir.Channel) (route.Reply, error) {
	most := c.Query.Int("limit")
	rows, err := r.store.IncomingSince(c, ch.ID, int64(c.Query.Int("after")), most+1)
	if err != nil {
		return route.Reply{}, err
	}
	list, next := pageOf(rows, most, func(m *weir.Incoming) api.IncomingView {
		v := incomingView(m)
		if !c.PII() {
			maskIncoming(&v)
		}
		return v
	}, func(v *api.IncomingView) string { return v.ID })
	return route.Reply{Status: http.StatusOK, Body: api.IncomingList{Incoming: list, NextCursor: next}}, nil
}

func incomingView(m *weir.Incoming) api.IncomingView {
	return api.IncomingView{ID: strconv.FormatInt(m.ID, 10), From: m.From, To: m.To, Body: m.Body, GUID: m.GUID, ReceivedAt: m.ReceivedAt.UTC(), Fields: m.Fields}
}

// maskIncoming masks a message and all other fields that the provider sent with
// it.
func maskIncoming(v *api.IncomingView) {
	from := v.From
	v.From, v.Body, v.GUID = auth.MaskNumber(from), auth.MaskText(v.Body), auth.MaskOwn(v.GUID, from)
	if v.To != "" {
		v.To = auth.MaskNumber(v.To)
	}
	fields := make(map[string]string, len(v.Fields))
	for name, value := range v.Fields {
		if name == "body" || name == "text" || name == "message" {
			value = auth.MaskText(value)
		}
		fields[name] = auth.MaskOwn(auth.MaskValue(value), from)
	}
	v.Fields = fields
}
