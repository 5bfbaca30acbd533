package contacts_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 1: capacity 5, 10 contacts: exactly the first 5 are dispatched.
// Scenario 2: each contact that ends lets exactly one more start.
func TestCapacity_FirstFiveThenOneForOne(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 5)
		w.Accept("ch", world.Many("c", 10)...)
		w.Sent(5)
		if got := fmt.Sprint(w.SentSet()); got != "[c-0001 c-0002 c-0003 c-0004 c-0005]" {
			w.Fatalf("sent %s", got)
		}
		if inFlight, queued := w.Figure("ch", "in_flight"), w.Figure("ch", "queued"); inFlight != 5 || queued != 5 {
			w.Fatalf("in flight %d, queued %d; want 5 and 5", inFlight, queued)
		}
		w.Finish("c-0002", "c-0004")
		w.Sent(7)
		if now, most := w.Lab.Use("ch"); now != 5 || most != 5 {
			w.Fatalf("the provider has %d in flight and had %d; want 5 and 5", now, most)
		}
	})
}

// Scenario 3: acks of messages free their slots: four acks, four more contacts.
func TestCapacity_EachAckLetsOneMoreGo(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 4)
		ids := w.Accept("ch", world.Many("c", 10)...)
		w.Sent(4)
		for i, key := range w.Lab.SentKeys() {
			if status := w.Report(key, "0", "completed"); status != http.StatusOK {
				w.Fatalf("the ack of %s was answered %d", key, status)
			}
			w.Sent(5 + i)
			if outcome := w.Done(ids[key]); outcome != "completed" {
				w.Fatalf("%s ended as %s", key, outcome)
			}
		}
		w.ExpectInFlight("ch", 4)
	})
}

// Scenario 4: each ack of a contact with three messages frees one slot; the
// contact is done after the third.
func TestCapacity_PartsFreeSlotsOneByOne(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 3)
		ids := w.Accept("ch", world.SMS("three", world.Texts("three", 3)), world.SMS("x"), world.SMS("y"), world.SMS("z"))
		w.Sent(1)
		w.ExpectInFlight("ch", 3)
		w.Becomes(ids["three"], "active")
		for i, part := range []string{"1", "0", "2"} {
			if state := w.Contact(ids["three"])["state"]; state != "active" {
				w.Fatalf("with %d of 3 messages acknowledged the contact is %v", i, state)
			}
			w.Report("three", part, "completed")
			w.Sent(2 + i)
			w.ExpectInFlight("ch", 3)
		}
		if outcome := w.Done(ids["three"]); outcome != "completed" {
			w.Fatalf("the contact ended as %s", outcome)
		}
		if got := strings.Join(w.Lab.SentKeys(), " "); got != "three x y z" {
			w.Fatalf("sent %s", got)
		}
	})
}

// Scenario 5: a contact that does not fit waits at the head of the queue, and
// contacts behind it do not overtake it.
func TestCapacity_LargeContactWaitsAtTheHead(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 4)
		w.Accept("ch", world.Many("c", 3)...)
		w.Sent(3)
		w.Accept("ch", world.SMS("large", world.Texts("large", 3)), world.SMS("small"))
		w.Sent(3)
		w.Finish("c-0001")
		w.Sent(3)
		w.Finish("c-0002")
		w.Sent(4)
		if got := w.Lab.SentKeys()[3]; got != "large" {
			w.Fatalf("%s overtook the contact that waited", got)
		}
		w.ExpectInFlight("ch", 4)
		w.Finish("c-0003")
		w.Sent(5)
	})
}

// Scenario 5, the API: a contact larger than the channel is rejected, with the
// whole request.
func TestCapacity_LargerThanTheChannelIsRefused(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Channel("ch", 4)
		a := w.Want(http.StatusUnprocessableEntity, "POST", "/v1/channels/ch/contacts",
			world.Fields{"contacts": []world.Fields{world.SMS("fits"), world.SMS("huge", world.Texts("huge", 5))}})
		if mistake := a.Body["errors"].([]any)[0].(map[string]any); mistake["pointer"] != "/contacts/1/messages" || mistake["code"] != "size" {
			w.Fatalf("the mistake is shown as %v", mistake)
		}
		w.Sent(0)
		w.Accept("ch", world.SMS("full", world.Texts("full", 4)))
		w.Sent(1)
		w.ExpectInFlight("ch", 4)
	})
}

