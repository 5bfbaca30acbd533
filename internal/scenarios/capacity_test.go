package scenarios_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir"
	"weir/channels"
)

// Scenario 1: capacity 5, 10 contacts: exactly the first 5 are dispatched.
// Scenario 2: each contact that ends lets exactly one more start.
func TestCapacity_FirstFiveThenOneForOne(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 5)
		w.accept("ch", many("c", 10)...)
		w.sent(5)
		if got := fmt.Sprint(w.sentSet()); got != "[c-0001 c-0002 c-0003 c-0004 c-0005]" {
			w.Fatalf("sent %s", got)
		}
		if inFlight, queued := w.figure("ch", "in_flight"), w.figure("ch", "queued"); inFlight != 5 || queued != 5 {
			w.Fatalf("in flight %d, queued %d; want 5 and 5", inFlight, queued)
		}
		w.finish("c-0002", "c-0004")
		w.sent(7)
		if now, most := w.lab.use("ch"); now != 5 || most != 5 {
			w.Fatalf("the provider has %d in flight and had %d; want 5 and 5", now, most)
		}
	})
}

// Scenario 3: acks of messages free their slots: four acks, four more contacts.
func TestCapacity_EachAckLetsOneMoreGo(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 4)
		ids := w.accept("ch", many("c", 10)...)
		w.sent(4)
		for i, key := range w.lab.sentKeys() {
			if status := w.report(key, "0", "completed"); status != http.StatusOK {
				w.Fatalf("the ack of %s was answered %d", key, status)
			}
			w.sent(5 + i)
			if outcome := w.done(ids[key]); outcome != "completed" {
				w.Fatalf("%s ended as %s", key, outcome)
			}
		}
		w.expectInFlight("ch", 4)
	})
}

// Scenario 4: each ack of a contact with three messages frees one slot; the
// contact is done after the third.
func TestCapacity_PartsFreeSlotsOneByOne(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 3)
		ids := w.accept("ch", sms("three", texts("three", 3)), sms("x"), sms("y"), sms("z"))
		w.sent(1)
		w.expectInFlight("ch", 3)
		w.becomes(ids["three"], "active")
		for i, part := range []string{"1", "0", "2"} {
			if state := w.contact(ids["three"])["state"]; state != "active" {
				w.Fatalf("with %d of 3 messages acknowledged the contact is %v", i, state)
			}
			w.report("three", part, "completed")
			w.sent(2 + i)
			w.expectInFlight("ch", 3)
		}
		if outcome := w.done(ids["three"]); outcome != "completed" {
			w.Fatalf("the contact ended as %s", outcome)
		}
		if got := strings.Join(w.lab.sentKeys(), " "); got != "three x y z" {
			w.Fatalf("sent %s", got)
		}
	})
}

// Scenario 5: a contact that does not fit waits at the head of the queue, and
// contacts behind it do not overtake it.
func TestCapacity_LargeContactWaitsAtTheHead(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 4)
		w.accept("ch", many("c", 3)...)
		w.sent(3)
		w.accept("ch", sms("large", texts("large", 3)), sms("small"))
		w.sent(3)
		w.finish("c-0001")
		w.sent(3)
		w.finish("c-0002")
		w.sent(4)
		if got := w.lab.sentKeys()[3]; got != "large" {
			w.Fatalf("%s overtook the contact that waited", got)
		}
		w.expectInFlight("ch", 4)
		w.finish("c-0003")
		w.sent(5)
	})
}

// Scenario 5, the API: a contact larger than the channel is rejected, with the
// whole request.
func TestCapacity_LargerThanTheChannelIsRefused(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.channel("ch", 4)
		a := w.want(http.StatusUnprocessableEntity, "POST", "/v1/channels/ch/contacts",
			fields{"contacts": []fields{sms("fits"), sms("huge", texts("huge", 5))}})
		if mistake := a.Body["errors"].([]any)[0].(map[string]any); mistake["pointer"] != "/contacts/1/messages" || mistake["code"] != "size" {
			w.Fatalf("the mistake is shown as %v", mistake)
		}
		w.sent(0)
		w.accept("ch", sms("full", texts("full", 4)))
		w.sent(1)
		w.expectInFlight("ch", 4)
	})
}

