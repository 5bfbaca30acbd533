package pacing_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"weir/surveys/pacing"
)

// Surveys share slots by weight, however many slots their contacts need, and
// however little room each poll has.
func TestFairShare_CountsSlots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "weights")
		var claims []pacing.Claim
		sum, largest := 0, 1
		for i, w := range weights {
			c := pacing.Claim{Survey: fmt.Sprint(i), Weight: w, Wants: 1_000_000, Size: rapid.IntRange(1, 10).Draw(t, "size")}
			claims, sum, largest = append(claims, c), sum+w, max(largest, c.Size)
		}
		var share pacing.FairShare
		used, total := make([]int, len(claims)), 0
		for _, room := range rapid.SliceOfN(rapid.IntRange(0, 300), 1, 60).Draw(t, "rooms") {
			var got []int
			got, share = share.Share(room, claims)
			taken := 0
			for i, n := range got {
				used[i] += n * claims[i].Size
				taken += n * claims[i].Size
			}
			if total += taken; taken < room || taken >= room+largest {
				t.Fatalf("of %d slots %d are given", room, taken)
			}
		}
		for i, w := range weights {
			if off := float64(used[i]) - float64(total*w)/float64(sum); off > float64(2*largest*len(weights)) || off < -float64(2*largest*len(weights)) {
				t.Fatalf("%+v use %v of %d slots", claims, used, total)
			}
		}
	})
}

// Two equal surveys that always want more than the room get the same share, also
// while others come and go between them. Each claims at most the room, as brokers
// do.
func TestFairShare_IsEqualWhileOthersComeAndGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weight, other := rapid.IntRange(1, 5).Draw(t, "weight"), rapid.IntRange(1, 5).Draw(t, "weight of the other")
		var share pacing.FairShare
		total := [2]int{}
		for range rapid.IntRange(1, 200).Draw(t, "polls") {
			room := rapid.IntRange(1, 4).Draw(t, "room")
			var got []int
			got, share = share.Share(room, []pacing.Claim{
				{Survey: "a", Weight: weight, Wants: room, More: true}, {Survey: "b", Weight: weight, Wants: room, More: true},
				{Survey: "c", Weight: other, Wants: rapid.IntRange(0, room).Draw(t, "wants")},
			})
			total[0], total[1] = total[0]+got[0], total[1]+got[1]
			if off := total[0] - total[1]; off < -1 || off > 1 {
				t.Fatalf("two equal surveys were given %v", total)
			}
		}
	})
}

// Scenario 18: balances outlast polls in which surveys cannot claim, because their
// windows are closed, while others do.
func TestFairShare_DebtsOutlastClosedWindows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var share pacing.FairShare
		total := [2]int{}
		for range rapid.IntRange(1, 200).Draw(t, "polls") {
			room, open := rapid.IntRange(1, 4).Draw(t, "room"), rapid.Bool().Draw(t, "open")
			claims := []pacing.Claim{{Survey: "c", Weight: 1, Wants: rapid.IntRange(0, room).Draw(t, "wants"), More: rapid.Bool().Draw(t, "more")}}
			if open {
				claims = append([]pacing.Claim{{Survey: "a", Wants: room, More: true}, {Survey: "b", Wants: room, More: true}}, claims...)
			}
			var got []int
			if got, share = share.Share(room, claims); !open {
				continue
			}
			total[0], total[1] = total[0]+got[0], total[1]+got[1]
			if off := total[0] - total[1]; off < -1 || off > 1 {
				t.Fatalf("two equal surveys were given %v", total)
			}
		}
	})
}

// Whatever the rooms, sizes and weights were: a survey that has all that it wanted keeps no credit
// by which it could take more than its share later. It has no more than one that has never wanted
// anything.
func TestFairShare_NoCreditAfterSatisfaction(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const idle = "idle"
		var claims []pacing.Claim
		for _, name := range []string{"a", "b", "c"} {
			claims = append(claims, pacing.Claim{Survey: name, Weight: rapid.IntRange(1, 5).Draw(t, "weight"), Size: rapid.IntRange(1, 10).Draw(t, "size")})
		}
		claims = append(claims, pacing.Claim{Survey: idle, Weight: 1, Size: 1})
		var share pacing.FairShare
		for range rapid.IntRange(1, 30).Draw(t, "polls") {
			for i := range claims[:len(claims)-1] {
				claims[i].Wants, claims[i].More = rapid.IntRange(0, 5).Draw(t, "wants"), rapid.Bool().Draw(t, "more")
			}
			var got []int
			got, share = share.Share(rapid.IntRange(0, 30).Draw(t, "room"), claims)
			for i, c := range claims {
				if got[i] >= c.Wants && !c.More && share[c.Survey] > share[idle] {
					t.Fatalf("%s has all of %d and keeps a credit of %d, beside %d of a survey without wants", c.Survey, c.Wants, share[c.Survey], share[idle])
				}
			}
		}
	})
}