// Scenario 5, later: a contact that became larger than the channel, because
// the capacity was lowered, is shown as blocked and lets others pass; it is
// dispatched when it fits again.
func TestCapacity_BlockedContactLetsOthersPass(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 4)
		w.Accept("ch", world.SMS("out", world.Texts("out", 4)))
		w.Sent(1)
		ids := w.Accept("ch", world.SMS("large", world.Texts("large", 3)), world.SMS("a"), world.SMS("b"))
		w.Capacity("ch", 2)
		w.Finish("out")
		w.Sent(3)
		if got := fmt.Sprint(w.SentSet()); got != "[a b out]" {
			w.Fatalf("sent %s", got)
		}
		w.Until("the blocked contact is shown", func() bool { return w.Figure("ch", "blocked") == 1 }) // the provider may see the others first
		if state := w.Contact(ids["large"])["state"]; state != "queued" {
			w.Fatalf("the blocked contact is %v", state)
		}
		// A restart counts the same.
		w.Restart()
		w.Until("the blocked contact is shown after a restart", func() bool { return w.Figure("ch", "blocked") == 1 })
		w.ExpectInFlight("ch", 2)
		// Now it fits again, and waits at the head.
		w.Capacity("ch", 3)
		w.Accept("ch", world.SMS("c"))
		w.Finish("a")
		w.Sent(3)
		w.Finish("b")
		w.Sent(4)
		if got := w.Lab.SentKeys()[3]; got != "large" {
			w.Fatalf("%s overtook the contact that fits again", got)
		}
		if n := w.Figure("ch", "blocked"); n != 0 {
			w.Fatalf("%d contacts are shown as blocked, want none", n)
		}
		w.Finish("large")
		w.Sent(5)
	})
}

// Scenario 6: a channel without a capacity has the default, 100.
func TestCapacity_DefaultIsAHundred(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Want(http.StatusCreated, "PUT", "/v1/channels/ch", world.Fields{"type": "lab"})
		w.Accept("ch", world.Many("c", 101)...)
		w.Sent(100)
		w.ExpectInFlight("ch", 100)
	})
}

// Scenario 8: null means the default; a string is rejected; no value means
// "unlimited".
func TestCapacity_OfAWrongKindIsRejected(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		for _, wrong := range []any{"5", "unlimited", "", 0, -1, 1.5, 1_000_001, []int{5}, true} {
			w.Want(http.StatusUnprocessableEntity, "PUT", "/v1/channels/ch", world.Fields{"type": "lab", "capacity": wrong})
		}
		w.Want(http.StatusNotFound, "GET", "/v1/channels/ch", nil)
		w.Want(http.StatusCreated, "PUT", "/v1/channels/ch", world.Fields{"type": "lab", "capacity": nil})
		w.Accept("ch", world.Many("c", 150)...)
		w.Sent(100)
		for _, wrong := range []any{"150", 0, -1} {
			w.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/ch", world.Fields{"capacity": wrong})
		}
		w.Sent(100)
		w.Capacity("ch", 110)
		w.Sent(110)
		w.Want(http.StatusOK, "PATCH", "/v1/channels/ch", world.Fields{"capacity": nil})
		if n := w.Figure("ch", "capacity"); n != 100 {
			w.Fatalf("the capacity is %d after it was taken away, want the default", n)
		}
		w.Finish("c-0001")
		w.Sent(110)
	})
}

// Scenario 9: a raised capacity takes effect at once, not at the next event or
// reconciler run.
func TestCapacity_RaisedCapacityCountsAtOnce(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 4)
		w.Accept("ch", world.Many("c", 10)...)
		w.Sent(4)
		w.AtOnce(func() {
			w.Capacity("ch", 6)
			w.Sent(6)
		})
		w.ExpectInFlight("ch", 6)
	})
}

// Scenario 10: a lowered capacity cancels nothing in flight, and starts nothing
// until enough contacts have ended.
func TestCapacity_LoweredCapacityDrains(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 10)
		w.Accept("ch", world.Many("c", 15)...)
		w.Sent(10)
		w.Capacity("ch", 4)
		keys := w.Lab.SentKeys()
		w.Finish(keys[:6]...)
		w.Sent(10)
		w.ExpectInFlight("ch", 4)
		w.Finish(keys[6])
		w.Sent(11)
		w.ExpectInFlight("ch", 4)
		w.Finish(keys[7:]...)
		w.Sent(14)
		if calledBack := w.Lab.CalledBack(); len(calledBack) > 0 {
			w.Fatalf("the provider was asked to give back %v", calledBack)
		}
	})
}

// Scenario 11: a capacity is durable from its 200 on, whatever crashes then: the
// program, or the broker while it processes the message that announces it.
func TestCapacity_SurvivesACrash(t *testing.T) {
	t.Run("program", func(t *testing.T) {
		world.OnStores(t, func(w *world.World) {
			w.Channel("ch", 4)
			w.Accept("ch", world.Many("a", 4)...)
			w.Sent(4)
			w.Capacity("ch", 6)
			w.Restart()
			w.Accept("ch", world.Many("b", 4)...)
			w.Sent(6)
			w.ExpectInFlight("ch", 6)
			w.Capacity("ch", 2)
			w.Restart()
			w.Finish(w.Lab.SentKeys()[:4]...)
			w.Sent(6)
			w.Finish(w.Lab.SentKeys()[4])
			w.Sent(7)
			w.ExpectInFlight("ch", 2)
		})
	})
	t.Run("broker", func(t *testing.T) {
		world.OnStores(t, func(w *world.World) {
			fuse := w.Fuse()
			w.Channel("ch", 4)
			w.Accept("ch", world.Many("c", 10)...)
			w.Sent(4)
			fuse.Light()
			w.Capacity("ch", 6)
			w.Sent(6)
			if !fuse.Blown() {
				w.Fatal("the broker did not crash")
			}
			w.ExpectInFlight("ch", 6)
		})
	})
}