// Scenario 5, later: a contact that became larger than the channel, because
// the capacity was lowered, is shown as blocked and lets others pass; it is
// dispatched when it fits again.
func TestCapacity_BlockedContactLetsOthersPass(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 4)
		w.accept("ch", sms("out", texts("out", 4)))
		w.sent(1)
		ids := w.accept("ch", sms("large", texts("large", 3)), sms("a"), sms("b"))
		w.capacity("ch", 2)
		w.finish("out")
		w.sent(3)
		if got := fmt.Sprint(w.sentSet()); got != "[a b out]" {
			w.Fatalf("sent %s", got)
		}
		w.until("the blocked contact is shown", func() bool { return w.figure("ch", "blocked") == 1 }) // the provider may see the others first
		if state := w.contact(ids["large"])["state"]; state != "queued" {
			w.Fatalf("the blocked contact is %v", state)
		}
		// A restart counts the same.
		w.restart()
		w.until("the blocked contact is shown after a restart", func() bool { return w.figure("ch", "blocked") == 1 })
		w.expectInFlight("ch", 2)
		// Now it fits again, and waits at the head.
		w.capacity("ch", 3)
		w.accept("ch", sms("c"))
		w.finish("a")
		w.sent(3)
		w.finish("b")
		w.sent(4)
		if got := w.lab.sentKeys()[3]; got != "large" {
			w.Fatalf("%s overtook the contact that fits again", got)
		}
		if n := w.figure("ch", "blocked"); n != 0 {
			w.Fatalf("%d contacts are shown as blocked, want none", n)
		}
		w.finish("large")
		w.sent(5)
	})
}

// Scenario 6: a channel without a capacity has the default, 100.
func TestCapacity_DefaultIsAHundred(t *testing.T) {
	onStores(t, func(w *world) {
		w.want(http.StatusCreated, "PUT", "/v1/channels/ch", fields{"type": "lab"})
		w.accept("ch", many("c", 101)...)
		w.sent(100)
		w.expectInFlight("ch", 100)
	})
}

// Scenario 8: null means the default; a string is rejected; no value means
// "unlimited".
func TestCapacity_OfAWrongKindIsRejected(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		for _, wrong := range []any{"5", "unlimited", "", 0, -1, 1.5, 1_000_001, []int{5}, true} {
			w.want(http.StatusUnprocessableEntity, "PUT", "/v1/channels/ch", fields{"type": "lab", "capacity": wrong})
		}
		w.want(http.StatusNotFound, "GET", "/v1/channels/ch", nil)
		w.want(http.StatusCreated, "PUT", "/v1/channels/ch", fields{"type": "lab", "capacity": nil})
		w.accept("ch", many("c", 150)...)
		w.sent(100)
		for _, wrong := range []any{"150", 0, -1} {
			w.want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/ch", fields{"capacity": wrong})
		}
		w.sent(100)
		w.capacity("ch", 110)
		w.sent(110)
		w.want(http.StatusOK, "PATCH", "/v1/channels/ch", fields{"capacity": nil})
		if n := w.figure("ch", "capacity"); n != 100 {
			w.Fatalf("the capacity is %d after it was taken away, want the default", n)
		}
		w.finish("c-0001")
		w.sent(110)
	})
}

// Scenario 9: a raised capacity takes effect at once, not at the next event or
// reconciler run.
func TestCapacity_RaisedCapacityCountsAtOnce(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 4)
		w.accept("ch", many("c", 10)...)
		w.sent(4)
		w.atOnce(func() {
			w.capacity("ch", 6)
			w.sent(6)
		})
		w.expectInFlight("ch", 6)
	})
}

// Scenario 10: a lowered capacity cancels nothing in flight, and starts nothing
// until enough contacts have ended.
func TestCapacity_LoweredCapacityDrains(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 10)
		w.accept("ch", many("c", 15)...)
		w.sent(10)
		w.capacity("ch", 4)
		keys := w.lab.sentKeys()
		w.finish(keys[:6]...)
		w.sent(10)
		w.expectInFlight("ch", 4)
		w.finish(keys[6])
		w.sent(11)
		w.expectInFlight("ch", 4)
		w.finish(keys[7:]...)
		w.sent(14)
		if calledBack := w.lab.calledBack(); len(calledBack) > 0 {
			w.Fatalf("the provider was asked to give back %v", calledBack)
		}
	})
}

// Scenario 11: a capacity is durable from its 200 on, whatever crashes then: the
// program, or the broker while it processes the message that announces it.
func TestCapacity_SurvivesACrash(t *testing.T) {
	t.Run("program", func(t *testing.T) {
		onStores(t, func(w *world) {
			w.channel("ch", 4)
			w.accept("ch", many("a", 4)...)
			w.sent(4)
			w.capacity("ch", 6)
			w.restart()
			w.accept("ch", many("b", 4)...)
			w.sent(6)
			w.expectInFlight("ch", 6)
			w.capacity("ch", 2)
			w.restart()
			w.finish(w.lab.sentKeys()[:4]...)
			w.sent(6)
			w.finish(w.lab.sentKeys()[4])
			w.sent(7)
			w.expectInFlight("ch", 2)
		})
	})
	t.Run("broker", func(t *testing.T) {
		onStores(t, func(w *world) {
			fuse := w.fuse()
			w.channel("ch", 4)
			w.accept("ch", many("c", 10)...)
			w.sent(4)
			fuse.light()
			w.capacity("ch", 6)
			w.sent(6)
			if !fuse.blown() {
				w.Fatal("the broker did not crash")
			}
			w.expectInFlight("ch", 6)
		})
	})
}

