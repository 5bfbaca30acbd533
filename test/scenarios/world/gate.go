package world

import (
	"context"
	"fmt"
	"sync"

	dto "github.com/prometheus/client_model/go"

	"weir/channels"
)

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		found := false
		for _, l := range m.GetLabel() {
			found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}

// gate holds calls of the lab until it is opened or their process crashes.
type gate struct {
	Open func()
	Wait func(l *Lab, ctx context.Context)
}

func NewGate() gate {
	opened := make(chan struct{})
	return gate{
		Open: sync.OnceFunc(func() { close(opened) }),
		Wait: func(l *Lab, ctx context.Context) {
			select {
			case <-opened:
			case <-l.Crashed():
			case <-ctx.Done():
			}
		},
	}
}

// Lost returns the result of a dispatch whose answer did not arrive.
func Lost() channels.SendResult {
	return channels.SendResult{Status: channels.Unclear, Reason: "timeout", ChannelFault: true}
}

// Calls returns n contacts for a channel of type labcall.
func Calls(prefix string, n int) []Fields {
	var list []Fields
	for i := range n {
		key := fmt.Sprintf("%s-%04d", prefix, i+1)
		list = append(list, Fields{"key": key, "to": "+15550100", "call": Fields{"callback_url": CallURL(key)}})
	}
	return list
}

// CallURL returns the callback URL by which the lab identifies a call.
func CallURL(key string) string { return "http://flow.test/" + key }
