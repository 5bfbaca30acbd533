package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web"
	"weir/web/webtest"
)

// figured is a broker whose channels all have the same figures.
type figured struct {
	web.Broker
	figures operators.Figures
}

func (f figured) Figures(context.Context, weir.Channel) (operators.Figures, error) {
	return f.figures, nil
}

func (f figured) FiguresOf(_ context.Context, list []weir.Channel) ([]operators.Figures, error) {
	out := make([]operators.Figures, len(list))
	for i := range out {
		out[i] = f.figures
	}
	return out, nil
}

func TestFigures_OfAChannelShowBreakerAndReconciler(t *testing.T) {
	t.Parallel()
	later := webtest.Start().Add(time.Minute)
	for name, x := range map[string]struct {
		figures operators.Figures
		breaker api.BreakerView
		collect *api.CollectView
		due     time.Time
	}{
		"idle":    {operators.Figures{}, api.BreakerView{State: "closed"}, nil, time.Time{}},
		"open":    {operators.Figures{Breaker: operators.BreakerOpen, BreakerUntil: later}, api.BreakerView{State: "open", Until: later}, nil, time.Time{}},
		"probing": {operators.Figures{Breaker: operators.BreakerProbing, BreakerUntil: webtest.Start()}, api.BreakerView{State: "half_open"}, nil, time.Time{}},
		"busy": {
			operators.Figures{Reconciliation: operators.Reconciliation{At: webtest.Start(), Checked: 7, Resolved: 3}, NextDue: later},
			api.BreakerView{State: "closed"}, &api.CollectView{At: webtest.Start(), Checked: 7, Settled: 3}, later,
		},
		"due": {operators.Figures{NextDue: webtest.Start()}, api.BreakerView{State: "closed"}, nil, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x.figures.SentPerMinute, x.figures.Health = 1.0/3, weir.Up
			r := webtest.New(t, func(o *web.Options) { o.Broker = figured{o.Broker, x.figures} })
			r.Channel("a", "texts")
			r.Channel("b", "texts")
			one := webtest.Into[api.ChannelView](t, r.Do("GET", "/v1/channels/a", ""), 200)
			list := webtest.Into[api.ChannelList](t, r.Do("GET", "/v1/channels", ""), 200)
			for _, v := range append(list.Channels, one) {
				if v.SentPerMinute != 0.33 || !cmp.Equal(v.Breaker, x.breaker) || !cmp.Equal(v.LastCollection, x.collect) || !cmp.Equal(v.NextDueAt, x.due) {
					t.Errorf("%+v", v)
				}
			}
			if len(list.Channels) != 2 {
				t.Errorf("%d channels", len(list.Channels))
			}
		})
	}
}