// Scenario 13: whatever frees a slot, the next contact takes it in the same
// instant.
func TestCapacity_FreedSlotIsRefilledAtOnce(t *testing.T) {
	free := map[string]func(w *world, id string){
		"completed": func(w *world, _ string) { w.finish("first") },
		"expired at the provider": func(w *world, _ string) {
			w.report("first", "all", "expired")
		},
		"canceled": func(w *world, id string) {
			w.want(http.StatusAccepted, "DELETE", "/v1/contacts/"+id, nil)
		},
		"collected: over": func(w *world, _ string) {
			w.lab.behave(func(l *lab) {
				l.onAsk = func(_ context.Context, a labAttempt) channels.Answer {
					l.end(a, "all", "completed")
					return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.ref, Part: weir.WholeContact, Outcome: weir.Completed}}}
				}
			})
		},
		"collected: the provider has forgotten it": func(w *world, _ string) {
			w.lab.behave(func(l *lab) {
				l.onAsk = func(_ context.Context, a labAttempt) channels.Answer {
					l.end(a, "all", "lost")
					return channels.Answer{Status: channels.Absent}
				}
			})
		},
		"refused": func(w *world, _ string) {},
	}
	outcomes := map[string]string{
		"completed": "completed", "expired at the provider": "expired", "canceled": "canceled",
		"collected: over": "completed", "collected: the provider has forgotten it": "lost", "refused": "failed",
	}
	for name, act := range free {
		t.Run(name, func(t *testing.T) {
			onVirtualTime(t, func(w *world) {
				if name == "refused" {
					w.lab.behave(func(l *lab) { l.onSend = refuseFirst(l) })
				}
				w.channel("ch", 1)
				ids := w.accept("ch", sms("first"), sms("second"), sms("third"))
				w.nth(0)
				act(w, ids["first"])
				w.sent(2)
				if got := w.done(ids["first"]); got != outcomes[name] {
					w.Fatalf("the first ended as %s, want %s", got, outcomes[name])
				}
				if freed, taken := w.finished(ids["first"]), w.claimed(ids["second"]); !freed.Equal(taken) {
					w.Fatalf("the slot was free at %s and taken at %s", freed, taken)
				}
			})
		})
	}
}

// refuseFirst returns a Send that refuses the contact "first" and accepts all others.
func refuseFirst(l *lab) func(context.Context, labAttempt) channels.SendResult {
	return func(_ context.Context, a labAttempt) channels.SendResult {
		if a.key == "first" {
			return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "no such number"}
		}
		return l.take(a)
	}
}

// The slots of reply_reserve are for replies only, count as part of the
// capacity, and can be changed at run time.
func TestCapacity_ReplyReserveKeepsSlots(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 4, fields{"settings": fields{"reply_reserve": 2}})
		w.accept("ch", many("n", 4, fields{"priority": "high"})...)
		w.sent(2)
		w.accept("ch", many("r", 3, fields{"priority": "reply"})...)
		w.sent(4)
		if got := fmt.Sprint(w.sentSet()); got != "[n-0001 n-0002 r-0001 r-0002]" {
			w.Fatalf("sent %s", got)
		}
		// A free slot outside of the reserve may be taken by a reply, which is first in line.
		w.finish("n-0001")
		w.sent(5)
		w.expectInFlight("ch", 4)
		// A slot that a reply frees stays reserved.
		w.finish("r-0001", "r-0002")
		w.sent(6) // r-0003 and n-0002 are in flight; one more fits beside them
		w.expectInFlight("ch", 3)
		w.want(http.StatusOK, "PATCH", "/v1/channels/ch", fields{"settings": fields{"reply_reserve": 0}})
		w.sent(7)
		w.expectInFlight("ch", 4)
		w.want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/ch", fields{"settings": fields{"reply_reserve": 4}})
	})
}

// A contact that waits for slots does not block the slots reserved for replies.
func TestCapacity_ReplyReserveIsOpenWhileALargeContactWaits(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 5, fields{"settings": fields{"reply_reserve": 2}})
		w.accept("ch", sms("out"), sms("large", texts("large", 3)))
		w.sent(1)
		w.accept("ch", sms("r-1", fields{"priority": "reply"}), sms("r-2", fields{"priority": "reply"}))
		w.sent(3)
		w.want(http.StatusUnprocessableEntity, "POST", "/v1/channels/ch/contacts",
			fields{"contacts": []fields{sms("huge", texts("huge", 4))}}) // larger than the capacity without the reserve
		w.finish("out")
		w.sent(4)
		w.expectInFlight("ch", 5)
	})
}