// Scenario 13: whatever frees a slot, the next contact takes it in the same
// instant.
func TestCapacity_FreedSlotIsRefilledAtOnce(t *testing.T) {
	free := map[string]func(w *world.World, id string){
		"completed": func(w *world.World, _ string) { w.Finish("first") },
		"expired at the provider": func(w *world.World, _ string) {
			w.Report("first", "all", "expired")
		},
		"canceled": func(w *world.World, id string) {
			w.Want(http.StatusAccepted, "DELETE", "/v1/contacts/"+id, nil)
		},
		"collected: over": func(w *world.World, _ string) {
			w.Lab.Behave(func(l *world.Lab) {
				l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
					l.End(a, "all", "completed")
					return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.Ref, Part: weir.WholeContact, Outcome: weir.Completed}}}
				}
			})
		},
		"collected: the provider has forgotten it": func(w *world.World, _ string) {
			w.Lab.Behave(func(l *world.Lab) {
				l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
					l.End(a, "all", "lost")
					return channels.Answer{Status: channels.Absent}
				}
			})
		},
		"refused": func(w *world.World, _ string) {},
	}
	outcomes := map[string]string{
		"completed": "completed", "expired at the provider": "expired", "canceled": "canceled",
		"collected: over": "completed", "collected: the provider has forgotten it": "lost", "refused": "failed",
	}
	for name, act := range free {
		t.Run(name, func(t *testing.T) {
			world.OnVirtualTime(t, func(w *world.World) {
				if name == "refused" {
					w.Lab.Behave(func(l *world.Lab) { l.OnSend = refuseFirst(l) })
				}
				w.Channel("ch", 1)
				ids := w.Accept("ch", world.SMS("first"), world.SMS("second"), world.SMS("third"))
				w.Nth(0)
				act(w, ids["first"])
				w.Sent(2)
				if got := w.Done(ids["first"]); got != outcomes[name] {
					w.Fatalf("the first ended as %s, want %s", got, outcomes[name])
				}
				if freed, taken := w.Finished(ids["first"]), w.Claimed(ids["second"]); !freed.Equal(taken) {
					w.Fatalf("the slot was free at %s and taken at %s", freed, taken)
				}
			})
		})
	}
}

// refuseFirst returns a Send that refuses the contact "first" and accepts all others.
func refuseFirst(l *world.Lab) func(context.Context, world.LabAttempt) channels.SendResult {
	return func(_ context.Context, a world.LabAttempt) channels.SendResult {
		if a.Key == "first" {
			return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "no such number"}
		}
		return l.Take(a)
	}
}

// The slots of reply_reserve are for replies only, count as part of the
// capacity, and can be changed at run time.
func TestCapacity_ReplyReserveKeepsSlots(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 4, world.Fields{"settings": world.Fields{"reply_reserve": 2}})
		w.Accept("ch", world.Many("n", 4, world.Fields{"priority": "high"})...)
		w.Sent(2)
		w.Accept("ch", world.Many("r", 3, world.Fields{"priority": "reply"})...)
		w.Sent(4)
		if got := fmt.Sprint(w.SentSet()); got != "[n-0001 n-0002 r-0001 r-0002]" {
			w.Fatalf("sent %s", got)
		}
		// A free slot outside of the reserve may be taken by a reply, which is first in line.
		w.Finish("n-0001")
		w.Sent(5)
		w.ExpectInFlight("ch", 4)
		// A slot that a reply frees stays reserved.
		w.Finish("r-0001", "r-0002")
		w.Sent(6) // r-0003 and n-0002 are in flight; one more fits beside them
		w.ExpectInFlight("ch", 3)
		w.Want(http.StatusOK, "PATCH", "/v1/channels/ch", world.Fields{"settings": world.Fields{"reply_reserve": 0}})
		w.Sent(7)
		w.ExpectInFlight("ch", 4)
		w.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/channels/ch", world.Fields{"settings": world.Fields{"reply_reserve": 4}})
	})
}

// A contact that waits for slots does not block the slots reserved for replies.
func TestCapacity_ReplyReserveIsOpenWhileALargeContactWaits(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 5, world.Fields{"settings": world.Fields{"reply_reserve": 2}})
		w.Accept("ch", world.SMS("out"), world.SMS("large", world.Texts("large", 3)))
		w.Sent(1)
		w.Accept("ch", world.SMS("r-1", world.Fields{"priority": "reply"}), world.SMS("r-2", world.Fields{"priority": "reply"}))
		w.Sent(3)
		w.Want(http.StatusUnprocessableEntity, "POST", "/v1/channels/ch/contacts",
			world.Fields{"contacts": []world.Fields{world.SMS("huge", world.Texts("huge", 4))}}) // larger than the capacity without the reserve
		w.Finish("out")
		w.Sent(4)
		w.ExpectInFlight("ch", 5)
	})
}
